//! sppark, as `cuda/` calls it.

use std::ffi::{c_int, c_uint, c_void};
use std::time::Instant;

use anyhow::{Result, ensure};
use cuzk_curve::{Fr, Group};
// The crate brings sppark's headers; nothing of it is called from here.
use sppark as _;

unsafe extern "C" {
    fn peer_msm_g1(out: *mut u64, points: *const u64, count: usize, scalars: *const Fr) -> c_int;
    fn peer_msm_g2(out: *mut u64, points: *const u64, count: usize, scalars: *const Fr) -> c_int;
    fn peer_ntt(
        values: *mut Fr,
        log_size: u32,
        natural: bool,
        times: *mut f32,
        repeats: usize,
    ) -> c_int;
}

unsafe extern "C" {
    // The CUDA run time's own.
    fn cudaHostRegister(memory: *mut c_void, bytes: usize, flags: c_uint) -> c_int;
    fn cudaHostUnregister(memory: *mut c_void) -> c_int;
}

/// Pins values in the host's memory while it lives, so that sppark's uploads run at the bus's speed.
pub struct Pinned<'a, T>(&'a [T]);

impl<'a, T> Pinned<'a, T> {
    /// Pins values.
    pub fn new(values: &'a [T]) -> Result<Self> {
        let memory = values.as_ptr().cast_mut().cast();
        // SAFETY: the memory stays where it is as long as the borrow.
        let code = unsafe { cudaHostRegister(memory, size_of_val(values), 0) };
        ensure!(code == 0, "pinning: CUDA error {code}");
        Ok(Self(values))
    }
}

impl<T> Drop for Pinned<'_, T> {
    fn drop(&mut self) {
        // SAFETY: pinned in `new`. A failure leaves nothing to do.
        let _ = unsafe { cudaHostUnregister(self.0.as_ptr().cast_mut().cast()) };
    }
}

/// Words of a coordinate.
pub fn words<G: Group>() -> usize {
    size_of::<G::Coordinate>() / 8
}

/// The sum of scalars times points and the milliseconds of the call. Points are x and y in memory form.
pub fn msm<G: Group>(points: &[u64], scalars: &[Fr]) -> Result<(G::Projective, f32)> {
    let words = words::<G>();
    ensure!(
        points.len() == 2 * words * scalars.len(),
        "a point a scalar"
    );
    let mut out = vec![0u64; 3 * words];
    let call = if words == 6 { peer_msm_g1 } else { peer_msm_g2 };
    let clock = Instant::now();
    // SAFETY: `points` holds an affine point for each scalar, and `out` room for a Jacobian point.
    let code = unsafe {
        call(
            out.as_mut_ptr(),
            points.as_ptr(),
            scalars.len(),
            scalars.as_ptr(),
        )
    };
    let time = clock.elapsed().as_secs_f32() * 1e3;
    ensure!(code == 0, "sppark's multiplication: CUDA error {code}");
    let coordinate = |index: usize| {
        // SAFETY: a coordinate is `words` limbs in memory form, of which `out` holds three.
        unsafe {
            out.as_ptr()
                .add(index * words)
                .cast::<G::Coordinate>()
                .read()
        }
    };
    Ok((
        G::from_jacobian(coordinate(0), coordinate(1), coordinate(2)),
        time,
    ))
}

/// Transforms values in place, natural order in and out, and measures as many more transforms as there are places for
/// their milliseconds: in natural order, or into bit-reversed order.
pub fn ntt(values: &mut [Fr], natural: bool, times: &mut [f32]) -> Result<()> {
    ensure!(values.len().is_power_of_two(), "a power of two");
    let log_size = values.len().trailing_zeros();
    // SAFETY: the lengths are those of the slices.
    let code = unsafe {
        peer_ntt(
            values.as_mut_ptr(),
            log_size,
            natural,
            times.as_mut_ptr(),
            times.len(),
        )
    };
    ensure!(code == 0, "sppark's transform: CUDA error {code}");
    Ok(())
}
