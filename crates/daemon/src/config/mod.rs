//! The daemon's configuration: the file, read once into types.

mod file;
mod keys;
mod size;

use std::path::{Path, PathBuf};
use std::time::Duration;

use serde::Deserialize;
use toml::de::{DeTable, DeValue};

pub use size::Bytes;

use crate::DaemonError;
use crate::address::Address;

/// Where the daemon listens when nothing says otherwise.
pub const DEFAULT_LISTEN: &str = "127.0.0.1:9820";

/// Jobs that an engine with few lanes has at a time.
pub const USUAL_IN_FLIGHT: usize = 16;

/// What requests that are being received may take: a good number of the greatest ones.
const MAX_REQUEST_BYTES: u64 = 4 << 30;

/// Everything that can be configured, and what a person should be told about the file.
#[derive(Clone, Debug)]
pub struct Config {
    /// Where the daemon answers calls.
    pub listen: Address,
    /// Where it shows its state over HTTP, if anywhere.
    pub status_listen: Option<Address>,
    /// A file with a token that callers must show.
    pub token_file: Option<PathBuf>,
    /// The certificate and key of this server, and the authority whose clients may call.
    pub tls: Option<TlsFiles>,
    /// Callers at a time.
    pub max_connections: usize,
    /// Bytes of requests that may be in memory before they are on disk.
    pub max_request_bytes: u64,
    /// For how long jobs that run may go on after the daemon was told to end.
    pub drain: Duration,
    /// The folder of jobs; by default one in the user's or the service's state folder.
    pub store: Option<PathBuf>,
    /// The bounds of the queue.
    pub queue: cuzk_queue::Config,
    /// Jobs of a priority and above that the engine has at a time; [`USUAL_IN_FLIGHT`] where nothing says otherwise.
    pub in_flight: Option<usize>,
    /// What the engine is to use.
    pub engine: EngineConfig,
    /// Which events are logged, as a filter of the crate tracing-subscriber.
    pub log_level: String,
    /// How they are written.
    pub log_format: LogFormat,
    /// What to tell about the file: keys that are deprecated or without effect.
    pub warnings: Vec<String>,
}

/// Files of a TLS server.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TlsFiles {
    /// PEM: the server's certificate, with what leads to its authority.
    pub cert: PathBuf,
    /// PEM: the certificate's key.
    pub key: PathBuf,
    /// PEM: the authority of clients. Where it is set, a client without a certificate of it is refused.
    pub client_ca: Option<PathBuf>,
}

/// What the engine is to use; what is absent is for the engine to choose.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct EngineConfig {
    /// The folder of keys.
    pub param_cache: Option<PathBuf>,
    /// Host memory.
    pub total_budget: Option<Bytes>,
    /// Host memory that is left to others where the budget is the engine's choice.
    pub safety_margin: Option<Bytes>,
    /// Ordinals of devices; all when empty.
    pub devices: Vec<u32>,
    /// Lanes a device.
    pub lanes: Option<usize>,
    /// Threads of witness generation.
    pub threads: Option<usize>,
    /// Witnesses that are made at a time.
    pub witnesses: Option<usize>,
}

/// How events are written.
#[derive(Copy, Clone, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum LogFormat {
    /// A line a event for people.
    #[default]
    #[serde(alias = "pretty", alias = "compact")]
    Text,
    /// A JSON object a line.
    Json,
}

impl Config {
    /// The configuration in a file.
    ///
    /// Errors: [`DaemonError::Config`] with the line and, for an unknown key, the one that was probably meant.
    pub fn read(path: &Path) -> Result<Self, DaemonError> {
        let name = path.display().to_string();
        let text = std::fs::read_to_string(path).map_err(DaemonError::io(path, "read"))?;
        Self::parse(&text).map_err(|message| DaemonError::Config {
            message: format!("{name}: {message}"),
        })
    }

    /// The configuration in a text.
    ///
    /// Errors: what is wrong with it, with the line.
    pub fn parse(text: &str) -> Result<Self, String> {
        let warnings = check_keys(text)?;
        let file: file::File = toml::from_str(text).map_err(|error| error.to_string())?;
        let mut config = Self::from_file(file)?;
        config.warnings = warnings;
        Ok(config)
    }

