//! Which way a partition's witness is made: computed directly where that was validated, by the circuit's closures
//! elsewhere.

use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use cuzk_cs_witness::{Synthesis, SynthesisCS, WitnessCS};
use cuzk_curve::Fr;
use cuzk_r1cs::{Assignment, CompactR1cs, PackedWitness};

use crate::{Job, ProofApiError};

/// The version of the direct computations. What was learnt of one version does not hold for another.
pub const DIRECT_VERSION: u32 = 1;

/// The topic on which [`Standing::name`] is kept beside a compiled circuit. Another version of the direct computations is
/// another topic.
pub fn direct_topic() -> String {
    format!("direct-{}-{DIRECT_VERSION}", env!("CARGO_PKG_VERSION"))
}

/// What is known of a circuit's direct witnesses.
#[derive(Copy, Clone, Debug, Default, PartialEq, Eq)]
pub enum Standing {
    /// Nothing: the next one is held against every constraint.
    #[default]
    Unknown,
    /// One satisfied every constraint.
    Validated,
    /// One differed from what the closures yield, so there are no more.
    Refused,
}

impl Standing {
    /// The name, under which it is kept.
    pub fn name(self) -> &'static str {
        match self {
            Self::Unknown => "unknown",
            Self::Validated => "validated",
            Self::Refused => "refused",
        }
    }

    /// The standing of that name; unknown where the name is.
    pub fn named(name: &str) -> Self {
        [Self::Validated, Self::Refused]
            .into_iter()
            .find(|standing| standing.name() == name)
            .unwrap_or_default()
    }
}

/// How many witnesses were made which way.
#[derive(Copy, Clone, Debug, Default, PartialEq, Eq)]
pub struct WitnessCounts {
    /// Computed directly.
    pub direct: usize,
    /// By closures, since there is no direct way or it was refused before.
    pub closures: usize,
    /// By closures, after a direct one was found wrong.
    pub fallbacks: usize,
}

/// Makes the witnesses of one circuit.
///
/// Each has the public inputs of the job: a satisfied witness of another statement would yield a proof that verifies,
/// of that other statement. A direct witness is used where an earlier one satisfied every constraint of the circuit. The first is checked when it is made; how that ended is [`Witnesses::standing`], which callers keep
/// beside the compiled circuit. A proof that does not verify all the same is made again with [`Witnesses::again`].
#[derive(Clone, Debug)]
pub struct Witnesses<'a> {
    r1cs: &'a CompactR1cs,
    standing: Standing,
    counts: WitnessCounts,
}

impl<'a> Witnesses<'a> {
    /// The witnesses of this circuit, of whose direct ones so much is known.
    pub fn new(r1cs: &'a CompactR1cs, standing: Standing) -> Self {
        Self {
            r1cs,
            standing,
            counts: WitnessCounts::default(),
        }
    }

    /// What is known by now.
    pub fn standing(&self) -> Standing {
        self.standing
    }

    /// How many were made which way by now.
    pub fn counts(&self) -> WitnessCounts {
        self.counts
    }

    /// The witness of a partition.
    ///
    /// Errors: those of the job, of the circuit's synthesis, [`ProofApiError::R1cs`] where the witness is of another
    /// circuit, and [`ProofApiError::Statement`] where it is of another statement.
    pub fn make(
        &mut self,
        job: &dyn Job,
        partition: usize,
    ) -> Result<PackedWitness, ProofApiError> {
        if let Some(direct) = self.direct(job, partition)? {
            if let Some(witness) = self.accepted(direct, job, partition)? {
                self.counts.direct += 1;
                return Ok(witness);
            }
            if let Some(witness) = self.again(job, partition)? {
                return Ok(witness);
            }
            // The closures yield the same, so it is the job that is wrong: it is of another statement, which is an error
            // here, or violates a constraint, which its proof will name.
        }
        let witness = self.packed(by_closures(job, partition)?, job, partition)?;
        self.counts.closures += 1;
        Ok(witness)
    }

    /// Makes the direct witness of a partition for nothing but [`Witnesses::standing`], where it is not known.
    ///
    /// Errors: as [`Witnesses::make`].
    pub fn validate(&mut self, job: &dyn Job, partition: usize) -> Result<(), ProofApiError> {
        if self.standing == Standing::Unknown
            && let Some(direct) = self.direct(job, partition)?
            && self.accepted(direct, job, partition)?.is_none()
        {
            self.again(job, partition)?;
        }
        Ok(())
    }

