//! Compares direct witnesses with those of the circuits' closures, bit for bit, and prints the times:
//!
//! ```sh
//! cargo run --release -p cuzk-plugins --example direct_witness -- <kind> <sector size> [sectors] [threads]
//! ```
//!
//! takes so many synthetic sectors (1), of each the first partition, on so many threads (1). The memory is that of the whole
//! process, which has made the sectors and decoded the requests.

use std::error::Error;
use std::time::Instant;

use cuzk_cs_witness::WitnessCS;
use cuzk_plugins as _;
use cuzk_proof_api::{Job, by_id};
use cuzk_synth::{Kind, Options, SectorSize, synthetic};

/// Times that a direct witness is computed.
const RUNS: usize = 5;

fn main() -> Result<(), Box<dyn Error + Send + Sync>> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let [kind, size, counts @ ..] = arguments.as_slice() else {
        return Err("wanted <kind> <sector size> [sectors] [threads]".into());
    };
    let (kind, size): (Kind, SectorSize) = (kind.parse()?, size.parse()?);
    let count = |i: usize| counts.get(i).map_or(Ok(1), |count| count.parse::<u64>());
    let (sectors, threads) = (count(0)?, count(1)?);
    let pool = rayon::ThreadPoolBuilder::new()
        .num_threads(threads as usize)
        .build()?;
    for seed in 0..sectors {
        let options = Options {
            seed,
            ..Options::default()
        };
        let request = synthetic(kind, size, &options)?.into_request();
        let job = by_id(kind.name())?.decode(&request)?;
        pool.install(|| compare(&*job))?;
    }
    println!("{sectors} equal");
    Ok(())
}

fn compare(job: &dyn Job) -> Result<(), Box<dyn Error + Send + Sync>> {
    let mut seconds = [0.0; RUNS];
    let mut direct = None;
    let cpu_before = cpu_seconds();
    for seconds in &mut seconds {
        drop(direct.take());
        let start = Instant::now();
        direct = job.direct_witness(0)?;
        *seconds = start.elapsed().as_secs_f64();
    }
    seconds.sort_by(f64::total_cmp);
    let direct_s = seconds[RUNS / 2];
    let cpu_s = (cpu_seconds() - cpu_before) / RUNS as f64;
    let peak = peak_mib().unwrap_or(0);
    let start = Instant::now();
    let mut cs = WitnessCS::default();
    job.circuit(0)?.witness(&mut cs)?;
    let closures_s = start.elapsed().as_secs_f64();
    let closures = cs.into_assignment();
    let ratio = closures_s / direct_s;
    println!(
        "direct {direct_s:.4} s (median of {RUNS}; {cpu_s:.4} s of CPU, {peak} MiB at most so far), closures {closures_s:.3} s, {ratio:.1} times"
    );
    match direct {
        None => Err("no direct witness".into()),
        Some(direct) if direct == closures => Ok(()),
        Some(direct) => {
            let first = direct
                .iter_aux()
                .zip(closures.iter_aux())
                .position(|(found, wanted)| found != wanted);
            Err(format!(
                "unequal: {} and {} aux, the first difference at {first:?}",
                direct.aux_len(),
                closures.aux_len()
            )
            .into())
        }
    }
}

/// The time that all threads of the process have run.
fn cpu_seconds() -> f64 {
    let threads = std::fs::read_dir("/proc/self/task").into_iter().flatten();
    let nanoseconds = threads.filter_map(|thread| {
        let text = std::fs::read_to_string(thread.ok()?.path().join("schedstat")).ok()?;
        text.split_whitespace().next()?.parse::<f64>().ok()
    });
    nanoseconds.sum::<f64>() / 1e9
}

/// The most memory that the process had resident.
fn peak_mib() -> Option<u64> {
    let status = std::fs::read_to_string("/proc/self/status").ok()?;
    let line = status.lines().find(|line| line.starts_with("VmHWM:"))?;
    let kib: u64 = line.split_whitespace().nth(1)?.parse().ok()?;
    Some(kib / 1024)
}
