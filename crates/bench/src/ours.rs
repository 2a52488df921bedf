//! cuzk's side.

use cuzk_backend_cpu::CpuBackend;
use cuzk_cs_recording::RecordingCS;
use cuzk_curve::zeros;
use cuzk_groth16::{Blinding, Prover, keygen};
use cuzk_params::Parameters;
use cuzk_pce::Pce;
use cuzk_proof_api::{Job, Standing, Witnesses, by_closures, by_id};
use cuzk_r1cs::Matrix;
use rand_core::OsRng;

use crate::measure::{Measurement, seconds};
use crate::workshop::{Workshop, circuit};

fn job(workshop: &Workshop, what: &Measurement) -> anyhow::Result<Box<dyn Job>> {
    Ok(by_id(what.kind.name())?.decode(&workshop.request(what)?)?)
}

/// Payload to verified proof, opening the key and the compiled circuit on the way.
///
/// The direct witness stands validated, as it does for every proof after a circuit's first.
pub fn prove(workshop: &Workshop, what: &Measurement) -> anyhow::Result<f64> {
    let request = workshop.request(what)?;
    seconds(|| {
        let job = by_id(what.kind.name())?.decode(&request)?;
        let key = Parameters::open(&workshop.params_path(what))?;
        let pce = workshop.pce(what)?;
        let prover = Prover::new(CpuBackend, &pce, &key)?;
        let witness = Witnesses::new(pce.r1cs(), Standing::Validated).make(&*job, 0)?;
        let pending = prover.start(witness, Blinding::random(&mut OsRng))?;
        Ok(pending.finish()?.to_bytes())
    })
}

/// Blank circuit to a key on disk.
pub fn keygen(what: &Measurement) -> anyhow::Result<f64> {
    let (proof_type, circuit) = circuit(what)?;
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

/// Blank circuit to its compiled form.
pub fn compile(what: &Measurement) -> anyhow::Result<f64> {
    let (proof_type, circuit) = circuit(what)?;
    seconds(|| {
        let mut cs = RecordingCS::default();
        proof_type.blank(circuit.id)?.record(&mut cs)?;
        Ok(Pce::compile(cs.finish()?)?)
    })
}

/// Packed witness to a and b, on one thread.
pub fn evaluate(
    workshop: &Workshop,
    what: &Measurement,
) -> anyhow::Result<impl FnMut() -> anyhow::Result<f64>> {
    let pce = workshop.pce(what)?;
    let witness = pce.pack(by_closures(&*job(workshop, what)?, 0)?)?;
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

/// Decoded payload to assignment, directly; None where there is no direct way.
pub fn witness(
    workshop: &Workshop,
    what: &Measurement,
) -> anyhow::Result<impl FnMut() -> anyhow::Result<Option<f64>>> {
    let job = job(workshop, what)?;
    Ok(move || {
        let mut found = false;
        let seconds = seconds(|| {
            let witness = job.direct_witness(0)?;
            found = witness.is_some();
            Ok(witness)
        })?;
        Ok(found.then_some(seconds))
    })
}

/// Bytes of the compiled circuit's file.
pub fn size(workshop: &Workshop, what: &Measurement) -> anyhow::Result<f64> {
    let path = workshop.cache().path(workshop.pce(what)?.hash);
    Ok(path.metadata()?.len() as f64)
}

/// Bytes of the matrices as a coefficient of 32 bytes and a column of 4 for each non-zero.
pub fn plain_size(workshop: &Workshop, what: &Measurement) -> anyhow::Result<f64> {
    Ok(36.0 * workshop.pce(what)?.terms() as f64)
}