    /// The witness of a partition by closures, after a proof from a direct one did not verify. None where it was not a
    /// direct one or the closures yield the same, so that another proof would be no better. Where they differ, there are
    /// no more direct ones.
    ///
    /// Errors: as [`Witnesses::make`].
    pub fn again(
        &mut self,
        job: &dyn Job,
        partition: usize,
    ) -> Result<Option<PackedWitness>, ProofApiError> {
        let Some(direct) = self.direct(job, partition)? else {
            return Ok(None);
        };
        let closures = by_closures(job, partition)?;
        if direct == closures {
            return Ok(None);
        }
        self.standing = Standing::Refused;
        let witness = self.packed(closures, job, partition)?;
        self.counts.fallbacks += 1;
        Ok(Some(witness))
    }

    /// What the closures yield, packed.
    fn packed(
        &self,
        closures: Assignment,
        job: &dyn Job,
        partition: usize,
    ) -> Result<PackedWitness, ProofApiError> {
        check_statement(job, partition, &closures.inputs)?;
        Ok(closures.pack(self.r1cs)?)
    }

    fn direct(&self, job: &dyn Job, partition: usize) -> Result<Option<Assignment>, ProofApiError> {
        match self.standing {
            Standing::Refused => Ok(None),
            Standing::Unknown | Standing::Validated => job.direct_witness(partition),
        }
    }

    /// A direct assignment packed, or None where it is wrong. The first is checked.
    fn accepted(
        &mut self,
        direct: Assignment,
        job: &dyn Job,
        partition: usize,
    ) -> Result<Option<PackedWitness>, ProofApiError> {
        if differing(&job.public_inputs(partition)?, &direct.inputs).is_some() {
            return Ok(None);
        }
        let Ok(witness) = direct.pack(self.r1cs) else {
            return Ok(None);
        };
        if self.standing != Standing::Validated && self.r1cs.check(&witness).is_err() {
            return Ok(None);
        }
        self.standing = Standing::Validated;
        Ok(Some(witness))
    }
}

/// The assignment of a partition as the circuit's closures yield it.
///
/// Errors: those of the job and of the circuit's synthesis.
pub fn by_closures(job: &dyn Job, partition: usize) -> Result<Assignment, ProofApiError> {
    let mut cs = WitnessCS::default();
    job.circuit(partition)?.witness(&mut cs)?;
    Ok(cs.into_assignment())
}

/// A partition synthesised in full: its assignment, with the rows of A and B evaluated and all constraints checked. Once
/// `stop` is true it ends with an error ([`SynthesisCS::stoppable`]).
///
/// Errors: those of the job and of the circuit's synthesis; [`cuzk_r1cs::R1csError::Unsatisfied`];
/// [`ProofApiError::Statement`] where its public inputs are not the job's.
pub fn by_synthesis(
    job: &dyn Job,
    partition: usize,
    stop: &Arc<AtomicBool>,
) -> Result<Synthesis, ProofApiError> {
    let mut cs = SynthesisCS::stoppable(Arc::clone(stop));
    job.circuit(partition)?.synthesis(&mut cs)?;
    let made = cs.finish()?;
    check_statement(job, partition, made.inputs())?;
    Ok(made)
}

/// Holds the inputs of an assignment, ONE first, against the public inputs of the job.
fn check_statement(job: &dyn Job, partition: usize, inputs: &[Fr]) -> Result<(), ProofApiError> {
    let wanted = job.public_inputs(partition)?;
    let Some(input) = differing(&wanted, inputs) else {
        return Ok(());
    };
    let said = |value: Option<&Fr>| value.map_or("none".to_owned(), |value| format!("{value:?}"));
    Err(ProofApiError::Statement {
        partition,
        input,
        wanted: said(wanted.get(input)),
        found: said(inputs.get(1 + input)),
    })
}

/// The first public input that differs, or that is missing on one side. `inputs` begins with ONE.
fn differing(wanted: &[Fr], inputs: &[Fr]) -> Option<usize> {
    let found = inputs.get(1..).unwrap_or_default();
    (0..wanted.len().max(found.len())).find(|&input| wanted.get(input) != found.get(input))
}

#[cfg(test)]
mod tests;
