//! A device's loader: brings circuits and keys to it, one at a time.

use std::sync::Arc;

use crossbeam_channel::{Receiver, Sender, unbounded};
use cuzk_backend::Backend;
use cuzk_groth16::{Groth16Error, Prover};
use cuzk_scheduler::{CircuitId, DeviceId};

use super::pool::{guarded, spawn};
use super::{Loaded, Message, Thread};
use crate::EngineError;

/// A circuit to be brought to the device.
pub(crate) struct LoadOrder {
    pub(crate) circuit: CircuitId,
    pub(crate) loaded: Arc<Loaded>,
    /// Which life of the device it is for.
    pub(crate) epoch: u64,
}

/// Starts a device's loader.
pub(crate) fn spawn_loader<B: Backend + Clone>(
    device: DeviceId,
    backend: B,
    report: Sender<Message<B>>,
    threads: &mut Vec<Thread>,
) -> Result<Sender<LoadOrder>, EngineError> {
    let (orders, waiting): (_, Receiver<LoadOrder>) = unbounded();
    let name = format!("cuzk-load-{}", device.0);
    threads.push(spawn(name, move || {
        for order in waiting {
            let LoadOrder {
                circuit,
                loaded,
                epoch,
            } = order;
            let made = guarded(|| Ok(prover(backend.clone(), &loaded)));
            let result = made.unwrap_or_else(|message| Err(Groth16Error::Thread(message)));
            drop(loaded);
            drop(report.send(Message::DeviceLoaded {
                device,
                epoch,
                circuit,
                result,
            }));
        }
    })?);
    Ok(orders)
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
