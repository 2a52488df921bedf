//! One partition of a fallback PoSt, the circuit that WindowPoSt and WinningPoSt have in common.

use std::borrow::Cow;

use cuzk_curve::Fr;
use cuzk_proof_api::{AnyCircuit, Job, ProofApiError, Request};
use cuzk_r1cs::Assignment;
use filecoin_hashers::poseidon::PoseidonDomain;
use storage_proofs_core::compound_proof::CompoundProof;
use storage_proofs_core::merkle::MerkleTreeTrait;
use storage_proofs_core::proof::ProofScheme;
use storage_proofs_post::fallback::{
    self, FallbackPoSt, FallbackPoStCircuit, FallbackPoStCompound, generate_leaf_challenge,
    get_challenge_index,
};

use crate::{
    OpenedSector, SectorSize, SectorTree, Within, library, post_witness, prover_id, scalar,
    verified,
};

/// What both PoSt types read from a request, checked.
#[derive(Clone, Debug)]
pub struct PostRequest {
    /// The sectors' size.
    pub size: SectorSize,
    randomness: PoseidonDomain,
    prover_id: PoseidonDomain,
}

impl PostRequest {
    /// Reads sector size, randomness and miner.
    ///
    /// Errors: [`ProofApiError::Field`].
    pub fn read(request: &Request) -> Result<Self, ProofApiError> {
        Ok(Self {
            size: SectorSize::from_bytes(request.sector_size).within("sector_size")?,
            randomness: scalar(&request.randomness).within("randomness")?,
            prover_id: PoseidonDomain::from(prover_id(request.miner_id)),
        })
    }
}

/// A PoSt job of one partition.
pub struct PostJob<Tree: SectorTree> {
    circuit_id: &'static str,
    params: fallback::PublicParams,
    inputs: fallback::PublicInputs<PoseidonDomain>,
    proof: fallback::Proof<<Tree as MerkleTreeTrait>::Proof>,
}

impl<Tree: SectorTree> PostJob<Tree> {
    /// The job that proves `sectors`, at least one and at most as many as `params` has, as the partition with index
    /// `partition`.
    pub fn new(
        circuit_id: &'static str,
        params: fallback::PublicParams,
        request: &PostRequest,
        partition: usize,
        sectors: Vec<OpenedSector<Tree>>,
    ) -> Self {
        let (public, proofs) = sectors.into_iter().map(|s| (s.public, s.proof)).unzip();
        Self {
            circuit_id,
            params,
            inputs: fallback::PublicInputs {
                randomness: request.randomness,
                prover_id: request.prover_id,
                sectors: public,
                k: Some(partition),
            },
            proof: fallback::Proof { sectors: proofs },
        }
    }

    /// The circuit with its witness.
    ///
    /// Errors: [`ProofApiError::Partition`] where `partition` is not 0, [`ProofApiError::Library`].
    pub fn typed_circuit(
        &self,
        partition: usize,
    ) -> Result<FallbackPoStCircuit<Tree>, ProofApiError> {
        self.only(partition)?;
        // The sectors of the job are those of its partition alone, so they are the first chunk of themselves.
        FallbackPoStCompound::circuit(
            &self.inputs,
            Default::default(),
            &self.padded_proof(),
            &self.params,
            Some(0),
        )
        .map_err(library("PoSt circuit"))
    }

    fn only(&self, partition: usize) -> Result<(), ProofApiError> {
        if partition == 0 {
            return Ok(());
        }
        Err(ProofApiError::Partition {
            found: partition,
            partitions: 1,
        })
    }

