//! Where proofs are computed: what the command line asks for, and what this machine has.

use std::fmt;
use std::str::FromStr;

use cuzk_backend_cuda::{CudaBackend, GpuError, OpenError, Survey, survey};

use crate::args::BackendArgs;
use crate::console::Console;
use crate::failure::{DEVICE, failure};

/// What `--backend` says.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum BackendChoice {
    /// GPUs where they can be used, else the CPU.
    Auto,
    /// The CPU.
    Cpu,
    /// GPUs of these ordinals; with none, all.
    Cuda(Vec<usize>),
}

impl BackendChoice {
    /// GPUs of these ordinals, each once; with none, all.
    pub fn cuda(ordinals: impl IntoIterator<Item = usize>) -> Self {
        let mut ordinals: Vec<usize> = ordinals.into_iter().collect();
        ordinals.sort_unstable();
        ordinals.dedup();
        Self::Cuda(ordinals)
    }
}

impl FromStr for BackendChoice {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        match text {
            "auto" => Ok(Self::Auto),
            "cpu" => Ok(Self::Cpu),
            "cuda" => Ok(Self::Cuda(Vec::new())),
            _ => {
                let wanted = || "wanted auto, cpu, cuda or cuda:0,1 with ordinals".to_owned();
                let list = text.strip_prefix("cuda:").ok_or_else(wanted)?;
                let ordinals = list.split(',').map(str::parse);
                let ordinals: Vec<usize> =
                    ordinals.collect::<Result<_, _>>().map_err(|_| wanted())?;
                let named = ordinals.len();
                match Self::cuda(ordinals) {
                    Self::Cuda(once) if once.len() < named => {
                        Err("a device is named twice".to_owned())
                    }
                    choice => Ok(choice),
                }
            }
        }
    }
}

impl fmt::Display for BackendChoice {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Auto => f.write_str("auto"),
            Self::Cpu => f.write_str("cpu"),
            Self::Cuda(ordinals) if ordinals.is_empty() => f.write_str("cuda"),
            Self::Cuda(ordinals) => {
                let names: Vec<_> = ordinals.iter().map(usize::to_string).collect();
                write!(f, "cuda:{}", names.join(","))
            }
        }
    }
}

/// A number of bytes, such as 8GiB.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub struct Bytes(pub usize);

impl FromStr for Bytes {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let bytes = cuzk_daemon::config::Bytes::parse(text);
        let bytes = bytes.and_then(|bytes| usize::try_from(bytes.0).ok());
        let wanted = || "wanted bytes, such as 8GiB, 512MiB or 8589934592".to_owned();
        bytes.map(Self).ok_or_else(wanted)
    }
}

/// Where a command computes.
pub enum Chosen {
    /// On the CPU.
    Cpu,
    /// On these devices, each with a backend of its own.
    Cuda(Vec<CudaBackend>),
}

impl Chosen {
    /// Its name in results: `cpu`, or `cuda` with its ordinals.
    pub fn name(&self) -> String {
        match self {
            Self::Cpu => BackendChoice::Cpu.to_string(),
            Self::Cuda(devices) => {
                let ordinals = devices.iter().map(|device| device.device().info().ordinal);
                BackendChoice::Cuda(ordinals.collect()).to_string()
            }
        }
    }
}

/// Opens what the command line asks for, and says which that is where it had the choice.
pub fn choose(args: &BackendArgs, console: &Console) -> anyhow::Result<Chosen> {
    let (devices, remark) = ordinals(&args.backend)?;
    if args.backend != BackendChoice::Cpu {
        console.note(&remark);
    }
    let memory = args.device_memory.map(|bytes| bytes.0);
    let open = |ordinal| CudaBackend::open_within(ordinal, memory).map_err(refused);
    let backends = open_each(&args.backend, &devices, open, |remark| console.note(remark))?;
    if backends.is_empty() {
        if args.device_memory.is_some() {
            console.note("--device-memory is for GPUs and has no effect on the processor");
        }
        return Ok(Chosen::Cpu);
    }
    Ok(Chosen::Cuda(backends))
}

/// Opens the devices of a choice. Those that cannot be opened are left out where the choice is this program's, down to none
/// for the CPU, and `say` tells which and why.
///
/// Errors: that of the first device which was asked for and cannot be opened.
pub fn open_each<T>(
    choice: &BackendChoice,
    ordinals: &[usize],
    open: impl Fn(usize) -> anyhow::Result<T>,
    mut say: impl FnMut(&str),
) -> anyhow::Result<Vec<T>> {
    let mut opened = Vec::with_capacity(ordinals.len());
    for &ordinal in ordinals {
        match open(ordinal) {
            Ok(device) => opened.push(device),
            Err(error) if *choice == BackendChoice::Auto => {
                say(&format!("backend: without cuda:{ordinal} ({error})"));
            }
            Err(error) => return Err(error),
        }
    }
    if opened.is_empty() && !ordinals.is_empty() {
        say("backend: cpu (no GPU could be opened)");
    }
    Ok(opened)
}

