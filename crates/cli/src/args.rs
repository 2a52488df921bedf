//! The command line.

use std::num::NonZeroUsize;
use std::path::PathBuf;
use std::str::FromStr;

use clap::{Parser, Subcommand, ValueHint};
use clap_complete::Shell;
use cuzk_synth::{Kind, PoRepFeature, SectorSize};

use crate::backend::{BackendChoice, Bytes};
use crate::commands::bench::Bench;
use crate::daemon_args;

const AFTER_HELP: &str = "\
Exit codes:
  0  done, and everything that was asked for holds
  1  the system failed (a file, memory, a thread)
  2  the command line is wrong
  3  an input is wrong (a payload, key, PCE or proof file)
  4  a proof or a witness does not hold, or is of another statement; a daemon's job failed or was cancelled
  5  a key is missing
  6  a GPU that was asked for cannot be used
  7  no daemon answers, it does not take the call, or a job has not ended within --timeout

Files:
  Keys lie in --params, else in $FIL_PROOFS_PARAMETER_CACHE, else in the user's cache folder under cuzk/params.
  Compiled circuits (PCE) lie in --pce, else in $CUZK_PCE_CACHE, else in the user's cache folder under cuzk/pce.

Examples:
  cuzk demo                                    prove all four proof types on a real 2 KiB sector
  cuzk demo --kind winning-post --json         one of them, as JSON
  cuzk synth --kind porep --sector-size 32GiB --out payloads
  cuzk prove payloads/porep-32g.json --out proof.bin
  cuzk prove payloads/porep-32g.json --out proof.bin --backend cuda:0
  cuzk verify payloads/porep-32g.json proof.bin
  cuzk inspect proof.bin
  cuzk serve --listen unix:///run/cuzk/cuzk.sock
  cuzk submit payloads/porep-32g.json --out proof.bin";

const ABOUT: &str = "A Groth16 prover for Filecoin's proofs over BLS12-381.

Without a command it serves, as `cuzk serve` does.";

/// The whole command line.
#[derive(Parser, Debug)]
#[command(name = "cuzk", version, about = ABOUT, after_help = AFTER_HELP, max_term_width = 100)]
pub struct Args {
    /// What to do; without it, `cuzk` serves.
    #[command(subcommand)]
    pub command: Option<Command>,

    #[command(
        flatten,
        next_help_heading = "Options of serving, where no command is named"
    )]
    pub serve: daemon_args::Serve,

    /// Threads to compute on. By default one a core.
    #[arg(long, global = true, value_name = "N")]
    pub threads: Option<NonZeroUsize>,

    /// Print results as JSON on standard output.
    #[arg(long, global = true)]
    pub json: bool,

    /// Show no progress.
    #[arg(long, short, global = true)]
    pub quiet: bool,
}

/// What `cuzk` can do.
#[derive(Subcommand, Debug)]
pub enum Command {
    /// Make a real sector, prove all its proof types and verify them with bellperson's verifier.
    ///
    /// Keys and compiled circuits are made where absent and kept for the next time.
    Demo(Demo),
    /// Make the payload of a synthetic sector of any size, without sealing.
    ///
    /// The payload satisfies the circuit and the official vanilla verifiers, so a machine can be measured at full size.
    Synth(Synth),
    /// Make a development key for a circuit. Whoever makes a key can forge proofs: never use one in production.
    Keygen(Keygen),
    /// Record a circuit's constraints once and keep them for all its proofs.
    ///
    /// Several circuits are compiled one after the other and each is kept as soon as it is done, so a run that was
    /// interrupted goes on with the first that is missing.
    Compile(Compile),
    /// Prove a payload; every proof is verified before it is written.
    Prove(Prove),
    /// List the CUDA devices: ordinal, name, PCI bus id, architecture, memory, and whether this program runs on them.
    Devices,
    /// Verify the proof of a payload.
    Verify(Verify),
    /// Say what a file is and what is wrong with it: .params, .vk, PCE, proof or payload.
    Inspect(Inspect),
    /// Be a daemon: answer cuzk.v1 calls, as Curio makes them, until told to end.
    Serve(daemon_args::Serve),
    /// Hand a payload to a daemon.
    Submit(daemon_args::Submit),
    /// Wait for a daemon's job to end.
    Await(daemon_args::Await),
    /// Cancel a daemon's job; one that has ended stays as it is.
    Cancel(daemon_args::Cancel),
    /// Show a daemon's devices, keys and queues.
    Status(daemon_args::Status),
    /// Show a daemon's devices, keys and queues again and again, until interrupted.
    Top(daemon_args::Top),
    /// Measure a daemon, or how proofs scale with the number of devices.
    #[command(subcommand)]
    Bench(Bench),
    /// Print completions for a shell.
    Completions {
        /// The shell.
        shell: Shell,
    },
    /// Write the manual pages into a folder.
    Man {
        /// The folder, which is made where absent.
        #[arg(value_hint = ValueHint::DirPath)]
        folder: PathBuf,
    },
}

