//! Keys for development: made by one process from a compiled circuit.
//!
//! Whoever knows the [`ToxicWaste`] of a key can forge proofs under it, and here one process knows it for as long as
//! the generation takes. So a key file made here gets a mark beside it, and real funds must never depend on such a key.
//!
//! Groth, "On the Size of Pairing-Based Non-interactive Arguments" (2016), section 3.2: the QAP's polynomials are
//! evaluated at tau through Lagrange coefficients, and the file is bellperson's byte for byte for the same toxic waste.
//! The rows are streamed and the points are written as they are computed, so that three scalars a variable and a few
//! pieces of points are what stands in memory.
//!
//! The rows are streamed on the caller's rayon pool. The points are computed from threads that are in none, so there a
//! backend that works on rayon's threads uses the global pool.

use std::hint;
use std::io::{Seek, Write};
use std::path::Path;
use std::slice;

use cuzk_backend::FixedBase;
use cuzk_curve::{EncodedPoints, Fr, G1, G1Projective, G2, G2Projective, Group, Wipe, Wiped};
use cuzk_params::{
    DevelopmentMark, Parameters, ParamsWriter, Section, SectionWriter, VerifyingKey,
    write_verifying_key,
};
use cuzk_pce::Pce;
use cuzk_r1cs::CompactR1cs;
use ff::Field;
use group::{Curve, Group as _};
use rand_core::{CryptoRng, RngCore};
use rayon::prelude::*;

use crate::Groth16Error;

mod pieces;
mod qap;

use pieces::in_order;
use qap::{Qap, Scalars};

/// Points that are computed and written at a time.
const PIECE_POINTS: usize = 1 << 18;
/// Points that a task encodes: more bytes than a writer gathers before it writes.
const ENCODED_POINTS: usize = 1 << 14;
/// What a multiplication in G2 costs in those in G1, about.
const G2_COST: usize = 3;
/// What the mark beside a key says of its maker.
const MADE_BY: &str = concat!("cuzk ", env!("CARGO_PKG_VERSION"));

/// The secrets of a setup, and its generators. They cannot be cloned, and dropping them overwrites them; so does a generation
/// with the scalars that it computes from them, wherever they lie in the heap. (What the processor and the stack hold of values
/// that were computed with is not covered, nor what another backend than the CPU's copies.)
///
/// ```compile_fail
/// # use cuzk_groth16::keygen::ToxicWaste;
/// fn kept(toxic: &ToxicWaste) -> ToxicWaste {
///     toxic.clone()
/// }
/// ```
pub struct ToxicWaste {
    /// The generator of G1.
    pub g1: G1Projective,
    /// The generator of G2.
    pub g2: G2Projective,
    /// alpha.
    pub alpha: Fr,
    /// beta.
    pub beta: Fr,
    /// gamma.
    pub gamma: Fr,
    /// delta.
    pub delta: Fr,
    /// The point at which the polynomials are evaluated.
    pub tau: Fr,
}

impl ToxicWaste {
    /// Fresh secrets.
    pub fn sample(rng: &mut (impl RngCore + CryptoRng)) -> Self {
        Self {
            g1: G1Projective::random(&mut *rng),
            g2: G2Projective::random(&mut *rng),
            alpha: Fr::random(&mut *rng),
            beta: Fr::random(&mut *rng),
            gamma: Fr::random(&mut *rng),
            delta: Fr::random(&mut *rng),
            tau: Fr::random(rng),
        }
    }

    /// Refuses secrets whose key no one accepts. (That tau is outside the domain shows later.)
    fn check(&self) -> Result<(), Groth16Error> {
        let zero = |value: &Fr| value.is_zero_vartime();
        let identity = bool::from(self.g1.is_identity() | self.g2.is_identity());
        let reason = match () {
            () if identity => "a generator is at infinity",
            () if zero(&self.alpha) || zero(&self.beta) => "alpha or beta is zero",
            () if zero(&self.tau) => "tau is zero",
            () if zero(&self.gamma) || zero(&self.delta) => "gamma or delta is zero",
            () if self.gamma == self.delta => "gamma equals delta",
            () => return Ok(()),
        };
        Err(Groth16Error::Toxic { reason })
    }
}

