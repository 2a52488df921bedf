//! The wire interface `cuzk.v1`: Curio's client speaks it, and so do this workspace's daemon and command.
//!
//! [`v1`] holds the messages, the client and the server. A request as the proof types read it is
//! [`cuzk_proof_api::Request`]; [`to_request`] and [`from_request`] are the only ways between the two.

mod request;

pub use request::{from_request, identity_bytes, kind_name, to_request};

/// The generated messages, client and server.
#[allow(missing_docs)]
pub mod v1 {
    tonic::include_proto!("cuzk.v1");
}

/// Bytes that a message may have, both ways, as Curio's client allows.
pub const MAX_MESSAGE_BYTES: usize = 256 << 20;

/// The interface's description as a protobuf `FileDescriptorSet`, for reflection.
pub const DESCRIPTORS: &[u8] = include_bytes!(concat!(env!("OUT_DIR"), "/cuzk.v1.descriptors"));
