//! RecordingCS: a circuit to its matrices, without a witness. No alloc closure is ever called.

mod blocks;
mod coefficients;
mod recording;

pub use coefficients::Coefficients;
pub use recording::{Recorded, RecordingCS};
