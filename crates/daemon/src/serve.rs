//! Binding the sockets and answering until told to end.

use std::sync::Arc;
use std::time::Duration;

use cuzk_proto::v1::proving_engine_server::ProvingEngineServer;
use cuzk_proto::{DESCRIPTORS, MAX_MESSAGE_BYTES};
use cuzk_queue::JobQueue;
use tokio::sync::{mpsc, watch};
use tokio_stream::wrappers::ReceiverStream;
use tonic::service::interceptor::InterceptedService;
use tonic::transport::{Certificate, Identity, Server, ServerTlsConfig};
use tracing::{error, info, warn};

use crate::DaemonError;
use crate::address::Address;
use crate::auth::{self, Token};
use crate::budget::{Budget, BudgetLayer};
use crate::config::{Config, TlsFiles, USUAL_IN_FLIGHT};
use crate::http;
use crate::jobs::Jobs;
use crate::listener::{Connection, GREETING, Greeting, Listener};
use crate::proving::Proving;
use crate::service::Service;
use crate::stop::notify_manager;

/// What a message may have besides a payload of the greatest size.
const MESSAGE_SLACK_BYTES: usize = 1 << 20;
/// Calls at a time on one connection. A call that waits for its proof is one of them.
const STREAMS: u32 = 4096;
/// How often a silent connection is asked whether somebody is there, and how long the answer may take.
const KEEPALIVE: (Duration, Duration) = (Duration::from_secs(30), Duration::from_secs(20));
/// How long a request may stand still on its way: it holds memory meanwhile.
const STALL: Duration = Duration::from_secs(30);
/// How long calls may take to end after everyone who waits was let go.
const LAST_CALLS: Duration = Duration::from_secs(5);

/// A daemon whose sockets are bound.
pub struct Daemon {
    config: Config,
    jobs: Arc<Jobs>,
    listener: Listener,
    status: Option<Listener>,
    token: Option<Token>,
    tls: Option<ServerTlsConfig>,
}

impl Daemon {
    /// Binds the sockets of a configuration. `insecure` lets everyone call who can reach the daemon.
    pub async fn bind(
        config: Config,
        insecure: bool,
        queue: Arc<dyn JobQueue>,
        proving: Arc<dyn Proving>,
    ) -> Result<Self, DaemonError> {
        auth::check_exposure(&config, insecure)?;
        let token = config.token_file.as_deref().map(Token::read).transpose()?;
        let tls = config.tls.as_ref().map(tls).transpose()?;
        let many = config.max_connections;
        let greeting = match tls {
            Some(_) => Greeting::Request,
            None => Greeting::Preface,
        };
        let listener = Listener::bind(&config.listen, many, greeting).await?;
        let status = match &config.status_listen {
            Some(address) => Some(Listener::bind(address, many, Greeting::Byte).await?),
            None => None,
        };
        let jobs = Jobs::new(queue, proving, config.in_flight.unwrap_or(USUAL_IN_FLIGHT));
        Ok(Self {
            config,
            jobs,
            listener,
            status,
            token,
            tls,
        })
    }

    /// Where calls are answered.
    pub fn address(&self) -> Result<Address, DaemonError> {
        self.listener.address()
    }

    /// Where the state is shown over HTTP.
    pub fn status_address(&self) -> Result<Option<Address>, DaemonError> {
        self.status.as_ref().map(Listener::address).transpose()
    }

    /// Answers calls until `stop` counts one, then drains; a second one ends that.
    pub async fn serve(self, mut stop: watch::Receiver<u32>) -> Result<(), DaemonError> {
        self.say_start()?;
        let jobs = Arc::clone(&self.jobs);
        let limit = self.config.drain;
        let mut tasks = tokio::task::JoinSet::new();
        tasks.spawn(Arc::clone(&jobs).dispatch());
        tasks.spawn(Arc::clone(&jobs).sweep());
        if let Some(listener) = self.status {
            tasks.spawn(http::serve(listener, Arc::clone(&jobs)));
        }
        let (ending, ended) = watch::channel(false);
        let budget = self.config.max_request_bytes;
        let server = server(&jobs, self.token, self.tls, budget, &mut tasks)?;
        let calls = incoming(self.listener, ended.clone());
        let mut last = ended;
        let serving = server.serve_with_incoming_shutdown(calls, async move {
            let _ = last.wait_for(|ending| *ending).await;
        });
        tokio::pin!(serving);
        notify_manager("READY=1");
        tokio::select! {
            served = &mut serving => return Ok(served?),
            () = reached(&mut stop, 1) => {}
        }
        info!(limit_s = limit.as_secs(), "draining");
        notify_manager("STOPPING=1");
        let drain = async {
            tokio::select! {
                () = jobs.drain(limit) => {}
                () = reached(&mut stop, 2) => {
                    warn!("told twice to end");
                    jobs.drain(Duration::ZERO).await;
                }
            }
        };
        tokio::select! {
            served = &mut serving => return Ok(served?),
            () = drain => {}
        }
        ending.send_replace(true);
        match tokio::time::timeout(LAST_CALLS, &mut serving).await {
            Ok(served) => served?,
            Err(_) => warn!("calls were cut off"),
        }
        info!("ended");
        Ok(())
    }

