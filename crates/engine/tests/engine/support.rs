//! Toy proof types, simulated devices and engines on them.

use std::sync::{Arc, Condvar, LazyLock, Mutex, PoisonError};
use std::time::{Duration, Instant};

use bellpepper_core::{Circuit, ConstraintSystem, SynthesisError};
use cuzk_backend_cpu::CpuBackend;
use cuzk_curve::Fr;
use cuzk_engine::{
    Config, Device, Engine, InMemory, JobHandle, Outcome, PciBusId, Status, Submission,
};
use cuzk_groth16::{PROOF_BYTES, PreparedVerifyingKey, Proof, keygen, verify};
use cuzk_params::Parameters;
use cuzk_pce::Pce;
use cuzk_proof_api::{
    AnyCircuit, CircuitSpec, Job, KeyNames, Priority, ProofApiError, ProofType, Registered,
    Request, by_closures, inventory,
};
use cuzk_r1cs::Assignment;
use cuzk_testing::circuits::Cubic;
use cuzk_testing::simulated::{Settings, SimulatedBackend, SimulatedDevice};
use ff::Field;
use rand::SeedableRng;
use rand_chacha::ChaCha8Rng;

pub type SimulatedEngine = Engine<SimulatedBackend>;

/// Long enough for anything that must happen on a busy machine.
pub const PATIENCE: Duration = Duration::from_secs(120);

/// Knowledge of the start of a chain of squares, x -> x^2 + 1, whose end is public; and of the bits of a number.
#[derive(Clone)]
pub struct Chain {
    pub x: Option<u64>,
    pub length: usize,
}

impl Chain {
    pub fn output(x: u64, length: usize) -> Fr {
        (0..length).fold(Fr::from(x), |x, _| x.square() + Fr::ONE)
    }
}

impl Circuit<Fr> for Chain {
    fn synthesize<CS: ConstraintSystem<Fr>>(self, cs: &mut CS) -> Result<(), SynthesisError> {
        let known = |value: Option<Fr>| value.ok_or(SynthesisError::AssignmentMissing);
        for bit in 0..64 {
            let value = self.x.map(|x| Fr::from(x >> bit & 1));
            let bit = cs.alloc(|| "bit", || known(value))?;
            cs.enforce(|| "bit", |lc| lc + CS::one() - bit, |lc| lc + bit, |lc| lc);
        }
        let mut value = self.x.map(Fr::from);
        let mut x = cs.alloc(|| "x", || known(value))?;
        for _ in 0..self.length {
            value = value.map(|x| x.square() + Fr::ONE);
            let next = cs.alloc(|| "next", || known(value))?;
            let right = |lc| lc + next - CS::one();
            cs.enforce(|| "square", |lc| lc + x, |lc| lc + x, right);
            x = next;
        }
        let end = cs.alloc_input(|| "end", || known(value))?;
        cs.enforce(|| "end", |lc| lc + x, |lc| lc + CS::one(), |lc| lc + end);
        Ok(())
    }
}

/// A witness of [`Cubic`] with a wrong square and a right output.
struct WrongCubic(Fr);

impl Circuit<Fr> for WrongCubic {
    fn synthesize<CS: ConstraintSystem<Fr>>(self, cs: &mut CS) -> Result<(), SynthesisError> {
        let x = self.0;
        for value in [x, x.square() + Fr::ONE, x.square() * x] {
            cs.alloc(|| "a value", || Ok(value))?;
        }
        cs.alloc_input(|| "y", || Ok(Cubic::output(x)))?;
        Ok(())
    }
}

/// A toy circuit: its name, its key.
pub struct Toy {
    pub id: &'static str,
    pub pce: Pce,
    pub key: Parameters,
    pub vk: PreparedVerifyingKey,
}

fn toy<C: Circuit<Fr>>(id: &'static str, blank: C) -> Toy {
    let pce = Pce::record(blank).unwrap();
    let mut rng = ChaCha8Rng::seed_from_u64(7);
    let key = keygen::in_memory(&CpuBackend, &pce, &mut rng).unwrap();
    Toy {
        id,
        vk: PreparedVerifyingKey::from(key.vk()),
        pce,
        key,
    }
}

