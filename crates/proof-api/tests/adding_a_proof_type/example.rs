//! The proof type of docs/adding-a-proof-type.md, in the page's words.

use bellpepper_core::num::AllocatedNum;
use bellpepper_core::{Circuit, ConstraintSystem, SynthesisError};
use cuzk_curve::Fr;

#[derive(Clone)]
struct CubeRoot {
    root: Option<Fr>,
}

impl Circuit<Fr> for CubeRoot {
    fn synthesize<CS: ConstraintSystem<Fr>>(self, cs: &mut CS) -> Result<(), SynthesisError> {
        let root = self.root;
        let root = AllocatedNum::alloc(cs.namespace(|| "root"), || {
            root.ok_or(SynthesisError::AssignmentMissing)
        })?;
        let square = root.square(cs.namespace(|| "square"))?;
        square
            .mul(cs.namespace(|| "cube"), &root)?
            .inputize(cs.namespace(|| "cube input"))
    }
}

use cuzk_proof_api::{AnyCircuit, Job, ProofApiError};

struct CubeRootJob {
    root: Fr,
    cube: Fr,
}

impl Job for CubeRootJob {
    fn circuit_id(&self) -> &'static str {
        "example"
    }

    fn partitions(&self) -> usize {
        1
    }

    fn public_inputs(&self, _partition: usize) -> Result<Vec<Fr>, ProofApiError> {
        Ok(vec![self.cube])
    }

    fn circuit(&self, _partition: usize) -> Result<Box<dyn AnyCircuit>, ProofApiError> {
        Ok(Box::new(CubeRoot {
            root: Some(self.root),
        }))
    }

    fn self_check(&self) -> Result<(), ProofApiError> {
        if self.root * self.root * self.root == self.cube {
            return Ok(());
        }
        Err(ProofApiError::InvalidVanillaProof {
            message: "the cube of the root is another number".to_owned(),
        })
    }
}

use cuzk_proof_api::{CircuitSpec, KeyNames, Priority, ProofType, Registered, Request, inventory};
use ff::PrimeField;

/// Knowledge of a cube root.
pub struct Example;

inventory::submit! { Registered(&Example) }

const CIRCUITS: [CircuitSpec; 1] = [CircuitSpec {
    id: "example",
    sector_bytes: 32,
    partitions: 1,
}];

fn known(circuit: &str) -> Result<(), ProofApiError> {
    if circuit == CIRCUITS[0].id {
        return Ok(());
    }
    Err(ProofApiError::UnknownCircuit {
        found: circuit.to_owned(),
        known: CIRCUITS[0].id.to_owned(),
    })
}

fn element(field: &str, bytes: &[u8]) -> Result<Fr, ProofApiError> {
    let error = || {
        ProofApiError::field(
            field,
            "32 bytes below the modulus",
            format!("{} bytes", bytes.len()),
        )
    };
    let bytes = bytes.try_into().map_err(|_| error())?;
    Option::from(Fr::from_repr(bytes)).ok_or_else(error)
}

impl ProofType for Example {
    fn id(&self) -> &'static str {
        "example"
    }

    fn wire_kind(&self) -> i32 {
        100
    }

    /// Low: nobody waits for it.
    fn priority(&self) -> Priority {
        Priority::Low
    }

    fn circuits(&self) -> &'static [CircuitSpec] {
        &CIRCUITS
    }

    fn blank(&self, circuit: &str) -> Result<Box<dyn AnyCircuit>, ProofApiError> {
        known(circuit)?;
        Ok(Box::new(CubeRoot { root: None }))
    }

    fn key_names(&self, circuit: &str) -> Result<KeyNames, ProofApiError> {
        known(circuit)?;
        Ok(KeyNames {
            params: "example.params".to_owned(),
            vk: "example.vk".to_owned(),
        })
    }

    fn decode(&self, request: &Request) -> Result<Box<dyn Job>, ProofApiError> {
        Ok(Box::new(CubeRootJob {
            root: element("vanilla_proof", &request.vanilla_proof)?,
            cube: element("randomness", &request.randomness)?,
        }))
    }
}
