//! `cuzk serve`, and `cuzk` alone.

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use anyhow::Context;
use cuzk_daemon::config::{Config, LogFormat};
use cuzk_daemon::{Daemon, on_signals, start_logging};
use cuzk_queue::EmbeddedQueue;

use crate::args::ParamsFolder;
use crate::daemon_args::{LogFormat as Wanted, Serve};
use crate::{engine, places};

/// How long what the daemon does for itself may take when it has ended.
const LAST_TASKS: Duration = Duration::from_secs(5);

/// Answers calls until told to end.
pub fn run(args: &Serve) -> anyhow::Result<()> {
    let mut config = configuration(args)?;
    start_logging(&config.log_level, config.log_format)?;
    if let Some(threads) = config.engine.threads {
        let pool = rayon::ThreadPoolBuilder::new().num_threads(threads);
        // --threads has made one already, and comes before the file.
        let _ = pool.build_global();
    }
    let store = store(&config)?;
    let now_ms = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH)?;
    let now_ms = u64::try_from(now_ms.as_millis())?;
    // The store first: two daemons on one must not both load keys before one is told.
    let queue = EmbeddedQueue::open(&store, config.queue.clone(), now_ms)
        .map_err(cuzk_daemon::DaemonError::from)?;
    let keys = ParamsFolder {
        params: args
            .params
            .params
            .clone()
            .or(config.engine.param_cache.clone()),
    };
    let keys = places::key_store(&keys)?;
    let choice = engine::choice(args.backend.as_ref(), &config.engine);
    let memory = args.device_memory.map(|bytes| bytes.0);
    let circuits = places::cache(&args.pce)?;
    let (proving, in_flight) = engine::start(&choice, memory, &config.engine, keys, circuits)?;
    config.in_flight.get_or_insert(in_flight);
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .enable_all()
        .build()?;
    let served = runtime.block_on(async {
        let stop = on_signals()?;
        let daemon = Daemon::bind(config, args.insecure, Arc::new(queue), proving).await?;
        daemon.serve(stop).await
    });
    // What still waits for a disk or the engine then holds nobody up.
    runtime.shutdown_timeout(LAST_TASKS);
    Ok(served?)
}

/// The file, and what the command line says besides.
fn configuration(args: &Serve) -> anyhow::Result<Config> {
    let mut config = match &args.config {
        Some(path) => Config::read(path)?,
        None => Config::default(),
    };
    if let Some(listen) = &args.listen {
        config.listen = listen.clone();
    }
    if let Some(listen) = &args.status_listen {
        config.status_listen = Some(listen.clone());
    }
    if let Some(level) = &args.log_level {
        config.log_level.clone_from(level);
    }
    if let Some(format) = args.log_format {
        config.log_format = match format {
            Wanted::Text => LogFormat::Text,
            Wanted::Json => LogFormat::Json,
        };
    }
    if let Some(store) = &args.store {
        config.store = Some(store.clone());
    }
    Ok(config)
}

/// The folder of jobs: configured, else that of the service manager, else the user's state folder.
fn store(config: &Config) -> anyhow::Result<PathBuf> {
    if let Some(store) = &config.store {
        return Ok(store.clone());
    }
    let set = |variable: &str| std::env::var_os(variable).filter(|value| !value.is_empty());
    if let Some(folder) = set("STATE_DIRECTORY") {
        return Ok(PathBuf::from(folder).join("jobs"));
    }
    let state = match set("XDG_STATE_HOME") {
        Some(folder) => PathBuf::from(folder),
        None => {
            let home = set("HOME").context("HOME is not set; name a folder with --store")?;
            PathBuf::from(home).join(".local/state")
        }
    };
    Ok(state.join("cuzk").join("jobs"))
}