    fn from_file(file: file::File) -> Result<Self, String> {
        let daemon = file.daemon;
        let address = |key: &str, text: &str| {
            let parsed: Result<Address, _> = text.parse();
            parsed.map_err(|error| format!("daemon.{key}: {error}"))
        };
        let listen = daemon.listen.as_deref().unwrap_or(DEFAULT_LISTEN);
        let status = daemon
            .status_listen
            .as_deref()
            .filter(|text| !text.is_empty());
        let tls = match (daemon.tls_cert, daemon.tls_key, daemon.tls_client_ca) {
            (Some(cert), Some(key), client_ca) => Some(TlsFiles {
                cert,
                key,
                client_ca,
            }),
            (None, None, None) => None,
            _ => return Err("daemon.tls_cert and daemon.tls_key go together".to_owned()),
        };
        Ok(Self {
            listen: address("listen", listen)?,
            status_listen: status
                .map(|text| address("status_listen", text))
                .transpose()?,
            token_file: daemon.token_file,
            tls,
            max_connections: positive("daemon.max_connections", daemon.max_connections, 1024)?,
            max_request_bytes: daemon
                .max_request_bytes
                .map_or(MAX_REQUEST_BYTES, |size| size.0.0),
            drain: Duration::from_secs(daemon.drain_seconds.unwrap_or(60)),
            in_flight: match file.queue.in_flight {
                Some(0) => return Err("queue.in_flight: wanted at least 1, found 0".to_owned()),
                in_flight => in_flight,
            },
            store: file.queue.store.clone(),
            queue: queue_bounds(&file.queue)?,
            engine: EngineConfig {
                param_cache: file.srs.param_cache,
                total_budget: file.memory.total_budget.and_then(|budget| budget.0),
                safety_margin: file.memory.safety_margin.map(|size| size.0),
                devices: file.gpus.devices,
                // The earlier daemon wrote 0 for its own choice.
                lanes: file.gpus.gpu_workers_per_device.filter(|lanes| *lanes > 0),
                threads: file.synthesis.threads.filter(|threads| *threads > 0),
                witnesses: file.pipeline.synthesis_concurrency.filter(|many| *many > 0),
            },
            log_level: file.logging.level.unwrap_or_else(|| "info".to_owned()),
            log_format: file.logging.format.unwrap_or_default(),
            warnings: Vec::new(),
        })
    }
}

impl Default for Config {
    fn default() -> Self {
        let listen = Address::Tcp(std::net::SocketAddr::from(([127, 0, 0, 1], 9820)));
        Self {
            listen,
            status_listen: None,
            token_file: None,
            tls: None,
            max_connections: 1024,
            max_request_bytes: MAX_REQUEST_BYTES,
            drain: Duration::from_secs(60),
            store: None,
            queue: cuzk_queue::Config::default(),
            in_flight: None,
            engine: EngineConfig::default(),
            log_level: "info".to_owned(),
            log_format: LogFormat::Text,
            warnings: Vec::new(),
        }
    }
}

fn queue_bounds(file: &file::Queue) -> Result<cuzk_queue::Config, String> {
    let usual = cuzk_queue::Config::default();
    let hours = file.keep_finished_hours;
    Ok(cuzk_queue::Config {
        max_jobs: positive("queue.max_jobs", file.max_jobs, usual.max_jobs)?,
        max_payload_bytes: file
            .max_payload_bytes
            .map_or(usual.max_payload_bytes, |size| size.0.0),
        keep_finished: hours.map_or(usual.keep_finished, |hours| {
            Duration::from_secs(hours.saturating_mul(3600))
        }),
        max_finished: positive("queue.max_finished", file.max_finished, usual.max_finished)?,
        ..usual
    })
}

fn positive(key: &str, value: Option<usize>, usual: usize) -> Result<usize, String> {
    match value {
        Some(0) => Err(format!("{key}: wanted at least 1, found 0")),
        value => Ok(value.unwrap_or(usual)),
    }
}

/// Holds every section and key against those that there are. Returns warnings.
fn check_keys(text: &str) -> Result<Vec<String>, String> {
    let table = DeTable::parse(text).map_err(|error| error.to_string())?;
    let line = |offset: usize| text[..offset].matches('\n').count() + 1;
    let mut warnings = Vec::new();
    for (section, value) in table.get_ref() {
        let (name, at) = (section.get_ref().as_ref(), line(section.span().start));
        let sections = keys::SECTIONS.iter();
        let Some((_, known)) = sections.clone().find(|(known, _)| *known == name) else {
            let like = keys::most_like(name, sections.map(|(known, _)| *known));
            return Err(unknown(at, &format!("section [{name}]"), like));
        };
        let DeValue::Table(entries) = value.get_ref() else {
            return Err(format!("line {at}: {name} is a section, [{name}]"));
        };
        for key in entries.keys() {
            let (key, at) = (key.get_ref().as_ref(), line(key.span().start));
            let full = format!("{name}.{key}");
            if let Some((_, instead)) = keys::DEPRECATED.iter().find(|(old, _)| *old == key) {
                warnings.push((at, format!("line {at}: {full} is deprecated: {instead}")));
                continue;
            }
            match known.iter().find(|(known, _)| *known == key) {
                Some((_, keys::Use::Read)) => {}
                Some((_, keys::Use::NoEffect)) => {
                    warnings.push((at, format!("line {at}: {full} has no effect")));
                }
                None => {
                    let like = keys::most_like(key, known.iter().map(|(known, _)| *known));
                    return Err(unknown(at, &format!("key {full}"), like));
                }
            }
        }
    }
    // The table has no order of its own.
    warnings.sort();
    Ok(warnings.into_iter().map(|(_, text)| text).collect())
}

