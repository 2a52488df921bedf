//! Compiles the interface without any program of the system: protox parses it, tonic generates the code.

use std::path::Path;

use prost::Message;

const SOURCE: &str = "proto/cuzk.proto";

fn main() -> Result<(), Box<dyn std::error::Error>> {
    println!("cargo::rerun-if-changed={SOURCE}");
    let descriptors = protox::compile([SOURCE], ["proto"])?;
    let out = std::env::var_os("OUT_DIR").ok_or("cargo sets OUT_DIR")?;
    std::fs::write(
        Path::new(&out).join("cuzk.v1.descriptors"),
        descriptors.encode_to_vec(),
    )?;
    tonic_prost_build::configure().compile_fds(descriptors)?;
    Ok(())
}