/// Where keys lie.
#[derive(clap::Args, Debug, Clone)]
pub struct ParamsFolder {
    /// The folder of .params and .vk files.
    #[arg(long, value_name = "DIR", value_hint = ValueHint::DirPath)]
    pub params: Option<PathBuf>,
}

/// Where compiled circuits lie.
#[derive(clap::Args, Debug, Clone)]
pub struct PceFolder {
    /// The folder of compiled circuits.
    #[arg(long, value_name = "DIR", value_hint = ValueHint::DirPath)]
    pub pce: Option<PathBuf>,
}

/// Where to compute.
#[derive(clap::Args, Debug, Clone)]
pub struct BackendArgs {
    /// Where to compute: auto, cpu, cuda (all devices) or cuda:0,1 (these).
    #[arg(long, value_name = "BACKEND", default_value = "auto")]
    pub backend: BackendChoice,
    /// Use at most so much memory of each device, such as 8GiB; by default all that is free.
    #[arg(long, value_name = "BYTES")]
    pub device_memory: Option<Bytes>,
}

/// Which circuit.
#[derive(clap::Args, Debug, Clone)]
#[group(required = true, multiple = true)]
pub struct CircuitChoice {
    /// A circuit by name, such as porep-2k or wpost-32g.
    #[arg(long, conflicts_with_all = ["kind", "sector_size"])]
    pub circuit: Option<String>,
    /// A proof type: porep, window-post, winning-post or snap.
    #[arg(long, requires = "sector_size")]
    pub kind: Option<Kind>,
    /// The size of a sector: 2KiB, 8MiB, 512MiB, 32GiB or 64GiB.
    #[arg(long, requires = "kind")]
    pub sector_size: Option<SectorSize>,
}

/// Which circuits.
#[derive(clap::Args, Debug, Clone)]
#[group(required = true, multiple = true)]
pub struct CircuitsChoice {
    /// A circuit by name, such as porep-2k or wpost-32g.
    #[arg(long, conflicts_with_all = ["kind", "sector_size"])]
    pub circuit: Option<String>,
    /// A proof type: porep, window-post, winning-post, snap, or all of them.
    #[arg(long, requires = "sector_size")]
    pub kind: Option<OrAll<Kind>>,
    /// The size of a sector: 2KiB, 8MiB, 512MiB, 32GiB, 64GiB, or all of them.
    #[arg(long, requires = "kind")]
    pub sector_size: Option<OrAll<SectorSize>>,
}

/// One, or `all`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum OrAll<T> {
    /// All there are.
    All,
    /// This one.
    One(T),
}

impl<T: Copy> OrAll<T> {
    /// Which of all.
    pub fn of(self, all: &[T]) -> Vec<T> {
        match self {
            Self::All => all.to_vec(),
            Self::One(one) => vec![one],
        }
    }
}

impl<T: FromStr> FromStr for OrAll<T> {
    type Err = T::Err;

    fn from_str(text: &str) -> Result<Self, T::Err> {
        match text {
            "all" => Ok(Self::All),
            one => one.parse().map(Self::One),
        }
    }
}

/// `cuzk demo`.
#[derive(clap::Args, Debug)]
pub struct Demo {
    /// The proof types to show; all four by default.
    #[arg(long, value_delimiter = ',')]
    pub kind: Vec<Kind>,
    /// The size of the sector: 2KiB and 8MiB are really sealed, larger ones are synthetic. From 512MiB on the keys must be
    /// there: none is made.
    #[arg(long, default_value = "2KiB")]
    pub sector_size: SectorSize,
    /// Keep payloads and proofs in this folder, and put keys and compiled circuits there instead of the usual places.
    #[arg(long, value_name = "DIR", value_hint = ValueHint::DirPath)]
    pub keep: Option<PathBuf>,
    #[command(flatten)]
    pub backend: BackendArgs,
    #[command(flatten)]
    pub params: ParamsFolder,
    #[command(flatten)]
    pub pce: PceFolder,
}

