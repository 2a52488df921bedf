//! What the host's threads do: decode, compile, open, compute witnesses, put answers together.

use std::sync::atomic::AtomicBool;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Instant;

use crossbeam_channel::Sender;
use cuzk_backend::Backend;
use cuzk_groth16::{Computed, Groth16Error};
use cuzk_params::Parameters;
use cuzk_proof_api::{Job, ProofType, Request, Standing, Witnesses, by_synthesis};
use cuzk_r1cs::PackedWitness;
use cuzk_scheduler::{Attempt, CircuitId, DeviceId, UnitId};

use super::pool::guarded;
use super::{Compiled, Loaded, Message, ProofBytes, Uncompiled};
use crate::job::JobId;
use crate::{Footprints, Source, SourceError};

/// A request to be decoded.
pub(crate) struct Decode {
    pub(crate) job: JobId,
    pub(crate) proof_type: &'static dyn ProofType,
    pub(crate) request: Box<Request>,
}

impl Decode {
    pub(crate) fn run<B: Backend>(self, report: &Sender<Message<B>>) {
        let job = self.job;
        let result = guarded(|| {
            let decoded = self.proof_type.decode(&self.request);
            decoded.map(Arc::from).map_err(|e| e.to_string())
        });
        drop(report.send(Message::Decoded { job, result }));
    }
}

/// Proofs to be put together.
pub(crate) struct Assemble {
    pub(crate) job: JobId,
    pub(crate) decoded: Arc<dyn Job>,
    pub(crate) proofs: Vec<ProofBytes>,
}

impl Assemble {
    pub(crate) fn run<B: Backend>(self, report: &Sender<Message<B>>) {
        let Self {
            job,
            decoded,
            proofs,
        } = self;
        let result = guarded(|| decoded.assemble(&proofs).map_err(|e| e.to_string()));
        drop(report.send(Message::Assembled { job, result }));
    }
}

/// A circuit whose sizes are wanted.
pub(crate) struct Prepare {
    pub(crate) circuit: CircuitId,
    pub(crate) name: Arc<str>,
    pub(crate) source: Arc<dyn Source>,
    pub(crate) footprints: Footprints,
}

impl Prepare {
    pub(crate) fn run<B: Backend>(self, report: &Sender<Message<B>>) {
        let start = Instant::now();
        let circuit = self.circuit;
        let result = guarded(|| {
            let pce = match self.source.find(&self.name).map_err(text)? {
                Some(pce) => pce,
                None => {
                    self.tell_of_key(report);
                    self.source.compile(&self.name).map_err(text)?
                }
            };
            self.footprints.of(&pce).map_err(|error| error.to_string())
        });
        drop(report.send(Message::Prepared {
            circuit,
            result,
            took: start.elapsed(),
        }));
    }

    /// With the key, jobs need not wait for the compilation. Where it is missing, whoever opens the circuit says so.
    fn tell_of_key<B: Backend>(&self, report: &Sender<Message<B>>) {
        if let Ok(key) = self.source.key(&self.name) {
            drop(report.send(Message::Compiling {
                circuit: self.circuit,
                footprint: self.footprints.of_key(&key),
                key: Box::new(key),
            }));
        }
    }
}

/// A circuit to be opened with its key.
pub(crate) struct Open {
    pub(crate) circuit: CircuitId,
    pub(crate) name: Arc<str>,
    pub(crate) source: Arc<dyn Source>,
    /// The key, where it is open already.
    pub(crate) key: Option<Box<Parameters>>,
}

impl Open {
    pub(crate) fn run<B: Backend>(self, report: &Sender<Message<B>>) {
        let circuit = self.circuit;
        let result = guarded(|| {
            let pce = match self.source.find(&self.name).map_err(text)? {
                Some(pce) => pce,
                None => self.source.compile(&self.name).map_err(text)?,
            };
            let key = match self.key {
                Some(key) => *key,
                None => self.source.key(&self.name).map_err(text)?,
            };
            let standing = Mutex::new(self.source.standing(&pce));
            let source = Arc::clone(&self.source);
            Ok(Arc::new(Loaded::Compiled(Compiled {
                pce,
                key,
                standing,
                source,
            })))
        });
        drop(report.send(Message::Opened { circuit, result }));
    }
}

fn text(error: SourceError) -> String {
    error.to_string()
}

/// A proof to be assembled and verified.
pub(crate) struct Finish {
    pub(crate) attempt: Attempt,
    pub(crate) device: DeviceId,
    pub(crate) computed: Computed,
}

impl Finish {
    pub(crate) fn run<B: Backend>(self, report: &Sender<Message<B>>) {
        let Self {
            attempt,
            device,
            computed,
        } = self;
        let finished = guarded(|| Ok(computed.finish()));
        let result = finished.unwrap_or_else(|message| Err(Groth16Error::Thread(message)));
        drop(report.send(Message::Finished {
            attempt,
            device,
            result: Box::new(result),
        }));
    }
}

/// A witness to be computed.
pub(crate) struct Witness {
    pub(crate) unit: UnitId,
    pub(crate) job: Arc<dyn Job>,
    pub(crate) loaded: Arc<Loaded>,
    /// Ends a full synthesis with an error.
    pub(crate) stop: Arc<AtomicBool>,
    /// What was wrong with the one that was computed directly, where it is to be computed by closures now.
    pub(crate) refuted: Option<String>,
}

