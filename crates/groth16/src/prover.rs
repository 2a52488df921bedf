//! A key and a circuit on a backend, ready to prove.

use std::fmt;
use std::ops::Deref;
use std::sync::Arc;
use std::time::Instant;

use bellpepper_core::Circuit;
use cuzk_backend::{Backend, Evaluations};
use cuzk_cs_witness::WitnessCS;
use cuzk_curve::{Fr, G1, G1Projective, G2, G2Projective};
use cuzk_params::{Expected, Parameters, VerifyingKey};
use cuzk_pce::Pce;
use cuzk_r1cs::{
    Classes, CompactR1cs, Density, Outline, PackedWitness, Products, R1csError, Shape,
};
use ff::Field;
use group::Curve;
use rand_core::{CryptoRng, OsRng, RngCore};

use crate::{Groth16Error, Pending, PreparedVerifyingKey, Proof, Proved, Stages};

/// The randomness that makes a proof zero-knowledge. Never use it twice.
#[derive(Clone)]
pub struct Blinding {
    /// Blinds A.
    pub r: Fr,
    /// Blinds B.
    pub s: Fr,
}

impl Blinding {
    /// Fresh randomness.
    pub fn random(rng: &mut (impl RngCore + CryptoRng)) -> Self {
        Self {
            r: Fr::random(&mut *rng),
            s: Fr::random(rng),
        }
    }
}

/// Says neither: who knows them learns of the witness from the proof.
impl fmt::Debug for Blinding {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Blinding(..)")
    }
}

/// A circuit and its key, resident on a backend.
pub struct Prover<B: Backend> {
    inner: Arc<Inner<B>>,
}

impl<B: Backend> Clone for Prover<B> {
    fn clone(&self) -> Self {
        Self {
            inner: Arc::clone(&self.inner),
        }
    }
}

pub(crate) struct Inner<B: Backend> {
    backend: B,
    resident: Arc<Resident<B>>,
}

/// What a proof is finished with: nothing of it is on the device.
pub(crate) struct Checks {
    /// The matrices; without them a witness was checked when its products were computed.
    r1cs: Option<Arc<CompactR1cs>>,
    vk: VerifyingKey,
    prepared: PreparedVerifyingKey,
    backend: &'static str,
}

/// What all lanes of a device share.
struct Resident<B: Backend> {
    checks: Arc<Checks>,
    shape: Shape,
    matrices: Option<B::Matrices>,
    h: B::Bases<G1>,
    l: B::Query<G1>,
    a: B::Query<G1>,
    b_g1: B::Query<G1>,
    b_g2: B::Query<G2>,
}

impl<B: Backend> Prover<B> {
    /// Makes a circuit and its key resident. The key's counts must be the circuit's.
    pub fn new(backend: B, pce: &Pce, key: &Parameters) -> Result<Self, Groth16Error> {
        let r1cs = pce.r1cs();
        let density = r1cs.density()?;
        Self::resident(backend, key, Some(r1cs), &density, r1cs.classes())
    }

    /// Makes the key of a circuit resident that is not compiled. It proves witnesses that were packed by this outline and
    /// bring their products ([`PackedWitness::products`]).
    ///
    /// Errors: as [`Prover::new`].
    pub fn without_matrices(
        backend: B,
        outline: &Outline,
        key: &Parameters,
    ) -> Result<Self, Groth16Error> {
        Self::resident(backend, key, None, &outline.density, outline.classes())
    }

    fn resident(
        backend: B,
        key: &Parameters,
        r1cs: Option<&Arc<CompactR1cs>>,
        density: &Density,
        classes: Classes<'_>,
    ) -> Result<Self, Groth16Error> {
        let shape = classes.shape;
        key.check_shape(&expected(shape, density))?;
        let b_variables = Arc::new(density.b());
        let a_variables = Arc::new(density.a(shape));
        let l_variables = Arc::new(Density::l(shape));
        let matrices = r1cs.map(|r1cs| backend.load_matrices(Arc::clone(r1cs)));
        let resident = Arc::new(Resident {
            shape,
            matrices: matrices.transpose()?,
            h: backend.load_bases(key.h().clone())?,
            l: backend.load_query(key.l().clone(), l_variables, classes)?,
            a: backend.load_query(key.a().clone(), a_variables, classes)?,
            b_g1: backend.load_query(key.b_g1().clone(), Arc::clone(&b_variables), classes)?,
            b_g2: backend.load_query(key.b_g2().clone(), b_variables, classes)?,
            checks: Arc::new(Checks {
                r1cs: r1cs.cloned(),
                vk: key.vk().clone(),
                prepared: PreparedVerifyingKey::from(key.vk()),
                backend: backend.name(),
            }),
        });
        Ok(Self {
            inner: Arc::new(Inner { backend, resident }),
        })
    }

