//! What the daemon counts, and Prometheus' text of it.

use std::collections::BTreeMap;
use std::fmt::{Display, Write};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Instant;

use cuzk_proto::kind_name;
use cuzk_queue::Usage;

use crate::proving::{DeviceStatus, ProvingStatus};

/// Upper bounds of a histogram's buckets, in seconds: from a WinningPoSt to hours in a queue.
const BUCKETS_S: [f64; 12] = [
    0.1, 0.3, 1.0, 3.0, 10.0, 30.0, 60.0, 120.0, 300.0, 900.0, 1800.0, 7200.0,
];

/// What has happened since the daemon started.
pub struct Metrics {
    started: Instant,
    counts: Mutex<Counts>,
}

/// Counters and histograms.
#[derive(Clone, Debug, Default)]
pub struct Counts {
    /// Jobs by kind and by what became of their submission.
    pub submitted: BTreeMap<(i32, &'static str), u64>,
    /// Jobs by kind and end.
    pub ended: BTreeMap<(i32, &'static str), u64>,
    /// Calls by name and code.
    pub calls: BTreeMap<(&'static str, &'static str), u64>,
    /// Things of the store that were damaged.
    pub quarantined: u64,
    waits: BTreeMap<i32, Histogram>,
    totals: BTreeMap<i32, Histogram>,
}

#[derive(Clone, Debug, Default)]
struct Histogram {
    buckets: [u64; BUCKETS_S.len()],
    count: u64,
    sum_s: f64,
}

impl Histogram {
    fn add(&mut self, seconds: f64) {
        for (bucket, bound) in self.buckets.iter_mut().zip(BUCKETS_S) {
            *bucket += u64::from(seconds <= bound);
        }
        self.count += 1;
        self.sum_s += seconds;
    }
}

impl Metrics {
    /// Nothing has happened yet.
    pub fn new() -> Self {
        Self {
            started: Instant::now(),
            counts: Mutex::default(),
        }
    }

    /// Seconds since the start.
    pub fn uptime_s(&self) -> u64 {
        self.started.elapsed().as_secs()
    }

    /// Changes the counters.
    pub fn count(&self) -> MutexGuard<'_, Counts> {
        self.counts.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Prometheus' text.
    pub fn text(&self, status: &ProvingStatus, usage: &Usage) -> String {
        let counts = self.count().clone();
        let mut page = Page::default();
        counts.write(&mut page);
        page.head(
            "cuzk_uptime_seconds",
            "gauge",
            "Time since the daemon started.",
        );
        page.value("cuzk_uptime_seconds", &[], self.uptime_s());
        write_usage(&mut page, usage);
        write_status(&mut page, status);
        page.text
    }
}

impl Counts {
    /// Adds an ended job.
    pub fn add_ended(&mut self, kind: i32, end: &'static str, wait_ms: u64, total_ms: u64) {
        *self.ended.entry((kind, end)).or_default() += 1;
        if end == "completed" {
            self.waits
                .entry(kind)
                .or_default()
                .add(wait_ms as f64 / 1000.0);
            self.totals
                .entry(kind)
                .or_default()
                .add(total_ms as f64 / 1000.0);
        }
    }

    /// Jobs of all kinds that ended so.
    pub fn total_ended(&self, end: &str) -> u64 {
        let ended = self.ended.iter();
        ended
            .filter(|((_, found), _)| *found == end)
            .map(|(_, count)| count)
            .sum()
    }

    fn write(&self, page: &mut Page) {
        let name = "cuzk_jobs_submitted_total";
        page.head(name, "counter", "Submissions by what became of them.");
        for ((kind, how), count) in &self.submitted {
            page.value(name, &[("kind", &kind_name(*kind)), ("result", how)], count);
        }
        let name = "cuzk_jobs_ended_total";
        page.head(name, "counter", "Jobs by how they ended.");
        for ((kind, end), count) in &self.ended {
            page.value(name, &[("kind", &kind_name(*kind)), ("end", end)], count);
        }
        let name = "cuzk_calls_total";
        page.head(name, "counter", "Answered calls.");
        for ((call, code), count) in &self.calls {
            page.value(name, &[("call", call), ("code", code)], count);
        }
        let name = "cuzk_store_quarantined_total";
        page.head(
            name,
            "counter",
            "Damaged records and payloads, and jobs that end the process, that were set aside.",
        );
        page.value(name, &[], self.quarantined);
        let name = "cuzk_job_wait_seconds";
        page.histogram(
            name,
            "From acceptance to the start, of completed jobs.",
            &self.waits,
        );
        let name = "cuzk_job_total_seconds";
        page.histogram(
            name,
            "From acceptance to the end, of completed jobs.",
            &self.totals,
        );
    }
}

fn write_usage(page: &mut Page, usage: &Usage) {
    page.head("cuzk_jobs", "gauge", "Unfinished jobs.");
    for (kind, count) in &usage.kinds {
        let kind = kind_name(*kind);
        for (state, value) in [("waiting", count.waiting), ("running", count.running)] {
            page.value("cuzk_jobs", &[("kind", &kind), ("state", state)], value);
        }
    }
    for (name, help, value) in [
        (
            "cuzk_jobs_limit",
            "Unfinished jobs that there may be.",
            usage.jobs_limit as u64,
        ),
        (
            "cuzk_jobs_unsaved",
            "Ends of jobs that the disk did not take yet.",
            usage.unsaved as u64,
        ),
        (
            "cuzk_payload_bytes",
            "Payloads of unfinished jobs.",
            usage.payload_bytes,
        ),
        (
            "cuzk_payload_bytes_limit",
            "The bound of payloads.",
            usage.payload_bytes_limit,
        ),
    ] {
        page.head(name, "gauge", help);
        page.value(name, &[], value);
    }
}

fn write_status(page: &mut Page, status: &ProvingStatus) {
    for (name, help, value) in [
        (
            "cuzk_host_reserved_bytes",
            "Reserved host memory.",
            status.host_reserved_bytes,
        ),
        (
            "cuzk_host_budget_bytes",
            "Host memory that may be reserved.",
            status.host_budget_bytes,
        ),
    ] {
        page.head(name, "gauge", help);
        page.value(name, &[], value);
    }
    for (name, help, value) in [
        (
            "cuzk_faults_total",
            "Tries on devices that failed.",
            status.faults,
        ),
        (
            "cuzk_invalid_proofs_total",
            "Proofs that did not verify.",
            status.invalid_proofs,
        ),
    ] {
        page.head(name, "counter", help);
        page.value(name, &[], value);
    }
    write_devices(page, &status.devices);
}

fn write_devices(page: &mut Page, devices: &[DeviceStatus]) {
    type Read = fn(&DeviceStatus) -> u64;
    let series: [(&str, &str, &str, Read); 6] = [
        (
            "cuzk_device_in_service",
            "gauge",
            "Whether the device takes work.",
            |d| u64::from(d.in_service),
        ),
        ("cuzk_device_busy_lanes", "gauge", "Lanes at work.", |d| {
            d.lanes.iter().flatten().count() as u64
        }),
        ("cuzk_device_memory_bytes", "gauge", "Usable memory.", |d| {
            d.memory_bytes
        }),
        (
            "cuzk_device_reserved_bytes",
            "gauge",
            "Reserved memory.",
            |d| d.reserved_bytes,
        ),
        (
            "cuzk_device_proofs_total",
            "counter",
            "Proofs of partitions.",
            |d| d.proofs,
        ),
        (
            "cuzk_device_faults_total",
            "counter",
            "Failed tries.",
            |d| d.faults,
        ),
    ];
    for (name, kind, help, read) in series {
        page.head(name, kind, help);
        for device in devices {
            let ordinal = device.ordinal.to_string();
            let labels = [("device", ordinal.as_str()), ("name", &device.name)];
            page.value(name, &labels, read(device));
        }
    }
}

/// Prometheus' text format, version 0.0.4.
#[derive(Default)]
struct Page {
    text: String,
}

impl Page {
    fn head(&mut self, name: &str, kind: &str, help: &str) {
        // Writing to a String does not fail.
        let _ = writeln!(self.text, "# HELP {name} {help}\n# TYPE {name} {kind}");
    }

    fn value(&mut self, name: &str, labels: &[(&str, &str)], value: impl Display) {
        let labels = labels
            .iter()
            .map(|(label, value)| format!("{label}=\"{}\"", escape(value)));
        let labels = labels.collect::<Vec<_>>().join(",");
        let _ = match labels.is_empty() {
            true => writeln!(self.text, "{name} {value}"),
            false => writeln!(self.text, "{name}{{{labels}}} {value}"),
        };
    }

    fn histogram(&mut self, name: &str, help: &str, kinds: &BTreeMap<i32, Histogram>) {
        self.head(name, "histogram", help);
        for (kind, histogram) in kinds {
            let kind = kind_name(*kind);
            let bucket = format!("{name}_bucket");
            for (bound, count) in BUCKETS_S.iter().zip(histogram.buckets) {
                self.value(
                    &bucket,
                    &[("kind", &kind), ("le", &bound.to_string())],
                    count,
                );
            }
            self.value(&bucket, &[("kind", &kind), ("le", "+Inf")], histogram.count);
            self.value(&format!("{name}_sum"), &[("kind", &kind)], histogram.sum_s);
            self.value(
                &format!("{name}_count"),
                &[("kind", &kind)],
                histogram.count,
            );
        }
    }
}

fn escape(text: &str) -> String {
    text.replace('\\', "\\\\")
        .replace('"', "\\\"")
        .replace('\n', "\\n")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_text_says_what_was_counted() {
        let metrics = Metrics::new();
        metrics.count().add_ended(4, "completed", 50, 2000);
        metrics.count().add_ended(4, "failed", 0, 1);
        let status = ProvingStatus {
            devices: vec![DeviceStatus {
                name: "a \"b\" \\ c\n".to_owned(),
                in_service: true,
                ..DeviceStatus::default()
            }],
            ..ProvingStatus::default()
        };
        let text = metrics.text(&status, &Usage::default());
        for line in [
            "cuzk_jobs_ended_total{kind=\"WINNING_POST\",end=\"completed\"} 1",
            "cuzk_jobs_ended_total{kind=\"WINNING_POST\",end=\"failed\"} 1",
            "cuzk_job_total_seconds_bucket{kind=\"WINNING_POST\",le=\"1\"} 0",
            "cuzk_job_total_seconds_bucket{kind=\"WINNING_POST\",le=\"3\"} 1",
            "cuzk_job_total_seconds_bucket{kind=\"WINNING_POST\",le=\"+Inf\"} 1",
            "cuzk_job_total_seconds_sum{kind=\"WINNING_POST\"} 2",
            "cuzk_device_in_service{device=\"0\",name=\"a \\\"b\\\" \\\\ c\\n\"} 1",
        ] {
            assert!(text.lines().any(|found| found == line), "{line}\n{text}");
        }
        let values = text.lines().filter(|line| !line.starts_with('#'));
        for line in values {
            let number = line
                .rsplit(' ')
                .next()
                .and_then(|number| number.parse::<f64>().ok());
            assert!(number.is_some(), "{line}");
        }
    }
}
