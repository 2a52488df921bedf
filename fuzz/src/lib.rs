//! What the fuzz targets share: the allocator's limit, and one function a decoder that is given any bytes.
//!
//! A target fails where a decoder panics, where it asks for more memory than [`HEAP_LIMIT_BYTES`], or where what it
//! accepted does not come back: keys and proofs encode to what was given; PCE files, payload files and marks, of which there
//! are many forms, encode to a form that decodes to the same. The payloads of the four proof types have no encoder: what is
//! accepted is asked for its public inputs and its circuits.

mod files;
mod keys;
mod payloads;
mod pce;

use std::alloc::System;

use cap::Cap;

pub use files::{manifest, mark, payload_file};
pub use keys::{parameters, proof, verifying_key};
pub use payloads::{payload, porep_documents, reference};
pub use pce::pce;

/// Heap that a target may hold. A count in a file that is believed unchecked asks for more.
pub const HEAP_LIMIT_BYTES: usize = 512 << 20;

#[global_allocator]
static ALLOCATOR: Cap<System> = Cap::new(System, HEAP_LIMIT_BYTES);
