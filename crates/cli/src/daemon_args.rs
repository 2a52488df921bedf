//! The command line of the verbs that are about a daemon.

use std::fmt;
use std::path::PathBuf;
use std::str::FromStr;

use clap::{ValueEnum, ValueHint};
use cuzk_daemon::config::DEFAULT_LISTEN;
use cuzk_daemon::{Address, ClientTls, NotAnAddress};

use crate::args::{ParamsFolder, PceFolder};
use crate::backend::{BackendChoice, Bytes};
use crate::failure::{USAGE, failure};

/// `cuzk serve`, and `cuzk` alone.
#[derive(clap::Args, Debug)]
pub struct Serve {
    /// The configuration file, TOML; docs/operating.md names its keys. By default none.
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    pub config: Option<PathBuf>,
    /// Where to answer calls: unix:///path or host:port. By default what the configuration says, else 127.0.0.1:9820.
    #[arg(long, value_name = "ADDR")]
    pub listen: Option<Address>,
    /// Where to show the state over HTTP: host:port. By default what the configuration says, else nowhere.
    #[arg(long, value_name = "ADDR")]
    pub status_listen: Option<Address>,
    /// Which events are logged: error, warn, info, debug, trace, or a filter such as cuzk_daemon=debug,warn. By
    /// default what the configuration says, else info.
    #[arg(long, value_name = "LEVEL")]
    pub log_level: Option<String>,
    /// How events are written. By default what the configuration says, else text.
    #[arg(long, value_name = "FORMAT")]
    pub log_format: Option<LogFormat>,
    /// The folder of jobs. By default what the configuration says, else jobs in $STATE_DIRECTORY, else cuzk/jobs in the
    /// user's state folder.
    #[arg(long, value_name = "DIR", value_hint = ValueHint::DirPath)]
    pub store: Option<PathBuf>,
    /// Where to compute: auto, cpu, cuda (all devices) or cuda:0,1 (these). By default what the configuration says, else
    /// auto.
    #[arg(long, value_name = "BACKEND")]
    pub backend: Option<BackendChoice>,
    /// Use at most so much memory of each device, such as 8GiB; by default all that is free.
    #[arg(long, value_name = "BYTES")]
    pub device_memory: Option<Bytes>,
    /// Let everyone call who can reach the daemon, also from other machines.
    #[arg(long)]
    pub insecure: bool,
    #[command(flatten)]
    pub params: ParamsFolder,
    #[command(flatten)]
    pub pce: PceFolder,
}

impl Serve {
    /// Refuses options of serving in front of another verb, where they would be without effect.
    pub fn refuse_before_a_verb(&self) -> anyhow::Result<()> {
        let given = [
            ("--config", self.config.is_some()),
            ("--listen", self.listen.is_some()),
            ("--status-listen", self.status_listen.is_some()),
            ("--log-level", self.log_level.is_some()),
            ("--log-format", self.log_format.is_some()),
            ("--store", self.store.is_some()),
            ("--backend", self.backend.is_some()),
            ("--device-memory", self.device_memory.is_some()),
            ("--insecure", self.insecure),
            ("--params", self.params.params.is_some()),
            ("--pce", self.pce.pce.is_some()),
        ];
        match given.iter().find(|(_, given)| *given) {
            Some((option, _)) => Err(failure(USAGE, format!("{option} stands after the verb"))),
            None => Ok(()),
        }
    }
}

/// How events are written.
#[derive(ValueEnum, Copy, Clone, Debug)]
pub enum LogFormat {
    /// Lines for people.
    Text,
    /// A JSON object a line.
    Json,
}

/// Which daemon to call.
#[derive(clap::Args, Debug)]
pub struct Target {
    /// The daemon: unix:///path or host:port.
    #[arg(long, value_name = "ADDR", default_value = DEFAULT_LISTEN)]
    pub daemon: Peer,
    /// A file with the token that the daemon asks for.
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    pub token_file: Option<PathBuf>,
    /// Talk TLS: the authority of the daemon's certificate, as PEM.
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    pub tls_ca: Option<PathBuf>,
    /// This client's certificate, as PEM, where the daemon asks for one.
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath, requires_all = ["tls_ca", "tls_key"])]
    pub tls_cert: Option<PathBuf>,
    /// The certificate's key, as PEM.
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath, requires = "tls_cert")]
    pub tls_key: Option<PathBuf>,
}