/// `cuzk synth`.
#[derive(clap::Args, Debug)]
pub struct Synth {
    /// The proof type: porep, window-post, winning-post or snap.
    #[arg(long)]
    pub kind: Kind,
    /// The size of the sector: 2KiB, 8MiB, 512MiB, 32GiB or 64GiB.
    #[arg(long)]
    pub sector_size: SectorSize,
    /// Sectors of a WindowPoSt partition; a full partition by default.
    #[arg(long)]
    pub sectors: Option<usize>,
    /// How a PoRep draws its challenges: interactive, synthetic or non-interactive. From 512 MiB on only interactive
    /// ones can be made without sealing.
    #[arg(long, default_value_t)]
    pub porep_feature: PoRepFeature,
    /// Makes other sectors; equal seeds make equal payloads.
    #[arg(long, default_value_t = 0)]
    pub seed: u64,
    /// The folder for the payload file and the raw vanilla proofs.
    #[arg(long, value_name = "DIR", value_hint = ValueHint::DirPath)]
    pub out: PathBuf,
    /// Let the official vanilla verifier check the payload.
    #[arg(long)]
    pub check: bool,
}

/// `cuzk keygen`.
#[derive(clap::Args, Debug)]
pub struct Keygen {
    #[command(flatten)]
    pub choice: CircuitChoice,
    #[command(flatten)]
    pub params: ParamsFolder,
    #[command(flatten)]
    pub pce: PceFolder,
    #[command(flatten)]
    pub backend: BackendArgs,
    /// Replace a key that is there.
    #[arg(long)]
    pub force: bool,
    /// Needed for sectors of 512 MiB and more, whose keys could be mistaken for the network's.
    #[arg(long)]
    pub i_know_these_keys_are_insecure: bool,
}

/// `cuzk compile`.
#[derive(clap::Args, Debug)]
pub struct Compile {
    #[command(flatten)]
    pub choice: CircuitsChoice,
    #[command(flatten)]
    pub pce: PceFolder,
    /// Record again even where the circuit is compiled.
    #[arg(long)]
    pub force: bool,
    /// A payload whose witness is then checked against the compiled circuit, constraint by constraint.
    #[arg(long, value_name = "PAYLOAD", value_hint = ValueHint::FilePath)]
    pub check: Option<PathBuf>,
}

/// `cuzk prove`.
#[derive(clap::Args, Debug)]
pub struct Prove {
    /// The payload file, as `cuzk synth` and `cuzk demo --keep` write it.
    #[arg(value_hint = ValueHint::FilePath)]
    pub payload: PathBuf,
    /// Where to write the proof.
    #[arg(long, short, value_name = "FILE", value_hint = ValueHint::FilePath)]
    pub out: PathBuf,
    /// Prove one partition alone.
    #[arg(long, value_name = "K")]
    pub partition: Option<usize>,
    /// Let the official vanilla verifier check the payload first, and check every constraint before proving.
    #[arg(long)]
    pub check: bool,
    #[command(flatten)]
    pub backend: BackendArgs,
    #[command(flatten)]
    pub params: ParamsFolder,
    #[command(flatten)]
    pub pce: PceFolder,
}

/// `cuzk verify`.
#[derive(clap::Args, Debug)]
pub struct Verify {
    /// The payload file.
    #[arg(value_hint = ValueHint::FilePath)]
    pub payload: PathBuf,
    /// The proof file: 192 bytes a partition.
    #[arg(value_hint = ValueHint::FilePath)]
    pub proof: PathBuf,
    /// The proof is that of one partition alone.
    #[arg(long, value_name = "K")]
    pub partition: Option<usize>,
    #[command(flatten)]
    pub params: ParamsFolder,
}

/// `cuzk inspect`.
#[derive(clap::Args, Debug)]
pub struct Inspect {
    /// The file.
    #[arg(value_hint = ValueHint::FilePath)]
    pub file: PathBuf,
    /// Leave out what takes long: the digest and the check of every point of a .params file.
    #[arg(long, conflicts_with = "manifest")]
    pub quick: bool,
    /// A parameters.json with the published digests: a .params or .vk file is held against it.
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    pub manifest: Option<PathBuf>,
}