    fn say_start(&self) -> Result<(), DaemonError> {
        for warning in &self.config.warnings {
            warn!("configuration: {warning}");
        }
        let status = self.status_address()?.map(|address| address.to_string());
        let usage = self.jobs.queue().usage();
        let waiting: usize = usage.kinds.values().map(|count| count.waiting).sum();
        info!(address = %self.address()?, status, waiting, "listening");
        Ok(())
    }
}

type Router = tonic::transport::server::Router<
    tower::layer::util::Stack<BudgetLayer, tower::layer::util::Identity>,
>;

/// Returns when the daemon was told to end so often, or never where nobody can tell it any more.
async fn reached(stop: &mut watch::Receiver<u32>, wanted: u32) {
    let closed = stop.wait_for(|count| *count >= wanted).await.is_err();
    if closed {
        std::future::pending::<()>().await;
    }
}

/// The services: the interface, its description, and health.
fn server(
    jobs: &Arc<Jobs>,
    token: Option<Token>,
    tls: Option<ServerTlsConfig>,
    max_request_bytes: u64,
    tasks: &mut tokio::task::JoinSet<()>,
) -> Result<Router, DaemonError> {
    let check = move |request| auth::check(token.as_ref(), request);
    let engine = ProvingEngineServer::new(Service::new(Arc::clone(jobs)))
        .max_decoding_message_size(MAX_MESSAGE_BYTES + MESSAGE_SLACK_BYTES)
        .max_encoding_message_size(MAX_MESSAGE_BYTES);
    let described = || {
        tonic_reflection::server::Builder::configure()
            .register_encoded_file_descriptor_set(DESCRIPTORS)
            .register_encoded_file_descriptor_set(tonic_health::pb::FILE_DESCRIPTOR_SET)
    };
    let wrong = |error: tonic_reflection::server::Error| DaemonError::Config {
        message: format!("reflection: {error}"),
    };
    let reflection = described().build_v1().map_err(wrong)?;
    // Python's client and older ones know this version only.
    let older_reflection = described().build_v1alpha().map_err(wrong)?;
    let (reporter, health) = tonic_health::server::health_reporter();
    tasks.spawn(report_health(reporter, Arc::clone(jobs)));
    let mut server = Server::builder()
        .http2_keepalive_interval(Some(KEEPALIVE.0))
        .http2_keepalive_timeout(Some(KEEPALIVE.1))
        .max_concurrent_streams(STREAMS)
        .initial_stream_window_size(1 << 20)
        .initial_connection_window_size(16 << 20);
    if let Some(tls) = tls {
        server = server.tls_config(tls)?;
    }
    Ok(server
        .layer(BudgetLayer(Budget::new(max_request_bytes, STALL)))
        .add_service(InterceptedService::new(engine, check.clone()))
        .add_service(InterceptedService::new(reflection, check.clone()))
        .add_service(InterceptedService::new(older_reflection, check))
        .add_service(health))
}

/// Keeps the health service true.
async fn report_health(reporter: tonic_health::server::HealthReporter, jobs: Arc<Jobs>) {
    type Engine = ProvingEngineServer<Service>;
    loop {
        let serving = jobs.phase() == crate::jobs::Phase::Serving;
        let in_service = jobs
            .blocking(|jobs| jobs.proving().status().in_service())
            .await;
        match serving && in_service.unwrap_or(false) {
            true => reporter.set_serving::<Engine>().await,
            false => reporter.set_not_serving::<Engine>().await,
        }
        tokio::time::sleep(Duration::from_secs(1)).await;
    }
}

/// The callers of a listener, until the daemon ends.
fn incoming(
    listener: Listener,
    mut ended: watch::Receiver<bool>,
) -> ReceiverStream<std::io::Result<Connection>> {
    let (sender, receiver) = mpsc::channel(1);
    tokio::spawn(async move {
        loop {
            let accepted = tokio::select! {
                accepted = listener.accept() => accepted,
                _ = ended.wait_for(|ended| *ended) => return,
            };
            match accepted {
                Ok(connection) => {
                    if sender.send(Ok(connection)).await.is_err() {
                        return;
                    }
                }
                Err(error) => {
                    // No file handles, most likely: some connection will end.
                    error!(%error, "cannot accept a connection");
                    tokio::time::sleep(Duration::from_millis(100)).await;
                }
            }
        }
    });
    ReceiverStream::new(receiver)
}

fn tls(files: &TlsFiles) -> Result<ServerTlsConfig, DaemonError> {
    let read = |path| std::fs::read(path).map_err(DaemonError::io(path, "read"));
    let identity = Identity::from_pem(read(&files.cert)?, read(&files.key)?);
    let config = ServerTlsConfig::new().identity(identity).timeout(GREETING);
    Ok(match &files.client_ca {
        Some(authority) => config.client_ca_root(Certificate::from_pem(read(authority)?)),
        None => config,
    })
}
