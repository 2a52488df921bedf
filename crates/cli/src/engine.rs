//! The engine of the daemon: its devices are chosen here.

use std::sync::Arc;
use std::time::Duration;

use anyhow::Context;
use cuzk_backend::Backend;
use cuzk_backend_cpu::CpuBackend;
use cuzk_backend_cuda::CudaBackend;
use cuzk_daemon::config::{EngineConfig, USUAL_IN_FLIGHT};
use cuzk_daemon::{EngineProving, Proving};
use cuzk_engine::{Config, Device, Engine, Files, PciBusId};
use cuzk_params::KeyStore;
use cuzk_pce::Cache;

use crate::backend::{self, BackendChoice};
use crate::{footprints, memory};

/// Proofs that overlap on a GPU unless the configuration says otherwise: what two leave idle, a third takes. Where memory
/// is short the scheduler admits fewer.
pub const LANES: usize = 3;
/// The same where the processor is the device, which two keep busy.
const LANES_OF_PROCESSOR: usize = 2;
/// Witnesses at a time for each GPU, once there are many, unless the configuration says otherwise: of the smallest circuits a
/// GPU proves a hundred a second.
const WITNESSES_OF_DEVICE: usize = 2;
/// The part of the host's memory that is kept for critical jobs, which must not wait for the memory of large ones: one in so
/// many bytes, and at most so many. It holds several WinningPoSts of 32 GiB, whose circuit has 375,210 constraints.
const CRITICAL_SHARE: u64 = 16;
const CRITICAL_BYTES: u64 = 1 << 30;
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
/// Returns it with the jobs that it should have at a time for all of it to be busy.
///
/// Errors: a device that was asked for cannot be used, limits that allow nothing.
pub fn start(
    choice: &BackendChoice,
    device_memory: Option<usize>,
    wanted: &EngineConfig,
    keys: KeyStore,
    circuits: Cache,
) -> anyhow::Result<(Arc<dyn Proving>, usize)> {
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
    // Where the processor is the device, what its proofs take comes from the same memory.
    let of_processor = match on_processor {
        true => budget / 3 * 2,
        false => 0,
    };
    let of_host = budget - of_processor;
    config.scheduler.host_memory.0 = of_host;
    config.scheduler.critical_host_memory.0 = (of_host / CRITICAL_SHARE).min(CRITICAL_BYTES);
    let usual = config.scheduler.witness_slots;
    let usual = usual.max(WITNESSES_OF_DEVICE * ordinals.len());
    config.scheduler.witness_slots = wanted.witnesses.unwrap_or(usual);
    let in_flight = in_flight(ordinals.len().max(1), lanes, config.scheduler.witness_slots);
    let files = Files::new(keys, circuits);
    if on_processor {
        // It cannot be lost, and with few cores a large partition takes far longer than a GPU may.
        (config.stall_after, config.load_stall_after) = (Duration::MAX, Duration::MAX);
        let processor = vec![processor(lanes, of_processor)];
        return Ok((proving(config, processor, vec![0], files)?, in_flight));
    }
    config.footprint = footprints::on_gpus(&devices);
    Ok((proving(config, devices, ordinals, files)?, in_flight))
}

/// Jobs that keep so many devices busy where each has one partition: one on each lane, one with its witness made for each
/// lane, and those whose witnesses are being made.
fn in_flight(devices: usize, lanes: usize, witness_slots: usize) -> usize {
    (2 * devices * lanes + witness_slots).max(USUAL_IN_FLIGHT)
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

/// The processor as a device, with the part of the host's memory that its proofs may take: two thirds, since keys, matrices
/// and vectors of a proof take about twice what compiled circuits and witnesses do.
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

/// The configured budget, or what the system and this process's control groups have to spare.
fn host_budget(wanted: &EngineConfig) -> anyhow::Result<u64> {
    if let Some(budget) = wanted.total_budget {
        return Ok(budget.0);
    }
    let available = memory::available()?;
    let margin = wanted.safety_margin.map_or(MARGIN_BYTES, |margin| margin.0);
    let spare = available.saturating_sub(margin);
    anyhow::ensure!(
        spare > 0,
        "memory.safety_margin leaves nothing of {available} bytes"
    );
    Ok(spare)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn more_devices_have_more_jobs() {
        assert_eq!(in_flight(1, 2, 4), 16);
        assert_eq!(in_flight(1, 3, 10), 16);
        assert_eq!(in_flight(2, 3, 5), 17);
        assert_eq!(in_flight(8, 3, 16), 64);
    }

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