/// A witness.
pub(crate) struct MadeWitness {
    pub(crate) packed: Arc<PackedWitness>,
    /// Whether it was computed directly, so that there is another way.
    pub(crate) direct: bool,
}

impl Witness {
    pub(crate) fn run<B: Backend>(self, report: &Sender<Message<B>>) {
        let start = Instant::now();
        let Self {
            unit,
            job,
            loaded,
            stop,
            refuted,
        } = self;
        let partition = unit.index as usize;
        let result = guarded(|| match &*loaded {
            Loaded::Compiled(compiled) => witness(&*job, partition, compiled, refuted),
            Loaded::Uncompiled(uncompiled) => synthesis(&*job, partition, uncompiled, &stop),
        });
        drop((job, loaded));
        drop(report.send(Message::Witness {
            unit,
            result,
            took: start.elapsed(),
        }));
    }
}

/// The packed witness of a partition, whose public inputs are those of the statement: computed directly where that is
/// known to be right, and by closures where a direct one was refuted.
fn witness(
    job: &dyn Job,
    partition: usize,
    loaded: &Compiled,
    refuted: Option<String>,
) -> Result<MadeWitness, String> {
    let known = *lock(&loaded.standing);
    let mut witnesses = Witnesses::new(loaded.pce.r1cs(), known);
    let packed = match refuted {
        None => witnesses.make(job, partition).map_err(|e| e.to_string()),
        Some(message) => {
            let again = witnesses.again(job, partition);
            again
                .map_err(|e| e.to_string())
                .and_then(|packed| packed.ok_or(message))
        }
    };
    // A direct way can be refused, and the job be wrong besides.
    learn(loaded, witnesses.standing());
    Ok(MadeWitness {
        packed: Arc::new(packed?),
        direct: witnesses.counts().direct > 0,
    })
}

/// The witness of a partition with its products, by full synthesis: it satisfies every constraint.
fn synthesis(
    job: &dyn Job,
    partition: usize,
    loaded: &Uncompiled,
    stop: &Arc<AtomicBool>,
) -> Result<MadeWitness, String> {
    let made = by_synthesis(job, partition, stop).map_err(|e| e.to_string())?;
    loaded.check(made.shape())?;
    let outline = loaded.outline.get_or_init(|| made.outline());
    let packed = made.pack(outline).map_err(|e| e.to_string())?;
    Ok(MadeWitness {
        packed: Arc::new(packed),
        direct: false,
    })
}

/// Remembers what was learnt of a circuit's direct witnesses.
fn learn(loaded: &Compiled, learnt: Standing) {
    if learnt == Standing::Unknown {
        return;
    }
    let mut standing = lock(&loaded.standing);
    // Another thread may have learnt more meanwhile; what was refused stays so.
    if *standing != Standing::Refused && *standing != learnt {
        *standing = learnt;
        loaded.source.keep_standing(&loaded.pce, learnt);
    }
}

fn lock(standing: &Mutex<Standing>) -> MutexGuard<'_, Standing> {
    standing.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests {
    use cuzk_backend_cpu::CpuBackend;
    use cuzk_groth16::keygen;
    use cuzk_pce::Pce;
    use cuzk_testing::circuits::Cubic;
    use rand::SeedableRng;
    use rand_chacha::ChaCha8Rng;

    use super::*;

    /// Remembers what it was to keep.
    #[derive(Default)]
    struct Kept(Mutex<Vec<Standing>>);

    struct Shared(Arc<Kept>);

    impl Source for Shared {
        fn find(&self, circuit: &str) -> Result<Option<Pce>, SourceError> {
            self.compile(circuit).map(Some)
        }

        fn compile(&self, circuit: &str) -> Result<Pce, SourceError> {
            let circuit = circuit.to_owned();
            Err(SourceError::UnknownCircuit { circuit })
        }

        fn key(&self, circuit: &str) -> Result<cuzk_params::Parameters, SourceError> {
            let circuit = circuit.to_owned();
            Err(SourceError::UnknownCircuit { circuit })
        }

        fn keep_standing(&self, _: &Pce, standing: Standing) {
            self.0.0.lock().unwrap().push(standing);
        }
    }

    /// A thread that learnt nothing, or less, does not undo what another learnt meanwhile.
    #[test]
    fn what_was_learnt_stays() {
        let kept = Arc::new(Kept::default());
        let pce = Pce::record(Cubic { x: None }).unwrap();
        let mut rng = ChaCha8Rng::seed_from_u64(7);
        let loaded = Compiled {
            key: keygen::in_memory(&CpuBackend, &pce, &mut rng).unwrap(),
            pce,
            standing: Mutex::default(),
            source: Arc::new(Shared(Arc::clone(&kept))),
        };
        let (unknown, validated) = (Standing::Unknown, Standing::Validated);
        for learnt in [unknown, validated, unknown, validated] {
            learn(&loaded, learnt);
        }
        assert_eq!(*lock(&loaded.standing), validated);
        for learnt in [Standing::Refused, validated, unknown] {
            learn(&loaded, learnt);
        }
        assert_eq!(*lock(&loaded.standing), Standing::Refused);
        assert_eq!(*kept.0.lock().unwrap(), [validated, Standing::Refused]);
    }
}