pub static CUBIC: LazyLock<Toy> = LazyLock::new(|| toy("toy-cubic", Cubic { x: None }));
pub static CHAIN: LazyLock<Toy> = LazyLock::new(|| toy("toy-chain", chain("toy-chain", None)));
/// Nearly as large as [`CHAIN`].
pub static LONG: LazyLock<Toy> = LazyLock::new(|| toy("toy-long", chain("toy-long", None)));

fn length(circuit: &str) -> usize {
    if circuit == "toy-long" { 110 } else { 100 }
}

fn chain(circuit: &str, x: Option<u64>) -> Chain {
    let length = length(circuit);
    Chain { x, length }
}

/// The toy circuits' names, by which tests are run for each.
pub const TOYS: [&str; 2] = ["toy-cubic", "toy-chain"];

pub fn toy_named(id: &str) -> &'static Toy {
    match id {
        "toy-cubic" => &CUBIC,
        "toy-long" => &LONG,
        _ => &CHAIN,
    }
}

pub fn toys() -> InMemory {
    let with = |source: InMemory, toy: &Toy| source.with(toy.id, toy.pce.clone(), toy.key.clone());
    let all = [&*CUBIC, &*CHAIN, &*LONG];
    all.into_iter().fold(InMemory::default(), with)
}

/// Holds back whoever passes until it is opened.
#[derive(Default)]
pub struct Gate {
    open: Mutex<bool>,
    opened: Condvar,
}

impl Gate {
    pub fn open(&self) {
        *self.open.lock().unwrap() = true;
        self.opened.notify_all();
    }

    pub fn pass(&self) {
        let open = self.open.lock().unwrap_or_else(PoisonError::into_inner);
        drop(self.opened.wait_while(open, |open| !*open).unwrap());
    }
}

/// A job of a toy circuit: a partition for each number.
#[derive(Clone)]
pub struct ToyJob {
    pub circuit: &'static str,
    pub numbers: Vec<u64>,
    /// Held before each witness.
    pub witness_gate: Option<Arc<Gate>>,
    /// Held before the answer is put together.
    pub assemble_gate: Option<Arc<Gate>>,
    /// The circuit of this partition panics.
    pub panics: Option<usize>,
    /// This partition states another output than its circuit has.
    pub misstates: Option<usize>,
    /// The witness of this partition of a cubic does not satisfy its circuit.
    pub unsatisfied: Option<usize>,
    /// Whether witnesses can be computed directly, and which partition's is wrong then.
    pub direct: Direct,
}

/// What a toy's direct witnesses are like.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub enum Direct {
    /// There are none.
    Absent,
    /// Right.
    Right,
    /// Wrong for this partition, but for the public inputs.
    WrongFor(usize),
}

impl ToyJob {
    pub fn new(circuit: &'static str, numbers: impl IntoIterator<Item = u64>) -> Self {
        Self {
            circuit,
            numbers: numbers.into_iter().collect(),
            witness_gate: None,
            assemble_gate: None,
            panics: None,
            misstates: None,
            unsatisfied: None,
            direct: Direct::Absent,
        }
    }

    /// The same with direct witnesses.
    pub fn with_direct(self, direct: Direct) -> Self {
        Self { direct, ..self }
    }

    fn output(&self, x: u64) -> Fr {
        match self.circuit {
            "toy-cubic" => Cubic::output(Fr::from(x)),
            circuit => Chain::output(x, length(circuit)),
        }
    }

    /// Whether these are valid proofs of all partitions.
    pub fn verifies(&self, proof: &[u8]) -> bool {
        let toy = toy_named(self.circuit);
        let valid = |(proof, &x): (&[u8], &u64)| {
            let proof = Proof::from_bytes(proof).unwrap();
            verify(&toy.vk, &proof, &[self.output(x)]).unwrap()
        };
        let proofs = proof.chunks(PROOF_BYTES);
        proofs.len() == self.numbers.len() && proofs.zip(&self.numbers).all(valid)
    }
}

