//! Runs the scheduler over a simulated fleet and prints its cost as JSON.
//!
//! `cargo run --release -p cuzk-scheduler --example simulate -- [DEVICES JOBS]...`

use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::process::ExitCode;
use std::time::Duration;

use cuzk_scheduler::*;

/// Fleets and loads that are run when none are named.
const DEFAULT: [(u32, u64); 3] = [(10, 1_000), (100, 10_000), (1_000, 100_000)];
const GIB: u64 = 1 << 30;
const SECOND: u64 = 1_000_000;
const TENANTS: u64 = 50;
const CIRCUITS: u64 = 8;
/// One try in so many fails.
const FAULT_EVERY: u64 = 2_000;

fn main() -> ExitCode {
    let numbers: Result<Vec<u64>, _> = std::env::args().skip(1).map(|text| text.parse()).collect();
    let Ok(numbers) = numbers else {
        eprintln!("usage: simulate [DEVICES JOBS]...");
        return ExitCode::FAILURE;
    };
    let named = numbers
        .chunks_exact(2)
        .map(|pair| (pair[0] as u32, pair[1]));
    let runs: Vec<(u32, u64)> = match numbers.is_empty() {
        true => DEFAULT.to_vec(),
        false => named.collect(),
    };
    let lines: Vec<String> = runs
        .iter()
        .map(|&(devices, jobs)| run(devices, jobs))
        .collect();
    println!("[\n{}\n]", lines.join(",\n"));
    ExitCode::SUCCESS
}

/// What the thread has had of a processor, which other programs do not disturb as they do the clock on the wall.
fn processor_time() -> Option<Duration> {
    let text = std::fs::read_to_string("/proc/thread-self/schedstat").ok()?;
    let nanoseconds = text.split_whitespace().next()?.parse().ok()?;
    Some(Duration::from_nanos(nanoseconds))
}

/// A fleet, and what is going to happen to it.
struct Simulation {
    config: Config,
    scheduler: Scheduler,
    /// Events by time; the number keeps the order of those at one time.
    agenda: BinaryHeap<Reverse<(u64, u64)>>,
    events: Vec<Option<Event>>,
    now: u64,
    random: u64,
    actions: Vec<Action>,
    /// All events as they were handled.
    history: Vec<(Instant, Event)>,
    events_handled: usize,
    decisions: u64,
    placed: u64,
    loads: u64,
    busy_us: u64,
    ended: u64,
    failed: u64,
}

fn run(devices: u32, jobs: u64) -> String {
    let mut simulation = Simulation::new(devices, jobs);
    simulation.fill(devices, jobs);
    simulation.play();
    let cost = replay(&mut simulation);
    simulation.report(devices, jobs, cost)
}

/// Time in the scheduler: by the clock on the wall, and of the processor where the system tells it.
struct Cost {
    wall: Duration,
    processor: Option<Duration>,
}

/// Tells a second scheduler the same events, and nothing else, and finds the same number of decisions.
fn replay(simulation: &mut Simulation) -> Cost {
    let mut scheduler = Scheduler::new(simulation.config).expect("limits that are positive");
    let mut actions = Vec::new();
    let mut decisions = 0;
    let history = std::mem::take(&mut simulation.history);
    simulation.events_handled = history.len();
    let (before, start) = (processor_time(), std::time::Instant::now());
    for (at, event) in history {
        scheduler.handle(event, at, &mut actions);
        decisions += actions.len() as u64;
        actions.clear();
    }
    let (wall, after) = (start.elapsed(), processor_time());
    assert_eq!(
        decisions, simulation.decisions,
        "the same events, the same decisions"
    );
    let processor = after.zip(before).map(|(after, before)| after - before);
    Cost { wall, processor }
}

impl Simulation {
    fn new(devices: u32, jobs: u64) -> Self {
        let lanes = devices as usize * 2;
        let config = Config {
            host_memory: Bytes(u64::from(devices) * 64 * GIB),
            witness_slots: lanes,
            max_jobs: jobs as usize,
            max_tenant_jobs: jobs as usize,
            max_units: jobs as usize * 10,
            ..Config::default()
        };
        Self {
            config,
            scheduler: Scheduler::new(config).expect("limits that are positive"),
            agenda: BinaryHeap::new(),
            events: Vec::new(),
            now: 0,
            random: 0x9E37_79B9_7F4A_7C15,
            actions: Vec::new(),
            history: Vec::new(),
            events_handled: 0,
            decisions: 0,
            placed: 0,
            loads: 0,
            busy_us: 0,
            ended: 0,
            failed: 0,
        }
    }

    /// xorshift64*: the next number below a bound.
    fn below(&mut self, bound: u64) -> u64 {
        self.random ^= self.random >> 12;
        self.random ^= self.random << 25;
        self.random ^= self.random >> 27;
        (self.random.wrapping_mul(0x2545_F491_4F6C_DD1D) >> 33) % bound
    }

    fn plan(&mut self, after_us: u64, event: Event) {
        self.agenda
            .push(Reverse((self.now + after_us, self.events.len() as u64)));
        self.events.push(Some(event));
    }

