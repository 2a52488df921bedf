//! A decoded PoRep request.

use cuzk_curve::Fr;
use cuzk_filecoin::{
    SectorSize, SectorTree, Within, library, non_zero, prover_id, verified, wrong,
};
use cuzk_proof_api::{AnyCircuit, Job, ProofApiError, Request};
use cuzk_r1cs::Assignment;
use filecoin_hashers::poseidon::{PoseidonDomain, PoseidonHasher};
use filecoin_proofs::PoRepConfig;
use filecoin_proofs::constants::{DefaultPieceDomain, DefaultPieceHasher};
use filecoin_proofs::parameters::public_params;
use storage_proofs_core::compound_proof::CompoundProof;
use storage_proofs_core::proof::ProofScheme;
use storage_proofs_porep::stacked::{
    PublicInputs, PublicParams, StackedCircuit, StackedCompound, StackedDrg, Tau,
    generate_replica_id,
};

use crate::SealProof;
use crate::convert::{Counts, PartitionProof};
use crate::wire::{Phase1, parse_envelope, parse_phase1};
use crate::witness::{Challenge, Commitments, partition_witness};

/// The compound proof, whose circuits are a PoRep's partitions.
type Compound<Tree> = StackedCompound<Tree, DefaultPieceHasher>;

/// A sector's partitions and what they prove.
pub struct PorepJob<Tree: SectorTree> {
    circuit_id: &'static str,
    params: PublicParams<Tree>,
    inputs: PublicInputs<PoseidonDomain, DefaultPieceDomain>,
    /// For the circuit and the verifier.
    proofs: Vec<PartitionProof<Tree>>,
    /// The same openings for the direct witness.
    challenges: Vec<Vec<Challenge>>,
}

impl<Tree: SectorTree> PorepJob<Tree> {
    /// Decodes a request for sectors of `size`.
    ///
    /// Errors: [`ProofApiError::Field`].
    pub fn decode(
        request: &Request,
        size: SectorSize,
        circuit_id: &'static str,
    ) -> Result<Self, ProofApiError> {
        let proof = SealProof::new(size, request.registered_proof).within("registered_proof")?;
        let phase1 = open(request).within("vanilla_proof")?;
        let inputs = public_inputs(proof, request, &phase1);
        let inputs = inputs.within("Phase1Out").within("vanilla_proof")?;
        let config = proof.config()?;
        let params = public_params::<Tree>(&config).map_err(library("PoRep parameters"))?;
        let counts = Counts {
            nodes: size.nodes(),
            layers: params.num_layers,
            partitions: usize::from(config.partitions),
            challenges: params.challenges.num_challenges_per_partition(),
        };
        let (tagged, partitions) = phase1.vanilla_proofs.split();
        let partitions = if tagged == size {
            counts
                .partitions::<Tree>(partitions)
                .within(&format!("StackedDrg{}V1", size.name()))
        } else {
            Err(wrong(
                format_args!("proofs of {} sectors", size.name()),
                tagged.name(),
            ))
        };
        let partitions = partitions
            .within("vanilla_proofs")
            .within("Phase1Out")
            .within("vanilla_proof")?;
        let (proofs, challenges) = partitions.into_iter().unzip();
        Ok(Self {
            circuit_id,
            params,
            inputs,
            proofs,
            challenges,
        })
    }

    /// The same challenges in the partitions of another configuration, as far as it has places for them.
    ///
    /// Errors: [`ProofApiError::Field`] for too few challenges.
    pub(crate) fn spread(
        self,
        config: &PoRepConfig,
        circuit_id: &'static str,
    ) -> Result<Self, ProofApiError> {
        let params = public_params::<Tree>(config).map_err(library("PoRep parameters"))?;
        let each = params.challenges.num_challenges_per_partition();
        let partitions = usize::from(config.partitions);
        let found = self.proofs.iter().map(Vec::len).sum::<usize>();
        if found < each * partitions {
            let wanted = format_args!("{} challenges", each * partitions);
            return Err(wrong(wanted, found)).within("partitions");
        }
        let mut proofs = self.proofs.into_iter().flatten();
        let mut challenges = self.challenges.into_iter().flatten();
        let in_parts = 0..partitions;
        Ok(Self {
            circuit_id,
            params,
            inputs: self.inputs,
            proofs: in_parts
                .clone()
                .map(|_| proofs.by_ref().take(each).collect())
                .collect(),
            challenges: in_parts
                .map(|_| challenges.by_ref().take(each).collect())
                .collect(),
        })
    }