    /// The same circuit and key, resident once, worked on through another backend of the same device: another lane.
    pub fn on(&self, backend: B) -> Self {
        let resident = Arc::clone(&self.inner.resident);
        Self {
            inner: Arc::new(Inner { backend, resident }),
        }
    }

    /// The compiled circuit; none of [`Prover::without_matrices`].
    pub fn r1cs(&self) -> Option<&CompactR1cs> {
        self.inner.resident.checks.r1cs.as_deref()
    }

    /// The key that verifies this prover's proofs.
    pub fn verifying_key(&self) -> &PreparedVerifyingKey {
        &self.inner.resident.checks.prepared
    }

    /// Runs a circuit for its witness and packs it.
    ///
    /// Errors: [`Groth16Error::NoMatrices`] where the circuit is not compiled.
    pub fn witness<C: Circuit<Fr>>(&self, circuit: C) -> Result<PackedWitness, Groth16Error> {
        let mut cs = WitnessCS::default();
        cuzk_r1cs::synthesize(circuit, &mut cs)?;
        let r1cs = self.r1cs().ok_or(Groth16Error::NoMatrices)?;
        Ok(cs.into_assignment().pack(r1cs)?)
    }

    /// Proves a circuit with its witness: [`Prover::witness`], [`Prover::start`] with fresh randomness, and
    /// [`Pending::finish`]. As there, a backend that works on rayon's threads uses the global pool.
    pub fn prove<C: Circuit<Fr>>(&self, circuit: C) -> Result<Proof, Groth16Error> {
        let witness = self.witness(circuit)?;
        let pending = self.start(witness, Blinding::random(&mut OsRng))?;
        Ok(pending.finish()?.proof)
    }

    /// The first half of a proof: hands the work to a thread of its own and returns. Nothing of the caller's is read
    /// after that. Who shares the witness can start it again, should this proof fail.
    ///
    /// That thread is in no rayon pool, so a backend that works on rayon's threads uses the global pool, whichever one the
    /// caller is in.
    pub fn start(
        &self,
        witness: impl Into<Arc<PackedWitness>>,
        blinding: Blinding,
    ) -> Result<Pending<B>, Groth16Error> {
        let inner = Arc::clone(&self.inner);
        let work = Arc::clone(&inner);
        Pending::spawn(
            inner,
            witness.into(),
            blinding,
            move |witness, stop, stages| work.sums(&work.backend, witness, stop, stages),
        )
    }

    /// [`Prover::start`] on `lane`, which is given up when the work is done or cancelled: a lease of another lane of the
    /// prover's device, or any other backend that reads what this prover's made resident.
    pub fn start_on<L>(
        &self,
        lane: L,
        witness: impl Into<Arc<PackedWitness>>,
        blinding: Blinding,
    ) -> Result<Pending<B>, Groth16Error>
    where
        L: Deref<Target = B> + Send + 'static,
    {
        let inner = Arc::clone(&self.inner);
        let work = Arc::clone(&inner);
        Pending::spawn(
            inner,
            witness.into(),
            blinding,
            move |witness, stop, stages| work.sums(&lane, witness, stop, stages),
        )
    }
}

/// What a circuit says about its key.
fn expected(shape: Shape, density: &Density) -> Expected {
    Expected {
        inputs: shape.inputs,
        aux: shape.aux,
        domain: shape.domain(),
        a_aux: density.a_aux.count_ones(),
        b_inputs: density.b_inputs.count_ones(),
        b_aux: density.b_aux.count_ones(),
    }
}

/// The sums over the key's queries.
pub(crate) struct Sums {
    h: G1Projective,
    l: G1Projective,
    a: G1Projective,
    b_g1: G1Projective,
    b_g2: G2Projective,
}

