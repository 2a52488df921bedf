//! The engine of the daemon: its devices are chosen here.

use std::fs;
use std::sync::Arc;

use anyhow::Context;
use cuzk_backend_cpu::CpuBackend;
use cuzk_daemon::config::EngineConfig;
use cuzk_daemon::{EngineProving, Proving};
use cuzk_engine::{Config, Device, Engine, Files, PciBusId};
use cuzk_params::KeyStore;
use cuzk_pce::Cache;

use crate::failure::{USAGE, failure};

/// Proofs that overlap on a device unless the configuration says otherwise.
const LANES: usize = 2;
/// Memory that is left to others unless the configuration says otherwise.
const MARGIN_BYTES: u64 = 1 << 30;

/// An engine with the devices and limits of a configuration, with keys and compiled circuits from these folders.
pub fn start(
    wanted: &EngineConfig,
    keys: KeyStore,
    circuits: Cache,
) -> anyhow::Result<Arc<dyn Proving>> {
    if let Some(ordinal) = wanted.devices.iter().find(|ordinal| **ordinal != 0) {
        let message = format!("gpus.devices: no device {ordinal}; there is 0, the processor");
        return Err(failure(USAGE, message));
    }
    let lanes = wanted.lanes.unwrap_or(LANES);
    let budget = host_budget(wanted)?;
    let mut config = Config::default();
    config.scheduler.lanes = u32::try_from(lanes).context("gpus.gpu_workers_per_device")?;
    config.scheduler.host_memory.0 = budget;
    if let Some(witnesses) = wanted.witnesses {
        config.scheduler.witness_slots = witnesses;
    }
    let engine = Engine::new(
        config,
        vec![processor(lanes, budget)],
        Files::new(keys, circuits),
    )?;
    Ok(Arc::new(EngineProving::new(engine)))
}

/// The processor as a device. What its proofs take comes from the host's memory, so that it may have as much again as
/// witnesses and keys have.
fn processor(lanes: usize, memory_bytes: u64) -> Device<CpuBackend> {
    // No device of the bus has this number: there are 32 on one.
    let place = PciBusId {
        domain: 0,
        bus: 0,
        device: 0xff,
        function: 0,
    };
    Device::new(
        "processor",
        place,
        memory_bytes,
        CpuBackend,
        vec![CpuBackend; lanes],
    )
}

/// The configured budget, or what the system has to spare.
fn host_budget(wanted: &EngineConfig) -> anyhow::Result<u64> {
    if let Some(budget) = wanted.total_budget {
        return Ok(budget.0);
    }
    let text = fs::read_to_string("/proc/meminfo").context("/proc/meminfo")?;
    let line = text
        .lines()
        .find_map(|line| line.strip_prefix("MemAvailable:"));
    let number = line.and_then(|line| line.trim().strip_suffix(" kB"));
    let number: u64 = number
        .context("/proc/meminfo: no MemAvailable")?
        .trim()
        .parse()?;
    let margin = wanted.safety_margin.map_or(MARGIN_BYTES, |margin| margin.0);
    let spare = (number << 10).saturating_sub(margin);
    anyhow::ensure!(
        spare > 0,
        "memory.safety_margin leaves nothing of {number} kB"
    );
    Ok(spare)
}