    /// All devices, and jobs at a rate that the fleet cannot keep up with.
    fn fill(&mut self, devices: u32, jobs: u64) {
        for id in 0..devices {
            let memory = Bytes([80, 141][id as usize % 2] * GIB);
            let device = DeviceId(id);
            self.plan(0, Event::DeviceUp { device, memory });
        }
        for job in 0..jobs {
            let spec = self.job(job);
            let arrival = job * SECOND * 2 / u64::from(devices);
            self.plan(arrival, Event::Submitted(spec));
        }
    }

    fn job(&mut self, job: u64) -> JobSpec {
        let circuit = self.below(CIRCUITS);
        let priority = match self.below(100) {
            0 => Priority::Critical,
            1..10 => Priority::High,
            10..80 => Priority::Normal,
            _ => Priority::Low,
        };
        let unit = UnitSpec {
            host: Bytes((1 + circuit) * GIB / 2),
            device: Bytes((4 + circuit) * GIB),
        };
        JobSpec {
            job: JobId(job),
            tenant: TenantId(self.below(TENANTS)),
            priority,
            deadline: None,
            circuit: Circuit {
                id: CircuitId(circuit),
                host: Bytes(2 * GIB),
                device: Bytes((8 + 2 * circuit) * GIB),
            },
            units: vec![unit; 1 + self.below(8) as usize],
        }
    }

    fn play(&mut self) {
        while let Some(Reverse((at, number))) = self.agenda.pop() {
            self.now = at;
            let event = self.events[number as usize].take().expect("played once");
            self.handle(event);
            if self.agenda.is_empty()
                && let Some(at) = self.scheduler.next_wakeup()
            {
                self.plan(at.since(Instant(self.now)), Event::Tick);
            }
        }
    }

    fn handle(&mut self, event: Event) {
        let mut actions = std::mem::take(&mut self.actions);
        self.history.push((Instant(self.now), event.clone()));
        self.scheduler
            .handle(event, Instant(self.now), &mut actions);
        for action in actions.drain(..) {
            self.decisions += 1;
            self.carry_out(action);
        }
        self.actions = actions;
    }

    fn carry_out(&mut self, action: Action) {
        match action {
            Action::StartWitness { unit } => {
                let after = SECOND / 2 + self.below(SECOND);
                self.plan(after, Event::WitnessDone { unit });
            }
            Action::Place { attempt, .. } => {
                let after = SECOND + self.below(SECOND);
                self.placed += 1;
                self.busy_us += after;
                let fault = Fault::Device;
                let failed = Event::Failed { attempt, fault };
                let faulty = self.below(FAULT_EVERY) == 0;
                if faulty {
                    self.plan(after, failed);
                } else {
                    self.plan(after, Event::DeviceDone { attempt });
                    self.plan(after + SECOND / 50, Event::Finished { attempt });
                }
            }
            Action::Load { circuit, place } => {
                self.loads += 1;
                self.plan(SECOND, Event::Loaded { circuit, place });
            }
            Action::Evict { circuit, place } => self.plan(1, Event::Evicted { circuit, place }),
            Action::Abort { unit } => self.plan(SECOND / 10, Event::Stopped { unit }),
            Action::Probe { device } => {
                let works = true;
                self.plan(SECOND, Event::Probed { device, works });
            }
            Action::JobEnded { outcome, .. } => {
                self.ended += 1;
                self.failed += u64::from(outcome != Outcome::Completed);
            }
            Action::Accepted { .. }
            | Action::Rejected { .. }
            | Action::Overtaken { .. }
            | Action::NoRoom { .. }
            | Action::OutOfService { .. }
            | Action::BackInService { .. } => {}
        }
    }

    fn report(&self, devices: u32, jobs: u64, cost: Cost) -> String {
        let wall = cost.wall.as_secs_f64();
        let processor = cost.processor.unwrap_or_default().as_secs_f64();
        let lanes_us = u64::from(devices) * 2 * self.now;
        let simulated = self.now as f64 / SECOND as f64;
        let fields = [
            ("devices", f64::from(devices), 0),
            ("jobs", jobs as f64, 0),
            ("jobs_ended", self.ended as f64, 0),
            ("jobs_not_completed", self.failed as f64, 0),
            ("units_placed", self.placed as f64, 0),
            ("loads", self.loads as f64, 0),
            ("simulated_seconds", simulated, 0),
            (
                "lanes_busy_percent",
                self.busy_us as f64 * 100.0 / lanes_us as f64,
                1,
            ),
            ("events", self.events_handled as f64, 0),
            ("decisions", self.decisions as f64, 0),
            ("wall_seconds", wall, 3),
            ("decisions_per_wall_second", self.decisions as f64 / wall, 0),
            ("cpu_seconds", processor, 3),
            (
                "decisions_per_cpu_second",
                self.decisions as f64 / processor,
                0,
            ),
            ("cpu_us_per_job", processor * 1e6 / jobs as f64, 1),
        ];
        let fields = fields.map(|(name, value, digits)| match value.is_finite() {
            true => format!("\"{name}\": {value:.digits$}"),
            false => format!("\"{name}\": null"),
        });
        format!("  {{{}}}", fields.join(", "))
    }
}
