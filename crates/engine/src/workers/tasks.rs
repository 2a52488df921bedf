//! What the host's threads do: decode, compile, open, compute witnesses, put answers together.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Instant;

use crossbeam_channel::Sender;
use cuzk_backend::Backend;
use cuzk_proof_api::{Job, ProofType, Request, Standing, Witnesses};
use cuzk_r1cs::{CompactR1cs, PackedWitness, R1csError};
use cuzk_scheduler::{CircuitId, UnitId};

use super::pool::guarded;
use super::{Loaded, Message, ProofBytes};
use crate::job::JobId;
use crate::{Footprint, Source, SourceError};

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
    pub(crate) footprint: fn(&CompactR1cs) -> Result<Footprint, R1csError>,
}

impl Prepare {
    pub(crate) fn run<B: Backend>(self, report: &Sender<Message<B>>) {
        let start = Instant::now();
        let circuit = self.circuit;
        let result = guarded(|| {
            let pce = match self.source.find(&self.name).map_err(text)? {
                Some(pce) => pce,
                None => self.source.compile(&self.name).map_err(text)?,
            };
            (self.footprint)(&pce).map_err(|error| error.to_string())
        });
        drop(report.send(Message::Prepared {
            circuit,
            result,
            took: start.elapsed(),
        }));
    }
}

/// A circuit to be opened with its key.
pub(crate) struct Open {
    pub(crate) circuit: CircuitId,
    pub(crate) name: Arc<str>,
    pub(crate) source: Arc<dyn Source>,
}

impl Open {
    pub(crate) fn run<B: Backend>(self, report: &Sender<Message<B>>) {
        let circuit = self.circuit;
        let result = guarded(|| {
            let pce = match self.source.find(&self.name).map_err(text)? {
                Some(pce) => pce,
                None => self.source.compile(&self.name).map_err(text)?,
            };
            let key = self.source.key(&self.name).map_err(text)?;
            let standing = Mutex::default();
            Ok(Arc::new(Loaded { pce, key, standing }))
        });
        drop(report.send(Message::Opened { circuit, result }));
    }
}

fn text(error: SourceError) -> String {
    error.to_string()
}

/// A witness to be computed.
pub(crate) struct Witness {
    pub(crate) unit: UnitId,
    pub(crate) job: Arc<dyn Job>,
    pub(crate) loaded: Arc<Loaded>,
}

impl Witness {
    pub(crate) fn run<B: Backend>(self, report: &Sender<Message<B>>) {
        let start = Instant::now();
        let Self { unit, job, loaded } = self;
        let result = guarded(|| {
            let witness = witness(&*job, unit.index as usize, &loaded)?;
            Ok(Arc::new(witness))
        });
        drop((job, loaded));
        drop(report.send(Message::Witness {
            unit,
            result,
            took: start.elapsed(),
        }));
    }
}

fn lock(standing: &Mutex<Standing>) -> MutexGuard<'_, Standing> {
    standing.lock().unwrap_or_else(PoisonError::into_inner)
}

/// The packed witness of a partition, computed directly where that is known to be right, whose public inputs are those of the statement.
fn witness(job: &dyn Job, partition: usize, loaded: &Loaded) -> Result<PackedWitness, String> {
    let known = *lock(&loaded.standing);
    let mut witnesses = Witnesses::new(loaded.pce.r1cs(), known);
    let packed = witnesses.make(job, partition);
    let packed = packed.map_err(|e| e.to_string())?;
    let mut standing = lock(&loaded.standing);
    // Another thread may have learnt more meanwhile; what was refused stays so.
    if *standing != Standing::Refused {
        *standing = witnesses.standing();
    }
    drop(standing);
    let public = job.public_inputs(partition).map_err(|e| e.to_string())?;
    if packed.inputs().get(1..) != Some(&public[..]) {
        return Err("the circuit's public inputs are not those of the statement".to_owned());
    }
    Ok(packed)
}
