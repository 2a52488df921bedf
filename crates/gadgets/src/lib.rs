//! Witnesses of standard gadgets computed directly, in the order in which bellpepper's gadgets allocate.
//!
//! A function here stands beside a gadget and appends to a [`Writer`] the values that the gadget allocates, without
//! running its closures. The gadget stays the authority: the tests hold every function against it, bit for bit.
//! Constraints allocate nothing and so have no counterpart here.

pub mod insert;
pub mod merkle;
pub mod number;
mod poseidon;
pub mod sha256;
mod slots;
mod word;
mod writer;

pub use poseidon::{Poseidon, PoseidonConstants, Sparse};
pub use slots::{Part, Slots, join};
pub use word::Word;
pub use writer::{Sink, Writer};
