//! The load: clients that submit jobs one after the other, and what devices and processor did meanwhile.

use std::fs;
use std::sync::Mutex;
use std::sync::PoisonError;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant, SystemTime};

use anyhow::Context;
use cuzk_backend::Backend;
use cuzk_engine::{Config, Engine, Footprints, Outcome, Status};
use cuzk_simulated::{Fault, SimulatedBackend, Step};
use serde::Serialize;

use crate::failure::{INVALID, USAGE, failure};

use super::fleet::Member;
use super::subject::Subject;
use super::{Devices, engine_on};

/// Longer than anything that is waited for takes.
const PATIENCE: Duration = Duration::from_secs(300);
/// How often the state is looked at while it is waited for.
const GLANCE: Duration = Duration::from_millis(2);
/// Ticks of the kernel's processor times in a second, on Linux everywhere.
const TICKS_PER_S: f64 = 100.0;
const MEGABYTE: f64 = 1e6;

/// How much is to be proved, and in which engine.
#[derive(Clone, Debug)]
pub struct Load {
    pub jobs: usize,
    pub partitions: usize,
    pub workers: usize,
    pub witnesses: usize,
    lanes: usize,
    alone: usize,
    footprints: Footprints,
}

/// A run on some devices.
#[derive(Serialize)]
pub struct Run {
    pub devices: usize,
    /// When it began, in seconds since 1970: other programs' records of the devices can be held against it.
    pub started_unix_s: f64,
    pub seconds: f64,
    /// Partitions proved; every one was verified.
    pub proofs: usize,
    pub proofs_per_s: f64,
    /// Over the number of devices times what one did.
    pub of_linear: Option<f64>,
    /// Processor time over time, in cores.
    pub host_cores: f64,
    /// One job alone, the median.
    pub latency_ms: f64,
    pub per_device: Vec<PerDevice>,
    pub faults: u64,
}

/// A device's part of a run.
#[derive(Serialize)]
pub struct PerDevice {
    pub name: String,
    pub proofs: u64,
    /// Of all partitions.
    pub share: f64,
    /// Of the time.
    pub idle: f64,
    pub upload_mb_per_s: f64,
}

/// A run in whose course the last device failed.
#[derive(Serialize)]
pub struct OutOfService {
    pub devices: usize,
    pub name: String,
    pub seconds: f64,
    /// Partitions proved: all of them. Every one was verified.
    pub proofs: usize,
    /// Tries that failed, and were made good elsewhere.
    pub faults: u64,
    /// From the first fault that was injected until it was out of service.
    pub out_after_ms: f64,
    /// From the last one until it was in service again.
    pub back_after_ms: f64,
}

/// What an engine had done by some moment.
struct Moment {
    at: Instant,
    cpu_s: f64,
    status: Status,
}

impl Moment {
    fn now<B: Backend + Clone>(engine: &Engine<B>) -> anyhow::Result<Self> {
        Ok(Self {
            at: Instant::now(),
            cpu_s: cpu_seconds()?,
            status: engine.status(),
        })
    }
}

/// Processor time of this process so far.
fn cpu_seconds() -> anyhow::Result<f64> {
    let text = fs::read_to_string("/proc/self/stat").context("/proc/self/stat")?;
    // The name in parentheses may hold anything; user and system time are the 12th and 13th field after it.
    let after = text.rsplit(')').next().unwrap_or_default();
    let times = after.split_whitespace().skip(11).take(2);
    let ticks: f64 = times.filter_map(|field| field.parse::<f64>().ok()).sum();
    Ok(ticks / TICKS_PER_S)
}

/// Waits until the state is as wanted.
pub fn wait_until<B: Backend + Clone>(
    engine: &Engine<B>,
    what: &str,
    wanted: impl Fn(&Status) -> bool,
) -> anyhow::Result<Status> {
    let until = Instant::now() + PATIENCE;
    loop {
        let status = engine.status();
        if wanted(&status) {
            return Ok(status);
        }
        anyhow::ensure!(Instant::now() < until, "waited in vain for {what}");
        std::thread::sleep(GLANCE);
    }
}

