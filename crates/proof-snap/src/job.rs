//! A decoded SnapDeals request.

use cuzk_curve::Fr;
use cuzk_filecoin::{SectorSize, SectorTree, Within, library, non_zero, scalar, verified, wrong};
use cuzk_proof_api::{AnyCircuit, Job, ProofApiError, Request};
use cuzk_r1cs::Assignment;
use filecoin_hashers::Domain;
use storage_proofs_core::compound_proof::CompoundProof;
use storage_proofs_core::merkle::MerkleProofTrait;
use storage_proofs_core::proof::ProofScheme;
use storage_proofs_update::constants::h_default;
use storage_proofs_update::{
    Challenges, EmptySectorUpdate, EmptySectorUpdateCircuit, EmptySectorUpdateCompound,
    PartitionProof, PublicInputs, PublicParams, phi, rho,
};

use crate::wire::decode_partition;
use crate::witness::partition_witness;

/// Row of the registered update proofs: numbers 0 to 4.
const ROWS: std::ops::Range<u64> = 0..1;

/// An update's partitions and what they prove.
pub struct SnapJob<Tree: SectorTree> {
    circuit_id: &'static str,
    params: PublicParams,
    inputs: PublicInputs,
    proofs: Vec<PartitionProof<Tree>>,
}

impl<Tree: SectorTree> SnapJob<Tree> {
    /// Decodes a request for sectors of `size`.
    ///
    /// Errors: [`ProofApiError::Field`].
    pub fn decode(
        request: &Request,
        size: SectorSize,
        circuit_id: &'static str,
    ) -> Result<Self, ProofApiError> {
        size.row_of(request.registered_proof, ROWS)
            .within("registered_proof")?;
        let params = PublicParams::from_sector_size(size.bytes());
        let items = &request.vanilla_proofs;
        if items.len() != params.partition_count {
            let wanted = format!("{} partitions", params.partition_count);
            return Err(wrong(wanted, items.len())).within("vanilla_proofs");
        }
        let inputs = PublicInputs {
            k: 0,
            comm_r_old: commitment(&request.comm_r_old).within("comm_r_old")?,
            comm_d_new: commitment(&request.comm_d_new).within("comm_d_new")?,
            comm_r_new: commitment(&request.comm_r_new).within("comm_r_new")?,
            h: h_default(params.sector_nodes),
        };
        let proofs = items.iter().enumerate().map(|(k, bytes)| {
            decode_partition(bytes, size, &params)
                .within_item(k)
                .within("vanilla_proofs")
        });
        Ok(Self {
            circuit_id,
            proofs: proofs.collect::<Result<_, _>>()?,
            inputs,
            params,
        })
    }

    /// The circuit of a partition with its witness.
    ///
    /// Errors: [`ProofApiError::Partition`], [`ProofApiError::InvalidVanillaProof`] where the new replica is not the
    /// encoding of the data, [`ProofApiError::Library`].
    pub fn typed_circuit(
        &self,
        partition: usize,
    ) -> Result<EmptySectorUpdateCircuit<Tree>, ProofApiError> {
        let proof = self
            .proofs
            .get(partition)
            .ok_or_else(|| self.no_partition(partition))?;
        self.check_encoding(partition, proof)?;
        EmptySectorUpdateCompound::circuit(&self.inputs, (), proof, &self.params, Some(partition))
            .map_err(library("SnapDeals circuit"))
    }

    /// New node = old node + data * rho, with rho from the commitments and the place in the sector. The circuit does
    /// not just fail to be satisfied where it is otherwise, it asserts it.
    fn check_encoding(
        &self,
        partition: usize,
        proof: &PartitionProof<Tree>,
    ) -> Result<(), ProofApiError> {
        let (params, inputs) = (&self.params, &self.inputs);
        let phi = phi(&inputs.comm_d_new, &inputs.comm_r_old);
        let shift = params.challenge_bit_len - inputs.h;
        let nodes = Challenges::new(params.sector_nodes, inputs.comm_r_new, partition);
        for (i, (node, challenge)) in nodes.zip(&proof.challenge_proofs).enumerate() {
            let old = Fr::from(challenge.proof_r_old.leaf());
            let data = Fr::from(challenge.proof_d_new.leaf());
            if old + data * rho(&phi, node >> shift) != Fr::from(challenge.proof_r_new.leaf()) {
                let message = format!(
                    "partition {partition}, challenge {i}: the new node is not the data's encoding"
                );
                return Err(ProofApiError::InvalidVanillaProof { message });
            }
        }
        Ok(())
    }

    fn no_partition(&self, found: usize) -> ProofApiError {
        ProofApiError::Partition {
            found,
            partitions: self.proofs.len(),
        }
    }
}

impl<Tree: SectorTree> Job for SnapJob<Tree> {
    fn circuit_id(&self) -> &'static str {
        self.circuit_id
    }

    fn partitions(&self) -> usize {
        self.proofs.len()
    }

    fn public_inputs(&self, partition: usize) -> Result<Vec<Fr>, ProofApiError> {
        if partition >= self.proofs.len() {
            return Err(self.no_partition(partition));
        }
        EmptySectorUpdateCompound::<Tree>::generate_public_inputs(
            &self.inputs,
            &self.params,
            Some(partition),
        )
        .map_err(library("SnapDeals public inputs"))
    }

    fn circuit(&self, partition: usize) -> Result<Box<dyn AnyCircuit>, ProofApiError> {
        Ok(Box::new(self.typed_circuit(partition)?))
    }

    fn direct_witness(&self, partition: usize) -> Result<Option<Assignment>, ProofApiError> {
        let inputs = self.public_inputs(partition)?;
        Ok(partition_witness(
            &self.params,
            &inputs,
            &self.proofs[partition],
        ))
    }

    fn self_check(&self) -> Result<(), ProofApiError> {
        verified("EmptySectorUpdate's verification of the partitions", || {
            EmptySectorUpdate::<Tree>::verify_all_partitions(
                &self.params,
                &self.inputs,
                &self.proofs,
            )
        })
    }
}

/// A commitment of the request; Filecoin takes all zeros for "not set".
fn commitment<D: Domain>(bytes: &[u8]) -> Result<D, ProofApiError> {
    let domain = scalar(bytes)?;
    non_zero(bytes)?;
    Ok(domain)
}
