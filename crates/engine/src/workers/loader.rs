//! A device's loader: brings circuits and keys to it and frees them there, one at a time.

use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use crossbeam_channel::{Receiver, Sender, unbounded};
use cuzk_backend::Backend;
use cuzk_groth16::{Groth16Error, Prover};
use cuzk_scheduler::{CircuitId, DeviceId};

use super::pool::{guarded, spawn};
use super::{Loaded, Message, Thread};
use crate::EngineError;

/// What a loader is told to do.
pub(crate) struct LoadOrder<B: Backend> {
    pub(crate) circuit: CircuitId,
    /// Which life of the device it is for.
    pub(crate) epoch: u64,
    pub(crate) task: LoadTask<B>,
}

pub(crate) enum LoadTask<B: Backend> {
    /// Bring this to the device.
    Load(Arc<Loaded>),
    /// Free this there. A device that hangs can hold up whoever does so, and must not hold up the coordinator.
    Free(Prover<B>),
}

/// A loader as the coordinator has it.
pub(crate) struct Loader<B: Backend> {
    orders: Sender<LoadOrder<B>>,
    begun: Begun,
}

/// What the loader is at: for which life of the device, and since when.
type Begun = Arc<Mutex<Option<(u64, Instant)>>>;

impl<B: Backend> Loader<B> {
    pub(crate) fn send(&self, order: LoadOrder<B>) {
        // The loader lives as long as this sender.
        drop(self.orders.send(order));
    }

    /// How long it has been at one order for this life of the device.
    pub(crate) fn busy_for(&self, epoch: u64) -> Option<Duration> {
        let begun = *self.begun.lock().unwrap_or_else(PoisonError::into_inner);
        let (of, since) = begun?;
        (of == epoch).then(|| since.elapsed())
    }
}

/// Starts a device's loader.
pub(crate) fn spawn_loader<B: Backend + Clone>(
    device: DeviceId,
    backend: B,
    report: Sender<Message<B>>,
    threads: &mut Vec<Thread>,
) -> Result<Loader<B>, EngineError> {
    let (orders, waiting): (_, Receiver<LoadOrder<B>>) = unbounded();
    let name = format!("cuzk-load-{}", device.0);
    let begun = Begun::default();
    let loader = Loader {
        orders,
        begun: Arc::clone(&begun),
    };
    let at = move |what| *begun.lock().unwrap_or_else(PoisonError::into_inner) = what;
    threads.push(spawn(name, move || {
        for order in waiting {
            at(Some((order.epoch, Instant::now())));
            let done = carry_out(device, order, &backend);
            at(None);
            drop(report.send(done));
        }
    })?);
    Ok(loader)
}

fn carry_out<B: Backend + Clone>(device: DeviceId, order: LoadOrder<B>, backend: &B) -> Message<B> {
    let LoadOrder {
        circuit,
        epoch,
        task,
    } = order;
    match task {
        LoadTask::Load(loaded) => {
            let made = guarded(|| Ok(prover(backend.clone(), &loaded)));
            Message::DeviceLoaded {
                device,
                epoch,
                circuit,
                result: made.unwrap_or_else(|message| Err(Groth16Error::Thread(message))),
            }
        }
        LoadTask::Free(prover) => {
            drop(prover);
            Message::DeviceFreed {
                device,
                epoch,
                circuit,
            }
        }
    }
}

fn prover<B: Backend>(backend: B, loaded: &Loaded) -> Result<Prover<B>, Groth16Error> {
    match loaded {
        Loaded::Compiled(compiled) => Prover::new(backend, &compiled.pce, &compiled.key),
        Loaded::Uncompiled(uncompiled) => {
            // A unit's witness is there before a device is given the circuit for it.
            let outline = uncompiled.outline.get().ok_or(Groth16Error::NoMatrices)?;
            Prover::without_matrices(backend, outline, &uncompiled.key)
        }
    }
}
