//! Calling a daemon.

use std::path::Path;

use cuzk_proto::MAX_MESSAGE_BYTES;
use cuzk_proto::v1::proving_engine_client::ProvingEngineClient;
use tonic::metadata::{Ascii, MetadataValue};
use tonic::service::Interceptor;
use tonic::service::interceptor::InterceptedService;
use tonic::transport::{Channel, Endpoint};
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

/// Connects to the daemon at an address, with the token in a file where one is given.
///
/// Errors: [`DaemonError::Io`] about the file, [`DaemonError::Server`] where nobody answers.
pub async fn connect(address: &Address, token: Option<&Path>) -> Result<Client, DaemonError> {
    let token = token.map(authorization).transpose()?;
    let url = match address {
        Address::Unix(_) => address.to_string(),
        Address::Tcp(tcp) => format!("http://{tcp}"),
    };
    let channel = Endpoint::from_shared(url)?.connect().await?;
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
