//! Long vectors on large pages: random access to small ones costs a walk through the page table each time.
#![allow(unsafe_code)]

/// A vector of `len` times `value`. Where it is long, the system is asked for large pages before they are touched.
pub fn large_pages<T: Clone>(len: usize, value: T) -> Vec<T> {
    let mut out = room_on_large_pages(len);
    out.resize(len, value);
    out
}

/// An empty vector with room for `len` elements. Where it is long, the system is asked for large pages.
pub fn room_on_large_pages<T>(len: usize) -> Vec<T> {
    let mut out = Vec::with_capacity(len);
    ask(&mut out);
    out
}

/// So many zero words, not touched yet. Where they are long, the system is asked for large pages.
pub fn zero_words(len: usize) -> Vec<u64> {
    let mut words = vec![0; len];
    ask(&mut words);
    words
}

/// Asks for large pages for the room of a vector.
#[cfg(target_os = "linux")]
pub(crate) fn ask<T>(out: &mut Vec<T>) {
    const PAGE: usize = 4096;
    const LARGE_PAGE: usize = 2 << 20;
    let bytes = out.capacity() * size_of::<T>();
    if bytes < 2 * LARGE_PAGE {
        return;
    }
    let start = out.as_mut_ptr().cast::<u8>();
    let skipped = start.align_offset(PAGE);
    let len = (bytes - skipped) / PAGE * PAGE;
    // SAFETY: the pages lie in the room that the vector owns, and the advice changes no contents. It is only a wish, so
    // its failure is no error.
    unsafe { libc::madvise(start.add(skipped).cast(), len, libc::MADV_HUGEPAGE) };
}

/// Other systems choose by themselves.
#[cfg(not(target_os = "linux"))]
pub(crate) fn ask<T>(_out: &mut Vec<T>) {}

#[cfg(test)]
mod tests {
    use super::{large_pages, zero_words};

    #[test]
    fn vectors_hold_the_value() {
        for len in [0, 1, 1000, (6 << 20) + 1] {
            let values = large_pages(len, 7u8);
            assert_eq!(values.len(), len);
            assert!(values.iter().all(|&value| value == 7));
            let zeros = zero_words(len);
            assert_eq!(zeros.len(), len);
            assert!(zeros.iter().all(|&word| word == 0));
        }
    }
}
