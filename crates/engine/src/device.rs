//! A device as the engine takes it.

use cuzk_backend::Backend;
use cuzk_lease::PciBusId;

/// A device: a backend for each lane and one that makes keys resident, all of them working on the same physical device.
///
/// What the loader has made resident must be usable on all lanes once [`cuzk_groth16::Prover::new`] has returned.
#[derive(Clone, Debug)]
pub struct Device<B: Backend> {
    pub(crate) name: String,
    pub(crate) pci: PciBusId,
    pub(crate) memory_bytes: u64,
    pub(crate) loader: B,
    pub(crate) lanes: Vec<B>,
}

impl<B: Backend> Device<B> {
    /// A device of this name, whose memory of `memory_bytes` may be used, with one backend for each of its lanes and one
    /// for what they share.
    ///
    /// `pci` is what the physical device is known by. An engine refuses two devices with the same.
    pub fn new(
        name: impl Into<String>,
        pci: PciBusId,
        memory_bytes: u64,
        loader: B,
        lanes: Vec<B>,
    ) -> Self {
        Self {
            name: name.into(),
            pci,
            memory_bytes,
            loader,
            lanes,
        }
    }

    /// The name, for people.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Its memory that may be used, in bytes.
    pub fn memory_bytes(&self) -> u64 {
        self.memory_bytes
    }

    /// What the physical device is known by.
    pub fn pci(&self) -> PciBusId {
        self.pci
    }

    /// The same device with other backends in the places of these: of each lane, by its number, and of the loader.
    pub fn map<C: Backend>(self, mut other: impl FnMut(Option<usize>, B) -> C) -> Device<C> {
        let lanes = self.lanes.into_iter().enumerate();
        Device {
            name: self.name,
            pci: self.pci,
            memory_bytes: self.memory_bytes,
            lanes: lanes
                .map(|(lane, backend)| other(Some(lane), backend))
                .collect(),
            loader: other(None, self.loader),
        }
    }
}
