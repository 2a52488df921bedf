//! From a payload to a job, and from a job to proofs.

use std::collections::VecDeque;
use std::path::Path;

use anyhow::Context;
use cuzk_backend::Backend;
use cuzk_groth16::{Blinding, Groth16Error, Pending, Proved, Prover};
use cuzk_proof_api::{Job, Witnesses, by_id};
use cuzk_synth::Payload;
use rand_core::OsRng;
use serde::Serialize;

use crate::console::Console;
use crate::failure::{INPUT, failure};

/// Bytes that a payload file may have: many times those of the largest payload of 64 GiB sectors.
const LARGEST_PAYLOAD: u64 = 1 << 30;

/// Reads a payload file.
pub fn read_payload(path: &Path) -> anyhow::Result<Payload> {
    let size = std::fs::metadata(path)
        .with_context(|| path.display().to_string())?
        .len();
    if size > LARGEST_PAYLOAD {
        let message = format!(
            "{}: wanted a payload of at most {LARGEST_PAYLOAD} bytes, found {size}",
            path.display()
        );
        return Err(failure(INPUT, message));
    }
    let json = std::fs::read(path).with_context(|| path.display().to_string())?;
    Payload::from_json(&json).with_context(|| path.display().to_string())
}

/// Decodes a payload as the daemon would decode the request that carries it.
pub fn decode(payload: &Payload) -> anyhow::Result<Box<dyn Job>> {
    let request = payload.clone().into_request();
    Ok(by_id(payload.kind.name())?.decode(&request)?)
}

/// The proofs of a job and the seconds that they took.
pub struct ProvedJob {
    /// The proofs, in the order of the partitions.
    pub proofs: Vec<Proved>,
    /// Seconds of witness generation.
    pub witness_s: f64,
    /// Seconds of everything after it. Where there are many partitions the two overlap.
    pub prove_s: f64,
}

/// How many witnesses were made which way; see [`Witnesses`].
#[derive(Clone, Copy, Debug, Serialize)]
pub struct Ways {
    direct: usize,
    closures: usize,
    fallbacks: usize,
}

impl Ways {
    /// Those of the witnesses so far.
    pub fn of(witnesses: &Witnesses<'_>) -> Self {
        let counts = witnesses.counts();
        Self {
            direct: counts.direct,
            closures: counts.closures,
            fallbacks: counts.fallbacks,
        }
    }
}

impl std::fmt::Display for Ways {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let ways = [
            (self.direct, "direct"),
            (self.closures, "by closures"),
            (self.fallbacks, "fallback"),
        ];
        let ways = ways.iter().filter(|(count, _)| *count > 0);
        let ways: Vec<String> = ways.map(|(count, way)| format!("{count} {way}")).collect();
        f.pad(&ways.join(", "))
    }
}

/// A job being proved.
pub struct Proving<'a, B: Backend> {
    /// The job.
    pub job: &'a dyn Job,
    /// The provers of its circuit, one a device; at least one.
    pub provers: &'a [Prover<B>],
    /// Check every constraint before proving.
    pub check: bool,
    /// Where progress is shown.
    pub console: &'a Console,
}

