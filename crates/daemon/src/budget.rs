//! How many bytes of requests may be in memory before they are on disk.

use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::task::{Context, Poll, ready};

use hyper::body::{Body, Buf, Frame, SizeHint};
use tonic::Status;
use tower::{Layer, Service};

/// Bytes that requests may take together.
#[derive(Debug)]
pub struct Budget {
    limit: u64,
    used: AtomicU64,
}

/// Bytes that one request has taken; they are given back when the last holder goes.
#[derive(Debug)]
pub struct Taken {
    budget: Arc<Budget>,
    bytes: AtomicU64,
}

impl Budget {
    /// A budget of so many bytes.
    pub fn new(limit: u64) -> Arc<Self> {
        let used = AtomicU64::new(0);
        Arc::new(Self { limit, used })
    }
}

impl Taken {
    fn take(&self, bytes: u64) -> Result<(), Status> {
        let used = self.budget.used.fetch_add(bytes, Ordering::Relaxed) + bytes;
        self.bytes.fetch_add(bytes, Ordering::Relaxed);
        if used <= self.budget.limit {
            return Ok(());
        }
        let limit = self.budget.limit;
        let message = format!("requests that are being received have {used} of {limit} bytes");
        Err(Status::resource_exhausted(message))
    }
}

impl Drop for Taken {
    fn drop(&mut self) {
        let bytes = self.bytes.load(Ordering::Relaxed);
        self.budget.used.fetch_sub(bytes, Ordering::Relaxed);
    }
}

/// Makes requests take what they bring from a budget.
#[derive(Clone, Debug)]
pub struct BudgetLayer(pub Arc<Budget>);

/// A service whose requests take from a budget.
#[derive(Clone, Debug)]
pub struct Budgeted<S> {
    inner: S,
    budget: Arc<Budget>,
}

impl<S> Layer<S> for BudgetLayer {
    type Service = Budgeted<S>;

    fn layer(&self, inner: S) -> Budgeted<S> {
        let budget = Arc::clone(&self.0);
        Budgeted { inner, budget }
    }
}

impl<S> Service<hyper::Request<tonic::body::Body>> for Budgeted<S>
where
    S: Service<hyper::Request<tonic::body::Body>>,
{
    type Response = S::Response;
    type Error = S::Error;
    type Future = S::Future;

    fn poll_ready(&mut self, cx: &mut Context<'_>) -> Poll<Result<(), S::Error>> {
        self.inner.poll_ready(cx)
    }

    fn call(&mut self, mut request: hyper::Request<tonic::body::Body>) -> S::Future {
        let taken = Arc::new(Taken {
            budget: Arc::clone(&self.budget),
            bytes: AtomicU64::new(0),
        });
        request.extensions_mut().insert(Arc::clone(&taken));
        self.inner
            .call(request.map(|inner| tonic::body::Body::new(Metered { inner, taken })))
    }
}

/// A body whose bytes are taken from a budget as they come.
struct Metered {
    inner: tonic::body::Body,
    taken: Arc<Taken>,
}

impl Body for Metered {
    type Data = <tonic::body::Body as Body>::Data;
    type Error = Status;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Self::Data>, Status>>> {
        let frame = ready!(Pin::new(&mut self.inner).poll_frame(cx));
        if let Some(Ok(frame)) = &frame
            && let Some(data) = frame.data_ref()
        {
            self.taken.take(data.remaining() as u64)?;
        }
        Poll::Ready(frame)
    }

    fn is_end_stream(&self) -> bool {
        self.inner.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.inner.size_hint()
    }
}
