//! Why a daemon does not start.

use std::io;
use std::path::PathBuf;

use cuzk_queue::QueueError;

/// Why a daemon does not start, or ends before it was told to.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum DaemonError {
    /// The configuration is wrong.
    #[error("{message}")]
    Config {
        /// What is wrong, and where.
        message: String,
    },
    /// Another process listens there.
    #[error("{address} is held by {holder}")]
    Held {
        /// The address.
        address: String,
        /// The process, as far as the system tells.
        holder: String,
    },
    /// An address beyond this machine, and nothing that says who may call.
    #[error(
        "{address} can be reached from other machines: set daemon.token_file or daemon.tls_client_ca, \
         or say --insecure where everyone who can reach it may use it"
    )]
    Open {
        /// The address.
        address: String,
    },
    /// The operating system refused a call.
    #[error("{file}: cannot {action}: {source}")]
    Io {
        /// The file or address.
        file: String,
        /// What was attempted.
        action: &'static str,
        /// The system's answer.
        source: io::Error,
    },
    /// The store of jobs did not open.
    #[error("the store of jobs: {0}")]
    Queue(#[from] QueueError),
    /// The server ended.
    #[error("the server: {0}")]
    Server(#[from] tonic::transport::Error),
}

impl DaemonError {
    /// Wraps the system's answer about a file.
    pub(crate) fn io(
        file: impl Into<PathBuf>,
        action: &'static str,
    ) -> impl FnOnce(io::Error) -> Self {
        let file = file.into().display().to_string();
        move |source| Self::Io {
            file,
            action,
            source,
        }
    }
}
