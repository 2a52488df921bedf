//! A device as the engine takes it.

use cuzk_backend::Backend;

/// A device: one backend a lane, all of them working on the same physical device.
///
/// The first lane's backend makes keys resident, and the others must be able to use them once that has returned.
#[derive(Clone, Debug)]
pub struct Device<B: Backend> {
    pub(crate) name: String,
    pub(crate) physical: String,
    pub(crate) memory_bytes: u64,
    pub(crate) lanes: Vec<B>,
}

impl<B: Backend> Device<B> {
    /// A device of this name, whose memory of `memory_bytes` may be used, with one backend for each of its lanes.
    ///
    /// `physical` tells devices apart, such as a PCI bus id. An engine refuses two devices with the same.
    pub fn new(
        name: impl Into<String>,
        physical: impl Into<String>,
        memory_bytes: u64,
        lanes: Vec<B>,
    ) -> Self {
        Self {
            name: name.into(),
            physical: physical.into(),
            memory_bytes,
            lanes,
        }
    }

    /// The name, for people.
    pub fn name(&self) -> &str {
        &self.name
    }
}
