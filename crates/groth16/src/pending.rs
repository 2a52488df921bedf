//! The second half of a proof: waiting for the sums, assembling, verifying.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::{self, JoinHandle};
use std::time::Instant;

use cuzk_backend::Backend;
use cuzk_r1cs::PackedWitness;

use crate::prover::{Checks, Inner, Sums};
use crate::{Blinding, Groth16Error, Proof, verify};

/// Seconds that each stage of a proof took.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Stages {
    /// Bringing the witness to the backend.
    pub upload_s: f64,
    /// A·w and B·w.
    pub mat_vec_s: f64,
    /// The six transforms.
    pub quotient_s: f64,
    /// The H query's sum.
    pub msm_h_s: f64,
    /// The L query's sum.
    pub msm_l_s: f64,
    /// The A query's sum.
    pub msm_a_s: f64,
    /// The B query's sum in G1.
    pub msm_b_g1_s: f64,
    /// The B query's sum in G2.
    pub msm_b_g2_s: f64,
    /// The last few additions and multiplications.
    pub assemble_s: f64,
    /// The pairing check.
    pub verify_s: f64,
}

/// A verified proof and how long it took.
#[derive(Clone, Debug)]
pub struct Proved {
    /// The proof.
    pub proof: Proof,
    /// Seconds a stage.
    pub stages: Stages,
}

/// A proof under way. It owns all that the work reads, so the caller keeps nothing alive; dropping it ends the work at
/// the next stage.
pub struct Pending<B: Backend> {
    inner: Arc<Inner<B>>,
    witness: Arc<PackedWitness>,
    blinding: Blinding,
    cancelled: Arc<AtomicBool>,
    work: Option<JoinHandle<Result<Outcome, Groth16Error>>>,
}

/// Ends a proof under way at its next stage, from another thread than the one that waits for it.
#[derive(Clone, Debug)]
pub struct Canceller {
    cancelled: Arc<AtomicBool>,
}

impl Canceller {
    /// Ends the work at the next stage; [`Pending::finish`] then returns [`Groth16Error::Cancelled`], unless all sums
    /// were there already.
    pub fn cancel(&self) {
        self.cancelled.store(true, Ordering::Relaxed);
    }
}

/// The sums, or `None` where the work was cancelled, and what the stages took.
type Outcome = (Option<Sums>, Stages);

impl<B: Backend> Pending<B> {
    pub(crate) fn spawn(
        inner: Arc<Inner<B>>,
        witness: Arc<PackedWitness>,
        blinding: Blinding,
        sums: impl FnOnce(
            &Arc<PackedWitness>,
            &dyn Fn() -> bool,
            &mut Stages,
        ) -> Result<Option<Sums>, Groth16Error>
        + Send
        + 'static,
    ) -> Result<Self, Groth16Error> {
        let cancelled = Arc::new(AtomicBool::new(false));
        let (input, stop) = (Arc::clone(&witness), Arc::clone(&cancelled));
        let work = thread::Builder::new()
            .name("cuzk-prove".to_owned())
            .spawn(move || {
                let mut stages = Stages::default();
                let stop = || stop.load(Ordering::Relaxed);
                let sums = sums(&input, &stop, &mut stages)?;
                Ok((sums, stages))
            })
            .map_err(|error| Groth16Error::Thread(format!("did not start: {error}")))?;
        Ok(Self {
            inner,
            witness,
            blinding,
            cancelled,
            work: Some(work),
        })
    }

    /// What ends the work while another thread is in [`Pending::finish`].
    pub fn canceller(&self) -> Canceller {
        Canceller {
            cancelled: Arc::clone(&self.cancelled),
        }
    }

    /// Waits for the device's part. Nothing is on the device any more then, and no lane is used: what is left is
    /// the processor's.
    ///
    /// Errors: the work's own; [`Groth16Error::Cancelled`].
    pub fn wait(mut self) -> Result<Computed, Groth16Error> {
        let ended = || Groth16Error::Thread("ended without a result".to_owned());
        let work = self.work.take().ok_or_else(ended)?;
        let (sums, stages) = work.join().map_err(|_| ended())??;
        Ok(Computed {
            checks: Arc::clone(self.inner.checks()),
            witness: Arc::clone(&self.witness),
            blinding: self.blinding.clone(),
            sums: sums.ok_or(Groth16Error::Cancelled)?,
            stages,
        })
    }

    /// Waits for the work, assembles the proof and verifies it against the witness's public inputs: [`Pending::wait`] and
    /// [`Computed::finish`].
    ///
    /// Errors: those of both.
    pub fn finish(self) -> Result<Proved, Groth16Error> {
        self.wait()?.finish()
    }
}

/// A proof of which the device's part is done. It needs neither the device nor the key there.
pub struct Computed {
    checks: Arc<Checks>,
    witness: Arc<PackedWitness>,
    blinding: Blinding,
    sums: Sums,
    stages: Stages,
}

impl Computed {
    /// Assembles the proof and verifies it against the witness's public inputs.
    ///
    /// Errors: [`cuzk_r1cs::R1csError::Unsatisfied`] naming the constraint where the witness is not satisfied;
    /// [`Groth16Error::Invalid`] where it is and the proof does not verify all the same.
    pub fn finish(self) -> Result<Proved, Groth16Error> {
        let Self {
            checks,
            witness,
            blinding,
            sums,
            mut stages,
        } = self;
        let clock = Instant::now();
        let proof = checks.assemble(sums, &blinding);
        stages.assemble_s = clock.elapsed().as_secs_f64();
        let clock = Instant::now();
        let public = witness.inputs().get(1..).unwrap_or_default();
        let valid = verify(checks.prepared(), &proof, public)?;
        stages.verify_s = clock.elapsed().as_secs_f64();
        if valid {
            return Ok(Proved { proof, stages });
        }
        checks.check(&witness)?;
        Err(Groth16Error::Invalid {
            backend: checks.backend(),
        })
    }
}

impl std::fmt::Debug for Computed {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Computed({:?})", self.stages)
    }
}

impl<B: Backend> Drop for Pending<B> {
    fn drop(&mut self) {
        self.cancelled.store(true, Ordering::Relaxed);
    }
}
