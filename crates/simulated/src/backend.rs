//! A lane of a simulated device as a backend.

use std::sync::Arc;

use cuzk_backend::{
    Backend, BackendError, Evaluations, FixedBase, MatVec, Msm, Ntt, Transform, Vectors,
};
use cuzk_backend_cpu::CpuBackend;
use cuzk_curve::{EncodedPoints, Fr, Group};
use cuzk_r1cs::{Classes, CompactR1cs, PackedWitness, RowVector, VariableSet};
use ff::Field;
use group::Group as _;

use super::memory::Allocation;
use super::{Fault, Shared, Step};

/// A backend that works in one lane of a simulated device.
#[derive(Clone, Debug)]
pub struct SimulatedBackend<B = CpuBackend> {
    device: Arc<Shared>,
    lane: usize,
    backend: B,
}

/// Scalars in a device's memory.
#[derive(Debug)]
pub struct Vector<V> {
    values: V,
    len: usize,
    _memory: Allocation,
}

/// Matrices in a device's memory.
#[derive(Debug)]
pub struct Matrices<M> {
    matrices: M,
    domain: usize,
    _memory: Allocation,
}

/// A witness in a device's memory: a work in a lane, as long as it lives.
#[derive(Debug)]
pub struct Witness<B: MatVec = CpuBackend> {
    witness: B::Witness,
    size_bytes: usize,
    work: Work,
    _memory: Allocation,
}

/// Points in a device's memory.
#[derive(Debug)]
pub struct SimulatedBases<P> {
    points: P,
    len: usize,
    _memory: Allocation,
}

/// The points of a query in a device's memory.
#[derive(Debug)]
pub struct SimulatedQuery<Q> {
    query: Q,
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

impl<B> SimulatedBackend<B> {
    pub(super) fn new(device: Arc<Shared>, lane: usize, backend: B) -> Self {
        Self {
            device,
            lane,
            backend,
        }
    }

    fn failure(&self, step: Step, message: String) -> BackendError {
        BackendError::Device {
            device: self.device.name.clone(),
            call: step.name(),
            message,
        }
    }

    fn shortage(&self, step: Step, why: String) -> BackendError {
        BackendError::OutOfMemory {
            device: self.device.name.clone(),
            call: step.name(),
            message: format!("out of memory: {why}"),
        }
    }

    fn allocate(&self, step: Step, bytes: usize) -> Result<Allocation, BackendError> {
        let bytes = bytes as u64;
        Allocation::new(&self.device, bytes)
            .map_err(|free| self.shortage(step, format!("wanted {bytes} bytes, {free} are free")))
    }