/// The ordinals of the GPUs that a choice means on this machine, none for the CPU, and what to say about it.
///
/// Errors: a GPU that was asked for cannot be used, with the exit code for that.
pub fn ordinals(choice: &BackendChoice) -> anyhow::Result<(Vec<usize>, String)> {
    let built = || cuzk_backend_cuda::built().map_err(OpenError::from);
    plan(choice, built, || survey().map_err(OpenError::from)).map_err(refused)
}

/// A device that cannot be used, as the command's error.
pub fn refused(error: OpenError) -> anyhow::Error {
    failure(
        DEVICE,
        format!("{error}; `cuzk devices` lists what there is, and --backend cpu needs no device"),
    )
}

/// The ordinals to compute on, none for the CPU, and what to say about it.
fn plan(
    choice: &BackendChoice,
    built: impl FnOnce() -> Result<(), OpenError>,
    look: impl FnOnce() -> Result<Vec<Survey>, OpenError>,
) -> Result<(Vec<usize>, String), OpenError> {
    let find = || built().and_then(|()| look());
    match choice {
        BackendChoice::Cpu => Ok((Vec::new(), format!("backend: {choice}"))),
        BackendChoice::Auto => Ok(plan_auto(find())),
        BackendChoice::Cuda(ordinals) => plan_cuda(ordinals, find()?),
    }
}

fn plan_auto(found: Result<Vec<Survey>, OpenError>) -> (Vec<usize>, String) {
    let on_cpu = |reason: String| (Vec::new(), format!("backend: cpu ({reason})"));
    let devices = match found {
        Ok(devices) => devices,
        Err(error) => return on_cpu(error.to_string()),
    };
    let usable: Vec<_> = devices.iter().filter(|device| device.fit.is_ok()).collect();
    if let Some(first) = usable.first() {
        let ordinals: Vec<_> = usable.iter().map(|device| device.info.ordinal).collect();
        let choice = BackendChoice::Cuda(ordinals.clone());
        let (count, name) = (usable.len(), &first.info.name);
        return (
            ordinals,
            format!("backend: {choice} ({count} usable, the first {name})"),
        );
    }
    let reason = devices
        .into_iter()
        .find_map(|device| device.fit.err())
        .map_or_else(
            || "the driver sees no device".to_owned(),
            |error| error.to_string(),
        );
    on_cpu(reason)
}

fn plan_cuda(ordinals: &[usize], found: Vec<Survey>) -> Result<(Vec<usize>, String), OpenError> {
    let missing = |wanted| {
        OpenError::Gpu(GpuError::NoDevice {
            wanted,
            found: found.len(),
        })
    };
    let wanted: Vec<usize> = match ordinals {
        [] => found.iter().map(|device| device.info.ordinal).collect(),
        named => named.to_vec(),
    };
    if wanted.is_empty() {
        return Err(missing(0));
    }
    for &ordinal in &wanted {
        let device = found.iter().find(|device| device.info.ordinal == ordinal);
        device.ok_or_else(|| missing(ordinal))?.fit.clone()?;
    }
    let choice = BackendChoice::Cuda(wanted.clone());
    Ok((wanted, format!("backend: {choice}")))
}

#[cfg(test)]
mod tests {
    use cuzk_backend_cuda::{DeviceInfo, Fit, PciBusId};

    use super::*;

    fn device(ordinal: usize, fits: bool) -> Survey {
        let info = DeviceInfo {
            ordinal,
            name: "a card".to_owned(),
            pci_bus_id: PciBusId {
                domain: 0,
                bus: ordinal as u8,
                device: 0,
                function: 0,
            },
            compute_capability: if fits { (9, 0) } else { (7, 5) },
            multiprocessors: 1,
            memory_total: 1 << 30,
        };
        let misfit = OpenError::Architecture {
            device: ordinal,
            name: info.name.clone(),
            architecture: 75,
            built: "sm_90".to_owned(),
        };
        Survey {
            info,
            memory_free: 1 << 29,
            fit: if fits {
                Ok(Fit::MachineCode(90))
            } else {
                Err(misfit)
            },
        }
    }

