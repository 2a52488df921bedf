//! Secrets that are overwritten before their memory is given back.
#![cfg_attr(test, allow(unsafe_code))]

use std::hint::black_box;
use std::ops::{Deref, DerefMut};

/// What can be overwritten.
pub trait Wipe {
    /// Overwrites it. What nothing reads any more need not be written, as far as the compiler knows, so this ends in
    /// something that may read it.
    fn wipe(&mut self);
}

impl<T: Copy + Default> Wipe for [T] {
    fn wipe(&mut self) {
        self.fill(T::default());
        black_box(self);
    }
}

/// With the room behind its elements, which may have held some before.
impl<T: Copy + Default> Wipe for Vec<T> {
    fn wipe(&mut self) {
        let len = self.len();
        self.clear();
        self.resize(self.capacity(), T::default());
        self.truncate(len);
        black_box(self);
    }
}

impl<W: Wipe + ?Sized> Wipe for &mut W {
    fn wipe(&mut self) {
        W::wipe(self);
    }
}

/// Secrets that dropping overwrites. A vector that grows leaves what it held where it was, so one in here is made with the
/// room that it needs.
///
/// ```
/// let mut secrets = [1, 2, 3];
/// drop(cuzk_curve::Wiped::new(&mut secrets[..]));
/// assert_eq!(secrets, [0; 3]);
/// ```
#[derive(Default)]
pub struct Wiped<W: Wipe>(W);

impl<W: Wipe> Wiped<W> {
    /// Secrets, from now on overwritten when they are dropped.
    pub fn new(secrets: W) -> Self {
        Self(secrets)
    }
}

impl<W: Wipe> Deref for Wiped<W> {
    type Target = W;

    fn deref(&self) -> &W {
        &self.0
    }
}

impl<W: Wipe> DerefMut for Wiped<W> {
    fn deref_mut(&mut self) -> &mut W {
        &mut self.0
    }
}

impl<W: Wipe> Drop for Wiped<W> {
    fn drop(&mut self) {
        self.0.wipe();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_dropped_vector_is_zero_with_the_room_behind_it() {
        let mut secrets = Vec::with_capacity(8);
        secrets.extend([7u32; 8]);
        secrets.truncate(3);
        drop(Wiped::new(&mut secrets));
        assert_eq!(secrets, [0; 3]);
        // What lies behind the elements is seen once they are made longer without being written.
        let room = secrets.spare_capacity_mut();
        assert_eq!(room.len(), 5);
        for value in room {
            // SAFETY: the test wrote eight elements, so that these five are initialised.
            assert_eq!(unsafe { value.assume_init() }, 0);
        }
    }

    #[test]
    fn secrets_are_wiped_where_a_panic_ends_their_use() {
        let mut secrets = vec![7u32; 3];
        let guarded = Wiped::new(&mut secrets);
        let used = std::panic::catch_unwind(std::panic::AssertUnwindSafe(move || {
            assert_eq!(guarded[0], 8);
        }));
        assert!(used.is_err());
        assert_eq!(secrets, [0; 3]);
    }
}
