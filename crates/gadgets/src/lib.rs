//! Witnesses of standard gadgets computed directly, in the order in which bellpepper's gadgets allocate.
//!
//! A function here stands beside a gadget and appends to a [`Writer`] the values that the gadget allocates, without
//! running its closures. The gadget stays the authority: the tests hold every function against it, bit for bit.

mod poseidon;
mod writer;

pub use poseidon::{Poseidon, PoseidonConstants, Sparse};
pub use writer::Writer;
