//! Finding a circuit, and its compiled form.

use std::sync::Arc;
use std::sync::atomic::AtomicUsize;

use cuzk_cs_recording::RecordingCS;
use cuzk_pce::{Cache, Pce};
use cuzk_proof_api::{CircuitSpec, ProofType, by_circuit, by_id};
use cuzk_synth::{Kind, SectorSize};

use crate::args::{CircuitChoice, CircuitsChoice};
use crate::console::{Console, Timed};
use crate::failure::{USAGE, failure};

/// A circuit of a proof type.
#[derive(Clone, Copy)]
pub struct Circuit {
    /// The proof type.
    pub proof_type: &'static dyn ProofType,
    /// The circuit.
    pub spec: CircuitSpec,
}

impl Circuit {
    /// The circuit of that name.
    pub fn named(id: &str) -> anyhow::Result<Self> {
        let found = by_circuit(id).map_err(|error| failure(USAGE, error.to_string()));
        let (proof_type, spec) = found?;
        Ok(Self { proof_type, spec })
    }

    /// The first circuit of a proof type for a sector size.
    pub fn of(kind: Kind, size: SectorSize) -> anyhow::Result<Self> {
        let proof_type = by_id(kind.name())?;
        let fits = |spec: &&CircuitSpec| spec.sector_bytes == size.bytes();
        let spec = proof_type.circuits().iter().find(fits).copied();
        let spec =
            spec.ok_or_else(|| failure(USAGE, format!("{kind} has no circuit for {size}")))?;
        Ok(Self { proof_type, spec })
    }

    /// What the command line chose, small sectors first.
    pub fn all_chosen(choice: &CircuitsChoice) -> anyhow::Result<Vec<Self>> {
        let (Some(kind), Some(size)) = (choice.kind, choice.sector_size) else {
            return match &choice.circuit {
                Some(id) => Ok(vec![Self::named(id)?]),
                None => Err(failure(
                    USAGE,
                    "name a --circuit, or a --kind and a --sector-size",
                )),
            };
        };
        let kinds = kind.of(&Kind::ALL);
        let sizes = size.of(&SectorSize::ALL);
        sizes
            .iter()
            .flat_map(|&size| kinds.iter().map(move |&kind| Self::of(kind, size)))
            .collect()
    }

    /// What the command line chose.
    pub fn chosen(choice: &CircuitChoice) -> anyhow::Result<Self> {
        match (&choice.circuit, choice.kind, choice.sector_size) {
            (Some(id), _, _) => Self::named(id),
            (None, Some(kind), Some(size)) => Self::of(kind, size),
            _ => Err(failure(
                USAGE,
                "name a --circuit, or a --kind and a --sector-size",
            )),
        }
    }

    /// The compiled circuit from the cache, or recorded now and put there.
    pub fn open(&self, cache: &Cache, console: &Console) -> anyhow::Result<Timed<Pce>> {
        let found = console.step(
            &format!("{}: opening its compiled form", self.spec.id),
            |_| cache.find(self.spec.id),
        );
        match found {
            Ok(Timed {
                value: Some(pce),
                seconds,
            }) => Ok(Timed {
                value: pce,
                seconds,
            }),
            Ok(_) => self.compile(cache, console),
            Err(error) => {
                console.note(&format!("{}: {error}; compiling it again", self.spec.id));
                self.compile(cache, console)
            }
        }
    }

    /// Records the circuit and puts its compiled form in the cache.
    pub fn compile(&self, cache: &Cache, console: &Console) -> anyhow::Result<Timed<Pce>> {
        let constraints = Arc::new(AtomicUsize::new(0));
        let what = format!("{}: recording", self.spec.id);
        console.counted(&what, &constraints, |bar| {
            let mut cs = RecordingCS::watched(Arc::clone(&constraints));
            self.proof_type.blank(self.spec.id)?.record(&mut cs)?;
            bar.set_message(format!("{}: compiling", self.spec.id));
            let pce = Pce::compile(cs.finish()?)?;
            bar.set_message(format!("{}: writing", self.spec.id));
            cache.put(self.spec.id, &pce)?;
            Ok(pce)
        })
    }
}
