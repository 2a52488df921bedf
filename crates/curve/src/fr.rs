//! Vectors of scalars.
#![allow(unsafe_code)]

use std::alloc::{Layout, alloc_zeroed, handle_alloc_error};

use crate::{Fr, pages};

/// `len` zeros, from memory that the system hands out zeroed: pages are first touched by whoever writes them, which
/// spreads that cost over the threads of a parallel computation. Where there are many, they are large pages.
pub fn zeros(len: usize) -> Vec<Fr> {
    let Ok(layout) = Layout::array::<Fr>(len) else {
        // As `vec!` does; a length that an existing vector has is never too large.
        panic!("{len} scalars are more than the address space holds");
    };
    if layout.size() == 0 {
        return Vec::new();
    }
    // SAFETY: the layout's size is not zero.
    let start = unsafe { alloc_zeroed(layout) };
    if start.is_null() {
        handle_alloc_error(layout);
    }
    // SAFETY: allocated just now by the global allocator with the layout of `len` scalars; `Fr` is a transparent wrapper
    // of `[u64; 4]`, for which zeroed memory is initialised, and all zeros is zero in Montgomery form.
    let mut zeros = unsafe { Vec::from_raw_parts(start.cast(), len, len) };
    pages::ask(&mut zeros);
    zeros
}

/// A scalar's limbs in Montgomery form, the least significant first: equal exactly where the scalars are, and free.
#[inline]
pub fn montgomery_limbs(value: &Fr) -> [u64; 4] {
    blst::blst_fr::from(*value).l
}

#[cfg(test)]
mod tests {
    use ff::Field;

    use super::*;

    #[test]
    fn zeros_are_zero() {
        for len in [0, 1, 1000] {
            let mut zeros = zeros(len);
            assert_eq!(zeros, vec![Fr::ZERO; len]);
            zeros.push(Fr::ONE);
        }
    }

    #[test]
    fn limbs_are_in_montgomery_form() {
        // 2^256 modulo the order of the group.
        let one = [
            0x0000_0001_ffff_fffe,
            0x5884_b7fa_0003_4802,
            0x998c_4fef_ecbc_4ff5,
            0x1824_b159_acc5_056f,
        ];
        assert_eq!(montgomery_limbs(&Fr::ONE), one);
        assert_eq!(montgomery_limbs(&Fr::ZERO), [0; 4]);
    }
}