/// Brings a subject's key to all devices of an engine.
pub fn preload<B: Backend + Clone>(engine: &Engine<B>, subject: &Subject) -> anyhow::Result<()> {
    engine.preload(&subject.name);
    let error = |status: &Status| {
        let mut circuits = status.circuits.iter();
        let found = circuits.find(|circuit| *circuit.name == *subject.name);
        found.and_then(|circuit| circuit.error.clone())
    };
    let on_all = |status: &Status| {
        let mut devices = status.devices.iter();
        devices.all(|d| d.resident.iter().any(|name| **name == *subject.name))
    };
    let what = "the key to get to all devices";
    let status = wait_until(engine, what, |s| on_all(s) || error(s).is_some())?;
    match error(&status) {
        Some(error) => anyhow::bail!("{}: {error}", subject.name),
        None => Ok(()),
    }
}

fn completed(subject: &Subject, outcome: Outcome) -> anyhow::Result<Vec<u8>> {
    match outcome {
        Outcome::Completed(completed) => Ok(completed.proof),
        other => Err(failure(INVALID, format!("{}: {other}", subject.name))),
    }
}

impl Load {
    /// What the command line says, with what circuits take of the devices.
    pub fn of(args: &Devices, footprints: Footprints) -> Self {
        let processors = std::thread::available_parallelism().map_or(1, |n| n.get());
        Self {
            jobs: args.jobs,
            partitions: args.partitions,
            workers: args.workers,
            lanes: args.lanes,
            alone: args.alone,
            footprints,
            witnesses: args.witnesses.unwrap_or(processors.min(16)).max(1),
        }
    }

    /// The engine's limits.
    pub fn config(&self) -> Config {
        let mut config = Config {
            footprint: self.footprints.clone(),
            ..Config::default()
        };
        config.scheduler.lanes = self.lanes as u32;
        config.scheduler.witness_slots = self.witnesses;
        config.scheduler.probe_after_us = 200_000;
        config.scheduler.max_probes = u32::MAX;
        config
    }