    #[test]
    fn choices_are_read_as_they_are_written() {
        for text in ["auto", "cpu", "cuda", "cuda:0", "cuda:0,1,7"] {
            let choice: BackendChoice = text.parse().unwrap();
            assert_eq!(choice.to_string(), text);
        }
        assert_eq!("cuda:1,0".parse(), Ok(BackendChoice::Cuda(vec![0, 1])));
        for text in ["", "gpu", "cuda:", "cuda:x", "cuda:-1", "cuda:0,0", "CPU"] {
            assert!(text.parse::<BackendChoice>().is_err(), "{text}");
        }
    }

    #[test]
    fn bytes_have_units() {
        for (text, bytes) in [
            ("8GiB", 8 << 30),
            ("512MiB", 512 << 20),
            ("8GB", 8_000_000_000),
            ("7", 7),
        ] {
            assert_eq!(text.parse(), Ok(Bytes(bytes)));
        }
        for text in ["", "8XB", "GiB", "-1", "99999999999999GiB"] {
            assert!(text.parse::<Bytes>().is_err(), "{text}");
        }
    }

    #[test]
    fn auto_takes_what_is_usable_and_says_why() {
        let both = || Ok(vec![device(0, false), device(1, true)]);
        let (ordinals, remark) = plan(&BackendChoice::Auto, || Ok(()), both).unwrap();
        assert_eq!(ordinals, [1]);
        assert!(
            remark.contains("cuda:1") && remark.contains("a card"),
            "{remark}"
        );
        for (found, reason) in [
            (Ok(vec![device(0, false)]), "sm_75"),
            (Ok(vec![]), "no device"),
            (Err(OpenError::Gpu(GpuError::NoDriver)), "driver"),
        ] {
            let (ordinals, remark) = plan(&BackendChoice::Auto, || Ok(()), || found).unwrap();
            assert!(ordinals.is_empty());
            assert!(
                remark.contains("cpu") && remark.contains(reason),
                "{remark}"
            );
        }
    }

    #[test]
    fn auto_does_without_devices_that_cannot_be_opened() {
        let open = |ordinal: usize| match ordinal {
            1 => Ok(ordinal),
            _ => Err(anyhow::anyhow!("no memory")),
        };
        let opened = |choice: &BackendChoice, ordinals: &[usize]| {
            let mut said = Vec::new();
            let opened = open_each(choice, ordinals, open, |remark| {
                said.push(remark.to_owned())
            });
            (opened.ok(), said.join("\n"))
        };
        let (devices, said) = opened(&BackendChoice::Auto, &[0, 1]);
        assert_eq!(devices, Some(vec![1]));
        assert!(
            said.contains("cuda:0 (no memory)") && !said.contains("cpu"),
            "{said}"
        );
        let (devices, said) = opened(&BackendChoice::Auto, &[0, 2]);
        assert_eq!(devices, Some(vec![]));
        assert!(
            said.contains("cuda:2 (no memory)") && said.contains("cpu"),
            "{said}"
        );
        assert_eq!(
            opened(&BackendChoice::Auto, &[]),
            (Some(vec![]), String::new())
        );
        for ordinals in [&[0, 1][..], &[1, 2]] {
            let choice = BackendChoice::cuda(ordinals.iter().copied());
            let (devices, said) = opened(&choice, ordinals);
            assert_eq!((devices, said), (None, String::new()));
        }
    }

    #[test]
    fn cuda_is_never_the_cpu() {
        let cuda = |ordinals: &[usize], found| {
            plan(&BackendChoice::Cuda(ordinals.to_vec()), || Ok(()), || found)
        };
        let two = || Ok(vec![device(0, true), device(1, true)]);
        assert_eq!(cuda(&[], two()).unwrap().0, [0, 1]);
        assert_eq!(cuda(&[1], two()).unwrap().0, [1]);
        for (ordinals, found, reason) in [
            (&[2][..], two(), "no CUDA device 2"),
            (&[], Ok(vec![]), "no CUDA device 0"),
            (&[], Ok(vec![device(0, true), device(1, false)]), "sm_75"),
            (
                &[0],
                Err(OpenError::Gpu(GpuError::NoDriver)),
                "no NVIDIA driver",
            ),
        ] {
            let error = cuda(ordinals, found).unwrap_err().to_string();
            assert!(error.contains(reason), "{error}");
        }
    }

    #[test]
    fn without_kernels_the_driver_is_not_asked() {
        let built = || Err(OpenError::NoKernels(cuzk_backend_cuda::NotBuilt));
        let look = || -> Result<Vec<Survey>, OpenError> { panic!("asked") };
        let (ordinals, remark) = plan(&BackendChoice::Auto, built, look).unwrap();
        assert!(
            ordinals.is_empty() && remark.contains("build-kernels"),
            "{remark}"
        );
        let error = plan(&BackendChoice::Cuda(vec![0]), built, look).unwrap_err();
        assert!(error.to_string().contains("cargo xtask build-kernels"));
    }
}