impl Wipe for ToxicWaste {
    fn wipe(&mut self) {
        let Self {
            g1,
            g2,
            alpha,
            beta,
            gamma,
            delta,
            tau,
        } = self;
        for secret in [alpha, beta, gamma, delta, tau] {
            slice::from_mut(secret).wipe();
        }
        *g1 = G1Projective::identity();
        *g2 = G2Projective::identity();
        hint::black_box((g1, g2));
        #[cfg(test)]
        tests::WIPED.set(tests::WIPED.get() + 1);
    }
}

impl Drop for ToxicWaste {
    fn drop(&mut self) {
        self.wipe();
    }
}

/// Told, again and again, which part of the work is done: from 0 to 1.
pub type Progress<'a> = &'a mut dyn FnMut(f64);

/// Makes a development key with fresh secrets and writes `file` (a `.params`), the `.vk` beside it, and first of all the
/// mark that says what they are. The secrets are dropped.
///
/// # Errors
/// [`Groth16Error::Unconstrained`] for an aux variable that no constraint holds, and whatever the backend, the matrices
/// or the files return.
pub fn write<B: FixedBase>(
    backend: &B,
    pce: &Pce,
    file: &Path,
    rng: &mut (impl RngCore + CryptoRng),
    progress: Progress<'_>,
) -> Result<VerifyingKey, Groth16Error> {
    write_with(backend, pce, file, &ToxicWaste::sample(rng), progress)
}

/// [`write`] with given secrets.
///
/// # Errors
/// As [`write`], and [`Groth16Error::Toxic`] for secrets that make no key.
pub fn write_with<B: FixedBase>(
    backend: &B,
    pce: &Pce,
    file: &Path,
    toxic: &ToxicWaste,
    progress: Progress<'_>,
) -> Result<VerifyingKey, Groth16Error> {
    let generator = Generator::new(backend, pce.r1cs(), toxic)?;
    let vk = generator.verifying_key()?;
    DevelopmentMark::new(MADE_BY, pce.r1cs().hash.to_string()).write(file)?;
    write_verifying_key(&file.with_extension("vk"), &vk)?;
    let mut writer = ParamsWriter::create(file, &vk)?;
    generator.write(&mut writer, progress)?;
    writer.finish()?;
    Ok(vk)
}

/// Makes a development key with fresh secrets in memory, for small circuits. The secrets are dropped.
///
/// # Errors
/// As [`write`].
pub fn in_memory<B: FixedBase>(
    backend: &B,
    pce: &Pce,
    rng: &mut (impl RngCore + CryptoRng),
) -> Result<Parameters, Groth16Error> {
    in_memory_with(backend, pce, &ToxicWaste::sample(rng))
}

/// [`in_memory`] with given secrets.
///
/// # Errors
/// As [`write_with`].
pub fn in_memory_with<B: FixedBase>(
    backend: &B,
    pce: &Pce,
    toxic: &ToxicWaste,
) -> Result<Parameters, Groth16Error> {
    let generator = Generator::new(backend, pce.r1cs(), toxic)?;
    let name = Path::new("development key in memory");
    let mut writer = ParamsWriter::in_memory(name, &generator.verifying_key()?)?;
    generator.write(&mut writer, &mut |_| {})?;
    Ok(writer.open()?)
}

/// A generation under way: all scalars are known.
struct Generator<'a, B> {
    backend: &'a B,
    toxic: &'a ToxicWaste,
    qap: Qap,
}

/// How much of the work is done, in G1 multiplications.
struct Work<'a> {
    done: usize,
    total: usize,
    report: Progress<'a>,
}

impl Work<'_> {
    fn add(&mut self, points: usize, cost: usize) {
        self.done += points * cost;
        (self.report)(self.done as f64 / self.total as f64);
    }
}

impl<'a, B: FixedBase> Generator<'a, B> {
    fn new(
        backend: &'a B,
        r1cs: &CompactR1cs,
        toxic: &'a ToxicWaste,
    ) -> Result<Self, Groth16Error> {
        toxic.check()?;
        let qap = Qap::evaluate(r1cs, toxic)?;
        Ok(Self {
            backend,
            toxic,
            qap,
        })
    }

    fn verifying_key(&self) -> Result<VerifyingKey, Groth16Error> {
        let toxic = self.toxic;
        let ic = self
            .backend
            .fixed_base::<G1>(&toxic.g1.to_affine(), self.qap.ic())?;
        Ok(VerifyingKey {
            alpha_g1: (toxic.g1 * toxic.alpha).to_affine(),
            beta_g1: (toxic.g1 * toxic.beta).to_affine(),
            beta_g2: (toxic.g2 * toxic.beta).to_affine(),
            gamma_g2: (toxic.g2 * toxic.gamma).to_affine(),
            delta_g1: (toxic.g1 * toxic.delta).to_affine(),
            delta_g2: (toxic.g2 * toxic.delta).to_affine(),
            ic,
        })
    }

