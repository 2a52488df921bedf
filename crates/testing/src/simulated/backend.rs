//! A lane of a simulated device as a backend.

use std::sync::Arc;

use cuzk_backend::{
    Backend, BackendError, Evaluations, FixedBase, MatVec, Msm, Ntt, Transform, Vectors,
};
use cuzk_backend_cpu::{CpuBackend, Query};
use cuzk_curve::{EncodedPoints, Fr, Group};
use cuzk_r1cs::{CompactR1cs, PackedWitness, VariableSet};
use ff::Field;
use group::Group as _;

use super::memory::Allocation;
use super::{Fault, Shared, Step};

/// A backend that works in one lane of a simulated device.
#[derive(Clone, Debug)]
pub struct SimulatedBackend {
    device: Arc<Shared>,
    lane: usize,
}

/// Scalars in a device's memory.
#[derive(Debug)]
pub struct Vector {
    values: Vec<Fr>,
    _memory: Allocation,
}

/// Matrices in a device's memory.
#[derive(Debug)]
pub struct Matrices {
    r1cs: Arc<CompactR1cs>,
    _memory: Allocation,
}

/// A witness in a device's memory: a work in a lane, as long as it lives.
#[derive(Debug)]
pub struct Witness {
    witness: Arc<PackedWitness>,
    work: Work,
    _memory: Allocation,
}

/// Points in a device's memory.
#[derive(Debug)]
pub struct SimulatedBases<G: Group> {
    points: EncodedPoints<G>,
    _memory: Allocation,
}

/// The points of a query in a device's memory.
#[derive(Debug)]
pub struct SimulatedQuery<G: Group> {
    query: Query<G>,
    _memory: Allocation,
}

/// A work in a lane; the lane is free again when it is dropped.
#[derive(Debug)]
struct Work {
    device: Arc<Shared>,
    lane: usize,
}

impl Drop for Work {
    fn drop(&mut self) {
        self.device.end(self.lane);
    }
}

impl SimulatedBackend {
    pub(super) fn new(device: Arc<Shared>, lane: usize) -> Self {
        Self { device, lane }
    }

    fn failure(&self, step: Step, message: String) -> BackendError {
        BackendError::Device {
            device: self.device.name.clone(),
            call: step.name(),
            message,
        }
    }

    fn allocate(&self, step: Step, bytes: usize) -> Result<Allocation, BackendError> {
        let bytes = bytes as u64;
        Allocation::new(&self.device, bytes).map_err(|free| {
            let message = format!("out of memory: wanted {bytes} bytes, {free} are free");
            self.failure(step, message)
        })
    }

    /// Lets the fault happen that was injected at this step, if any; `true` where the result must be wrong.
    fn reach(&self, step: Step) -> Result<bool, BackendError> {
        match self.device.injections.take(step) {
            None => return Ok(false),
            Some(Fault::Error) => {
                return Err(self.failure(step, "an injected error".to_owned()));
            }
            Some(Fault::OutOfMemory) => {
                return Err(self.failure(step, "out of memory, as injected".to_owned()));
            }
            Some(Fault::Hang) => self.device.hang(),
            Some(Fault::WrongResult) => return Ok(true),
            Some(Fault::Slow(time)) => std::thread::sleep(time),
        }
        Ok(false)
    }

    /// [`Self::reach`] for an operation that computes: it occupies the device.
    fn compute(&self, step: Step) -> Result<bool, BackendError> {
        let wrong = self.reach(step)?;
        self.device.occupy();
        Ok(wrong)
    }
}

/// Spoils a vector.
fn spoil(values: &mut [Fr]) {
    if let Some(first) = values.first_mut() {
        *first += Fr::ONE;
    }
}

const fn vector_bytes(len: usize) -> usize {
    len * size_of::<Fr>()
}

impl Backend for SimulatedBackend {
    fn name(&self) -> &'static str {
        "simulated"
    }
}

impl Vectors for SimulatedBackend {
    type Vector = Vector;

    fn upload(&self, values: Vec<Fr>) -> Result<Vector, BackendError> {
        Ok(Vector {
            _memory: self.allocate(Step::LoadWitness, vector_bytes(values.len()))?,
            values,
        })
    }

    fn download(&self, vector: Vector) -> Result<Vec<Fr>, BackendError> {
        Ok(vector.values)
    }
}

impl MatVec for SimulatedBackend {
    type Matrices = Matrices;
    type Witness = Witness;

    fn load_matrices(&self, r1cs: Arc<CompactR1cs>) -> Result<Matrices, BackendError> {
        self.reach(Step::LoadMatrices)?;
        Ok(Matrices {
            _memory: self.allocate(Step::LoadMatrices, r1cs.matrices.size_bytes())?,
            r1cs: CpuBackend.load_matrices(r1cs)?,
        })
    }

