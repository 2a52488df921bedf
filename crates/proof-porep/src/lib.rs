//! The Filecoin proof type PoRep as a plugin: a sector holds the replica that its commitments say.
//!
//! A request holds Curio's envelope {SectorNum, Phase1Out, SectorSize} with the output of the first commit phase.
//! Interactive, Synthetic- and non-interactive PoRep differ in where challenges come from and how many there are. All
//! have the same number of challenges a partition, so one circuit and one key serve the three; a non-interactive
//! proof has 126 partitions instead of 10 (13 instead of 1 below 32 GiB). Its answer is the proofs one after another, as
//! filecoin-proofs' `seal_commit_phase2_circuit_proofs` returns them: the input of the aggregation that the chain asks
//! for, which needs the reference string of another setup and is left to who has it.

mod convert;
mod job;
mod registered;
mod spread;
mod wire;
mod witness;

pub use job::PorepJob;
pub use registered::SealProof;
pub use spread::Spread;

use cuzk_filecoin::{
    Boxed, CircuitVisitor, SectorSize, SectorTree, Within, key_names, library, size_of, with_tree,
};
use cuzk_proof_api::{
    AnyCircuit, CircuitSpec, Job, KeyNames, Priority, ProofApiError, ProofType, Registered,
    Request, inventory,
};
use filecoin_proofs::constants::DefaultPieceHasher;
use filecoin_proofs::parameters::public_params;
use storage_proofs_core::compound_proof::CompoundProof;
use storage_proofs_porep::stacked::StackedCompound;

/// PoRep.
#[derive(Copy, Clone, Debug)]
pub struct Porep;

inventory::submit! { Registered(&Porep) }

/// All circuits, by ascending [`SectorSize`], with the partitions of an interactive or synthetic proof.
const CIRCUITS: [CircuitSpec; 5] = [
    circuit("porep-2k", SectorSize::KiB2, 1),
    circuit("porep-8m", SectorSize::MiB8, 1),
    circuit("porep-512m", SectorSize::MiB512, 1),
    circuit("porep-32g", SectorSize::GiB32, 10),
    circuit("porep-64g", SectorSize::GiB64, 10),
];

const fn circuit(id: &'static str, size: SectorSize, partitions: usize) -> CircuitSpec {
    CircuitSpec {
        id,
        sector_bytes: size.bytes(),
        partitions,
    }
}

impl ProofType for Porep {
    fn id(&self) -> &'static str {
        "porep"
    }

    fn wire_kind(&self) -> i32 {
        1
    }

    /// Normal: the pre-commit deposit is lost when the proof is late, but there are weeks.
    fn priority(&self) -> Priority {
        Priority::Normal
    }

    fn circuits(&self) -> &'static [CircuitSpec] {
        &CIRCUITS
    }

    fn blank(&self, circuit: &str) -> Result<Box<dyn AnyCircuit>, ProofApiError> {
        visit_blank(circuit, Boxed)
    }

    fn key_names(&self, circuit: &str) -> Result<KeyNames, ProofApiError> {
        let size = size_of(&CIRCUITS, circuit)?;
        let config = SealProof::interactive(size).config()?;
        let identifier = with_tree!(size, Tree => config.get_cache_identifier::<Tree>());
        Ok(key_names(
            &identifier.map_err(library("PoRep cache identifier"))?,
        ))
    }

    fn decode(&self, request: &Request) -> Result<Box<dyn Job>, ProofApiError> {
        let size = SectorSize::from_bytes(request.sector_size).within("sector_size")?;
        with_tree!(size, Tree => Ok(Box::new(decode::<Tree>(request, size)?)))
    }
}

/// Calls `visitor` with the circuit of a partition of a request, its witness in it.
///
/// Errors: those of decoding, [`ProofApiError::Partition`], [`ProofApiError::Library`].
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
    let config = SealProof::interactive(size).config()?;
    with_tree!(size, Tree => {
        let params = public_params::<Tree>(&config).map_err(library("PoRep parameters"))?;
        Ok(visitor.visit(StackedCompound::<Tree, DefaultPieceHasher>::blank_circuit(&params)))
    })
}

fn decode<Tree: SectorTree>(
    request: &Request,
    size: SectorSize,
) -> Result<PorepJob<Tree>, ProofApiError> {
    PorepJob::decode(request, size, CIRCUITS[size as usize].id)
}