    fn write<W: Write + Seek>(
        &self,
        writer: &mut ParamsWriter<W>,
        progress: Progress<'_>,
    ) -> Result<(), Groth16Error> {
        let (g1, g2) = (self.toxic.g1.to_affine(), self.toxic.g2.to_affine());
        let qap = &self.qap;
        let (h, l, a, b) = (
            qap.domain() - 1,
            qap.l().len(),
            qap.a().len(),
            qap.b().len(),
        );
        let mut work = Work {
            done: 0,
            total: (h + l + a + b + G2_COST * b).max(1),
            report: progress,
        };
        let h_scalars = |from, to| qap.h(from, to);
        let l_scalars = |from, to| Wiped::new(qap.l()[from..to].to_vec());
        let a_scalars = |from: usize, to: usize| non_zero(&qap.a()[from..to]);
        let b_scalars = |from: usize, to: usize| non_zero(&qap.b()[from..to]);
        self.section(writer.section::<G1>(Section::H)?, &g1, h, h_scalars, |n| {
            work.add(n, 1)
        })?;
        self.section(writer.section::<G1>(Section::L)?, &g1, l, l_scalars, |n| {
            work.add(n, 1)
        })?;
        self.section(writer.section::<G1>(Section::A)?, &g1, a, a_scalars, |n| {
            work.add(n, 1)
        })?;
        self.section(
            writer.section::<G1>(Section::BG1)?,
            &g1,
            b,
            b_scalars,
            |n| work.add(n, 1),
        )?;
        let b_g2 = writer.section::<G2>(Section::BG2)?;
        self.section(b_g2, &g2, b, b_scalars, |n| work.add(n, G2_COST))
    }

    /// Writes the multiples of `base` by the scalars that `scalars(from, to)` yields for each piece of `0..total`.
    fn section<G: Group, W: Write + Seek>(
        &self,
        mut points: SectionWriter<'_, G, W>,
        base: &G::Affine,
        total: usize,
        scalars: impl Fn(usize, usize) -> Scalars + Sync,
        mut done: impl FnMut(usize),
    ) -> Result<(), Groth16Error> {
        let make = |piece: usize| {
            let from = piece * PIECE_POINTS;
            let to = total.min(from + PIECE_POINTS);
            let multiples = self.backend.fixed_base::<G>(base, &scalars(from, to))?;
            Ok((to - from, encode::<G>(&multiples)))
        };
        in_order(total.div_ceil(PIECE_POINTS), make, |(variables, parts)| {
            for part in &parts {
                points.write_encoded(part)?;
            }
            done(variables);
            Ok(())
        })?;
        Ok(points.finish()?)
    }
}

/// Encodes points on all threads, a part each.
fn encode<G: Group>(points: &[G::Affine]) -> Vec<EncodedPoints<G>> {
    let parts = points.par_chunks(ENCODED_POINTS);
    parts.map(EncodedPoints::<G>::encode).collect()
}

/// The variables that do not occur have no point in a query.
fn non_zero(scalars: &[Fr]) -> Scalars {
    // With room for all: a vector that grows leaves what it held behind.
    let mut out = Wiped::new(Vec::with_capacity(scalars.len()));
    let occurring = scalars.iter().filter(|scalar| !scalar.is_zero_vartime());
    out.extend(occurring.copied());
    out
}

#[cfg(test)]
mod tests {
    use std::cell::Cell;

    use super::*;

    thread_local! {
        /// How often toxic waste was overwritten.
        pub static WIPED: Cell<usize> = const { Cell::new(0) };
    }

    #[test]
    fn dropped_secrets_are_overwritten() {
        let mut toxic = ToxicWaste::sample(&mut rand_core::OsRng);
        assert!(toxic.check().is_ok());
        toxic.wipe();
        assert!(bool::from(toxic.g1.is_identity() & toxic.g2.is_identity()));
        let secrets = [toxic.alpha, toxic.beta, toxic.gamma, toxic.delta, toxic.tau];
        assert_eq!(secrets, [Fr::ZERO; 5]);
        let before = WIPED.get();
        drop(toxic);
        assert_eq!(WIPED.get(), before + 1);
    }
}
