//! The folder in which payloads, keys and compiled circuits lie for both sides.

use std::fs;
use std::path::{Path, PathBuf};

use cuzk_backend_cpu::CpuBackend;
use cuzk_cs_recording::RecordingCS;
use cuzk_groth16::keygen;
use cuzk_pce::{Cache, Pce};
use cuzk_proof_api::{CircuitSpec, ProofType, Request, by_id};
use cuzk_synth::{Kind, Options, Payload, SectorSize, synthetic};
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
    pub fn prepare(&self, measurement: &Measurement) -> anyhow::Result<()> {
        fs::create_dir_all(&self.folder)?;
        let kind = measurement.kind;
        if !self.payload_path(kind).is_file() {
            let payload = synthetic(kind, SectorSize::KIB_2, &Options::default())?;
            fs::write(self.payload_path(kind), payload.to_json())?;
        }
        let (proof_type, circuit) = circuit(kind)?;
        if self.cache().find(circuit.id)?.is_none() {
            let mut cs = RecordingCS::default();
            proof_type.blank(circuit.id)?.record(&mut cs)?;
            self.cache().put(circuit.id, &Pce::compile(cs.finish()?)?)?;
        }
        if measurement.work == Work::Prove && !self.params_path(kind).is_file() {
            let pce = self.pce(kind)?;
            let params = self.params_path(kind);
            keygen::write(&CpuBackend, &pce, &params, &mut OsRng, &mut |_| {})?;
        }
        Ok(())
    }

    /// The compiled circuits.
    pub fn cache(&self) -> Cache {
        Cache::new(self.folder.join("pce"))
    }

    /// The compiled circuit of a proof type.
    pub fn pce(&self, kind: Kind) -> anyhow::Result<Pce> {
        let (_, circuit) = circuit(kind)?;
        let found = self.cache().find(circuit.id)?;
        found.ok_or_else(|| anyhow::anyhow!("{kind} was not prepared"))
    }

    /// The proving key of a proof type.
    pub fn params_path(&self, kind: Kind) -> PathBuf {
        self.folder.join(format!("{kind}.params"))
    }

    /// The payload of a proof type as a request.
    pub fn request(&self, kind: Kind) -> anyhow::Result<Request> {
        let payload = Payload::from_json(&fs::read(self.payload_path(kind))?)?;
        Ok(payload.into_request())
    }

    fn payload_path(&self, kind: Kind) -> PathBuf {
        self.folder.join(format!("{kind}.json"))
    }
}

/// The 2 KiB circuit of a proof type.
pub fn circuit(kind: Kind) -> anyhow::Result<(&'static dyn ProofType, CircuitSpec)> {
    let proof_type = by_id(kind.name())?;
    let spec = proof_type
        .circuits()
        .iter()
        .find(|spec| spec.sector_bytes == 2048);
    let spec = spec.ok_or_else(|| anyhow::anyhow!("{kind} has no 2 KiB circuit"))?;
    Ok((proof_type, *spec))
}
