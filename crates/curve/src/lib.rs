//! BLS12-381 over `blstrs`: the types, byte formats and vector arithmetic that the rest of cuzk builds on.
//!
//! Everything above this crate names the scalar field [`Fr`] and the two groups through [`Group`]; nothing above it
//! touches `blst`. Formulas are those of the Zcash serialisation and of the Explicit-Formulas Database where named.

mod bytes;
pub mod encoding;
mod field;
mod fr;
mod group;
mod pages;
pub mod parallel;
pub mod simd;
pub mod subgroup;
mod wiped;

pub use blstrs::{
    Bls12, G1Affine, G1Projective, G2Affine, G2Prepared, G2Projective, Gt, Scalar as Fr,
};
pub use bytes::{Bytes, EncodedPoints};
pub use field::{Fq, Fq2};
pub use fr::{montgomery_limbs, zeros};
pub use group::{G1, G2, Group};
pub use pages::{large_pages, room_on_large_pages, zero_words};
pub use wiped::{Wipe, Wiped};
