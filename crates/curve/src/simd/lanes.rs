//! What vectors of field elements can do, whatever their width.

use std::fmt::Debug;

use super::Arch;

/// One truth value a lane.
pub trait Mask: Copy + Debug + Send + Sync + 'static {
    /// The architecture of the mask.
    type Arch: Arch;

    /// The mask whose lane `i` is bit `i` of `bits`; higher bits are ignored.
    fn from_bits(arch: Self::Arch, bits: u64) -> Self;
    /// Bit `i` is lane `i`; higher bits are zero.
    fn bits(self) -> u64;
    /// Lanes true in both.
    fn and(self, other: Self) -> Self;
    /// Lanes true in either.
    fn or(self, other: Self) -> Self;
    /// Lanes false in this one.
    fn not(self) -> Self;

    /// Whether any lane is true.
    #[inline(always)]
    fn any(self) -> bool {
        self.bits() != 0
    }

    /// Whether lane `index` is true.
    #[inline(always)]
    fn lane(self, index: usize) -> bool {
        self.bits() >> index & 1 == 1
    }
}

/// A vector of `LANES` field elements.
///
/// **Bounds.** A vector element is a representative that need not be canonical: every operation returns a *reduced*
/// one, below 2p, except for the `_lazy` ones. Those take reduced operands and return a *lazy* one, which may go into
/// any operation that is not lazy itself, and into nothing else ([`Lanes::is_zero`], [`Lanes::equals`], [`FrLanes::store`] and
/// [`CoordinateLanes::scatter`] want reduced operands). Lazy operations save about half of an addition, and matter only in
/// the innermost loops: `a.sub_lazy(b).mul(c)`.
pub trait Lanes: Copy + Send + Sync + 'static {
    /// The architecture of the vector.
    type Arch: Arch;
    /// One element.
    type Scalar: Copy + Debug + Default + PartialEq + Send + Sync + 'static;

    /// The token of the architecture: a vector proves that the machine has the features.
    fn arch(self) -> Self::Arch;

    /// Zero in every lane.
    fn zero(arch: Self::Arch) -> Self;
    /// One in every lane.
    fn one(arch: Self::Arch) -> Self;
    /// `value` in every lane.
    fn splat(arch: Self::Arch, value: &Self::Scalar) -> Self;
    /// One element a lane.
    ///
    /// # Panics
    /// Where `values` does not hold exactly `LANES` elements.
    fn from_scalars(arch: Self::Arch, values: &[Self::Scalar]) -> Self;
    /// Writes one element a lane, in canonical form.
    ///
    /// # Panics
    /// Where `values` does not hold exactly `LANES` elements.
    fn to_scalars(self, values: &mut [Self::Scalar]);
    /// One over an element; zero for zero.
    fn invert_scalar(value: &Self::Scalar) -> Self::Scalar;
    /// The product of two elements.
    fn mul_scalar(a: &Self::Scalar, b: &Self::Scalar) -> Self::Scalar;

    /// `self + rhs`.
    fn add(self, rhs: Self) -> Self;
    /// `self - rhs`.
    fn sub(self, rhs: Self) -> Self;
    /// `self * rhs`.
    fn mul(self, rhs: Self) -> Self;
    /// `self * self`.
    fn square(self) -> Self;

    /// `-self`.
    #[inline(always)]
    fn neg(self) -> Self {
        Self::zero(self.arch()).sub(self)
    }

    /// `self + self`.
    #[inline(always)]
    fn double(self) -> Self {
        self.add(self)
    }

    /// `self + rhs`, lazy; see the bounds above.
    fn add_lazy(self, rhs: Self) -> Self;
    /// `self - rhs`, lazy; see the bounds above.
    fn sub_lazy(self, rhs: Self) -> Self;

    /// The lanes that hold zero. The operand must be reduced.
    fn is_zero(self) -> <Self::Arch as Arch>::Mask;

    /// The lanes that hold the same element.
    #[inline(always)]
    fn equals(self, other: Self) -> <Self::Arch as Arch>::Mask {
        self.sub(other).is_zero()
    }

    /// `on_true` where the mask is true, `on_false` elsewhere.
    fn select(mask: <Self::Arch as Arch>::Mask, on_true: Self, on_false: Self) -> Self;
}

