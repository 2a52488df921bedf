//! The Filecoin proof type SnapDeals as a plugin: data encoded into a sector that was sealed without any.
//!
//! A request holds one bincode `PartitionProof` a partition and the commitments before and after the update. Nobody
//! above checks the answer again before it is sent to the chain, so [`Job::self_check`] and the pairing check of the
//! finished proofs are all there is.

mod job;
mod wire;
mod witness;

pub use job::SnapJob;

use cuzk_filecoin::{
    Boxed, CircuitVisitor, SectorSize, SectorTree, Within, key_names, size_of, with_tree,
};
use cuzk_proof_api::{
    AnyCircuit, CircuitSpec, Job, KeyNames, Priority, ProofApiError, ProofType, Registered,
    Request, inventory,
};
use storage_proofs_core::compound_proof::CompoundProof;
use storage_proofs_core::parameter_cache::CacheableParameters;
use storage_proofs_update::constants::partition_count;
use storage_proofs_update::{EmptySectorUpdateCompound, PublicParams};

/// SnapDeals.
#[derive(Copy, Clone, Debug)]
pub struct Snap;

inventory::submit! { Registered(&Snap) }

/// All circuits, by ascending [`SectorSize`].
const CIRCUITS: [CircuitSpec; 5] = [
    circuit("snap-2k", SectorSize::KiB2),
    circuit("snap-8m", SectorSize::MiB8),
    circuit("snap-512m", SectorSize::MiB512),
    circuit("snap-32g", SectorSize::GiB32),
    circuit("snap-64g", SectorSize::GiB64),
];

const fn circuit(id: &'static str, size: SectorSize) -> CircuitSpec {
    CircuitSpec {
        id,
        sector_bytes: size.bytes(),
        partitions: partition_count(size.nodes()),
    }
}

impl ProofType for Snap {
    fn id(&self) -> &'static str {
        "snap"
    }

    fn wire_kind(&self) -> i32 {
        2
    }

    /// Low: the sector is sealed and proven already, so a late update costs no deposit and no penalty. It goes behind
    /// PoRep, whose pre-commit deposit is lost when the proof misses its deadline.
    fn priority(&self) -> Priority {
        Priority::Low
    }

    fn circuits(&self) -> &'static [CircuitSpec] {
        &CIRCUITS
    }

    fn blank(&self, circuit: &str) -> Result<Box<dyn AnyCircuit>, ProofApiError> {
        visit_blank(circuit, Boxed)
    }

    fn key_names(&self, circuit: &str) -> Result<KeyNames, ProofApiError> {
        let size = size_of(&CIRCUITS, circuit)?;
        let params = PublicParams::from_sector_size(size.bytes());
        let identifier =
            with_tree!(size, Tree => EmptySectorUpdateCompound::<Tree>::cache_identifier(&params));
        Ok(key_names(&identifier))
    }

    fn decode(&self, request: &Request) -> Result<Box<dyn Job>, ProofApiError> {
        let size = SectorSize::from_bytes(request.sector_size).within("sector_size")?;
        with_tree!(size, Tree => Ok(Box::new(decode::<Tree>(request, size)?)))
    }
}

/// Calls `visitor` with the circuit of a partition of a request, its witness in it.
///
/// Errors: those of decoding, and [`ProofApiError::Partition`].
pub fn visit_circuit<V: CircuitVisitor>(
    request: &Request,
    partition: usize,
    visitor: V,
) -> Result<V::Output, ProofApiError> {
    let size = SectorSize::from_bytes(request.sector_size).within("sector_size")?;
    with_tree!(size, Tree => {
        Ok(visitor.visit(decode::<Tree>(request, size)?.typed_circuit(partition)?))
    })
}

/// Calls `visitor` with the circuit called `circuit`, without a witness.
///
/// Errors: [`ProofApiError::UnknownCircuit`].
pub fn visit_blank<V: CircuitVisitor>(
    circuit: &str,
    visitor: V,
) -> Result<V::Output, ProofApiError> {
    let size = size_of(&CIRCUITS, circuit)?;
    let params = PublicParams::from_sector_size(size.bytes());
    with_tree!(size, Tree => {
        Ok(visitor.visit(EmptySectorUpdateCompound::<Tree>::blank_circuit(&params)))
    })
}

fn decode<Tree: SectorTree>(
    request: &Request,
    size: SectorSize,
) -> Result<SnapJob<Tree>, ProofApiError> {
    SnapJob::decode(request, size, CIRCUITS[size as usize].id)
}
