//! One module a subcommand.

pub mod bench;
pub mod compile;
pub mod demo;
pub mod devices;
pub mod generate;
pub mod inspect;
pub mod keygen;
pub mod prove;
pub mod serve;
pub mod status;
pub mod submit;
pub mod synth;
pub mod verify;
