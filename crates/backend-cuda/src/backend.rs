//! The backend itself: a device's stream and the constants that its kernels read.

use std::sync::Arc;

use cuzk_backend::{Backend, BackendError, Vectors};
use cuzk_curve::Fr;
use cuzk_gpu::{Device, GpuError, Stream};

use crate::memory::{Vector, elements, elements_mut};
use crate::ntt::Roots;

/// A CUDA device as a backend. Operations are queued on one stream; clones share it.
#[derive(Clone, Debug)]
pub struct CudaBackend {
    pub(crate) stream: Arc<Stream>,
    pub(crate) roots: Arc<Roots>,
}

impl CudaBackend {
    /// Opens the device of this ordinal and loads this program's kernels on it.
    pub fn open(ordinal: usize) -> Result<Self, BackendError> {
        let images = cuzk_kernels::images().map_err(|error| BackendError::Device {
            device: format!("device {ordinal}"),
            call: "load the kernels",
            message: error.to_string(),
        })?;
        let device = Device::open(ordinal, images).map_err(failure)?;
        let stream = Stream::new(device).map_err(failure)?;
        let roots = Arc::new(Roots::new(&stream)?);
        Ok(Self { stream, roots })
    }

    /// The stream on which this backend works.
    pub fn stream(&self) -> &Arc<Stream> {
        &self.stream
    }
}

/// A device's failure as the backend's.
pub(crate) fn failure(error: GpuError) -> BackendError {
    let (device, call) = match &error {
        GpuError::Call { device, call, .. } => (format!("device {device}"), *call),
        GpuError::NoKernel { device, name } => (format!("device {device}"), *name),
        _ => ("CUDA".to_owned(), "open"),
    };
    BackendError::Device {
        device,
        call,
        message: error.to_string(),
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
