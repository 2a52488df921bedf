//! The folder in which payloads, keys and compiled circuits lie for both sides.

use std::fs;
use std::path::{Path, PathBuf};

use cuzk_backend_cpu::CpuBackend;
use cuzk_cs_recording::RecordingCS;
use cuzk_groth16::keygen;
use cuzk_pce::{Cache, Pce};
use cuzk_proof_api::{CircuitSpec, ProofType, Request, by_id};
use cuzk_synth::{Options, Payload, synthetic};
use rand_core::OsRng;

use crate::measure::{Measurement, Work};

/// Files that both sides read.
pub struct Workshop {
    folder: PathBuf,
}

impl Workshop {
    /// The workshop in `folder`.
    pub fn new(folder: &Path) -> Self {
        Self {
            folder: folder.to_owned(),
        }
    }

    /// Makes the files that a measurement reads, where absent.
    pub fn prepare(&self, what: &Measurement) -> anyhow::Result<()> {
        fs::create_dir_all(&self.folder)?;
        if !self.payload_path(what).is_file() {
            let payload = synthetic(what.kind, what.size, &Options::default())?;
            fs::write(self.payload_path(what), payload.to_json())?;
        }
        if matches!(what.work, Work::Witness | Work::WitnessScaling) {
            return Ok(());
        }
        let (proof_type, circuit) = circuit(what)?;
        if self.cache().find(circuit.id)?.is_none() {
            let mut cs = RecordingCS::default();
            proof_type.blank(circuit.id)?.record(&mut cs)?;
            self.cache().put(circuit.id, &Pce::compile(cs.finish()?)?)?;
        }
        if what.work == Work::Prove && !self.params_path(what).is_file() {
            let (pce, params) = (self.pce(what)?, self.params_path(what));
            keygen::write(&CpuBackend, &pce, &params, &mut OsRng, &mut |_| {})?;
        }
        Ok(())
    }

    /// The compiled circuits.
    pub fn cache(&self) -> Cache {
        Cache::new(self.folder.join("pce"))
    }

    /// The compiled circuit of a measurement.
    pub fn pce(&self, what: &Measurement) -> anyhow::Result<Pce> {
        let (_, circuit) = circuit(what)?;
        let found = self.cache().find(circuit.id)?;
        found.ok_or_else(|| anyhow::anyhow!("{} was not prepared", circuit.id))
    }

    /// The proving key of a measurement.
    pub fn params_path(&self, what: &Measurement) -> PathBuf {
        self.folder
            .join(format!("{}-{}.params", what.kind, what.size))
    }

    /// The payload of a measurement as a request.
    pub fn request(&self, what: &Measurement) -> anyhow::Result<Request> {
        let payload = Payload::from_json(&fs::read(self.payload_path(what))?)?;
        Ok(payload.into_request())
    }

    fn payload_path(&self, what: &Measurement) -> PathBuf {
        self.folder
            .join(format!("{}-{}.json", what.kind, what.size))
    }
}

/// The circuit of a measurement.
pub fn circuit(what: &Measurement) -> anyhow::Result<(&'static dyn ProofType, CircuitSpec)> {
    let proof_type = by_id(what.kind.name())?;
    let fits = |spec: &&CircuitSpec| spec.sector_bytes == what.size.bytes();
    let spec = proof_type.circuits().iter().find(fits);
    let missing = || anyhow::anyhow!("{} has no circuit for {}", what.kind, what.size);
    Ok((proof_type, *spec.ok_or_else(missing)?))
}
