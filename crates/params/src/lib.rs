//! Groth16 parameters in bellperson's layout: mapping, checks, digests, writing.
//!
//! A `.params` file is a verifying key followed by five sections of uncompressed points, each after its count:
//!
//! | part | bytes |
//! | --- | --- |
//! | alpha_g1, beta_g1, beta_g2, gamma_g2, delta_g1, delta_g2 | 96, 96, 192, 192, 96, 192 |
//! | ic | count as a big-endian u32, then 96 a point |
//! | h, l, a, b_g1 | each a count, then 96 a point |
//! | b_g2 | a count, then 192 a point |
//!
//! A `.vk` file is the same up to and with ic. [`Parameters::open`] maps a file and finds its sections without reading
//! the points; [`Parameters::check_points`] checks every point; [`KeyStore`] finds keys by name in a folder and holds
//! the `.params` against its `.vk`. Keys are made elsewhere and written here ([`ParamsWriter`]); a key that was made by
//! one person and not by a ceremony carries a [`DevelopmentMark`] beside it.

mod check;
mod development;
mod digest;
mod error;
mod expected;
mod manifest;
mod name;
mod parameters;
mod reader;
mod section;
mod store;
mod verifying_key;
mod writer;

pub use check::PointCheck;
pub use development::DevelopmentMark;
pub use digest::{FileDigest, digest_bytes, digest_file};
pub use error::ParamsError;
pub use expected::Expected;
pub use manifest::{ParameterFile, ParameterFiles};
pub use name::{KeyFileKind, KeyName};
pub use parameters::Parameters;
pub use section::Section;
pub use store::KeyStore;
pub use verifying_key::VerifyingKey;
pub use writer::{NewFile, ParamsWriter, SectionWriter, write_verifying_key};
