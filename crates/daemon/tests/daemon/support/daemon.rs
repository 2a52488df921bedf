//! A daemon in a task of this process.

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use cuzk_daemon::config::Config;
use cuzk_daemon::{Address, Daemon, DaemonError};
use cuzk_proto::MAX_MESSAGE_BYTES;
use cuzk_proto::v1::proving_engine_client::ProvingEngineClient;
use cuzk_queue::{EmbeddedQueue, QueueError};
use tokio::sync::watch;
use tokio::task::JoinHandle;
use tonic::transport::{Channel, Endpoint};

use super::simulated::{Shared, Simulated};

pub type Client = ProvingEngineClient<Channel>;

pub struct Running {
    pub address: Address,
    pub status: Option<Address>,
    pub proving: Arc<Simulated>,
    pub stop: watch::Sender<u32>,
    pub served: JoinHandle<Result<(), DaemonError>>,
    /// Removed at the end, where the daemon was not given a folder.
    folder: Option<tempfile::TempDir>,
}

/// A daemon with a store of its own and the changes to its configuration.
pub async fn start(change: impl FnOnce(&mut Config)) -> Running {
    let folder = tempfile::tempdir().expect("a folder");
    let mut running = start_in(folder.path(), change).await;
    running.folder = Some(folder);
    running
}

/// A daemon with the store in a folder.
pub async fn start_in(folder: &Path, change: impl FnOnce(&mut Config)) -> Running {
    let mut config = Config {
        listen: "127.0.0.1:0".parse().expect("an address"),
        ..Config::default()
    };
    change(&mut config);
    let queue = open(&folder.join("store"), &config).await;
    let proving = Simulated::new();
    let shared = Arc::new(Shared(Arc::clone(&proving)));
    let queue = Arc::new(queue);
    let daemon = Daemon::bind(config, false, queue, shared)
        .await
        .expect("it binds");
    let address = daemon.address().expect("it has one");
    let status = daemon.status_address().expect("it has one");
    let (stop, stopped) = watch::channel(0);
    Running {
        address,
        status,
        proving,
        stop,
        served: tokio::spawn(daemon.serve(stopped)),
        folder: None,
    }
}

/// Opens a store, once an earlier daemon of this process has let go of it.
pub async fn open(store: &Path, config: &Config) -> EmbeddedQueue {
    for _ in 0..500 {
        match EmbeddedQueue::open(store, config.queue.clone(), 1) {
            Err(QueueError::Held { .. }) => tokio::time::sleep(Duration::from_millis(10)).await,
            opened => return opened.expect("it opens"),
        }
    }
    panic!("the store is still held");
}

impl Running {
    /// A new connection.
    pub async fn client(&self) -> Client {
        client(&self.address).await
    }

    /// Ends the daemon as a signal would, and waits for it.
    pub async fn end(self) {
        self.stop.send_modify(|count| *count += 1);
        self.served.await.expect("no panic").expect("it ends well");
    }

    /// Ends the daemon at once, as two signals would.
    pub async fn end_now(self) {
        self.stop.send_modify(|count| *count += 2);
        self.served.await.expect("no panic").expect("it ends well");
    }
}

/// A connection to an address.
pub async fn client(address: &Address) -> Client {
    let channel = match address {
        Address::Tcp(address) => Endpoint::from_shared(format!("http://{address}")),
        Address::Unix(path) => Endpoint::from_shared(unix_url(path)),
    };
    let channel = channel
        .expect("an address")
        .connect()
        .await
        .expect("it listens");
    Client::new(channel)
        .max_decoding_message_size(MAX_MESSAGE_BYTES)
        .max_encoding_message_size(usize::MAX)
}

fn unix_url(path: &Path) -> String {
    format!("unix://{}", path.display())
}
