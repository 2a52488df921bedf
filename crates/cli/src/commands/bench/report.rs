//! What a measurement says: numbers by circuit.

use std::collections::BTreeMap;

use serde::Serialize;

use crate::commands::bench::load::{Pace, Sample};
use crate::table::table;

/// A measurement.
#[derive(Debug, Serialize)]
pub struct Report {
    /// When calls were made.
    pub pace: Pace,
    /// From the first call to the last answer.
    pub seconds: f64,
    /// Proofs in a second.
    pub proofs_per_s: f64,
    /// Seconds that the daemon took to load each key before the first call; 0 where it was loaded.
    pub keys_s: BTreeMap<&'static str, f64>,
    /// By circuit.
    pub circuits: BTreeMap<&'static str, Row>,
    /// Answers without a proof, by what they said.
    pub errors: BTreeMap<String, usize>,
    /// Every call.
    pub samples: Vec<Sample>,
}

/// One circuit's calls.
#[derive(Debug, Default, Serialize)]
pub struct Row {
    /// Calls.
    pub calls: usize,
    /// Calls that brought a proof. What follows is about them.
    pub proofs: usize,
    /// As callers saw it.
    pub latency_s: Percentiles,
    /// Mean of the time in the queue.
    pub queue_s: f64,
    /// Mean of the time for witnesses, partitions added up.
    pub witness_s: f64,
    /// Mean of the time on devices, partitions added up.
    pub device_s: f64,
}

/// How a quantity is distributed.
#[derive(Copy, Clone, Debug, Default, PartialEq, Serialize)]
pub struct Percentiles {
    /// The least.
    pub min: f64,
    /// Half are not above.
    pub p50: f64,
    /// Nine in ten are not above.
    pub p90: f64,
    /// Ninety-nine in a hundred are not above.
    pub p99: f64,
    /// The greatest.
    pub max: f64,
}

impl Percentiles {
    /// Those of these values: each percentile is one of them. Zeros where there is none.
    pub fn of(mut values: Vec<f64>) -> Self {
        values.sort_by(f64::total_cmp);
        let at = |share: f64| {
            let rank = (share * values.len() as f64).ceil() as usize;
            values.get(rank.max(1) - 1).copied().unwrap_or_default()
        };
        Self {
            min: at(0.0),
            p50: at(0.5),
            p90: at(0.9),
            p99: at(0.99),
            max: at(1.0),
        }
    }
}

impl Report {
    /// The report of these calls.
    pub fn new(pace: Pace, keys: Vec<(&'static str, f64)>, samples: Vec<Sample>) -> Self {
        let ends = samples.iter().map(|sample| sample.due_s + sample.latency_s);
        let seconds = ends.fold(0.0, f64::max);
        let mut by_circuit: BTreeMap<&'static str, Vec<&Sample>> = BTreeMap::new();
        let mut errors = BTreeMap::new();
        for sample in &samples {
            by_circuit.entry(sample.circuit).or_default().push(sample);
            if let Some(error) = &sample.error {
                *errors.entry(error.clone()).or_default() += 1;
            }
        }
        let circuits = by_circuit.into_iter();
        let circuits: BTreeMap<_, Row> = circuits
            .map(|(circuit, samples)| (circuit, row(&samples)))
            .collect();
        let proofs: usize = circuits.values().map(|row| row.proofs).sum();
        Self {
            pace,
            seconds,
            proofs_per_s: proofs as f64 / seconds.max(f64::MIN_POSITIVE),
            keys_s: keys.into_iter().collect(),
            circuits,
            errors,
            samples,
        }
    }

    /// For people.
    pub fn text(&self) -> String {
        let header = [
            "circuit", "calls", "proofs", "min s", "p50", "p90", "p99", "max", "queue", "witness",
            "device",
        ];
        let rows: Vec<Vec<String>> = self.circuits.iter().map(cells).collect();
        let proofs: usize = self.circuits.values().map(|row| row.proofs).sum();
        let mut parts = vec![
            table(&header, &rows),
            format!(
                "{proofs} proofs of {} calls in {:.2} s: {:.3} a second",
                self.samples.len(),
                self.seconds,
                self.proofs_per_s
            ),
        ];
        let errors = self.errors.iter();
        parts.extend(errors.map(|(error, count)| format!("{count} × {error}")));
        parts.join("\n")
    }
}

fn row(samples: &[&Sample]) -> Row {
    let good: Vec<&&Sample> = samples
        .iter()
        .filter(|sample| sample.error.is_none())
        .collect();
    let mean = |field: fn(&Sample) -> f64| {
        let sum: f64 = good.iter().map(|sample| field(sample)).sum();
        sum / good.len().max(1) as f64
    };
    Row {
        calls: samples.len(),
        proofs: good.len(),
        latency_s: Percentiles::of(good.iter().map(|sample| sample.latency_s).collect()),
        queue_s: mean(|sample| sample.queue_s),
        witness_s: mean(|sample| sample.witness_s),
        device_s: mean(|sample| sample.device_s),
    }
}

fn cells((circuit, row): (&&'static str, &Row)) -> Vec<String> {
    let latency = row.latency_s;
    let seconds = [
        latency.min,
        latency.p50,
        latency.p90,
        latency.p99,
        latency.max,
        row.queue_s,
        row.witness_s,
        row.device_s,
    ];
    let counts = [row.calls, row.proofs].map(|count| count.to_string());
    let seconds = seconds.map(|seconds| format!("{seconds:.3}"));
    [(*circuit).to_owned()]
        .into_iter()
        .chain(counts)
        .chain(seconds)
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::commands::bench::load::tests::sample;

    #[test]
    fn percentiles_are_values_of_the_list() {
        let of = |values: &[f64]| Percentiles::of(values.to_vec());
        assert_eq!(of(&[]), Percentiles::default());
        let one = of(&[7.0]);
        assert_eq!((one.min, one.p50, one.p99, one.max), (7.0, 7.0, 7.0, 7.0));
        let hundred: Vec<f64> = (1..=100).rev().map(f64::from).collect();
        let found = of(&hundred);
        assert_eq!((found.min, found.p50, found.p90), (1.0, 50.0, 90.0));
        assert_eq!((found.p99, found.max), (99.0, 100.0));
        assert_eq!(of(&[1.0, 2.0, 3.0]).p50, 2.0);
    }

    #[test]
    fn refusals_count_as_calls_and_not_as_proofs() {
        let samples = vec![
            sample("porep-2k", 0.0, 4.0, None),
            sample("porep-2k", 1.0, 1.0, Some("full")),
            sample("snap-2k", 2.0, 8.0, None),
            sample("porep-2k", 3.0, 1.0, Some("full")),
        ];
        let pace = Pace::Open {
            count: 4,
            per_s: 1.0,
        };
        let report = Report::new(pace, Vec::new(), samples);
        assert_eq!((report.seconds, report.proofs_per_s), (10.0, 0.2));
        let porep = &report.circuits["porep-2k"];
        assert_eq!((porep.calls, porep.proofs), (3, 1));
        assert_eq!((porep.latency_s.max, porep.device_s), (4.0, 3.0));
        assert_eq!(report.errors["full"], 2);
        let text = report.text();
        assert!(text.contains("2 proofs of 4 calls in 10.00 s"), "{text}");
        assert!(text.contains("2 × full"), "{text}");
    }
}