impl Job for ToyJob {
    fn circuit_id(&self) -> &'static str {
        self.circuit
    }

    fn partitions(&self) -> usize {
        self.numbers.len()
    }

    fn public_inputs(&self, partition: usize) -> Result<Vec<Fr>, ProofApiError> {
        let output = self.output(self.numbers[partition]);
        let wrong = self.misstates == Some(partition);
        Ok(vec![if wrong { output + Fr::ONE } else { output }])
    }

    fn circuit(&self, partition: usize) -> Result<Box<dyn AnyCircuit>, ProofApiError> {
        if let Some(gate) = &self.witness_gate {
            gate.pass();
        }
        assert_ne!(self.panics, Some(partition), "a circuit that panics");
        let x = self.numbers[partition];
        if self.unsatisfied == Some(partition) {
            return Ok(Box::new(WrongCubic(Fr::from(x))));
        }
        Ok(match self.circuit {
            "toy-cubic" => Box::new(Cubic {
                x: Some(Fr::from(x)),
            }),
            circuit => Box::new(chain(circuit, Some(x))),
        })
    }

    fn direct_witness(&self, partition: usize) -> Result<Option<Assignment>, ProofApiError> {
        if self.direct == Direct::Absent {
            return Ok(None);
        }
        let right = by_closures(self, partition)?;
        if self.direct != Direct::WrongFor(partition) {
            return Ok(Some(right));
        }
        let aux = right.iter_aux().map(|value| value + Fr::ONE);
        Ok(Some(Assignment::new(right.inputs.clone(), aux)))
    }

    fn self_check(&self) -> Result<(), ProofApiError> {
        Ok(())
    }

    fn assemble(&self, proofs: &[[u8; PROOF_BYTES]]) -> Result<Vec<u8>, ProofApiError> {
        if let Some(gate) = &self.assemble_gate {
            gate.pass();
        }
        Ok(proofs.concat())
    }
}

/// A registered proof type of toy circuits: a vanilla proof of eight bytes a partition.
pub struct ToyType;

inventory::submit! { Registered(&ToyType) }

const CIRCUITS: [CircuitSpec; 2] = [
    CircuitSpec {
        id: "toy-cubic",
        sector_bytes: 1,
        partitions: 1,
    },
    CircuitSpec {
        id: "toy-chain",
        sector_bytes: 2,
        partitions: 1,
    },
];

impl ProofType for ToyType {
    fn id(&self) -> &'static str {
        "toy"
    }

    fn wire_kind(&self) -> i32 {
        1000
    }

    fn priority(&self) -> Priority {
        Priority::Normal
    }

    fn circuits(&self) -> &'static [CircuitSpec] {
        &CIRCUITS
    }

    fn blank(&self, circuit: &str) -> Result<Box<dyn AnyCircuit>, ProofApiError> {
        Ok(match circuit {
            "toy-cubic" => Box::new(Cubic { x: None }),
            circuit => Box::new(chain(circuit, None)),
        })
    }

    fn key_names(&self, circuit: &str) -> Result<KeyNames, ProofApiError> {
        Ok(KeyNames {
            params: format!("{circuit}.params"),
            vk: format!("{circuit}.vk"),
        })
    }

    fn decode(&self, request: &Request) -> Result<Box<dyn Job>, ProofApiError> {
        let spec = CIRCUITS
            .iter()
            .find(|c| c.sector_bytes == request.sector_size);
        let spec = spec.ok_or_else(|| ProofApiError::field("sector_size", "1 or 2", "another"))?;
        let number = |bytes: &Vec<u8>| {
            let bytes: [u8; 8] = bytes.as_slice().try_into().map_err(|_| {
                ProofApiError::field("vanilla_proofs", "8 bytes", bytes.len().to_string())
            })?;
            Ok(u64::from_le_bytes(bytes))
        };
        let numbers = request.vanilla_proofs.iter().map(number);
        let numbers = numbers.collect::<Result<Vec<_>, ProofApiError>>()?;
        Ok(Box::new(ToyJob::new(spec.id, numbers)))
    }
}

/// A request of the toy proof type.
pub fn toy_request(sector_size: u64, numbers: &[u64]) -> Request {
    Request {
        sector_size,
        vanilla_proofs: numbers.iter().map(|x| x.to_le_bytes().to_vec()).collect(),
        ..Request::default()
    }
}

