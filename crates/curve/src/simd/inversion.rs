//! Many inversions for the price of one (Montgomery's trick), over lanes.

use super::{Arch, Lanes, Mask};

/// Independent chains of products: one chain alone would wait for each multiplication to end.
const CHAINS: usize = 4;

/// The inverse of each lane; zero for zero. One scalar inversion and a few scalar multiplications.
#[inline(always)]
pub fn invert_lanes<L: Lanes>(value: L) -> L {
    let mut scalars = [L::Scalar::default(); 64];
    let lanes = <L::Arch as Arch>::LANES;
    value.to_scalars(&mut scalars[..lanes]);
    invert_scalars::<L>(&mut scalars[..lanes]);
    L::from_scalars(value.arch(), &scalars[..lanes])
}

/// Inverts at most 64 elements; zeros stay.
#[inline(never)]
fn invert_scalars<L: Lanes>(values: &mut [L::Scalar]) {
    let zero = L::Scalar::default();
    let mut before = [None; 64];
    let mut product: Option<L::Scalar> = None;
    for (value, before) in values.iter().zip(&mut before) {
        if *value != zero {
            *before = product;
            product = Some(product.map_or(*value, |product| L::mul_scalar(&product, value)));
        }
    }
    let Some(product) = product else { return };
    let mut inverse = L::invert_scalar(&product);
    for (value, before) in values.iter_mut().zip(&before).rev() {
        if *value != zero {
            let own = *value;
            *value = before.map_or(inverse, |before| L::mul_scalar(&inverse, &before));
            inverse = L::mul_scalar(&inverse, &own);
        }
    }
}

/// Replaces every element by its inverse, and leaves zeros. The operands must be reduced.
///
/// `scratch` is cleared and refilled: pass the same vector again to save its allocation. Three multiplications an
/// element and one inversion in all.
#[inline(always)]
pub fn batch_invert<L: Lanes>(arch: L::Arch, values: &mut [L], scratch: &mut Vec<L>) {
    let one = L::one(arch);
    let mut products = [one; CHAINS];
    scratch.clear();
    scratch.reserve(values.len());
    for (index, value) in values.iter().enumerate() {
        let chain = index % CHAINS;
        scratch.push(products[chain]);
        products[chain] = products[chain].mul(or_one(*value, one));
    }
    let mut inverses = invert_chains(products);
    for (index, value) in values.iter_mut().enumerate().rev() {
        let chain = index % CHAINS;
        let zero = value.is_zero();
        let inverse = inverses[chain].mul(scratch[index]);
        inverses[chain] = inverses[chain].mul(or_one(*value, one));
        *value = L::select(zero, L::zero(arch), inverse);
    }
}

/// The value where it is not zero, one elsewhere.
#[inline(always)]
fn or_one<L: Lanes>(value: L, one: L) -> L {
    let zero = value.is_zero();
    if zero.any() {
        L::select(zero, one, value)
    } else {
        value
    }
}

/// The inverses of values that are not zero, by a single inversion of their product.
#[inline(always)]
fn invert_chains<L: Lanes>(products: [L; CHAINS]) -> [L; CHAINS] {
    let [a, b, c, d] = products;
    let ab = a.mul(b);
    let cd = c.mul(d);
    let inverse = invert_lanes(ab.mul(cd));
    let (inverse_ab, inverse_cd) = (inverse.mul(cd), inverse.mul(ab));
    [
        inverse_ab.mul(b),
        inverse_ab.mul(a),
        inverse_cd.mul(d),
        inverse_cd.mul(c),
    ]
}
