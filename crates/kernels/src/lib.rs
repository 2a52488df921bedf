//! The built GPU kernels and their manifest, as `cargo xtask build-kernels` left them in `kernels/built`.
//!
//! A build without them, and so without CUDA, works: [`images`] then returns [`NotBuilt`], whose words say what to run.

use std::fmt;

#[cfg(kernels_built)]
include!(concat!(env!("OUT_DIR"), "/built.rs"));

/// The kernels were not there when this program was built.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub struct NotBuilt;

impl fmt::Display for NotBuilt {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(
            "this program holds no GPU kernels: run `cargo xtask build-kernels`, then build it again",
        )
    }
}

impl std::error::Error for NotBuilt {}

/// The kernels' machine code for all architectures of the manifest, as fat binaries that the CUDA driver loads.
pub fn images() -> Result<&'static [&'static [u8]], NotBuilt> {
    #[cfg(kernels_built)]
    return Ok(IMAGES);
    #[cfg(not(kernels_built))]
    Err(NotBuilt)
}

/// What was built from what: JSON with the hash of the sources, the compiler, its flags, the architectures, and each
/// kernel's registers and spills.
pub fn manifest() -> Result<&'static str, NotBuilt> {
    #[cfg(kernels_built)]
    return Ok(MANIFEST);
    #[cfg(not(kernels_built))]
    Err(NotBuilt)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn kernels_and_manifest_are_there_together() {
        match (images(), manifest()) {
            (Ok(images), Ok(manifest)) => {
                assert!(!images.is_empty());
                // A fat binary's magic number.
                assert!(
                    images
                        .iter()
                        .all(|image| image[..4] == [0x50, 0xed, 0x55, 0xba])
                );
                assert!(manifest.contains("\"kernels\""));
            }
            (Err(error), Err(_)) => {
                assert!(error.to_string().contains("cargo xtask build-kernels"));
            }
            (images, manifest) => panic!("{:?} {:?}", images.is_ok(), manifest.is_ok()),
        }
    }
}
