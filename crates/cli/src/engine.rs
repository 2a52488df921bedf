//! The engine of the daemon: its devices are chosen here.

use std::fs;
use std::sync::Arc;

use anyhow::Context;
use cuzk_backend::Backend;
use cuzk_backend_cpu::CpuBackend;
use cuzk_backend_cuda::CudaBackend;
use cuzk_daemon::config::EngineConfig;
use cuzk_daemon::{EngineProving, Proving};
use cuzk_engine::{Config, Device, Engine, Files, PciBusId};
use cuzk_params::KeyStore;
use cuzk_pce::Cache;

use crate::backend::{self, BackendChoice};
use crate::footprints;

/// Proofs that overlap on a GPU unless the configuration says otherwise: what two leave idle, a third takes. Where memory
/// is short the scheduler admits fewer.
pub const LANES: usize = 3;
/// The same where the processor is the device, which two keep busy.
const LANES_OF_PROCESSOR: usize = 2;
/// Witnesses at a time for each GPU, once there are many, unless the configuration says otherwise: of the smallest circuits a
/// GPU proves a hundred a second.
const WITNESSES_OF_DEVICE: usize = 2;
/// Memory that is left to others unless the configuration says otherwise.
const MARGIN_BYTES: u64 = 1 << 30;

/// Where the engine is to compute: the command line's choice before the file's.
pub fn choice(given: Option<&BackendChoice>, file: &EngineConfig) -> BackendChoice {
    match (given, file.devices.as_slice()) {
        (Some(given), _) => given.clone(),
        (None, []) => BackendChoice::Auto,
        (None, named) => BackendChoice::cuda(named.iter().map(|ordinal| *ordinal as usize)),
    }
}

/// An engine on the devices of a choice, of each at most `device_memory` bytes, within the limits of a configuration, with
/// keys and compiled circuits from these folders.
///
/// Errors: a device that was asked for cannot be used, limits that allow nothing.
pub fn start(
    choice: &BackendChoice,
    device_memory: Option<usize>,
    wanted: &EngineConfig,
    keys: KeyStore,
    circuits: Cache,
) -> anyhow::Result<Arc<dyn Proving>> {
    let (found, remark) = backend::ordinals(choice)?;
    tracing::info!("{remark}");
    let on_gpus = wanted.lanes.unwrap_or(LANES);
    let open = |ordinal| Ok((ordinal, cuda_device(ordinal, on_gpus, device_memory)?));
    let opened = backend::open_each(choice, &found, open, |remark| tracing::warn!("{remark}"))?;
    let (ordinals, devices): (Vec<_>, Vec<_>) = opened.into_iter().unzip();
    let on_processor = devices.is_empty();
    let usual = if on_processor {
        LANES_OF_PROCESSOR
    } else {
        LANES
    };
    let lanes = wanted.lanes.unwrap_or(usual);
    let budget = host_budget(wanted)?;
    let mut config = Config::default();
    config.scheduler.lanes = u32::try_from(lanes).context("gpus.gpu_workers_per_device")?;
    config.scheduler.host_memory.0 = budget;
    let usual = config.scheduler.witness_slots;
    let usual = usual.max(WITNESSES_OF_DEVICE * ordinals.len());
    config.scheduler.witness_slots = wanted.witnesses.unwrap_or(usual);
    let files = Files::new(keys, circuits);
    if on_processor {
        let processor = vec![processor(lanes, budget)];
        return proving(config, processor, vec![0], files);
    }
    config.footprint = footprints::on_gpus(&devices);
    proving(config, devices, ordinals, files)
}

fn proving<B: Backend + Clone>(
    config: Config,
    devices: Vec<Device<B>>,
    ordinals: Vec<usize>,
    files: Files,
) -> anyhow::Result<Arc<dyn Proving>> {
    let engine = Engine::new(config, devices, files)?;
    let ordinals = ordinals.into_iter().map(|ordinal| ordinal as u32);
    Ok(Arc::new(EngineProving::new(engine, ordinals.collect())))
}

/// The GPUs of these ordinals as an engine takes them, with so many lanes each. Of a device's memory the engine gets what is
/// free, at most `memory_bytes`.
///
/// Errors: a device that cannot be used, with the exit code for that.
pub fn cuda_devices(
    ordinals: &[usize],
    lanes: usize,
    memory_bytes: Option<usize>,
) -> anyhow::Result<Vec<Device<CudaBackend>>> {
    let open = |&ordinal: &usize| cuda_device(ordinal, lanes, memory_bytes);
    ordinals.iter().map(open).collect()
}

fn cuda_device(
    ordinal: usize,
    lanes: usize,
    memory_bytes: Option<usize>,
) -> anyhow::Result<Device<CudaBackend>> {
    let loader = CudaBackend::open_within(ordinal, memory_bytes).map_err(backend::refused)?;
    let (bytes, _) = loader.device().memory();
    let info = loader.device().info();
    let name = format!("cuda:{ordinal} ({})", info.name);
    let place = info.pci_bus_id;
    part(loader, name, place, bytes, lanes)
}

/// One GPU as two devices of half its memory each, with so many lanes each, for what needs two where there is one.
///
/// Errors: those of [`cuda_devices`].
pub fn cuda_halves(
    ordinal: usize,
    lanes: usize,
    memory_bytes: Option<usize>,
) -> anyhow::Result<Vec<Device<CudaBackend>>> {
    let whole = CudaBackend::open_within(ordinal, memory_bytes).map_err(backend::refused)?;
    let (bytes, _) = whole.device().memory();
    let half = |number: u8| {
        let mut place = whole.device().info().pci_bus_id;
        // An engine wants each of its devices at a place of its own.
        place.function = number;
        let name = format!("half {number} of cuda:{ordinal}");
        part(whole.lane()?, name, place, bytes / 2, lanes)
    };
    (0..2).map(half).collect()
}

/// A GPU, or a part of one, as an engine takes it.
fn part(
    loader: CudaBackend,
    name: String,
    place: PciBusId,
    bytes: usize,
    lanes: usize,
) -> anyhow::Result<Device<CudaBackend>> {
    let lanes: Result<_, _> = (0..lanes).map(|_| loader.lane()).collect();
    Ok(Device::new(name, place, bytes as u64, loader, lanes?))
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_command_line_comes_before_the_file() {
        let file = |devices: &[u32]| EngineConfig {
            devices: devices.to_vec(),
            ..EngineConfig::default()
        };
        let cuda = |ordinals: &[usize]| BackendChoice::Cuda(ordinals.to_vec());
        assert_eq!(choice(None, &file(&[])), BackendChoice::Auto);
        assert_eq!(choice(None, &file(&[3, 1, 3])), cuda(&[1, 3]));
        let given = BackendChoice::Cpu;
        assert_eq!(choice(Some(&given), &file(&[0])), given);
        assert_eq!(choice(Some(&cuda(&[2])), &file(&[0])), cuda(&[2]));
    }
}
