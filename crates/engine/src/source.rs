//! Where compiled circuits and keys come from.

use std::collections::HashMap;

use cuzk_cs_recording::RecordingCS;
use cuzk_params::{KeyStore, Parameters};
use cuzk_pce::{Cache, Pce};
use cuzk_proof_api::{Standing, by_circuit, direct_topic};

use crate::SourceError;

/// Where compiled circuits and keys come from. Called on threads that may wait.
pub trait Source: Send + Sync + 'static {
    /// The compiled circuit, or `None` where it has to be compiled.
    fn find(&self, circuit: &str) -> Result<Option<Pce>, SourceError>;

    /// Compiles the circuit and keeps it where [`Source::find`] finds it.
    fn compile(&self, circuit: &str) -> Result<Pce, SourceError>;

    /// The circuit's key.
    fn key(&self, circuit: &str) -> Result<Parameters, SourceError>;

    /// What is known of the compiled circuit's direct witnesses, from earlier engines too.
    fn standing(&self, pce: &Pce) -> Standing {
        let _ = pce;
        Standing::Unknown
    }

    /// Keeps what became known of the compiled circuit's direct witnesses for [`Source::standing`], as far as that is
    /// possible: what is not kept is found out again.
    fn keep_standing(&self, pce: &Pce, standing: Standing) {
        let _ = (pce, standing);
    }
}

/// Keys and compiled circuits in folders, for the circuits of the registered proof types.
#[derive(Clone, Debug)]
pub struct Files {
    keys: KeyStore,
    circuits: Cache,
}

impl Files {
    /// Keys from one folder, compiled circuits in another.
    pub fn new(keys: KeyStore, circuits: Cache) -> Self {
        Self { keys, circuits }
    }
}

impl Source for Files {
    /// A file that cannot be used is as good as none: it is compiled again and replaced.
    fn find(&self, circuit: &str) -> Result<Option<Pce>, SourceError> {
        Ok(self.circuits.find(circuit).unwrap_or(None))
    }

    fn compile(&self, circuit: &str) -> Result<Pce, SourceError> {
        let (proof_type, _) = by_circuit(circuit)?;
        let mut cs = RecordingCS::default();
        proof_type.blank(circuit)?.record(&mut cs)?;
        let pce = Pce::compile(cs.finish()?)?;
        self.circuits.put(circuit, &pce)?;
        Ok(pce)
    }

    fn key(&self, circuit: &str) -> Result<Parameters, SourceError> {
        let (proof_type, _) = by_circuit(circuit)?;
        let names = proof_type.key_names(circuit)?;
        let params = names.params.as_str();
        let name = params.strip_suffix(".params").unwrap_or(params);
        Ok(self.keys.parameters(name)?)
    }

    /// A note that cannot be read is as good as none.
    fn standing(&self, pce: &Pce) -> Standing {
        let note = self.circuits.note(pce.hash, &direct_topic());
        let note = note.ok().flatten().unwrap_or_default();
        Standing::named(note.trim())
    }

    fn keep_standing(&self, pce: &Pce, standing: Standing) {
        let text = format!("{}\n", standing.name());
        drop(self.circuits.put_note(pce.hash, &direct_topic(), &text));
    }
}

/// Compiled circuits and keys in memory, for circuits of one's own.
#[derive(Clone, Debug, Default)]
pub struct InMemory {
    circuits: HashMap<String, (Pce, Parameters)>,
}

impl InMemory {
    /// The same with one more circuit.
    pub fn with(mut self, circuit: impl Into<String>, pce: Pce, key: Parameters) -> Self {
        self.circuits.insert(circuit.into(), (pce, key));
        self
    }

    fn get(&self, circuit: &str) -> Result<&(Pce, Parameters), SourceError> {
        let found = self.circuits.get(circuit);
        found.ok_or_else(|| SourceError::UnknownCircuit {
            circuit: circuit.to_owned(),
        })
    }
}

impl Source for InMemory {
    fn find(&self, circuit: &str) -> Result<Option<Pce>, SourceError> {
        Ok(Some(self.get(circuit)?.0.clone()))
    }

    fn compile(&self, circuit: &str) -> Result<Pce, SourceError> {
        Ok(self.get(circuit)?.0.clone())
    }

    fn key(&self, circuit: &str) -> Result<Parameters, SourceError> {
        Ok(self.get(circuit)?.1.clone())
    }
}