    /// The circuit of a partition with its witness.
    ///
    /// Errors: [`ProofApiError::Partition`], [`ProofApiError::Library`] where the challenges of the partition are of
    /// different trees.
    pub fn typed_circuit(
        &self,
        partition: usize,
    ) -> Result<StackedCircuit<Tree, DefaultPieceHasher>, ProofApiError> {
        self.check(partition)?;
        Compound::circuit(
            &self.inputs,
            (),
            &self.proofs[partition],
            &self.params,
            Some(partition),
        )
        .map_err(library("PoRep circuit"))
    }

    fn check(&self, partition: usize) -> Result<(), ProofApiError> {
        if partition < self.proofs.len() {
            return Ok(());
        }
        Err(ProofApiError::Partition {
            found: partition,
            partitions: self.proofs.len(),
        })
    }
}

impl<Tree: SectorTree> Job for PorepJob<Tree> {
    fn circuit_id(&self) -> &'static str {
        self.circuit_id
    }

    fn partitions(&self) -> usize {
        self.proofs.len()
    }

    fn public_inputs(&self, partition: usize) -> Result<Vec<Fr>, ProofApiError> {
        self.check(partition)?;
        Compound::generate_public_inputs(&self.inputs, &self.params, Some(partition))
            .map_err(library("PoRep public inputs"))
    }

    fn circuit(&self, partition: usize) -> Result<Box<dyn AnyCircuit>, ProofApiError> {
        Ok(Box::new(self.typed_circuit(partition)?))
    }

    fn direct_witness(&self, partition: usize) -> Result<Option<Assignment>, ProofApiError> {
        self.check(partition)?;
        let proofs = &self.proofs[partition];
        let Some((first, tau)) = proofs.first().zip(self.inputs.tau.as_ref()) else {
            return Ok(None);
        };
        let [replica_tree, column_tree] = [first.comm_r_last(), first.comm_c()];
        if proofs
            .iter()
            .any(|proof| [proof.comm_r_last(), proof.comm_c()] != [replica_tree, column_tree])
        {
            // The circuit is refused, and the refusal says why.
            return Ok(None);
        }
        let commitments = Commitments {
            replica_id: self.inputs.replica_id.into(),
            comm_d: tau.comm_d.into(),
            comm_r: tau.comm_r.into(),
            comm_r_last: replica_tree.into(),
            comm_c: column_tree.into(),
        };
        Ok(partition_witness(&commitments, &self.challenges[partition]))
    }

    fn self_check(&self) -> Result<(), ProofApiError> {
        verified(
            "StackedDrg's verification of the challenges' proofs",
            || StackedDrg::verify_all_partitions(&self.params, &self.inputs, &self.proofs),
        )
    }
}

/// Opens the envelope and compares it with the request around it.
fn open(request: &Request) -> Result<Phase1, ProofApiError> {
    let envelope = parse_envelope(&request.vanilla_proof)?;
    for (field, wanted, found) in [
        ("SectorNum", request.sector_number, envelope.sector_num),
        ("SectorSize", request.sector_size, envelope.sector_size),
    ] {
        if wanted != found {
            return Err(wrong(wanted, found)).within(field);
        }
    }
    parse_phase1(&envelope.phase1_out).within("Phase1Out")
}

fn public_inputs(
    proof: SealProof,
    request: &Request,
    phase1: &Phase1,
) -> Result<PublicInputs<PoseidonDomain, DefaultPieceDomain>, ProofApiError> {
    if phase1.registered_proof != proof.name() {
        let found = phase1.registered_proof.chars().take(60).collect::<String>();
        return Err(wrong(proof.name(), found)).within("registered_proof");
    }
    non_zero(&phase1.comm_r.0).within("comm_r")?;
    non_zero(&phase1.comm_d.0).within("comm_d")?;
    non_zero(&phase1.seed).within("seed")?;
    let comm_r = phase1.comm_r.domain().within("comm_r")?;
    let comm_d: DefaultPieceDomain = phase1.comm_d.domain().within("comm_d")?;
    let replica_id = phase1.replica_id.domain().within("replica_id")?;
    let wanted = generate_replica_id::<PoseidonHasher, _>(
        &prover_id(request.miner_id),
        request.sector_number,
        &phase1.ticket,
        comm_d,
        &proof.porep_id(),
    );
    if replica_id != wanted {
        // The chain derives the id itself, so a proof for any other would be refused there.
        let wanted = format!(
            "the id of sector {} of miner {}",
            request.sector_number, request.miner_id
        );
        return Err(wrong(wanted, "another id")).within("replica_id");
    }
    Ok(PublicInputs {
        replica_id,
        seed: Some(phase1.seed),
        tau: Some(Tau { comm_d, comm_r }),
        k: None,
    })
}