impl<B: Backend> Proving<'_, B> {
    /// Proves partitions, on each prover in turn. The next partition's witness is made while the last ones' proofs are
    /// under way, one a prover.
    pub fn prove(
        &self,
        witnesses: &mut Witnesses<'_>,
        partitions: &[usize],
    ) -> anyhow::Result<ProvedJob> {
        let id = self.job.circuit_id();
        let mut done = ProvedJob {
            proofs: Vec::with_capacity(partitions.len()),
            witness_s: 0.0,
            prove_s: 0.0,
        };
        let mut pending: VecDeque<(usize, Pending<B>)> = VecDeque::new();
        for (&partition, prover) in partitions.iter().zip(self.provers.iter().cycle()) {
            let what = format!("{id}: witness of partition {partition}");
            let make = |_: &_| witnesses.make(self.job, partition);
            let made = self.console.step(&what, make)?;
            done.witness_s += made.seconds;
            if self.check {
                let what = format!("{id}: checking every constraint of partition {partition}");
                let r1cs = prover.r1cs().context("the prover holds no matrices")?;
                self.console.step(&what, |_| r1cs.check(&made.value))?;
            }
            if pending.len() == self.provers.len()
                && let Some(oldest) = pending.pop_front()
            {
                self.finish(oldest, witnesses, &mut done)?;
            }
            let started = prover.start(made.value, random_blinding())?;
            pending.push_back((partition, started));
        }
        for last in pending {
            self.finish(last, witnesses, &mut done)?;
        }
        Ok(done)
    }

    fn finish(
        &self,
        (partition, pending): (usize, Pending<B>),
        witnesses: &mut Witnesses<'_>,
        done: &mut ProvedJob,
    ) -> anyhow::Result<()> {
        let id = self.job.circuit_id();
        let what = format!("{id}: proving partition {partition}");
        let proved = self.console.step(&what, |_| {
            let finished = pending.finish();
            self.or_again(finished, witnesses, partition)
                .with_context(|| format!("{id}: partition {partition}"))
        })?;
        done.prove_s += proved.seconds;
        done.proofs.push(proved.value);
        Ok(())
    }

    /// The proof, made again by closures where it does not verify and they yield another witness.
    fn or_again(
        &self,
        finished: Result<Proved, Groth16Error>,
        witnesses: &mut Witnesses<'_>,
        partition: usize,
    ) -> anyhow::Result<Proved> {
        let error = match finished {
            Err(error @ (Groth16Error::R1cs(_) | Groth16Error::Invalid { .. })) => error,
            other => return Ok(other?),
        };
        let Some(witness) = witnesses.again(self.job, partition)? else {
            return Err(error.into());
        };
        self.console.note(&format!(
            "{}: partition {partition}: {error}; its direct witness was wrong, proving it again",
            self.job.circuit_id()
        ));
        let pending = self.provers[0].start(witness, random_blinding())?;
        Ok(pending.finish()?)
    }
}

fn random_blinding() -> Blinding {
    Blinding::random(&mut OsRng)
}

#[cfg(test)]
mod tests {
    use bellpepper_core::num::AllocatedNum;
    use bellpepper_core::{Circuit, ConstraintSystem, SynthesisError};
    use cuzk_backend_cpu::CpuBackend;
    use cuzk_curve::Fr;
    use cuzk_groth16::{keygen, verify};
    use cuzk_pce::Pce;
    use cuzk_proof_api::{AnyCircuit, ProofApiError, Standing, WitnessCounts};
    use cuzk_r1cs::Assignment;

    use super::*;

    /// 3·3 = y, with y public.
    #[derive(Clone, Copy)]
    struct Nine;

    impl Circuit<Fr> for Nine {
        fn synthesize<CS: ConstraintSystem<Fr>>(self, cs: &mut CS) -> Result<(), SynthesisError> {
            let root = AllocatedNum::alloc(&mut *cs, || Ok(Fr::from(3)))?;
            root.square(&mut *cs)?.inputize(cs)
        }
    }

    /// A job whose direct witness is wrong.
    struct Wrong;

    impl Job for Wrong {
        fn circuit_id(&self) -> &'static str {
            "nine"
        }

        fn partitions(&self) -> usize {
            1
        }

        fn public_inputs(&self, _: usize) -> Result<Vec<Fr>, ProofApiError> {
            Ok(vec![Fr::from(9)])
        }

        fn circuit(&self, _: usize) -> Result<Box<dyn AnyCircuit>, ProofApiError> {
            Ok(Box::new(Nine))
        }

        fn direct_witness(&self, _: usize) -> Result<Option<Assignment>, ProofApiError> {
            let [inputs, aux] = [[1, 9], [4, 9]].map(|values| values.map(Fr::from));
            Ok(Some(Assignment::new(inputs.to_vec(), aux)))
        }

        fn self_check(&self) -> Result<(), ProofApiError> {
            Ok(())
        }
    }

    #[test]
    fn a_proof_from_a_wrong_direct_witness_is_made_again() {
        let pce = Pce::record(Nine).unwrap();
        let key = keygen::in_memory(&CpuBackend, &pce, &mut OsRng).unwrap();
        let prover = Prover::new(CpuBackend, &pce, &key).unwrap();
        let proving = Proving {
            job: &Wrong,
            provers: std::slice::from_ref(&prover),
            check: false,
            console: &Console::new(false, true),
        };
        let mut witnesses = Witnesses::new(pce.r1cs(), Standing::Validated);
        let proved = proving.prove(&mut witnesses, &[0]).unwrap();
        let inputs = Wrong.public_inputs(0).unwrap();
        assert!(verify(prover.verifying_key(), &proved.proofs[0].proof, &inputs).unwrap());
        assert_eq!(witnesses.standing(), Standing::Refused);
        let counts = WitnessCounts {
            direct: 1,
            closures: 0,
            fallbacks: 1,
        };
        assert_eq!(witnesses.counts(), counts);
    }
}