    fn load_witness(&self, witness: Arc<PackedWitness>) -> Result<Witness, BackendError> {
        self.device.begin(self.lane);
        let work = Work {
            device: Arc::clone(&self.device),
            lane: self.lane,
        };
        self.reach(Step::LoadWitness)?;
        Ok(Witness {
            _memory: self.allocate(Step::LoadWitness, witness.size_bytes())?,
            witness: CpuBackend.load_witness(witness)?,
            work,
        })
    }

    fn mat_vec(
        &self,
        matrices: &Matrices,
        witness: &Witness,
    ) -> Result<Evaluations<Vector>, BackendError> {
        let wrong = self.compute(Step::MatVec)?;
        let domain = vector_bytes(matrices.r1cs.shape.domain());
        let memory = [
            self.allocate(Step::MatVec, domain)?,
            self.allocate(Step::MatVec, domain)?,
        ];
        let mut found = CpuBackend.mat_vec(&matrices.r1cs, &witness.witness)?;
        if wrong || self.device.spoilt(witness.work.lane) {
            spoil(&mut found.a);
        }
        let [a, b] = memory;
        Ok(Evaluations {
            a: Vector {
                values: found.a,
                _memory: a,
            },
            b: Vector {
                values: found.b,
                _memory: b,
            },
        })
    }
}

impl Ntt for SimulatedBackend {
    fn ntt(&self, vector: &mut Vector, transform: Transform) -> Result<(), BackendError> {
        CpuBackend.ntt(&mut vector.values, transform)
    }

    fn quotient(&self, evaluations: Evaluations<Vector>) -> Result<Vector, BackendError> {
        let wrong = self.compute(Step::Quotient)?;
        let Evaluations { a, b } = evaluations;
        let _scratch = self.allocate(Step::Quotient, vector_bytes(a.values.len()))?;
        let mut values = CpuBackend.quotient(Evaluations {
            a: a.values,
            b: b.values,
        })?;
        if wrong || self.device.spoilt(self.lane) {
            spoil(&mut values);
        }
        Ok(Vector {
            values,
            _memory: a._memory,
        })
    }
}

impl Msm for SimulatedBackend {
    type Bases<G: Group> = SimulatedBases<G>;
    type Query<G: Group> = SimulatedQuery<G>;

    fn load_bases<G: Group>(
        &self,
        points: EncodedPoints<G>,
    ) -> Result<SimulatedBases<G>, BackendError> {
        self.reach(Step::LoadPoints)?;
        Ok(SimulatedBases {
            _memory: self.allocate(Step::LoadPoints, points.bytes().len())?,
            points: CpuBackend.load_bases(points)?,
        })
    }

    fn load_query<G: Group>(
        &self,
        points: EncodedPoints<G>,
        variables: Arc<VariableSet>,
        r1cs: &CompactR1cs,
    ) -> Result<SimulatedQuery<G>, BackendError> {
        self.reach(Step::LoadPoints)?;
        Ok(SimulatedQuery {
            _memory: self.allocate(Step::LoadPoints, points.bytes().len())?,
            query: CpuBackend.load_query(points, variables, r1cs)?,
        })
    }

    fn msm<G: Group>(
        &self,
        bases: &SimulatedBases<G>,
        scalars: &Vector,
    ) -> Result<G::Projective, BackendError> {
        let _scratch = self.allocate(Step::Msm, vector_bytes(bases.points.len()))?;
        let wrong = self.compute(Step::Msm)?;
        let sum = CpuBackend.msm(&bases.points, &scalars.values)?;
        Ok(self.result::<G>(sum, wrong))
    }

    fn msm_query<G: Group>(
        &self,
        query: &SimulatedQuery<G>,
        witness: &Witness,
    ) -> Result<G::Projective, BackendError> {
        let _scratch = self.allocate(Step::MsmQuery, witness.witness.size_bytes())?;
        let wrong = self.compute(Step::MsmQuery)?;
        let sum = CpuBackend.msm_query(&query.query, &witness.witness)?;
        Ok(self.result::<G>(sum, wrong))
    }
}

impl SimulatedBackend {
    /// A sum, spoilt where it must be wrong.
    fn result<G: Group>(&self, sum: G::Projective, wrong: bool) -> G::Projective {
        if wrong || self.device.spoilt(self.lane) {
            sum + G::Projective::generator()
        } else {
            sum
        }
    }
}

impl FixedBase for SimulatedBackend {
    fn fixed_base<G: Group>(
        &self,
        base: &G::Affine,
        scalars: &[Fr],
    ) -> Result<Vec<G::Affine>, BackendError> {
        CpuBackend.fixed_base::<G>(base, scalars)
    }
}
