//! The instructions, as safe functions of a token.

use std::arch::x86_64::*;

use super::Ifma;

/// Eight words of 64 bits.
pub(super) type V = __m512i;

macro_rules! ops {
    ($($(#[$doc:meta])* $name:ident($($argument:ident: $type:ty),*) -> $out:ty = $body:expr;)*) => {
        impl Ifma {
            $(
                $(#[$doc])*
                #[inline(always)]
                pub(super) fn $name(self, $($argument: $type),*) -> $out {
                    // SAFETY: a value of `Ifma` exists, so the machine has the features; no memory is touched.
                    unsafe { $body }
                }
            )*
        }
    };
}

ops! {
    /// Zero in every lane.
    zero() -> V = _mm512_setzero_si512();
    /// `value` in every lane.
    word(value: u64) -> V = _mm512_set1_epi64(value as i64);
    /// `acc` plus the low half of `a * b`.
    lo(acc: V, a: V, b: V) -> V = _mm512_madd52lo_epu64(acc, a, b);
    /// `acc` plus the high half of `a * b`.
    hi(acc: V, a: V, b: V) -> V = _mm512_madd52hi_epu64(acc, a, b);
    add(a: V, b: V) -> V = _mm512_add_epi64(a, b);
    sub(a: V, b: V) -> V = _mm512_sub_epi64(a, b);
    and(a: V, b: V) -> V = _mm512_and_si512(a, b);
    or(a: V, b: V) -> V = _mm512_or_si512(a, b);
    xor(a: V, b: V) -> V = _mm512_xor_si512(a, b);
    /// `a` shifted right by 52 bits, zeros shifted in.
    carry(a: V) -> V = _mm512_srli_epi64::<52>(a);
    /// `a` shifted right by 52 bits, signs shifted in.
    signed_carry(a: V) -> V = _mm512_srai_epi64::<52>(a);
    shr(a: V, bits: u32) -> V = _mm512_srl_epi64(a, _mm_cvtsi32_si128(bits as i32));
    shl(a: V, bits: u32) -> V = _mm512_sll_epi64(a, _mm_cvtsi32_si128(bits as i32));
    /// `b` where the mask is set, `a` elsewhere.
    blend(mask: u8, a: V, b: V) -> V = _mm512_mask_blend_epi64(mask, a, b);
    /// The lanes that are zero.
    zeros(a: V) -> u8 = _mm512_testn_epi64_mask(a, a);
    /// The lanes that are negative.
    negatives(a: V) -> u8 = _mm512_movepi64_mask(a);
    /// The lanes where both are equal.
    equal(a: V, b: V) -> u8 = _mm512_cmpeq_epi64_mask(a, b);
    unpack_low(a: V, b: V) -> V = _mm512_unpacklo_epi64(a, b);
    unpack_high(a: V, b: V) -> V = _mm512_unpackhi_epi64(a, b);
    /// The words `index[i]` of `a` followed by `b`.
    pick(a: V, index: [i64; 8], b: V) -> V = _mm512_permutex2var_epi64(
        a,
        _mm512_setr_epi64(
            index[0], index[1], index[2], index[3], index[4], index[5], index[6], index[7],
        ),
        b,
    );
    /// The bytes of each word in the opposite order.
    swap_bytes(a: V) -> V = _mm512_shuffle_epi8(
        a,
        _mm512_broadcast_i32x4(_mm_set_epi64x(0x0809_0a0b_0c0d_0e0f, 0x0001_0203_0405_0607)),
    );
}

impl Ifma {
    /// Two runs of four words.
    #[inline(always)]
    pub(super) fn load_halves(self, low: &[u64; 4], high: &[u64; 4]) -> V {
        // SAFETY: the features are there; each reference is to 32 readable bytes, and the loads want no alignment.
        unsafe {
            let low = _mm256_loadu_si256(low.as_ptr().cast());
            let high = _mm256_loadu_si256(high.as_ptr().cast());
            _mm512_inserti64x4::<1>(_mm512_castsi256_si512(low), high)
        }
    }

    /// The first four words of `value`.
    #[inline(always)]
    pub(super) fn store_low(self, value: V, out: &mut [u64; 4]) {
        // SAFETY: the features are there; the reference is to 32 writable bytes, and the store wants no alignment.
        unsafe { _mm256_storeu_si256(out.as_mut_ptr().cast(), _mm512_castsi512_si256(value)) }
    }

    /// The last four words of `value`.
    #[inline(always)]
    pub(super) fn store_high(self, value: V, out: &mut [u64; 4]) {
        // SAFETY: as in `store_low`.
        unsafe {
            _mm256_storeu_si256(
                out.as_mut_ptr().cast(),
                _mm512_extracti64x4_epi64::<1>(value),
            );
        }
    }

    /// Eight words.
    #[inline(always)]
    pub(super) fn load(self, words: &[u64; 8]) -> V {
        // SAFETY: the features are there; the reference is to 64 readable bytes, and the load wants no alignment.
        unsafe { _mm512_loadu_si512(words.as_ptr().cast()) }
    }

    /// Six words, then zeros.
    #[inline(always)]
    pub(super) fn load_six(self, words: &[u64; 6]) -> V {
        // SAFETY: the features are there; the mask leaves 48 bytes, those of the reference.
        unsafe { _mm512_maskz_loadu_epi64(0x3f, words.as_ptr().cast()) }
    }

    /// 48 bytes, then zeros.
    #[inline(always)]
    pub(super) fn load_bytes(self, bytes: &[u8; 48]) -> V {
        // SAFETY: as in `load_six`.
        unsafe { _mm512_maskz_loadu_epi64(0x3f, bytes.as_ptr().cast()) }
    }

    /// All eight words of `value`.
    #[inline(always)]
    pub(super) fn store(self, value: V, out: &mut [u64; 8]) {
        // SAFETY: the features are there; the reference is to 64 writable bytes, and the store wants no alignment.
        unsafe { _mm512_storeu_si512(out.as_mut_ptr().cast(), value) }
    }

    /// The first six words of `value`.
    #[inline(always)]
    pub(super) fn store_six(self, value: V, out: &mut [u64; 6]) {
        // SAFETY: the features are there; the mask leaves 48 bytes, those of the reference.
        unsafe { _mm512_mask_storeu_epi64(out.as_mut_ptr().cast(), 0x3f, value) }
    }
}