/// Vectors of scalars, with what linear transforms need.
///
/// **Linear form.** [`FrLanes::load`] takes elements as they lie in memory, so that a lane holds the element times a
/// constant of the architecture. Additions, and multiplications by [`FrLanes::scale`] or by vectors that were made with
/// [`Lanes::splat`] or [`Lanes::from_scalars`], keep that constant; [`FrLanes::store`] takes it off for nothing. The
/// product of *two* loaded vectors carries it twice: such a product, stored, is the true product divided by
/// [`FrLanes::LOADED_PRODUCT`].
///
/// **Loose values.** [`FrLanes::butterfly`] neither carries nor reduces: it adds 2p to the bound of its operands, and
/// takes operands up to 33p. From loaded or reduced operands, sixteen layers may follow one another.
/// [`FrLanes::reduce`] or [`FrLanes::scale`] makes a reduced value of a loose one; nothing else takes it.
pub trait FrLanes: Lanes {
    /// An element prepared for [`FrLanes::scale`].
    type Factor: Copy + Debug + Send + Sync + 'static;

    /// By what the stored product of two loaded vectors must be multiplied to be the true product.
    const LOADED_PRODUCT: u64;

    /// Loads `LANES` elements in linear form: lane `i` is `rows[i * stride]`.
    ///
    /// # Panics
    /// Where `rows` is too short.
    fn load(arch: Self::Arch, rows: &[Self::Scalar], stride: usize) -> Self;
    /// Stores what was loaded in linear form, canonical: lane `i` goes to `rows[i * stride]`. The operand must be
    /// reduced.
    ///
    /// # Panics
    /// Where `rows` is too short.
    fn store(self, rows: &mut [Self::Scalar], stride: usize);

    /// Prepares a factor.
    fn factor(arch: Self::Arch, value: &Self::Scalar) -> Self::Factor;
    /// The factor's element in every lane, as [`Lanes::splat`] of it.
    fn broadcast(arch: Self::Arch, factor: &Self::Factor) -> Self;
    /// The sum of the products of `values`, reduced and at most 16, and the factors at the same places. It is reduced,
    /// and a value or a factor without a partner counts for nothing.
    fn dot(arch: Self::Arch, values: &[Self], factors: &[Self::Factor]) -> Self;
    /// Every lane times the factor. The operand may be loose; the product is reduced.
    fn scale(self, factor: &Self::Factor) -> Self;
    /// The product of a loose operand, up to fourteen layers from reduced ones, and of `rhs`, which must be a product of
    /// reduced operands; the product is reduced.
    fn mul_loose(self, rhs: Self) -> Self;
    /// A reduced value from a loose one.
    fn reduce(self) -> Self;

    /// `(a + b * w, a - b * w)` for loose operands and results.
    fn butterfly(a: Self, b: Self, w: &Self::Factor) -> (Self, Self);
    /// `(a + b, a - b)`: `a` may be loose, and the results are; `b` must be reduced.
    fn butterfly_one(a: Self, b: Self) -> (Self, Self);
}

/// Vectors of coordinates of points.
pub trait CoordinateLanes: Lanes {
    /// One element as this architecture keeps it in memory, for [`CoordinateLanes::gather`]. Not canonical: two rows of
    /// the same element may differ, so compare lanes, never rows. `Default` is zero.
    type Row: Copy + Debug + Default + Send + Sync + 'static;

    /// Bytes of a coordinate in the uncompressed encoding: 48 or 96.
    const ENCODED_BYTES: usize;

    /// Reads lane `i` from `row(i)`.
    fn gather<'a>(arch: Self::Arch, row: impl FnMut(usize) -> &'a Self::Row) -> Self;
    /// Gives the row of each lane `i` to `put(i, row)`. The operand must be reduced.
    fn scatter(self, put: impl FnMut(usize, Self::Row));
    /// Reads lane `i` from the first [`CoordinateLanes::ENCODED_BYTES`] of `bytes(i)`, a big-endian coordinate (c1
    /// before c0). The three flag bits of each 48 bytes are ignored, a value at or above the modulus is taken modulo
    /// it, and a slice that is too short reads as zero.
    fn gather_encoded<'a>(arch: Self::Arch, bytes: impl FnMut(usize) -> &'a [u8]) -> Self;
}
