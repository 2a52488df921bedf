//! `cuzk prove`.

use anyhow::Context;
use cuzk_backend::Backend;
use cuzk_backend_cpu::CpuBackend;
use cuzk_params::Parameters;
use cuzk_pce::Pce;
use cuzk_proof_api::Job;
use serde::Serialize;

use crate::args::Prove;
use crate::backend::{self, Chosen};
use crate::circuits::Circuit;
use crate::console::Console;
use crate::failure::{USAGE, failure};
use crate::{job, keys, places};

#[derive(Serialize)]
struct Row {
    circuit: &'static str,
    backend: String,
    partitions: usize,
    proof: String,
    proof_bytes: usize,
    witness_s: f64,
    prove_s: f64,
    stages: Vec<Stages>,
}

/// Seconds a stage of one partition.
#[derive(Serialize)]
struct Stages {
    mat_vec_s: f64,
    quotient_s: f64,
    msm_h_s: f64,
    msm_l_s: f64,
    msm_a_s: f64,
    msm_b_g1_s: f64,
    msm_b_g2_s: f64,
    verify_s: f64,
}

/// What is proved, whatever the backend.
struct Proving<'a> {
    job: &'a dyn Job,
    circuit: &'a Circuit,
    pce: &'a Pce,
    key: &'a Parameters,
    partitions: &'a [usize],
    check: bool,
}

impl Proving<'_> {
    fn on<B: Backend + Clone>(
        &self,
        backends: &[B],
        console: &Console,
    ) -> anyhow::Result<job::ProvedJob> {
        let provers = keys::load(
            backends,
            self.partitions.len(),
            self.circuit,
            self.pce,
            self.key,
            console,
        )?;
        job::prove(self.job, &provers, self.partitions, self.check, console)
    }
}

/// Proves a payload.
pub fn run(args: &Prove, console: &Console) -> anyhow::Result<()> {
    let payload = job::read_payload(&args.payload)?;
    let job = job::decode(&payload)?;
    let partitions: Vec<usize> = match args.partition {
        None => (0..job.partitions()).collect(),
        Some(k) if k < job.partitions() => vec![k],
        Some(k) => {
            let message = format!("partition {k}: the payload has {}", job.partitions());
            return Err(failure(USAGE, message));
        }
    };
    let chosen = backend::choose(&args.backend, console)?;
    if args.check {
        console.step("checking the vanilla proofs", |_| job.self_check())?;
    }
    let circuit = Circuit::named(job.circuit_id())?;
    let key = keys::open(&circuit, &places::key_store(&args.params)?, console)?;
    let pce = circuit.open(&places::cache(&args.pce)?, console)?.value;
    let prove = Proving {
        job: &*job,
        circuit: &circuit,
        pce: &pce,
        key: &key,
        partitions: &partitions,
        check: args.check,
    };
    let proved = match &chosen {
        Chosen::Cpu => prove.on(&[CpuBackend], console)?,
        Chosen::Cuda(devices) => prove.on(devices, console)?,
    };
    let bytes: Vec<_> = proved.proofs.iter().map(|proof| proof.to_bytes()).collect();
    let answer = match args.partition {
        None => job.assemble(&bytes)?,
        Some(_) => bytes.concat(),
    };
    std::fs::write(&args.out, &answer).with_context(|| args.out.display().to_string())?;
    let stages = proved.proofs.iter().map(|proof| Stages {
        mat_vec_s: proof.stages.mat_vec_s,
        quotient_s: proof.stages.quotient_s,
        msm_h_s: proof.stages.msm_h_s,
        msm_l_s: proof.stages.msm_l_s,
        msm_a_s: proof.stages.msm_a_s,
        msm_b_g1_s: proof.stages.msm_b_g1_s,
        msm_b_g2_s: proof.stages.msm_b_g2_s,
        verify_s: proof.stages.verify_s,
    });
    let row = Row {
        circuit: circuit.spec.id,
        backend: chosen.name(),
        partitions: partitions.len(),
        proof: args.out.display().to_string(),
        proof_bytes: answer.len(),
        witness_s: proved.witness_s,
        prove_s: proved.prove_s,
        stages: stages.collect(),
    };
    let text = format!(
        "{}: {} of {} partitions proved on {} and verified: witness {:.2} s, proof {:.2} s; {} ({} bytes)",
        row.circuit,
        row.partitions,
        job.partitions(),
        row.backend,
        row.witness_s,
        row.prove_s,
        row.proof,
        row.proof_bytes
    );
    console.result(&row, &text)
}
