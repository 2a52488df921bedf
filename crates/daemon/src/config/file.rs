//! The configuration file as it is written.

use std::path::PathBuf;

use serde::{Deserialize, Deserializer};

use super::size::Bytes;

/// The whole file. Every section and key may be absent.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub struct File {
    pub daemon: Daemon,
    pub queue: Queue,
    pub srs: Srs,
    pub memory: Memory,
    pub gpus: Gpus,
    pub synthesis: Synthesis,
    pub pipeline: Pipeline,
    pub logging: Logging,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub struct Daemon {
    pub listen: Option<String>,
    pub status_listen: Option<String>,
    pub token_file: Option<PathBuf>,
    pub tls_cert: Option<PathBuf>,
    pub tls_key: Option<PathBuf>,
    pub tls_client_ca: Option<PathBuf>,
    pub max_connections: Option<usize>,
    pub max_request_bytes: Option<Size>,
    pub drain_seconds: Option<u64>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub struct Queue {
    pub store: Option<PathBuf>,
    pub max_jobs: Option<usize>,
    pub max_payload_bytes: Option<Size>,
    pub keep_finished_hours: Option<u64>,
    pub max_finished: Option<usize>,
    pub in_flight: Option<usize>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub struct Srs {
    pub param_cache: Option<PathBuf>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub struct Memory {
    pub total_budget: Option<Budget>,
    pub safety_margin: Option<Size>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub struct Gpus {
    pub devices: Vec<u32>,
    pub gpu_workers_per_device: Option<usize>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub struct Synthesis {
    pub threads: Option<usize>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub struct Pipeline {
    pub synthesis_concurrency: Option<usize>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub struct Logging {
    pub level: Option<String>,
    pub format: Option<super::LogFormat>,
}

/// A number of bytes, as text with a unit or as an integer.
#[derive(Copy, Clone, Debug)]
pub struct Size(pub Bytes);

/// A number of bytes, or `auto`.
#[derive(Copy, Clone, Debug)]
pub struct Budget(pub Option<Bytes>);

#[derive(Deserialize)]
#[serde(untagged, expecting = "wanted text or a whole number")]
enum Either {
    Number(u64),
    Text(String),
}

impl<'de> Deserialize<'de> for Size {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        match Either::deserialize(deserializer)? {
            Either::Number(bytes) => Ok(Self(Bytes(bytes))),
            Either::Text(text) => Bytes::parse(&text).map(Self).ok_or_else(|| {
                serde::de::Error::custom(format!("wanted a size such as 256GiB, found {text:?}"))
            }),
        }
    }
}

impl<'de> Deserialize<'de> for Budget {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        match Either::deserialize(deserializer)? {
            Either::Number(bytes) => Ok(Self(Some(Bytes(bytes)))),
            Either::Text(text) if text == "auto" => Ok(Self(None)),
            Either::Text(text) => Bytes::parse(&text).map(Some).map(Self).ok_or_else(|| {
                serde::de::Error::custom(format!(
                    "wanted \"auto\" or a size such as 256GiB, found {text:?}"
                ))
            }),
        }
    }
}
