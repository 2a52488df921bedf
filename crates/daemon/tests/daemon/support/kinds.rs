//! Four proof types that check their requests and have no circuits.

use cuzk_curve::Fr;
use cuzk_proof_api::{
    AnyCircuit, CircuitSpec, Job, KeyNames, Priority, ProofApiError, ProofType, Registered,
    Request, inventory,
};

pub struct Kind {
    id: &'static str,
    number: i32,
    priority: Priority,
    circuits: [CircuitSpec; 1],
}

const fn kind(id: &'static str, number: i32, priority: Priority, circuit: &'static str) -> Kind {
    Kind {
        id,
        number,
        priority,
        circuits: [CircuitSpec {
            id: circuit,
            sector_bytes: 2048,
            partitions: 1,
        }],
    }
}

static KINDS: [Kind; 4] = [
    kind("toy-one", 1, Priority::Normal, "one-2k"),
    kind("toy-two", 2, Priority::Low, "two-2k"),
    kind("toy-three", 3, Priority::High, "three-2k"),
    kind("toy-four", 4, Priority::Critical, "four-2k"),
];

inventory::submit! { Registered(&KINDS[0]) }
inventory::submit! { Registered(&KINDS[1]) }
inventory::submit! { Registered(&KINDS[2]) }
inventory::submit! { Registered(&KINDS[3]) }

fn none<T>() -> Result<T, ProofApiError> {
    Err(ProofApiError::Library {
        what: "toy",
        message: "there is no circuit".to_owned(),
    })
}

impl ProofType for Kind {
    fn id(&self) -> &'static str {
        self.id
    }

    fn wire_kind(&self) -> i32 {
        self.number
    }

    fn priority(&self) -> Priority {
        self.priority
    }

    fn circuits(&self) -> &'static [CircuitSpec] {
        &KINDS[self.number as usize - 1].circuits
    }

    fn blank(&self, _: &str) -> Result<Box<dyn AnyCircuit>, ProofApiError> {
        none()
    }

    fn key_names(&self, _: &str) -> Result<KeyNames, ProofApiError> {
        none()
    }

    fn decode(&self, request: &Request) -> Result<Box<dyn Job>, ProofApiError> {
        wanted("sector_size", request.sector_size == 2048, "2048")?;
        let number = 10 + self.number as u64;
        wanted(
            "registered_proof",
            request.registered_proof == number,
            "the kind's",
        )?;
        wanted(
            "partition_index",
            request.partition_index < 3000,
            "less than 3000",
        )?;
        if self.number == 2 {
            wanted("comm_r_old", request.comm_r_old.len() == 32, "32 bytes")?;
        }
        if self.number >= 3 {
            wanted("randomness", request.randomness.len() == 32, "32 bytes")?;
        }
        assert_ne!(
            request.sector_number,
            u64::MAX,
            "a proof type's code that panics"
        );
        Ok(Box::new(Decoded(self.circuits()[0].id)))
    }
}

fn wanted(field: &str, holds: bool, wanted: &str) -> Result<(), ProofApiError> {
    match holds {
        true => Ok(()),
        false => Err(ProofApiError::field(field, wanted, "something else")),
    }
}

struct Decoded(&'static str);

impl Job for Decoded {
    fn circuit_id(&self) -> &'static str {
        self.0
    }

    fn partitions(&self) -> usize {
        1
    }

    fn public_inputs(&self, _: usize) -> Result<Vec<Fr>, ProofApiError> {
        none()
    }

    fn circuit(&self, _: usize) -> Result<Box<dyn AnyCircuit>, ProofApiError> {
        none()
    }

    fn self_check(&self) -> Result<(), ProofApiError> {
        Ok(())
    }
}
