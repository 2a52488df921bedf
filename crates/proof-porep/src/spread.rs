//! A sector's challenges over more partitions than its registered proof has, so fewer in each: circuits of the same kind
//! between the sizes of registered ones, to measure with. No chain accepts their proofs.

use cuzk_filecoin::{Boxed, CircuitVisitor, SectorSize, Within, library, with_tree, wrong};
use cuzk_proof_api::{AnyCircuit, Job, ProofApiError, Request};
use filecoin_proofs::constants::DefaultPieceHasher;
use filecoin_proofs::parameters::public_params;
use filecoin_proofs::{PoRepConfig, PoRepProofPartitions};
use storage_proofs_core::compound_proof::CompoundProof;
use storage_proofs_porep::stacked::StackedCompound;

use crate::{SealProof, decode};

/// Interactive PoReps of a sector size, spread over so many partitions: 176 of one challenge each at 32 GiB.
#[derive(Copy, Clone, Debug)]
pub struct Spread {
    size: SectorSize,
    partitions: u8,
}

impl Spread {
    /// The challenges of a sector of `sector_bytes` over `partitions` partitions.
    ///
    /// Errors: [`ProofApiError::Field`] for no sector size, and for other numbers than from what a registered proof has
    /// to its challenges.
    pub fn new(sector_bytes: u64, partitions: usize) -> Result<Self, ProofApiError> {
        let size = SectorSize::from_bytes(sector_bytes).within("sector_size")?;
        let config = SealProof::interactive(size).config()?;
        let range = usize::from(config.partitions)..=config.minimum_challenges();
        let allowed = u8::try_from(partitions).ok();
        let allowed = allowed.filter(|_| range.contains(&partitions));
        let partitions = allowed.ok_or_else(|| {
            let wanted = format_args!("from {} to {}", range.start(), range.end());
            wrong(wanted, partitions)
        });
        let partitions = partitions.within("partitions")?;
        Ok(Self { size, partitions })
    }

    /// The circuit without a witness.
    ///
    /// Errors: [`ProofApiError::Library`].
    pub fn blank(self) -> Result<Box<dyn AnyCircuit>, ProofApiError> {
        let config = self.config(SealProof::interactive(self.size))?;
        with_tree!(self.size, Tree => {
            let params = public_params::<Tree>(&config).map_err(library("PoRep parameters"))?;
            let circuit = StackedCompound::<Tree, DefaultPieceHasher>::blank_circuit(&params);
            Ok(Boxed.visit(circuit))
        })
    }

    /// The job of an interactive PoRep's request in these partitions, whose circuit is called `id`.
    ///
    /// Errors: those of decoding; [`ProofApiError::Field`] where the request has another sector size, or too few
    /// challenges to fill all partitions equally.
    pub fn decode(
        self,
        request: &Request,
        id: &'static str,
    ) -> Result<Box<dyn Job>, ProofApiError> {
        if request.sector_size != self.size.bytes() {
            return Err(wrong(self.size.bytes(), request.sector_size)).within("sector_size");
        }
        let proof = SealProof::new(self.size, request.registered_proof);
        let config = self.config(proof.within("registered_proof")?)?;
        with_tree!(self.size, Tree => {
            let job = decode::<Tree>(request, self.size)?.spread(&config, id)?;
            Ok(Box::new(job))
        })
    }

    fn config(self, proof: SealProof) -> Result<PoRepConfig, ProofApiError> {
        let mut config = proof.config()?;
        config.partitions = PoRepProofPartitions(self.partitions);
        Ok(config)
    }
}
