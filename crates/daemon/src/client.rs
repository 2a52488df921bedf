//! Calling a daemon.

use std::path::{Path, PathBuf};

use cuzk_proto::MAX_MESSAGE_BYTES;
use cuzk_proto::v1::proving_engine_client::ProvingEngineClient;
use tonic::metadata::{Ascii, MetadataValue};
use tonic::service::Interceptor;
use tonic::service::interceptor::InterceptedService;
use tonic::transport::{Certificate, Channel, ClientTlsConfig, Endpoint, Identity};
use tonic::{Request, Status};

use crate::DaemonError;
use crate::address::Address;

/// A connection to a daemon.
pub type Client = ProvingEngineClient<InterceptedService<Channel, ShowToken>>;

/// Shows a token with each call, where there is one.
#[derive(Clone)]
pub struct ShowToken(Option<MetadataValue<Ascii>>);

impl Interceptor for ShowToken {
    fn call(&mut self, mut request: Request<()>) -> Result<Request<()>, Status> {
        if let Some(token) = &self.0 {
            request
                .metadata_mut()
                .insert("authorization", token.clone());
        }
        Ok(request)
    }
}

/// What a client on TLS needs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ClientTls {
    /// PEM: the authority of the daemon's certificate.
    pub authority: PathBuf,
    /// The name in the daemon's certificate.
    pub name: String,
    /// PEM: the client's certificate and its key, where the daemon asks for them.
    pub identity: Option<(PathBuf, PathBuf)>,
}

impl ClientTls {
    fn config(&self) -> Result<ClientTlsConfig, DaemonError> {
        let read = |path: &Path| std::fs::read(path).map_err(DaemonError::io(path, "read"));
        let config = ClientTlsConfig::new()
            .ca_certificate(Certificate::from_pem(read(&self.authority)?))
            .domain_name(&self.name);
        Ok(match &self.identity {
            Some((cert, key)) => config.identity(Identity::from_pem(read(cert)?, read(key)?)),
            None => config,
        })
    }
}

/// Connects to the daemon at an address, with the token in a file and on TLS where they are given.
///
/// Errors: [`DaemonError::Io`] about a file, [`DaemonError::Server`] where nobody answers or one of both sides does not
/// accept the other's certificate.
pub async fn connect(
    address: &Address,
    token: Option<&Path>,
    tls: Option<&ClientTls>,
) -> Result<Client, DaemonError> {
    let token = token.map(authorization).transpose()?;
    let scheme = if tls.is_some() { "https" } else { "http" };
    let url = match address {
        Address::Unix(_) => address.to_string(),
        Address::Tcp(tcp) => format!("{scheme}://{tcp}"),
    };
    let mut endpoint = Endpoint::from_shared(url)?;
    if let Some(tls) = tls {
        endpoint = endpoint.tls_config(tls.config()?)?;
    }
    let channel = endpoint.connect().await?;
    Ok(
        ProvingEngineClient::with_interceptor(channel, ShowToken(token))
            .max_decoding_message_size(MAX_MESSAGE_BYTES)
            .max_encoding_message_size(MAX_MESSAGE_BYTES),
    )
}

fn authorization(file: &Path) -> Result<MetadataValue<Ascii>, DaemonError> {
    let text = std::fs::read_to_string(file).map_err(DaemonError::io(file, "read"))?;
    let value = format!("Bearer {}", text.trim());
    value.parse().map_err(|_| DaemonError::Config {
        message: format!("{}: a token is plain text", file.display()),
    })
}
