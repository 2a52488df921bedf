//! How values lie in a device's memory: as blst keeps them, so that nothing is converted.

use cuzk_curve::{Fr, Group};
use cuzk_gpu::Buffer;

/// A scalar in memory form.
pub type Element = [u64; 4];

/// A vector of scalars on a device.
#[derive(Debug)]
pub struct Vector(pub(crate) Buffer<Element>);

/// Scalars as they lie in memory.
pub fn elements(values: &[Fr]) -> &[Element] {
    const {
        assert!(
            size_of::<Fr>() == size_of::<Element>() && align_of::<Fr>() == align_of::<Element>()
        )
    };
    // SAFETY: `Fr` is a transparent wrapper of four 64-bit limbs.
    unsafe { std::slice::from_raw_parts(values.as_ptr().cast(), values.len()) }
}

/// Room for scalars as they lie in memory. What is written must be below the modulus, as all that kernels write is.
pub fn elements_mut(values: &mut [Fr]) -> &mut [Element] {
    // SAFETY: as in `elements`; any limbs are a value of the type in the sense of the language.
    unsafe { std::slice::from_raw_parts_mut(values.as_mut_ptr().cast(), values.len()) }
}

/// A scalar in memory form.
pub fn element(value: Fr) -> Element {
    elements(&[value])[0]
}

/// 64-bit words of a coordinate: 6 or 12.
pub fn coordinate_words<G: Group>() -> usize {
    size_of::<G::Coordinate>() / 8
}

/// Reads coordinates in memory form.
///
/// # Panics
/// Where `words` holds less than `N` coordinates.
pub fn coordinates<G: Group, const N: usize>(words: &[u64]) -> [G::Coordinate; N] {
    let length = coordinate_words::<G>();
    std::array::from_fn(|i| {
        let words = &words[i * length..(i + 1) * length];
        // SAFETY: a coordinate is a transparent wrapper of limbs, 64 bits each, and `words` holds as many.
        unsafe { words.as_ptr().cast::<G::Coordinate>().read() }
    })
}

/// Writes coordinates in memory form.
pub fn coordinates_to_words<G: Group>(values: &[G::Coordinate]) -> Vec<u64> {
    // SAFETY: as in `coordinates`.
    let words = unsafe {
        std::slice::from_raw_parts(
            values.as_ptr().cast::<u64>(),
            values.len() * coordinate_words::<G>(),
        )
    };
    words.to_vec()
}
