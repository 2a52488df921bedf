//! cuzk's side.

use cuzk_backend_cpu::CpuBackend;
use cuzk_cs_recording::RecordingCS;
use cuzk_cs_witness::WitnessCS;
use cuzk_curve::zeros;
use cuzk_groth16::{Blinding, Prover, keygen};
use cuzk_params::Parameters;
use cuzk_pce::Pce;
use cuzk_proof_api::{Job, by_id};
use cuzk_r1cs::{Assignment, Matrix};
use cuzk_synth::Kind;
use rand_core::OsRng;

use crate::measure::seconds;
use crate::workshop::{Workshop, circuit};

fn assignment(job: &dyn Job) -> anyhow::Result<Assignment> {
    let mut cs = WitnessCS::default();
    job.circuit(0)?.witness(&mut cs)?;
    Ok(cs.into_assignment())
}

/// Payload to verified proof, opening the key and the compiled circuit on the way.
pub fn prove(workshop: &Workshop, kind: Kind) -> anyhow::Result<f64> {
    let request = workshop.request(kind)?;
    seconds(|| {
        let job = by_id(kind.name())?.decode(&request)?;
        let key = Parameters::open(&workshop.params_path(kind))?;
        let pce = workshop.pce(kind)?;
        let prover = Prover::new(CpuBackend, &pce, &key)?;
        let witness = pce.pack(assignment(&*job)?)?;
        let pending = prover.start(witness, Blinding::random(&mut OsRng))?;
        Ok(pending.finish()?.to_bytes())
    })
}

/// Blank circuit to a key on disk.
pub fn keygen(kind: Kind) -> anyhow::Result<f64> {
    let (proof_type, circuit) = circuit(kind)?;
    let folder = tempfile::tempdir()?;
    let path = folder.path().join("key.params");
    seconds(|| {
        let mut cs = RecordingCS::default();
        proof_type.blank(circuit.id)?.record(&mut cs)?;
        let pce = Pce::compile(cs.finish()?)?;
        keygen::write(&CpuBackend, &pce, &path, &mut OsRng, &mut |_| {})?;
        Ok(())
    })
}

/// Packed witness to a and b, on one thread.
pub fn evaluate(
    workshop: &Workshop,
    kind: Kind,
) -> anyhow::Result<impl FnMut() -> anyhow::Result<f64>> {
    let job = by_id(kind.name())?.decode(&workshop.request(kind)?)?;
    let pce = workshop.pce(kind)?;
    let witness = pce.pack(assignment(&*job)?)?;
    Ok(move || {
        seconds(|| {
            let rows = pce.shape.constraints;
            let (mut a, mut b) = (zeros(rows), zeros(rows));
            let matrices = [Matrix::A, Matrix::B];
            pce.r1cs()
                .evaluate_single_threaded(matrices, &witness, [&mut a, &mut b])?;
            Ok((a, b))
        })
    })
}

/// Payload to assignment.
pub fn witness(workshop: &Workshop, kind: Kind) -> anyhow::Result<f64> {
    let job = by_id(kind.name())?.decode(&workshop.request(kind)?)?;
    let circuit = job.circuit(0)?;
    seconds(|| {
        let mut cs = WitnessCS::default();
        circuit.witness(&mut cs)?;
        Ok(cs.into_assignment())
    })
}
