//! How many bytes of requests may be in memory before they are on disk, and for how long a request may stand still on
//! its way.

use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::task::{Context, Poll};
use std::time::Duration;

use hyper::body::{Body, Buf, Frame, SizeHint};
use tokio::time::{Instant, Sleep, sleep};
use tonic::Status;
use tower::{Layer, Service};

use crate::listener::Heard;

/// Bytes that requests may take together.
#[derive(Debug)]
pub struct Budget {
    limit: u64,
    used: AtomicU64,
    stall: Duration,
}

/// Bytes that one request has taken; they are given back when the last holder goes.
#[derive(Debug)]
pub struct Taken {
    budget: Arc<Budget>,
    bytes: AtomicU64,
}

impl Budget {
    /// A budget of so many bytes, for requests of which something comes at least every `stall`.
    pub fn new(limit: u64, stall: Duration) -> Arc<Self> {
        let used = AtomicU64::new(0);
        Arc::new(Self { limit, used, stall })
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
        if let Some(heard) = request.extensions().get::<Heard>() {
            heard.note();
        }
        request.extensions_mut().insert(Arc::clone(&taken));
        self.inner
            .call(request.map(|inner| tonic::body::Body::new(Metered::new(inner, taken))))
    }
}

/// A body whose bytes are taken from a budget as they come, and that ends with an error where none come.
struct Metered<B> {
    inner: B,
    taken: Arc<Taken>,
    stall: Pin<Box<Sleep>>,
}

impl<B> Metered<B> {
    fn new(inner: B, taken: Arc<Taken>) -> Self {
        let stall = Box::pin(sleep(taken.budget.stall));
        Self {
            inner,
            taken,
            stall,
        }
    }
}

impl<B: Body<Error = Status> + Unpin> Body for Metered<B> {
    type Data = B::Data;
    type Error = Status;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Self::Data>, Status>>> {
        let limit = self.taken.budget.stall;
        let Poll::Ready(frame) = Pin::new(&mut self.inner).poll_frame(cx) else {
            return self.stall.as_mut().poll(cx).map(|()| {
                let message = format!("nothing of the request has come for {limit:?}");
                Some(Err(Status::deadline_exceeded(message)))
            });
        };
        self.stall.as_mut().reset(Instant::now() + limit);
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

#[cfg(test)]
mod tests {
    use http_body_util::BodyExt;
    use hyper::body::Bytes;

    use super::*;

    /// Two bytes, and then nothing for ever.
    struct Stuck(Option<Bytes>);

    impl Body for Stuck {
        type Data = Bytes;
        type Error = Status;

        fn poll_frame(
            mut self: Pin<&mut Self>,
            _: &mut Context<'_>,
        ) -> Poll<Option<Result<Frame<Bytes>, Status>>> {
            match self.0.take() {
                Some(bytes) => Poll::Ready(Some(Ok(Frame::data(bytes)))),
                None => Poll::Pending,
            }
        }
    }

    #[tokio::test]
    async fn a_request_that_stands_still_ends_and_gives_back_its_bytes() {
        let budget = Budget::new(2, Duration::from_millis(50));
        let taken = Arc::new(Taken {
            budget: Arc::clone(&budget),
            bytes: AtomicU64::new(0),
        });
        let mut body = Metered::new(Stuck(Some(Bytes::from_static(b"ab"))), taken);
        let first = body.frame().await.expect("two bytes").expect("they fit");
        assert_eq!(first.into_data().expect("data").len(), 2);
        assert_eq!(budget.used.load(Ordering::Relaxed), 2);
        let stuck = body.frame().await.expect("an error").map(drop);
        let code = stuck.expect_err("nothing comes").code();
        assert_eq!(code, tonic::Code::DeadlineExceeded);
        drop(body);
        assert_eq!(budget.used.load(Ordering::Relaxed), 0);
    }
}
