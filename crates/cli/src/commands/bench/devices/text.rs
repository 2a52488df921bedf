//! The report as tables.

use crate::table::{grouped, table};

use super::{Measured, Report};

/// The tables of a report.
pub fn of(report: &Report) -> String {
    let mut out = format!(
        "{}: {}; {} lanes a device, {} witnesses at once, {} clients, {} jobs of {} partitions\n",
        report.backend,
        report.devices.join(", "),
        report.lanes,
        report.witnesses,
        report.workers,
        report.jobs,
        report.partitions,
    );
    for circuit in &report.circuits {
        out += &format!(
            "\n{}, {} constraints\n",
            circuit.circuit,
            grouped(circuit.constraints as u64)
        );
        out += &measured(circuit);
    }
    out
}

fn measured(circuit: &Measured) -> String {
    let mut out = String::new();
    if !circuit.runs.is_empty() {
        out += &runs(circuit);
    }
    if let Some(run) = &circuit.out_of_service {
        out += &format!(
            "of {} devices {} failed from a quarter on: out of service after {:.1} ms, {} faults made good, {} proofs \
             in {:.2} s, all valid; back {:.0} ms after it was well\n",
            run.devices,
            run.name,
            run.out_after_ms,
            run.faults,
            run.proofs,
            run.seconds,
            run.back_after_ms,
        );
    }
    if let Some(count) = &circuit.faults {
        out += &format!(
            "faults: {} made good, {} failed as they must, {} slow steps, {} hangs, in {:.1} s\n",
            count.made_good, count.failed, count.slow, count.hung, count.seconds
        );
    }
    out
}

fn runs(circuit: &Measured) -> String {
    let header = [
        "devices",
        "proofs",
        "s",
        "proofs/s",
        "of linear",
        "latency ms",
        "cores",
        "share %",
        "idle %",
        "MB/s",
    ];
    let each = |values: &mut dyn Iterator<Item = f64>| {
        let values: Vec<String> = values.map(|value| format!("{value:.1}")).collect();
        values.join(" ")
    };
    let rows: Vec<Vec<String>> = circuit
        .runs
        .iter()
        .map(|run| {
            let devices = || run.per_device.iter();
            vec![
                run.devices.to_string(),
                run.proofs.to_string(),
                format!("{:.2}", run.seconds),
                format!("{:.2}", run.proofs_per_s),
                run.of_linear.map_or("-".to_owned(), |x| format!("{x:.3}")),
                format!("{:.1}", run.latency_ms),
                format!("{:.1}", run.host_cores),
                each(&mut devices().map(|device| 100.0 * device.share)),
                each(&mut devices().map(|device| 100.0 * device.idle)),
                each(&mut devices().map(|device| device.upload_mb_per_s)),
            ]
        })
        .collect();
    table(&header, &rows) + "\n"
}