impl Target {
    /// What to talk TLS with, where that is wanted.
    pub fn tls(&self) -> Option<ClientTls> {
        Some(ClientTls {
            authority: self.tls_ca.clone()?,
            name: self.daemon.host.clone(),
            identity: self.tls_cert.clone().zip(self.tls_key.clone()),
        })
    }
}

/// A daemon's address, and the name by which it was given.
#[derive(Clone, Debug)]
pub struct Peer {
    /// Where it listens.
    pub address: Address,
    /// The host as it was written: what the daemon's certificate is to name.
    pub host: String,
}

impl FromStr for Peer {
    type Err = NotAnAddress;

    fn from_str(text: &str) -> Result<Self, NotAnAddress> {
        let host = text.rsplit_once(':').map_or(text, |(host, _)| host);
        let host = host.strip_prefix("tcp://").unwrap_or(host);
        Ok(Self {
            address: text.parse()?,
            host: host.trim_matches(['[', ']']).to_owned(),
        })
    }
}

impl fmt::Display for Peer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.address.fmt(f)
    }
}

/// `cuzk submit`.
#[derive(clap::Args, Debug)]
pub struct Submit {
    /// The payload file, as `cuzk synth` and `cuzk demo --keep` write it.
    #[arg(value_hint = ValueHint::FilePath)]
    pub payload: PathBuf,
    /// The job's name; by default one made of the kind, the miner and the sector.
    #[arg(long, value_name = "NAME")]
    pub request_id: Option<String>,
    /// Its priority: low, normal, high or critical; by default that of its kind.
    #[arg(long)]
    pub priority: Option<PriorityName>,
    /// Wait for the proof and write it to this file.
    #[arg(long, short, value_name = "FILE", value_hint = ValueHint::FilePath)]
    pub out: Option<PathBuf>,
    #[command(flatten)]
    pub target: Target,
}

/// How urgent a job is.
#[derive(ValueEnum, Copy, Clone, Debug)]
pub enum PriorityName {
    /// Work that can wait.
    Low = 1,
    /// The usual.
    Normal = 2,
    /// Ahead of the usual.
    High = 3,
    /// Has a deadline of minutes or seconds.
    Critical = 4,
}

/// `cuzk await`.
#[derive(clap::Args, Debug)]
pub struct Await {
    /// The job, as `cuzk submit` printed it.
    pub job: String,
    /// Give up after so many seconds; the job goes on. 0 waits for ever.
    #[arg(long, value_name = "S", default_value_t = 0)]
    pub timeout: u64,
    /// Write the proof to this file.
    #[arg(long, short, value_name = "FILE", value_hint = ValueHint::FilePath)]
    pub out: Option<PathBuf>,
    #[command(flatten)]
    pub target: Target,
}

/// `cuzk cancel`.
#[derive(clap::Args, Debug)]
pub struct Cancel {
    /// The job, as `cuzk submit` printed it.
    pub job: String,
    #[command(flatten)]
    pub target: Target,
}

/// `cuzk status`.
#[derive(clap::Args, Debug)]
pub struct Status {
    #[command(flatten)]
    pub target: Target,
}

/// `cuzk top`.
#[derive(clap::Args, Debug)]
pub struct Top {
    /// Seconds between two looks.
    #[arg(long, value_name = "S", default_value_t = 1.0)]
    pub every: f64,
    #[command(flatten)]
    pub target: Target,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_daemon_keeps_the_name_that_it_was_given() {
        let name = "localhost";
        let named = format!("{name}:1");
        for (text, address, host) in [
            ("127.0.0.1:9820", "127.0.0.1:9820", "127.0.0.1"),
            (named.as_str(), "", name),
            ("tcp://[::1]:7", "[::1]:7", "::1"),
            ("unix:///run/cuzk.sock", "unix:///run/cuzk.sock", "unix"),
        ] {
            let peer: Peer = text.parse().unwrap();
            assert_eq!(peer.host, host);
            assert!(address.is_empty() || peer.to_string() == address);
        }
        assert!("somewhere".parse::<Peer>().is_err());
    }
}
