//! What is proved: a circuit with its key, and a job of as many partitions of it as are wanted.

use std::sync::Arc;

use cuzk_backend::FixedBase;
use cuzk_cs_recording::RecordingCS;
use cuzk_curve::Fr;
use cuzk_engine::{InMemory, Submission};
use cuzk_groth16::{PreparedVerifyingKey, Proof, keygen, verify};
use cuzk_params::{KeyStore, Parameters};
use cuzk_pce::{Cache, Pce};
use cuzk_proof_api::{AnyCircuit, Job, PROOF_BYTES, ProofApiError};
use cuzk_proof_porep::Spread;
use cuzk_r1cs::Assignment;
use cuzk_synth::{Kind, Options, Payload, SectorSize, synthetic};
use rand_core::OsRng;
use rayon::prelude::*;

use crate::circuits::Circuit;
use crate::console::Console;
use crate::failure::{INPUT, INVALID, USAGE, failure};
use crate::{job, keys};

use super::Measured;
use super::faults::FaultCount;
use super::load::{OutOfService, Run};

/// A circuit with its key and a job of it.
pub struct Subject {
    /// The circuit's name.
    pub name: String,
    /// The circuit and its key, for an engine.
    pub source: InMemory,
    constraints: usize,
    job: Repeated,
    vk: PreparedVerifyingKey,
}

/// A job with as many partitions as wanted: those of another, again and again.
#[derive(Clone)]
struct Repeated {
    inner: Arc<dyn Job>,
    partitions: usize,
}

impl Repeated {
    fn of_inner(&self, partition: usize) -> usize {
        partition % self.inner.partitions().max(1)
    }
}

impl Job for Repeated {
    fn circuit_id(&self) -> &'static str {
        self.inner.circuit_id()
    }

    fn partitions(&self) -> usize {
        self.partitions
    }

    fn public_inputs(&self, partition: usize) -> Result<Vec<Fr>, ProofApiError> {
        self.inner.public_inputs(self.of_inner(partition))
    }

    fn circuit(&self, partition: usize) -> Result<Box<dyn AnyCircuit>, ProofApiError> {
        self.inner.circuit(self.of_inner(partition))
    }

    fn direct_witness(&self, partition: usize) -> Result<Option<Assignment>, ProofApiError> {
        self.inner.direct_witness(self.of_inner(partition))
    }

    fn self_check(&self) -> Result<(), ProofApiError> {
        self.inner.self_check()
    }
}

/// A synthetic sector that the circuit's proof type proves.
fn sector(circuit: &Circuit, console: &Console) -> anyhow::Result<Payload> {
    let kind: Kind = circuit.proof_type.id().parse()?;
    let size = SectorSize::from_bytes(circuit.spec.sector_bytes)?;
    let what = format!("{}: making a sector", circuit.spec.id);
    let payload = console.step(&what, |_| synthetic(kind, size, &Options::default()))?;
    Ok(payload.value)
}

impl Subject {
    /// A job of so many partitions, those of `inner` in turn.
    pub fn new(
        inner: Arc<dyn Job>,
        partitions: usize,
        pce: Pce,
        key: Parameters,
    ) -> anyhow::Result<Self> {
        let name = inner.circuit_id();
        Ok(Self {
            name: name.to_owned(),
            constraints: pce.r1cs().shape.constraints,
            vk: PreparedVerifyingKey::from(key.vk()),
            source: InMemory::default().with(name, pce, key),
            job: Repeated { inner, partitions },
        })
    }

    /// A registered circuit with its key from a store, and a synthetic sector.
    pub fn registered(
        circuit: &Circuit,
        store: &KeyStore,
        cache: &Cache,
        partitions: usize,
        console: &Console,
    ) -> anyhow::Result<Self> {
        let key = keys::open(circuit, store, console)?;
        let pce = circuit.open(cache, console)?.value;
        let decoded: Arc<dyn Job> = Arc::from(job::decode(&sector(circuit, console)?)?);
        if decoded.circuit_id() != circuit.spec.id {
            let message = format!(
                "{}: its sectors are proved by {}",
                circuit.spec.id,
                decoded.circuit_id()
            );
            return Err(failure(INPUT, message));
        }
        Self::new(decoded, partitions, pce, key)
    }

    /// A PoRep's circuit when its challenges are spread over so many partitions, with a key that is made now.
    pub fn spread<B: FixedBase>(
        circuit: &Circuit,
        over: usize,
        backend: &B,
        partitions: usize,
        console: &Console,
    ) -> anyhow::Result<Self> {
        if circuit.proof_type.id() != Kind::PoRep.name() {
            let message = format!(
                "{}/{over}: only a PoRep can be spread over other partitions",
                circuit.spec.id
            );
            return Err(failure(USAGE, message));
        }
        let spread = Spread::new(circuit.spec.sector_bytes, over)?;
        // A job's circuit has a name for as long as the program runs.
        let name: &'static str = format!("{}/{over}", circuit.spec.id).leak();
        let pce = console.step(&format!("{name}: compiling"), |_| {
            let mut cs = RecordingCS::default();
            spread.blank()?.record(&mut cs)?;
            Ok::<_, anyhow::Error>(Pce::compile(cs.finish()?)?)
        })?;
        let key = console.step(&format!("{name}: making a key"), |_| {
            keygen::in_memory(backend, &pce.value, &mut OsRng)
        })?;
        let request = sector(circuit, console)?.into_request();
        let job = Arc::from(spread.decode(&request, name)?);
        Self::new(job, partitions, pce.value, key.value)
    }

    /// The job with another number of partitions.
    pub fn with_partitions(&self, partitions: usize) -> Submission {
        let inner = Arc::clone(&self.job.inner);
        Submission::job(Repeated { inner, partitions })
    }

    /// The job, for a tenant.
    pub fn submission(&self, tenant: usize) -> Submission {
        self.with_partitions(self.job.partitions)
            .tenant(tenant as u64)
    }

    /// Holds answers against the statements, each of them.
    ///
    /// Errors: one that is not a valid proof of its partition, or not of as many partitions as wanted.
    pub fn verify(&self, answers: &[Vec<u8>], partitions: usize) -> anyhow::Result<usize> {
        let proofs = answers
            .iter()
            .flat_map(|answer| answer.chunks(PROOF_BYTES).enumerate());
        let proofs: Vec<(usize, &[u8])> = proofs.collect();
        if proofs.len() != answers.len() * partitions {
            let message = format!(
                "wanted {} proofs, found {}",
                answers.len() * partitions,
                proofs.len()
            );
            return Err(failure(INVALID, message));
        }
        proofs.par_iter().try_for_each(|&(partition, bytes)| {
            let public = self.job.public_inputs(partition)?;
            if verify(&self.vk, &Proof::from_bytes(bytes)?, &public)? {
                return Ok(());
            }
            let message = format!("{}: a proof that does not verify came out", self.name);
            Err(failure(INVALID, message))
        })?;
        Ok(proofs.len())
    }

    /// The circuit's part of the report.
    pub fn measured(
        &self,
        runs: Vec<Run>,
        out_of_service: Option<OutOfService>,
        faults: Option<FaultCount>,
    ) -> Measured {
        Measured {
            circuit: self.name.clone(),
            constraints: self.constraints,
            runs,
            out_of_service,
            faults,
        }
    }
}
