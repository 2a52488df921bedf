//! `cuzk prove`.

use anyhow::Context;
use cuzk_backend::Backend;
use cuzk_backend_cpu::CpuBackend;
use cuzk_groth16::Proved;
use cuzk_params::Parameters;
use cuzk_pce::Pce;
use cuzk_proof_api::{Job, Witnesses};
use serde::Serialize;

use crate::args::Prove;
use crate::backend::{self, Chosen};
use crate::circuits::Circuit;
use crate::console::Console;
use crate::failure::{USAGE, failure};
use crate::job::{Proving, Ways};
use crate::{job, keys, places, standing};

#[derive(Serialize)]
struct Row {
    circuit: &'static str,
    backend: String,
    partitions: usize,
    proof: String,
    proof_bytes: usize,
    witness_s: f64,
    witnesses: Ways,
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

fn stages(proof: &Proved) -> Stages {
    Stages {
        mat_vec_s: proof.stages.mat_vec_s,
        quotient_s: proof.stages.quotient_s,
        msm_h_s: proof.stages.msm_h_s,
        msm_l_s: proof.stages.msm_l_s,
        msm_a_s: proof.stages.msm_a_s,
        msm_b_g1_s: proof.stages.msm_b_g1_s,
        msm_b_g2_s: proof.stages.msm_b_g2_s,
        verify_s: proof.stages.verify_s,
    }
}

/// What is proved, whatever the backend.
struct Loading<'a> {
    job: &'a dyn Job,
    circuit: &'a Circuit,
    pce: &'a Pce,
    key: &'a Parameters,
    partitions: &'a [usize],
    check: bool,
}

impl Loading<'_> {
    fn on<B: Backend + Clone>(
        &self,
        backends: &[B],
        witnesses: &mut Witnesses<'_>,
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
        let proving = Proving {
            job: self.job,
            provers: &provers,
            check: self.check,
            console,
        };
        proving.prove(witnesses, self.partitions)
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
    let cache = places::cache(&args.pce)?;
    let pce = circuit.open(&cache, console)?.value;
    let mut witnesses = standing::witnesses(&pce, &cache)?;
    let proving = Loading {
        job: &*job,
        circuit: &circuit,
        pce: &pce,
        key: &key,
        partitions: &partitions,
        check: args.check,
    };
    let proved = match &chosen {
        Chosen::Cpu => proving.on(&[CpuBackend], &mut witnesses, console),
        Chosen::Cuda(devices) => proving.on(devices, &mut witnesses, console),
    };
    standing::keep(&witnesses, &pce, &cache)?;
    let proved = proved?;
    let bytes: Vec<_> = proved.proofs.iter().map(|proof| proof.to_bytes()).collect();
    let answer = match args.partition {
        None => job.assemble(&bytes)?,
        Some(_) => bytes.concat(),
    };
    std::fs::write(&args.out, &answer).with_context(|| args.out.display().to_string())?;
    let row = Row {
        circuit: circuit.spec.id,
        backend: chosen.name(),
        partitions: partitions.len(),
        proof: args.out.display().to_string(),
        proof_bytes: answer.len(),
        witness_s: proved.witness_s,
        witnesses: Ways::of(&witnesses),
        prove_s: proved.prove_s,
        stages: proved.proofs.iter().map(stages).collect(),
    };
    let text = format!(
        "{}: {} of {} partitions proved on {} and verified: witness {:.2} s ({}), proof {:.2} s; {} ({} bytes)",
        row.circuit,
        row.partitions,
        job.partitions(),
        row.backend,
        row.witness_s,
        row.witnesses,
        row.prove_s,
        row.proof,
        row.proof_bytes
    );
    console.result(&row, &text)
}
