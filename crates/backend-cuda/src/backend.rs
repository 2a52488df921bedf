//! The backend itself: a lane of a device, and what the device's lanes share.

use std::sync::Arc;

use cuzk_backend::{Backend, BackendError, Vectors};
use cuzk_curve::Fr;
use cuzk_gpu::{Device, GpuError, Stream};
use cuzk_r1cs::RowVector;

use crate::error::failure;
use crate::mat_vec::length;
use crate::memory::{Vector, elements, elements_mut};
use crate::ntt::Roots;
use crate::{OpenError, fit};

/// A lane of a CUDA device as a backend: operations are queued on one stream, which clones share.
///
/// Keys, matrices and tables belong to the device. Any of its lanes reads them.
#[derive(Clone, Debug)]
pub struct CudaBackend {
    pub(crate) stream: Arc<Stream>,
    pub(crate) roots: Arc<Roots>,
    resident: Arc<Stream>,
}

impl CudaBackend {
    /// Opens the device of this ordinal and loads this program's kernels on it. It takes all memory that is free.
    pub fn open(ordinal: usize) -> Result<Self, OpenError> {
        Self::open_within(ordinal, None)
    }

    /// [`CudaBackend::open`] with at most `memory_bytes` of the device's memory, where that is given.
    pub fn open_within(ordinal: usize, memory_bytes: Option<usize>) -> Result<Self, OpenError> {
        let images = cuzk_kernels::images()?;
        fit::fit(&cuzk_gpu::device(ordinal)?)?;
        let device = Device::open(ordinal, images, memory_bytes)?;
        let resident = Stream::resident(Arc::clone(&device))?;
        let roots = Arc::new(Roots::new(&resident)?);
        resident.synchronize()?;
        Ok(Self {
            stream: Stream::new(device)?,
            roots,
            resident,
        })
    }

    /// Another lane of the same device: a stream of its own.
    pub fn lane(&self) -> Result<Self, BackendError> {
        self.another_lane().map_err(failure)
    }

    pub(crate) fn another_lane(&self) -> Result<Self, GpuError> {
        Ok(Self {
            stream: Stream::new(Arc::clone(self.device()))?,
            ..self.clone()
        })
    }

    /// The device.
    pub fn device(&self) -> &Arc<Device> {
        self.stream.device()
    }

    /// The stream on which this backend works.
    pub fn stream(&self) -> &Arc<Stream> {
        &self.stream
    }

    /// Makes something that every lane of the device reads.
    pub(crate) fn resident<T>(
        &self,
        load: impl FnOnce(&Self) -> Result<T, BackendError>,
    ) -> Result<T, BackendError> {
        let loader = Self {
            stream: Arc::clone(&self.resident),
            ..self.clone()
        };
        let loaded = load(&loader);
        loader.stream.synchronize().map_err(failure)?;
        loaded
    }
}

impl Vectors for CudaBackend {
    type Vector = Vector;

    fn upload(&self, values: Vec<Fr>) -> Result<Vector, BackendError> {
        self.stream
            .upload(elements(&values))
            .map(Vector)
            .map_err(failure)
    }

    /// Part by part, each through memory of its own on the device.
    fn upload_rows(&self, rows: &RowVector, len: usize) -> Result<Vector, BackendError> {
        if rows.len() > len {
            length("rows of a domain", len, rows.len())?;
        }
        let vector = self.stream.zeros(len).map_err(failure)?;
        let mut place = 0;
        for part in rows.parts() {
            let part = self.stream.upload(elements(part)).map_err(failure)?;
            let copied = self.stream.copy(&part, 0, &vector, place, part.len());
            copied.map_err(failure)?;
            place += part.len();
        }
        Ok(Vector(vector))
    }

    fn download(&self, vector: Vector) -> Result<Vec<Fr>, BackendError> {
        let mut values = cuzk_curve::zeros(vector.0.len());
        let download = self.stream.download(&vector.0, elements_mut(&mut values));
        download.map_err(failure)?;
        Ok(values)
    }
}

impl Backend for CudaBackend {
    fn name(&self) -> &'static str {
        "cuda"
    }
}