    /// Lets the fault happen that was injected at this step, if any; `true` where the result must be wrong.
    fn reach(&self, step: Step) -> Result<bool, BackendError> {
        match self.device.injections.take(step) {
            None => return Ok(false),
            Some(Fault::Error) => {
                return Err(self.failure(step, "an injected error".to_owned()));
            }
            Some(Fault::OutOfMemory) => {
                return Err(self.shortage(step, "as injected".to_owned()));
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

const fn vector_bytes(len: usize) -> usize {
    len * size_of::<Fr>()
}

impl<B: Backend> Backend for SimulatedBackend<B> {
    fn name(&self) -> &'static str {
        "simulated"
    }
}

impl<B: Backend> Vectors for SimulatedBackend<B> {
    type Vector = Vector<B::Vector>;

    fn upload(&self, values: Vec<Fr>) -> Result<Self::Vector, BackendError> {
        let len = values.len();
        Ok(Vector {
            _memory: self.allocate(Step::LoadWitness, vector_bytes(len))?,
            values: self.backend.upload(values)?,
            len,
        })
    }

    /// The matrix-vector product's step, and a work of its own.
    fn upload_rows(&self, rows: &RowVector, len: usize) -> Result<Self::Vector, BackendError> {
        let wrong = self.compute(Step::MatVec)?;
        let memory = self.allocate(Step::MatVec, vector_bytes(len))?;
        let values = self.backend.upload_rows(rows, len)?;
        let spoilt = wrong || self.device.spoilt(self.lane);
        Ok(Vector {
            values: self.spoil(values, spoilt)?,
            len,
            _memory: memory,
        })
    }

    fn download(&self, vector: Self::Vector) -> Result<Vec<Fr>, BackendError> {
        self.backend.download(vector.values)
    }
}

impl<B: Backend> MatVec for SimulatedBackend<B> {
    type Matrices = Matrices<B::Matrices>;
    type Witness = Witness<B>;

    fn load_matrices(&self, r1cs: Arc<CompactR1cs>) -> Result<Self::Matrices, BackendError> {
        self.reach(Step::LoadMatrices)?;
        Ok(Matrices {
            _memory: self.allocate(Step::LoadMatrices, r1cs.matrices.size_bytes())?,
            domain: r1cs.shape.domain(),
            matrices: self.backend.load_matrices(r1cs)?,
        })
    }

    fn load_witness(&self, witness: Arc<PackedWitness>) -> Result<Self::Witness, BackendError> {
        self.device.begin(self.lane);
        let work = Work {
            device: Arc::clone(&self.device),
            lane: self.lane,
        };
        self.reach(Step::LoadWitness)?;
        let size_bytes = witness.size_bytes();
        Ok(Witness {
            _memory: self.allocate(Step::LoadWitness, size_bytes)?,
            witness: self.backend.load_witness(witness)?,
            size_bytes,
            work,
        })
    }

    fn mat_vec(
        &self,
        matrices: &Self::Matrices,
        witness: &Self::Witness,
    ) -> Result<Evaluations<Self::Vector>, BackendError> {
        let wrong = self.compute(Step::MatVec)?;
        let len = matrices.domain;
        let [a, b] = [
            self.allocate(Step::MatVec, vector_bytes(len))?,
            self.allocate(Step::MatVec, vector_bytes(len))?,
        ];
        let found = self.backend.mat_vec(&matrices.matrices, &witness.witness)?;
        let spoilt = wrong || self.device.spoilt(witness.work.lane);
        let vector = |values, memory| Vector {
            values,
            len,
            _memory: memory,
        };
        Ok(Evaluations {
            a: vector(self.spoil(found.a, spoilt)?, a),
            b: vector(found.b, b),
        })
    }
}

impl<B: Backend> Ntt for SimulatedBackend<B> {
    fn ntt(&self, vector: &mut Self::Vector, transform: Transform) -> Result<(), BackendError> {
        self.backend.ntt(&mut vector.values, transform)
    }

    fn quotient(
        &self,
        evaluations: Evaluations<Self::Vector>,
    ) -> Result<Self::Vector, BackendError> {
        let wrong = self.compute(Step::Quotient)?;
        let Evaluations { a, b } = evaluations;
        let _scratch = self.allocate(Step::Quotient, vector_bytes(a.len))?;
        let values = self.backend.quotient(Evaluations {
            a: a.values,
            b: b.values,
        })?;
        let spoilt = wrong || self.device.spoilt(self.lane);
        Ok(Vector {
            values: self.spoil(values, spoilt)?,
            len: a.len,
            _memory: a._memory,
        })
    }
}

impl<B: Backend> Msm for SimulatedBackend<B> {
    type Bases<G: Group> = SimulatedBases<B::Bases<G>>;
    type Query<G: Group> = SimulatedQuery<B::Query<G>>;

    fn load_bases<G: Group>(
        &self,
        points: EncodedPoints<G>,
    ) -> Result<Self::Bases<G>, BackendError> {
        self.reach(Step::LoadPoints)?;
        Ok(SimulatedBases {
            _memory: self.allocate(Step::LoadPoints, points.bytes().len())?,
            len: points.len(),
            points: self.backend.load_bases(points)?,
        })
    }

    fn load_query<G: Group>(
        &self,
        points: EncodedPoints<G>,
        variables: Arc<VariableSet>,
        classes: Classes<'_>,
    ) -> Result<Self::Query<G>, BackendError> {
        self.reach(Step::LoadPoints)?;
        Ok(SimulatedQuery {
            _memory: self.allocate(Step::LoadPoints, points.bytes().len())?,
            query: self.backend.load_query(points, variables, classes)?,
        })
    }

    fn msm<G: Group>(
        &self,
        bases: &Self::Bases<G>,
        scalars: &Self::Vector,
    ) -> Result<G::Projective, BackendError> {
        let _scratch = self.allocate(Step::Msm, vector_bytes(bases.len))?;
        let wrong = self.compute(Step::Msm)?;
        let sum = self.backend.msm(&bases.points, &scalars.values)?;
        Ok(self.result::<G>(sum, wrong))
    }

    fn msm_query<G: Group>(
        &self,
        query: &Self::Query<G>,
        witness: &Self::Witness,
    ) -> Result<G::Projective, BackendError> {
        let _scratch = self.allocate(Step::MsmQuery, witness.size_bytes)?;
        let wrong = self.compute(Step::MsmQuery)?;
        let sum = self.backend.msm_query(&query.query, &witness.witness)?;
        Ok(self.result::<G>(sum, wrong))
    }
}

impl<B: Backend> SimulatedBackend<B> {
    /// A vector as it is, or with a wrong first value.
    fn spoil(&self, vector: B::Vector, spoilt: bool) -> Result<B::Vector, BackendError> {
        if !spoilt {
            return Ok(vector);
        }
        let mut values = self.backend.download(vector)?;
        if let Some(first) = values.first_mut() {
            *first += Fr::ONE;
        }
        self.backend.upload(values)
    }

    /// A sum, spoilt where it must be wrong.
    fn result<G: Group>(&self, sum: G::Projective, wrong: bool) -> G::Projective {
        if wrong || self.device.spoilt(self.lane) {
            sum + G::Projective::generator()
        } else {
            sum
        }
    }
}

impl<B: Backend> FixedBase for SimulatedBackend<B> {
    fn fixed_base<G: Group>(
        &self,
        base: &G::Affine,
        scalars: &[Fr],
    ) -> Result<Vec<G::Affine>, BackendError> {
        self.backend.fixed_base::<G>(base, scalars)
    }
}
