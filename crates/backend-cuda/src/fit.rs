//! Which devices the built kernels run on.

use cuzk_gpu::{DeviceInfo, GpuError};
use cuzk_kernels::NotBuilt;
use serde::Deserialize;

use crate::OpenError;

/// How a device runs the built kernels.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub enum Fit {
    /// By machine code of this architecture, such as 90.
    MachineCode(u32),
    /// The driver compiles the PTX of this architecture when the device is opened.
    Ptx(u32),
}

/// A device, and whether this program runs on it.
#[derive(Clone, Debug)]
pub struct Survey {
    /// What the device says of itself.
    pub info: DeviceInfo,
    /// Bytes of memory that are free now; none where the driver does not say.
    pub memory_free: usize,
    /// How it runs the kernels, or why it does not or cannot be asked.
    pub fit: Result<Fit, OpenError>,
}

/// What is read of the kernels' manifest.
#[derive(Deserialize)]
struct Manifest {
    architectures: Vec<u32>,
    /// The last line of `nvcc --version`, such as `Build cuda_13.0.r13.0/compiler.1_0`.
    compiler: String,
}

/// The oldest architecture that has what the kernels use: asynchronous copies to shared memory, of 96 KiB a block.
const OLDEST: u32 = 80;

/// Whether this program was built with kernels.
pub fn built() -> Result<(), NotBuilt> {
    cuzk_kernels::images().map(|_| ())
}

/// All devices that the driver sees, with their free memory and whether the built kernels fit.
pub fn survey() -> Result<Vec<Survey>, GpuError> {
    let devices = cuzk_gpu::devices()?.into_iter();
    let look = |info: DeviceInfo| {
        let (free, fit) = (cuzk_gpu::free_memory(info.ordinal), fit(&info));
        surveyed(info, free, fit)
    };
    Ok(devices.map(look).collect())
}

/// A device that does not answer is of no use, and says nothing of the others.
fn surveyed(
    info: DeviceInfo,
    free: Result<usize, GpuError>,
    fit: Result<Fit, OpenError>,
) -> Survey {
    Survey {
        info,
        memory_free: *free.as_ref().unwrap_or(&0),
        fit: fit.and_then(|fit| Ok(free.map(|_| fit)?)),
    }
}

/// How a device runs the built kernels.
pub fn fit(info: &DeviceInfo) -> Result<Fit, OpenError> {
    let manifest: Manifest =
        serde_json::from_str(cuzk_kernels::manifest()?).map_err(|_| NotBuilt)?;
    if info.architecture() < OLDEST {
        return Err(OpenError::Unsupported {
            device: info.ordinal,
            name: info.name.clone(),
            architecture: info.architecture(),
        });
    }
    runs_code_of(cuzk_gpu::driver_version()?, &manifest.compiler)?;
    choose(info.architecture(), &manifest.architectures).ok_or_else(|| OpenError::Architecture {
        device: info.ordinal,
        name: info.name.clone(),
        architecture: info.architecture(),
        built: listed(&manifest.architectures),
    })
}

/// A driver runs what compilers of its own major version of CUDA and of older ones have built.
fn runs_code_of(driver: u32, compiler: &str) -> Result<(), OpenError> {
    let version = compiler.split_once("cuda_").map(|(_, version)| version);
    let major = version.and_then(|version| version.split('.').next()?.parse::<u32>().ok());
    match major {
        Some(wanted) if driver / 1000 < wanted => Err(OpenError::Driver {
            found: driver,
            wanted,
        }),
        _ => Ok(()),
    }
}

/// Machine code runs on devices of its generation that are not older; PTX is there of the newest architecture, and runs
/// on all that are not older.
fn choose(device: u32, built: &[u32]) -> Option<Fit> {
    let runs = |code: &&u32| **code / 10 == device / 10 && **code <= device;
    let machine = built.iter().filter(runs).max().copied();
    let newest = built.iter().max().copied().filter(|&code| code <= device);
    machine.map(Fit::MachineCode).or(newest.map(Fit::Ptx))
}

fn listed(architectures: &[u32]) -> String {
    let names: Vec<_> = architectures
        .iter()
        .map(|arch| format!("sm_{arch}"))
        .collect();
    names.join(", ")
}

#[cfg(test)]
mod tests {
    use cuzk_lease::PciBusId;

    use super::*;

    fn info(compute_capability: (u32, u32)) -> DeviceInfo {
        DeviceInfo {
            ordinal: 1,
            name: "a card".to_owned(),
            pci_bus_id: PciBusId {
                domain: 0,
                bus: 1,
                device: 0,
                function: 0,
            },
            compute_capability,
            multiprocessors: 1,
            memory_total: 1 << 30,
        }
    }

    #[test]
    fn a_device_that_does_not_answer_is_listed_and_not_used() {
        let fit = || Ok(Fit::MachineCode(90));
        let found = surveyed(info((9, 0)), Ok(5), fit());
        assert_eq!((found.memory_free, found.fit.is_ok()), (5, true));
        let full = GpuError::Call {
            device: 1,
            call: "cuDevicePrimaryCtxRetain",
            message: "out of memory".to_owned(),
        };
        let found = surveyed(info((9, 0)), Err(full), fit());
        assert_eq!(found.memory_free, 0);
        let reason = found.fit.unwrap_err().to_string();
        assert!(reason.contains("out of memory"), "{reason}");
    }

    #[test]
    fn devices_older_than_the_kernels_can_be_built_for_are_told_so() {
        let error = fit(&info((7, 5))).unwrap_err();
        match built() {
            Ok(()) => assert!(error.to_string().contains("sm_80 or newer"), "{error}"),
            Err(_) => assert!(matches!(error, OpenError::NoKernels(_)), "{error}"),
        }
    }

    #[test]
    fn drivers_older_than_the_compiler_are_named() {
        let compiler = "Build cuda_13.0.r13.0/compiler.36424714_0";
        for driver in [13000, 13010, 14000] {
            runs_code_of(driver, compiler).unwrap();
        }
        let error = runs_code_of(12040, compiler).unwrap_err().to_string();
        assert!(
            error.contains("CUDA 12.4") && error.contains("CUDA 13:"),
            "{error}"
        );
        runs_code_of(12040, "Build cuda_12.8.r12.8/compiler.1_0").unwrap();
        runs_code_of(12040, "an unknown compiler").unwrap();
    }

    #[test]
    fn machine_code_comes_before_ptx_and_old_devices_have_neither() {
        let built = [80, 86, 89, 90, 100, 120];
        for (device, wanted) in [
            (75, None),
            (80, Some(Fit::MachineCode(80))),
            (87, Some(Fit::MachineCode(86))),
            (90, Some(Fit::MachineCode(90))),
            (103, Some(Fit::MachineCode(100))),
            (110, None),
            (121, Some(Fit::MachineCode(120))),
            (130, Some(Fit::Ptx(120))),
        ] {
            assert_eq!(choose(device, &built), wanted, "sm_{device}");
        }
        assert_eq!(choose(100, &[90]), Some(Fit::Ptx(90)));
        assert_eq!(choose(89, &[90]), None);
        assert_eq!(choose(90, &[]), None);
        assert_eq!(listed(&[80, 90]), "sm_80, sm_90");
    }
}