    /// The proof with its last sector repeated until the circuit is full.
    fn padded_proof(&self) -> Cow<'_, fallback::Proof<Tree::Proof>> {
        let missing = self
            .params
            .sector_count
            .saturating_sub(self.proof.sectors.len());
        match self.proof.sectors.last() {
            Some(last) if missing > 0 => {
                let mut padded = self.proof.clone();
                padded
                    .sectors
                    .extend(std::iter::repeat_n(last, missing).cloned());
                Cow::Owned(padded)
            }
            _ => Cow::Borrowed(&self.proof),
        }
    }

    /// CommR and the challenged nodes of the sector at this place of the partition.
    ///
    /// `generate_public_inputs` of the compound proof would want the sectors of all earlier partitions as well, only
    /// to skip them.
    fn sector_inputs(&self, place: usize) -> impl Iterator<Item = Fr> + '_ {
        let sector = &self.inputs.sectors[place];
        let params = &self.params;
        let index = self.inputs.k.unwrap_or(0) * params.sector_count + place;
        let challenges = (0..params.challenge_count).map(move |n| {
            let challenge =
                get_challenge_index(params.api_version, index, params.challenge_count, n);
            let id = u64::from(sector.id);
            Fr::from(generate_leaf_challenge(
                params,
                self.inputs.randomness,
                id,
                challenge,
            ))
        });
        std::iter::once(sector.comm_r.into()).chain(challenges)
    }
}

impl<Tree: SectorTree> Job for PostJob<Tree> {
    fn circuit_id(&self) -> &'static str {
        self.circuit_id
    }

    fn partitions(&self) -> usize {
        1
    }

    fn public_inputs(&self, partition: usize) -> Result<Vec<Fr>, ProofApiError> {
        self.only(partition)?;
        let last = self.inputs.sectors.len().saturating_sub(1);
        let places = (0..self.params.sector_count).map(|place| place.min(last));
        Ok(places.flat_map(|place| self.sector_inputs(place)).collect())
    }

    fn circuit(&self, partition: usize) -> Result<Box<dyn AnyCircuit>, ProofApiError> {
        Ok(Box::new(self.typed_circuit(partition)?))
    }

    fn direct_witness(&self, partition: usize) -> Result<Option<Assignment>, ProofApiError> {
        self.only(partition)?;
        let sectors: Vec<_> = self
            .inputs
            .sectors
            .iter()
            .zip(&self.proof.sectors)
            .collect();
        let count = self.params.sector_count;
        Ok(post_witness::assignment::<Tree>(&sectors, count))
    }

    fn self_check(&self) -> Result<(), ProofApiError> {
        verified(
            "FallbackPoSt's verification of the sectors' openings",
            || FallbackPoSt::<Tree>::verify(&self.params, &self.inputs, &self.padded_proof()),
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Base;
    use fallback::{PublicInputs, PublicParams, PublicSector, SectorProof};
    use storage_proofs_core::api_version::ApiVersion;

    fn sector(number: u64) -> PublicSector<PoseidonDomain> {
        PublicSector {
            id: number.into(),
            comm_r: Fr::from(number * number + 1).into(),
        }
    }

    /// The sectors of a deadline from `first` to `end`, as a job that proves one partition holds them.
    fn job(
        params: &PublicParams,
        partition: usize,
        numbers: std::ops::Range<u64>,
    ) -> PostJob<Base> {
        let request = PostRequest {
            size: SectorSize::KiB2,
            randomness: Fr::from(5).into(),
            prover_id: prover_id(1000).into(),
        };
        let opened = numbers.map(|number| OpenedSector {
            public: sector(number),
            proof: SectorProof {
                inclusion_proofs: Vec::new(),
                comm_c: PoseidonDomain::default(),
                comm_r_last: PoseidonDomain::default(),
            },
        });
        PostJob::new(
            "wpost-2k",
            params.clone(),
            &request,
            partition,
            opened.collect(),
        )
    }

    /// In both versions of the challenges, in the first partition and later ones, full and not.
    #[test]
    fn public_inputs_are_those_of_the_compound_proof() {
        for api_version in [ApiVersion::V1_0_0, ApiVersion::V1_2_0] {
            let params = PublicParams {
                sector_size: 2048,
                challenge_count: 10,
                sector_count: 3,
                api_version,
            };
            for count in 1..=9u64 {
                let partition = (count as usize - 1) / 3;
                let job = job(&params, partition, partition as u64 * 3..count);
                let whole = PublicInputs {
                    sectors: (0..count).map(sector).collect(),
                    ..job.inputs.clone()
                };
                let official = FallbackPoStCompound::<Base>::generate_public_inputs(
                    &whole,
                    &params,
                    Some(partition),
                )
                .unwrap();
                assert_eq!(job.public_inputs(0).unwrap(), official, "{count} sectors");
                assert!(job.public_inputs(1).is_err());
            }
        }
    }
}
