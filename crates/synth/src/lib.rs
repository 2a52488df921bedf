//! Real and synthetic Filecoin sectors and the payloads made from them.
//!
//! [`real`] seals a small sector with `filecoin-proofs` and asks it for the vanilla proofs of all four
//! proof types. [`synthetic`] makes vanilla proofs of a sector of any size that was never sealed: Merkle
//! trees whose unopened subtrees are pseudo-random digests, or whose leaves repeat, around nodes that hold
//! what the circuit asks for. They satisfy the circuits, and the official verifiers of vanilla proofs
//! accept them ([`verify_vanilla`]), so that a machine can be measured at full size without sealing.
//!
//! Both give a [`Payload`]: the bytes that Curio would send, and the statement, with a file form
//! ([`Payload::to_json`]). [`verify_proof`] checks finished proofs with `filecoin-proofs`' own verifiers.
//!
//! A synthetic sector proves nothing about storage: its maker knows the challenges before the commitment,
//! or makes every place openable. Where challenges are drawn from CommR (synthetic and non-interactive
//! PoRep) neither works, and [`synthetic`] labels the whole sector, at 2 KiB and 8 MiB alone.
//!
//! ```
//! use cuzk_synth::{Kind, Options, SectorSize, synthetic, verify_vanilla};
//!
//! let payload = synthetic(Kind::WinningPost, SectorSize::GIB_32, &Options::default())?;
//! assert!(verify_vanilla(&payload)?);
//! # Ok::<(), cuzk_synth::SynthError>(())
//! ```

mod data;
mod error;
mod kind;
mod labels;
mod merkle;
mod payload;
mod payload_json;
mod periodic_tree;
mod phase1;
mod porep;
mod post;
mod prf;
mod real;
mod registered;
mod sector_size;
mod snap;
mod sparse_tree;
mod vanilla;
mod verify;

pub use error::SynthError;
pub use kind::Kind;
pub use payload::{Bytes32, Payload, Replica, prover_id};
pub use payload_json::FORMAT;
pub use real::{RealStep, real};
pub use registered::{PoRepFeature, window_sectors};
pub use sector_size::SectorSize;
pub use vanilla::verify_vanilla;
pub use verify::{environment, verify_proof};

use prf::Prf;
use sector_size::for_shape;

/// The miner of all payloads made here: f01000.
pub const MINER_ID: u64 = 1000;

/// The number of the (first) sector of all payloads made here.
pub const FIRST_SECTOR: u64 = 1;

/// What a synthetic sector is made of.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Options {
    /// The seed of everything that is random; equal options give equal payloads.
    pub seed: u64,
    /// The sectors of a WindowPoSt partition; by default as many as it holds ([`window_sectors`]).
    pub window_sectors: Option<usize>,
    /// How a PoRep draws its challenges.
    pub porep_feature: PoRepFeature,
}

/// Makes a payload of a sector that was never sealed. It holds all partitions of a PoRep or an update.
///
/// # Errors
/// [`SynthError::SectorCount`] for a WindowPoSt of no or too many sectors; [`SynthError::NeedsSealedSector`]
/// for a PoRep above 8 MiB whose challenges are drawn from CommR.
pub fn synthetic(kind: Kind, size: SectorSize, options: &Options) -> Result<Payload, SynthError> {
    let prf = &Prf::new(options.seed);
    let feature = options.porep_feature;
    let window = options
        .window_sectors
        .unwrap_or_else(|| window_sectors(size));
    match kind {
        Kind::PoRep => porep_shape(size, feature, prf),
        Kind::WindowPost => post_shape(kind, size, window, prf),
        Kind::WinningPost => post_shape(kind, size, 1, prf),
        Kind::Snap => snap_shape(size, prf),
    }
}

fn porep_shape(size: SectorSize, feature: PoRepFeature, prf: &Prf) -> Result<Payload, SynthError> {
    use porep::synthetic;
    for_shape!(size, synthetic(size, feature, prf))
}

fn post_shape(
    kind: Kind,
    size: SectorSize,
    sectors: usize,
    prf: &Prf,
) -> Result<Payload, SynthError> {
    use post::synthetic;
    for_shape!(size, synthetic(kind, size, sectors, prf))
}

fn snap_shape(size: SectorSize, prf: &Prf) -> Result<Payload, SynthError> {
    use snap::synthetic;
    for_shape!(size, synthetic(size, prf))
}