/// Devices of this latency for each operation.
pub fn devices(count: usize, latency: Duration) -> Vec<SimulatedDevice> {
    let settings = Settings {
        latency,
        ..Settings::default()
    };
    let new = |i| SimulatedDevice::new(format!("simulated {i}"), settings);
    (0..count).map(new).collect()
}

/// A device as the engine takes it: these lanes of `simulated`, under this name and ordinal.
pub fn device(
    name: &str,
    ordinal: u32,
    simulated: &SimulatedDevice,
    lanes: Vec<SimulatedBackend>,
) -> Device<SimulatedBackend> {
    let loader = simulated.lane(usize::MAX);
    let pci = PciBusId {
        domain: ordinal,
        bus: 0,
        device: 0,
        function: 0,
    };
    Device::new(name, pci, simulated.memory_bytes(), loader, lanes)
}

/// Devices with this number of lanes each, as the engine takes them.
pub fn with_lanes(devices: &[SimulatedDevice], lanes: usize) -> Vec<Device<SimulatedBackend>> {
    let one = |(ordinal, simulated): (usize, &SimulatedDevice)| {
        let lanes = (0..lanes).map(|lane| simulated.lane(lane)).collect();
        device(simulated.name(), ordinal as u32, simulated, lanes)
    };
    devices.iter().enumerate().map(one).collect()
}

/// Limits for tests: devices are probed soon, and never given up.
pub fn config() -> Config {
    let mut config = Config::default();
    config.scheduler.probe_after_us = 20_000;
    config.scheduler.max_probes = 1_000_000;
    config.shutdown_grace = Duration::from_secs(30);
    config
}

pub fn engine(config: Config, devices: &[SimulatedDevice]) -> SimulatedEngine {
    let devices = with_lanes(devices, config.scheduler.lanes as usize);
    Engine::new(config, devices, toys()).unwrap()
}

/// Submits a job.
pub fn submit(engine: &SimulatedEngine, job: &ToyJob) -> JobHandle {
    engine.submit(Submission::job(job.clone())).unwrap()
}

/// The outcome, which must come.
pub fn outcome(handle: &JobHandle) -> Outcome {
    let outcome = handle.wait_timeout(PATIENCE);
    outcome.unwrap_or_else(|| panic!("{handle:?} has no outcome: {:?}", handle.progress()))
}

/// Asserts that the job completes with valid proofs.
pub fn assert_completes(handle: &JobHandle, job: &ToyJob) {
    match outcome(handle) {
        Outcome::Completed(completed) => assert!(job.verifies(&completed.proof)),
        other => panic!("{other}"),
    }
}

/// Waits until the status is as wanted.
pub fn wait_for(engine: &SimulatedEngine, what: &str, wanted: impl Fn(&Status) -> bool) -> Status {
    let until = Instant::now() + PATIENCE;
    loop {
        let status = engine.status();
        if wanted(&status) {
            return status;
        }
        assert!(Instant::now() < until, "waiting for {what}: {status:#?}");
        std::thread::sleep(Duration::from_millis(2));
    }
}

/// Waits until something holds.
pub fn eventually(what: &str, holds: impl Fn() -> bool) {
    let until = Instant::now() + PATIENCE;
    while !holds() {
        assert!(Instant::now() < until, "waiting for {what}");
        std::thread::sleep(Duration::from_millis(1));
    }
}

/// Waits until no job is there and evicts all circuits; then nothing may be reserved, and nothing be left on devices.
pub fn assert_baseline(engine: &SimulatedEngine, devices: &[SimulatedDevice]) {
    let idle = |status: &Status| {
        let lanes = || status.devices.iter().flat_map(|device| &device.lanes);
        status.jobs.is_empty() && lanes().all(|lane| lane.work.is_none())
    };
    wait_for(engine, "idle", idle);
    wait_for(engine, "memory at its baseline", |status| {
        // What was on its way to a device is evicted once it is there.
        for circuit in &status.circuits {
            engine.evict(&circuit.name);
        }
        let free = status.devices.iter().all(|d| d.reserved_bytes == 0);
        status.host_reserved_bytes == 0 && free
    });
    for device in devices {
        eventually("an empty device", || device.report().used_bytes == 0);
        let report = device.report();
        assert_eq!(
            (report.in_flight, report.violations),
            (0, 0),
            "{}",
            device.name()
        );
    }
}
