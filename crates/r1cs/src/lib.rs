//! Rank-1 constraint systems as data: their shape, their matrices in compact form, packed witnesses, and the driver
//! that is the only one to allocate ONE.
//!
//! **The ONE contract.** Every constraint system starts with zero inputs and zero aux. [`synthesize`] allocates ONE as
//! input 0 before the circuit runs. A child that an extensible synthesis makes with `CS::new()` allocates a ONE of its
//! own, and `extend` skips the child's input 0.

mod bitmap;
mod compact;
mod driver;
mod evaluate;
mod matrices;
mod outline;
mod products;
mod rows;
mod runs;
mod shape;
mod witness;

pub use bitmap::{Bitmap, RankedBitmap};
pub use compact::{CompactR1cs, Density, TouchedOnce, VariableSet};
pub use driver::{Counts, Tally, synthesize};
pub use evaluate::{RowValues, small_integer};
pub use matrices::{
    Call, ColumnHasher, ColumnMap, Entry, Item, ItemKind, Matrices, Matrix, StoredItem, Template,
    TemplateWriter,
};
pub use outline::{Classes, Outline};
pub use products::{Products, RowVector};
pub use rows::{BLOCK_ROWS, BlockReader, Column, Rows, RowsWriter, Term};
pub use runs::{RunBitmap, WordRun};
pub use shape::{Shape, ShapeHash};
pub use witness::{Assignment, Escape, PackedWitness, Value};

/// What can be wrong with matrices, assignments or a synthesis.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum R1csError {
    /// A row stream that does not decode.
    #[error("matrix {matrix}, row block {block}, byte {offset}: {message}")]
    Rows {
        /// `A`, `B` or `C`.
        matrix: &'static str,
        /// The block of [`BLOCK_ROWS`] rows.
        block: usize,
        /// Offset in the block.
        offset: usize,
        /// What was found.
        message: &'static str,
    },
    /// A template that does not fit the others.
    #[error("template {template}: {message}")]
    Template {
        /// Its number.
        template: usize,
        /// What was found.
        message: &'static str,
    },
    /// Two counts that must agree do not.
    #[error("{what}: wanted {wanted}, found {found}")]
    Count {
        /// What was counted.
        what: &'static str,
        /// The count that was wanted.
        wanted: usize,
        /// The count that was found.
        found: usize,
    },
    /// A circuit larger than a limit.
    #[error("{what}: {found} is over the limit of {limit}")]
    TooLarge {
        /// What was counted.
        what: &'static str,
        /// The limit.
        limit: usize,
        /// The count that was found.
        found: usize,
    },
    /// A constraint that the witness does not satisfy.
    #[error("constraint {constraint} is not satisfied: {values}")]
    Unsatisfied {
        /// The constraint's index.
        constraint: usize,
        /// What stands on its two sides.
        values: Box<RowValues>,
    },
    /// The circuit's own synthesis failed.
    #[error("synthesis: {0}")]
    Synthesis(#[from] bellpepper_core::SynthesisError),
}
