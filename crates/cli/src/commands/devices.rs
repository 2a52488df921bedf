//! `cuzk devices`.

use cuzk_backend_cuda::{Fit, GpuError, Survey, survey};
use serde::Serialize;

use crate::console::Console;
use crate::failure::{DEVICE, failure};
use crate::table::table;

/// One device's line.
#[derive(Serialize)]
struct Row {
    ordinal: usize,
    name: String,
    pci_bus_id: String,
    architecture: String,
    multiprocessors: u32,
    memory_free_bytes: usize,
    memory_total_bytes: usize,
    /// Whether this program's kernels run on it.
    usable: bool,
    /// By which code, or why not.
    kernels: String,
}

/// Lists the CUDA devices.
pub fn run(console: &Console) -> anyhow::Result<()> {
    let found = match survey() {
        Err(error @ GpuError::NoDriver) => {
            console.note(&format!(
                "{error}; proofs are computed on the CPU without one"
            ));
            Vec::new()
        }
        found => found.map_err(|error| failure(DEVICE, error.to_string()))?,
    };
    let rows: Vec<_> = found.iter().map(row).collect();
    let text = if rows.is_empty() {
        "no CUDA device".to_owned()
    } else {
        text(&rows)
    };
    console.result(&rows, &text)
}

fn row(device: &Survey) -> Row {
    let info = &device.info;
    Row {
        ordinal: info.ordinal,
        name: info.name.clone(),
        pci_bus_id: info.pci_bus_id.to_string(),
        architecture: format!("sm_{}", info.architecture()),
        multiprocessors: info.multiprocessors,
        memory_free_bytes: device.memory_free,
        memory_total_bytes: info.memory_total,
        usable: device.fit.is_ok(),
        kernels: match &device.fit {
            Ok(Fit::MachineCode(code)) => format!("machine code for sm_{code}"),
            Ok(Fit::Ptx(code)) => format!("PTX of sm_{code}, compiled when a device is opened"),
            Err(error) => error.to_string(),
        },
    }
}

fn text(rows: &[Row]) -> String {
    let gib = |bytes: usize| format!("{:.1}", bytes as f64 / f64::from(1 << 30));
    let cells: Vec<Vec<String>> = rows
        .iter()
        .map(|row| {
            vec![
                row.ordinal.to_string(),
                row.name.clone(),
                row.pci_bus_id.clone(),
                row.architecture.clone(),
                row.multiprocessors.to_string(),
                gib(row.memory_free_bytes),
                gib(row.memory_total_bytes),
                row.kernels.clone(),
            ]
        })
        .collect();
    let header = [
        "ordinal",
        "name",
        "PCI bus id",
        "architecture",
        "multiprocessors",
        "free GiB",
        "total GiB",
        "kernels",
    ];
    table(&header, &cells)
}
