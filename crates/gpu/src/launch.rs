//! The shape and the arguments of a launch.

use std::ffi::c_void;
use std::marker::PhantomData;

use crate::{Buffer, Plain};

/// How many threads run a kernel.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub struct Grid {
    /// Number of blocks; with none, nothing is launched.
    pub blocks: u32,
    /// Threads a block.
    pub threads: u32,
    /// Bytes of dynamic shared memory a block.
    pub shared: u32,
}

impl Grid {
    /// At least `items` threads, in blocks of `threads`.
    pub fn over(items: usize, threads: u32) -> Self {
        Self {
            blocks: items.div_ceil(threads as usize) as u32,
            threads,
            shared: 0,
        }
    }

    /// `blocks` blocks of `threads`, each with `shared` bytes of dynamic shared memory.
    pub fn of(blocks: u32, threads: u32, shared: u32) -> Self {
        Self {
            blocks,
            threads,
            shared,
        }
    }
}

/// An argument of a kernel.
#[derive(Copy, Clone, Debug)]
pub struct Argument<'a> {
    /// The value's bytes, from the first on.
    value: [u64; 4],
    buffer: PhantomData<&'a ()>,
}

impl<'a> Argument<'a> {
    /// Any value of at most 32 bytes.
    fn of(value: [u64; 4]) -> Self {
        Self {
            value,
            buffer: PhantomData,
        }
    }

    /// A null pointer.
    pub fn null() -> Self {
        Self::of([0; 4])
    }

    /// A pointer to element `index` of a buffer.
    pub fn at<T: Plain>(buffer: &'a Buffer<T>, index: usize) -> Self {
        let offset = (index * size_of::<T>()) as u64;
        Self::of([buffer.address() + offset, 0, 0, 0])
    }

    pub(crate) fn pointer(&self) -> *mut c_void {
        (&raw const self.value).cast_mut().cast()
    }
}

impl<'a, T: Plain> From<&'a Buffer<T>> for Argument<'a> {
    fn from(buffer: &'a Buffer<T>) -> Self {
        Self::at(buffer, 0)
    }
}

impl From<u32> for Argument<'_> {
    fn from(value: u32) -> Self {
        // The low half comes first in memory on every host that a CUDA device is attached to.
        Self::of([u64::from(value), 0, 0, 0])
    }
}

impl From<u64> for Argument<'_> {
    fn from(value: u64) -> Self {
        Self::of([value, 0, 0, 0])
    }
}

impl From<[u64; 4]> for Argument<'_> {
    fn from(value: [u64; 4]) -> Self {
        Self::of(value)
    }
}