fn unknown(line: usize, what: &str, like: Option<&str>) -> String {
    match like {
        Some(like) => format!("line {line}: unknown {what}; did you mean {like}?"),
        None => format!("line {line}: unknown {what}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A file as the earlier daemon takes it.
    const EARLIER: &str = r#"
[daemon]
listen = "unix:///run/curio/cuzk.sock"
status_listen = "0.0.0.0:9821"

[srs]
param_cache = "/var/tmp/filecoin-proof-parameters"
preload = ["porep-32g"]

[memory]
total_budget = "auto"
safety_margin = "10GiB"
eviction_min_idle = "5m"
pinned_budget = "50GiB"
working_memory_budget = "80GiB"

[gpus]
devices = [0, 1]
gpu_threads = 32
gpu_workers_per_device = 2

[scheduler]
max_batch_size = 1
max_batch_wait_ms = 10000
sort_by_type = true

[synthesis]
threads = 0
partition_workers = 4

[pipeline]
enabled = true
synthesis_lookahead = 1
synthesis_concurrency = 4

[logging]
level = "info"
format = "json"
"#;

    #[test]
    fn the_earlier_daemons_file_is_taken_as_it_is() {
        let config = Config::parse(EARLIER).expect("it is taken");
        assert_eq!(config.listen, Address::Unix("/run/curio/cuzk.sock".into()));
        let status = std::net::SocketAddr::from(([0, 0, 0, 0], 9821));
        assert_eq!(config.status_listen, Some(Address::Tcp(status)));
        assert_eq!(config.log_format, LogFormat::Json);
        let engine = EngineConfig {
            param_cache: Some("/var/tmp/filecoin-proof-parameters".into()),
            total_budget: None,
            safety_margin: Some(Bytes(10 << 30)),
            devices: vec![0, 1],
            lanes: Some(2),
            threads: None,
            witnesses: Some(4),
        };
        assert_eq!(config.engine, engine);
        let deprecated = config
            .warnings
            .iter()
            .filter(|text| text.contains("deprecated"));
        assert_eq!(deprecated.count(), 4);
        assert!(config.warnings[0].starts_with("line 8: srs.preload is deprecated"));
    }

    #[test]
    fn unknown_names_are_errors_with_a_suggestion() {
        for (text, wanted) in [
            (
                "[daemon]\n\nlisten_on = \"x\"",
                "line 3: unknown key daemon.listen_on; did you mean listen?",
            ),
            (
                "[deamon]\n",
                "line 1: unknown section [deamon]; did you mean daemon?",
            ),
            ("\n[zzz]", "line 2: unknown section [zzz]"),
            ("[gpus]\nqqq = 1", "line 2: unknown key gpus.qqq"),
            ("gpus = 1", "line 1: gpus is a section, [gpus]"),
        ] {
            assert_eq!(
                Config::parse(text).map(drop),
                Err(wanted.to_owned()),
                "{text}"
            );
        }
    }

    #[test]
    fn wrong_values_are_errors_that_name_them() {
        for (text, wanted) in [
            (
                "[memory]\ntotal_budget = \"lots\"",
                "wanted \"auto\" or a size such as 256GiB",
            ),
            (
                "[memory]\nsafety_margin = true",
                "wanted text or a whole number",
            ),
            ("[gpus]\ndevices = [-1]", "-1"),
            ("[daemon]\nlisten = \"nowhere\"", "daemon.listen"),
            (
                "[daemon]\nmax_connections = 0",
                "daemon.max_connections: wanted at least 1",
            ),
            (
                "[queue]\nin_flight = 0",
                "queue.in_flight: wanted at least 1",
            ),
            ("[daemon]\ntls_cert = \"a\"", "go together"),
            ("[logging]\nformat = \"xml\"", "xml"),
            ("[daemon\n", "line 1"),
        ] {
            let error = Config::parse(text).expect_err(text);
            assert!(error.contains(wanted), "{text}: {error}");
        }
    }

    #[test]
    fn an_empty_file_is_the_default() {
        let config = Config::parse("").expect("it is taken");
        let usual = Config::default();
        assert_eq!(config.listen, usual.listen);
        assert_eq!(config.queue, usual.queue);
        assert_eq!(config.in_flight, usual.in_flight);
        assert_eq!(config.warnings, Vec::<String>::new());
    }
}
