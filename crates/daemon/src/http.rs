//! The state of the daemon over HTTP: a page for people, JSON, metrics, health.

use std::convert::Infallible;
use std::sync::Arc;
use std::time::Duration;

use http_body_util::Full;
use hyper::body::{Bytes, Incoming};
use hyper::header::{CACHE_CONTROL, CONTENT_TYPE};
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper::{Method, Request, Response, StatusCode};
use hyper_util::rt::{TokioIo, TokioTimer};
use tracing::{debug, error};

use crate::jobs::{Jobs, Phase};
use crate::listener::Listener;
use crate::page::Page;

const DASHBOARD: &str = include_str!("dashboard.html");
/// For how long a caller may write the head of a request.
const HEAD: Duration = Duration::from_secs(10);

/// Answers callers for as long as the daemon lives.
pub async fn serve(listener: Listener, jobs: Arc<Jobs>) {
    loop {
        let connection = match listener.accept().await {
            Ok(connection) => connection,
            Err(error) => {
                error!(%error, "cannot accept a status connection");
                tokio::time::sleep(Duration::from_millis(100)).await;
                continue;
            }
        };
        let jobs = Arc::clone(&jobs);
        tokio::spawn(async move {
            let service = service_fn(|request| answer(request, Arc::clone(&jobs)));
            let mut server = http1::Builder::new();
            server.timer(TokioTimer::new()).header_read_timeout(HEAD);
            let served = server.serve_connection(TokioIo::new(connection), service);
            if let Err(error) = served.await {
                debug!(%error, "a status connection ended");
            }
        });
    }
}

async fn answer(
    request: Request<Incoming>,
    jobs: Arc<Jobs>,
) -> Result<Response<Full<Bytes>>, Infallible> {
    if request.method() != Method::GET && request.method() != Method::HEAD {
        return Ok(text(StatusCode::METHOD_NOT_ALLOWED, "only GET\n"));
    }
    Ok(match request.uri().path() {
        "/" => respond(
            StatusCode::OK,
            "text/html; charset=utf-8",
            DASHBOARD.to_owned(),
        ),
        "/status" => status(&jobs).await,
        "/metrics" => metrics(&jobs).await,
        "/healthz" => health(&jobs).await,
        _ => text(
            StatusCode::NOT_FOUND,
            "there are /, /status, /metrics and /healthz\n",
        ),
    })
}

async fn status(jobs: &Arc<Jobs>) -> Response<Full<Bytes>> {
    let page = jobs.blocking(|jobs| {
        let page = Page::new(jobs).map_err(|error| error.to_string())?;
        serde_json::to_string_pretty(&page).map_err(|error| error.to_string())
    });
    match page.await {
        Ok(Ok(json)) => respond(StatusCode::OK, "application/json", json),
        Ok(Err(error)) => text(StatusCode::INTERNAL_SERVER_ERROR, &error),
        Err(refusal) => text(StatusCode::INTERNAL_SERVER_ERROR, &format!("{refusal:?}")),
    }
}

async fn metrics(jobs: &Arc<Jobs>) -> Response<Full<Bytes>> {
    let page = jobs.blocking(|jobs| {
        jobs.metrics()
            .text(&jobs.proving().status(), &jobs.queue().usage())
    });
    match page.await {
        Ok(page) => respond(StatusCode::OK, "text/plain; version=0.0.4", page),
        Err(refusal) => text(StatusCode::INTERNAL_SERVER_ERROR, &format!("{refusal:?}")),
    }
}

/// Whether the daemon serves and a device is in service. A queue or a disk that is full is not seen: it empties by itself,
/// and the metrics say how full they are.
async fn health(jobs: &Arc<Jobs>) -> Response<Full<Bytes>> {
    let in_service = jobs
        .blocking(|jobs| jobs.proving().status().in_service())
        .await;
    match (jobs.phase(), in_service) {
        (Phase::Serving, Ok(true)) => text(StatusCode::OK, "ok\n"),
        (Phase::Serving, _) => text(StatusCode::SERVICE_UNAVAILABLE, "no device is in service\n"),
        _ => text(StatusCode::SERVICE_UNAVAILABLE, "the daemon is ending\n"),
    }
}

fn text(status: StatusCode, body: &str) -> Response<Full<Bytes>> {
    respond(status, "text/plain; charset=utf-8", body.to_owned())
}

fn respond(status: StatusCode, content_type: &'static str, body: String) -> Response<Full<Bytes>> {
    let mut response = Response::new(Full::new(Bytes::from(body)));
    *response.status_mut() = status;
    let headers = response.headers_mut();
    headers.insert(
        CONTENT_TYPE,
        hyper::header::HeaderValue::from_static(content_type),
    );
    headers.insert(
        CACHE_CONTROL,
        hyper::header::HeaderValue::from_static("no-store"),
    );
    response
}
