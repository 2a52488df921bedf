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
    /// Bytes of memory that are free now.
    pub memory_free: usize,
    /// How it runs the kernels, or why it does not.
    pub fit: Result<Fit, OpenError>,
}

/// What is read of the kernels' manifest.
#[derive(Deserialize)]
struct Manifest {
    architectures: Vec<u32>,
}

/// Whether this program was built with kernels.
pub fn built() -> Result<(), NotBuilt> {
    cuzk_kernels::images().map(|_| ())
}

/// All devices that the driver sees, with their free memory and whether the built kernels fit.
pub fn survey() -> Result<Vec<Survey>, GpuError> {
    let devices = cuzk_gpu::devices()?.into_iter();
    let look = |info: DeviceInfo| {
        Ok(Survey {
            memory_free: cuzk_gpu::free_memory(info.ordinal)?,
            fit: fit(&info),
            info,
        })
    };
    devices.map(look).collect()
}

/// How a device runs the built kernels.
pub fn fit(info: &DeviceInfo) -> Result<Fit, OpenError> {
    let manifest: Manifest =
        serde_json::from_str(cuzk_kernels::manifest()?).map_err(|_| NotBuilt)?;
    choose(info.architecture(), &manifest.architectures).ok_or_else(|| OpenError::Architecture {
        device: info.ordinal,
        name: info.name.clone(),
        architecture: info.architecture(),
        built: listed(&manifest.architectures),
    })
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
    use super::*;

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