/// A·w and B·w as they came with the witness, on the domain.
fn uploaded<B: Backend>(
    backend: &B,
    products: &Products,
    shape: Shape,
) -> Result<Evaluations<B::Vector>, Groth16Error> {
    let (a, b) = (shape.constraints + shape.inputs, shape.constraints);
    for (what, wanted, rows) in [("rows of A", a, &products.a), ("rows of B", b, &products.b)] {
        if rows.len() != wanted {
            let found = rows.len();
            Err(R1csError::Count {
                what,
                wanted,
                found,
            })?;
        }
    }
    Ok(Evaluations {
        a: backend.upload_rows(&products.a, shape.domain())?,
        b: backend.upload_rows(&products.b, shape.domain())?,
    })
}

impl<B: Backend> Inner<B> {
    pub(crate) fn checks(&self) -> &Arc<Checks> {
        &self.resident.checks
    }

    /// Everything after the witness but the assembly. `None` where `cancelled` says so between two stages.
    pub(crate) fn sums(
        &self,
        backend: &B,
        witness: &Arc<PackedWitness>,
        cancelled: &dyn Fn() -> bool,
        stages: &mut Stages,
    ) -> Result<Option<Sums>, Groth16Error> {
        let resident = &self.resident;
        let mut clock = Instant::now();
        let mut lap = |stage: &mut f64| {
            *stage = clock.elapsed().as_secs_f64();
            clock = Instant::now();
            cancelled()
        };
        let loaded = backend.load_witness(Arc::clone(witness))?;
        if lap(&mut stages.upload_s) {
            return Ok(None);
        }
        let evaluations = match (witness.products(), &resident.matrices) {
            (Some(products), _) => uploaded(backend, products, resident.shape)?,
            (None, Some(matrices)) => backend.mat_vec(matrices, &loaded)?,
            (None, None) => return Err(Groth16Error::NoMatrices),
        };
        if lap(&mut stages.mat_vec_s) {
            return Ok(None);
        }
        let quotient = backend.quotient(evaluations)?;
        if lap(&mut stages.quotient_s) {
            return Ok(None);
        }
        let h = backend.msm(&resident.h, &quotient)?;
        drop(quotient);
        if lap(&mut stages.msm_h_s) {
            return Ok(None);
        }
        let l = backend.msm_query(&resident.l, &loaded)?;
        if lap(&mut stages.msm_l_s) {
            return Ok(None);
        }
        let a = backend.msm_query(&resident.a, &loaded)?;
        if lap(&mut stages.msm_a_s) {
            return Ok(None);
        }
        let b_g1 = backend.msm_query(&resident.b_g1, &loaded)?;
        if lap(&mut stages.msm_b_g1_s) {
            return Ok(None);
        }
        let b_g2 = backend.msm_query(&resident.b_g2, &loaded)?;
        if lap(&mut stages.msm_b_g2_s) {
            return Ok(None);
        }
        Ok(Some(Sums {
            h,
            l,
            a,
            b_g1,
            b_g2,
        }))
    }
}

impl Checks {
    pub(crate) fn backend(&self) -> &'static str {
        self.backend
    }

    pub(crate) fn prepared(&self) -> &PreparedVerifyingKey {
        &self.prepared
    }

    pub(crate) fn check(&self, witness: &PackedWitness) -> Result<(), Groth16Error> {
        let check = self.r1cs.as_ref().map(|r1cs| r1cs.check(witness));
        Ok(check.unwrap_or(Ok(()))?)
    }

    /// A = alpha + sum_a + r delta, B = beta + sum_b + s delta, C = sum_h + sum_l + s A + r B - r s delta.
    pub(crate) fn assemble(&self, sums: Sums, blinding: &Blinding) -> Proof {
        let Blinding { r, s } = blinding;
        let vk = &self.vk;
        let a = sums.a + vk.alpha_g1 + vk.delta_g1 * r;
        let b = sums.b_g2 + vk.beta_g2 + vk.delta_g2 * s;
        let b_g1 = sums.b_g1 + vk.beta_g1 + vk.delta_g1 * s;
        let c = sums.h + sums.l + a * s + b_g1 * r - vk.delta_g1 * (r * s);
        Proof {
            a: a.to_affine(),
            b: b.to_affine(),
            c: c.to_affine(),
        }
    }
}

impl<B: Backend> std::fmt::Debug for Prover<B> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let shape = self.inner.resident.shape;
        write!(f, "Prover({}, {shape:?})", self.inner.checks().backend())
    }
}

impl Proved {
    /// The proof's bytes.
    pub fn to_bytes(&self) -> [u8; crate::PROOF_BYTES] {
        self.proof.to_bytes()
    }
}