    /// A steady queue on these devices, then jobs one at a time.
    pub fn run<B: Backend + Clone>(
        &self,
        subject: &Subject,
        fleet: &[Member<B>],
    ) -> anyhow::Result<Run> {
        let engine = engine_on(subject, fleet, self)?;
        self.warm_up(&engine, subject)?;
        let started = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH)?;
        let started_unix_s = started.as_secs_f64();
        let start = Moment::now(&engine)?;
        let answers = self.drive(&engine, subject, &AtomicUsize::new(0))?;
        let end = Moment::now(&engine)?;
        let proofs = subject.verify(&answers, self.partitions)?;
        let latency_ms = self.latency_ms(&engine, subject)?;
        let seconds = (end.at - start.at).as_secs_f64();
        Ok(Run {
            devices: fleet.len(),
            started_unix_s,
            seconds,
            proofs,
            proofs_per_s: proofs as f64 / seconds,
            of_linear: None,
            host_cores: (end.cpu_s - start.cpu_s) / seconds,
            latency_ms,
            per_device: per_device(fleet, &start, &end),
            faults: end.status.counters.faults,
        })
    }

    /// The same queue; from a quarter of the jobs on, the last device fails at every try.
    pub fn run_with_a_failing_device<B: Backend + Clone>(
        &self,
        subject: &Subject,
        fleet: &[Member<B>],
    ) -> anyhow::Result<OutOfService> {
        let last = fleet.last().context("a device")?;
        let index = fleet.len() - 1;
        let engine = engine_on(subject, fleet, self)?;
        self.warm_up(&engine, subject)?;
        let done = AtomicUsize::new(0);
        let start = Instant::now();
        let (answers, out_after) = std::thread::scope(|scope| {
            let spoil = scope.spawn(|| {
                wait_until(&engine, "a quarter of the jobs", |_| {
                    4 * done.load(Ordering::Relaxed) >= self.jobs
                })?;
                let failing = Instant::now();
                last.faults.inject(Step::Msm, Fault::Error, usize::MAX);
                let is_out = |status: &Status| !status.devices[index].in_service;
                let ended = || done.load(Ordering::Relaxed) >= self.jobs;
                let out_or_ended = |status: &Status| is_out(status) || ended();
                let status =
                    wait_until(&engine, "the device to go out of service", out_or_ended)?;
                if !is_out(&status) {
                    let advice = "all jobs ended before the failing device was out of service; give more --jobs";
                    return Err(failure(USAGE, advice));
                }
                Ok(failing.elapsed())
            });
            let answers = self.drive(&engine, subject, &done);
            let out_after = spoil.join();
            (answers, out_after)
        });
        let seconds = start.elapsed().as_secs_f64();
        let out_after = out_after.map_err(|_| anyhow::anyhow!("a thread panicked"))??;
        let faults = engine.status().counters.faults;
        last.faults.heal();
        let healed = Instant::now();
        let is_back = |status: &Status| status.devices[index].in_service;
        wait_until(&engine, "the device's return", is_back)?;
        let back_after = healed.elapsed();
        Ok(OutOfService {
            devices: fleet.len(),
            name: last.name.clone(),
            seconds,
            proofs: subject.verify(&answers?, self.partitions)?,
            faults,
            out_after_ms: 1e3 * out_after.as_secs_f64(),
            back_after_ms: 1e3 * back_after.as_secs_f64(),
        })
    }

    /// As many proofs at once as there are lanes, so that each has allocated what it needs.
    fn warm_up<B: Backend + Clone>(
        &self,
        engine: &Engine<SimulatedBackend<B>>,
        subject: &Subject,
    ) -> anyhow::Result<()> {
        let partitions = 2 * self.lanes * engine.status().devices.len();
        let handle = engine.submit(subject.with_partitions(partitions))?;
        let answer = completed(subject, handle.wait())?;
        subject.verify(&[answer], partitions)?;
        Ok(())
    }

    /// Runs all jobs and gives their answers; counts in `done` those that have ended.
    fn drive<B: Backend + Clone>(
        &self,
        engine: &Engine<SimulatedBackend<B>>,
        subject: &Subject,
        done: &AtomicUsize,
    ) -> anyhow::Result<Vec<Vec<u8>>> {
        let answers = Mutex::new(Vec::new());
        let next = AtomicUsize::new(0);
        std::thread::scope(|scope| {
            let work = |worker: usize| {
                while next.fetch_add(1, Ordering::Relaxed) < self.jobs {
                    let handle = engine.submit(subject.submission(worker))?;
                    let outcome = handle.wait();
                    done.fetch_add(1, Ordering::Relaxed);
                    let answer = completed(subject, outcome)?;
                    let mut answers = answers.lock().unwrap_or_else(PoisonError::into_inner);
                    answers.push(answer);
                }
                Ok::<_, anyhow::Error>(())
            };
            let workers: Vec<_> = (0..self.workers)
                .map(|worker| scope.spawn(move || work(worker)))
                .collect();
            workers.into_iter().try_for_each(|worker| {
                let ended = worker.join();
                ended.map_err(|_| anyhow::anyhow!("a thread panicked"))?
            })
        })?;
        Ok(answers.into_inner().unwrap_or_else(PoisonError::into_inner))
    }

    /// The median of what a job takes that is alone.
    fn latency_ms<B: Backend + Clone>(
        &self,
        engine: &Engine<SimulatedBackend<B>>,
        subject: &Subject,
    ) -> anyhow::Result<f64> {
        let mut times = Vec::new();
        for _ in 0..self.alone.max(1) {
            let start = Instant::now();
            let handle = engine.submit(subject.submission(0))?;
            let answer = completed(subject, handle.wait())?;
            times.push(1e3 * start.elapsed().as_secs_f64());
            subject.verify(&[answer], self.partitions)?;
        }
        times.sort_by(f64::total_cmp);
        Ok(times[times.len() / 2])
    }
}

fn per_device<B: Backend>(fleet: &[Member<B>], start: &Moment, end: &Moment) -> Vec<PerDevice> {
    let seconds = (end.at - start.at).as_secs_f64();
    let all = end.status.counters.proofs - start.status.counters.proofs;
    let states = start.status.devices.iter().zip(&end.status.devices);
    let one = |(member, (before, after)): (&Member<B>, _)| {
        let (before, after): (&cuzk_engine::DeviceStatus, &cuzk_engine::DeviceStatus) =
            (before, after);
        let proofs = after.proofs - before.proofs;
        let worked = (after.worked - before.worked).as_secs_f64();
        let bytes = (after.witness_bytes - before.witness_bytes) as f64;
        PerDevice {
            name: member.name.clone(),
            proofs,
            share: proofs as f64 / all.max(1) as f64,
            idle: (1.0 - worked / seconds).max(0.0),
            upload_mb_per_s: bytes / MEGABYTE / seconds,
        }
    };
    fleet.iter().zip(states).map(one).collect()
}
