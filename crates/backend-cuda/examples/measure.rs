//! Times operations on device 0 against their results on the CPU. Prints a table of medians, milliseconds by events.
//!
//! Arguments: the sizes as powers of two (default 16 to 22, every other), what to time (`ntt`, `g1`, `tables`, `bits`,
//! `twos`, `fours`, `g2`; default all), and `check` to compare results with the CPU. `g1` and `g2` are without tables of
//! points, `tables` is G1 with as many as a plan has windows, and `bits` sums a random half of so many points. `twos` and
//! `fours` do so with the sums of two and of four neighbours.

use std::error::Error;
use std::sync::Arc;
use std::time::Instant;

use cuzk_backend::{Evaluations, FixedBase, MatVec, Msm, Ntt, Transform, Vectors};
use cuzk_backend_cpu::CpuBackend;
use cuzk_backend_cuda::CudaBackend;
use cuzk_curve::{EncodedPoints, Fr, G1, G2, Group};
use cuzk_gpu::Timer;
use cuzk_r1cs::{
    Assignment, Bitmap, CompactR1cs, Matrices, RankedBitmap, Shape, ShapeHash, TemplateWriter,
    TouchedOnce, VariableSet,
};
use ff::Field;
use group::prime::PrimeCurveAffine;
use rand_chacha::ChaCha12Rng;
use rand_chacha::rand_core::{RngCore, SeedableRng};
use rayon::prelude::*;

type Result<T> = std::result::Result<T, Box<dyn Error>>;

/// Distinct points; more are repetitions of these.
const DISTINCT: usize = 1 << 16;
const REPEATS: usize = 5;
/// The verdict on a result that is not the CPU's.
const DIFFERS: &str = "DIFFERS";

/// A result that differs ends the program, once its line is printed.
fn agreed(verdict: &str) -> Result<()> {
    if verdict == DIFFERS {
        return Err("a result is not the CPU's".into());
    }
    Ok(())
}

fn scalars(count: usize, seed: u64) -> Vec<Fr> {
    let part = 1 << 12;
    let parts = (0..count.div_ceil(part) as u64).into_par_iter();
    let values = parts.flat_map_iter(|index| {
        let mut rng = ChaCha12Rng::seed_from_u64(seed ^ index << 20);
        (0..part).map(move |_| Fr::random(&mut rng))
    });
    values.collect::<Vec<_>>().into_iter().take(count).collect()
}

/// The median time of an operation, after one run that is not counted.
fn median(backend: &CudaBackend, mut run: impl FnMut() -> Result<()>) -> Result<f32> {
    run()?;
    let mut times = Vec::new();
    for _ in 0..REPEATS {
        backend.stream().synchronize()?;
        let timer = Timer::start(backend.stream())?;
        run()?;
        times.push(timer.stop()?);
    }
    times.sort_by(f32::total_cmp);
    Ok(times[REPEATS / 2])
}

fn transforms(backend: &CudaBackend, log_size: u32, check: bool) -> Result<()> {
    let values = scalars(1 << log_size, 1);
    let mut vector = backend.upload(values.clone())?;
    let forward = median(
        backend,
        || Ok(backend.ntt(&mut vector, Transform::Forward)?),
    )?;
    let reversed = median(backend, || Ok(backend.ntt_to_reversed(&mut vector)?))?;
    drop(vector);
    let mut vector = backend.upload(values.clone())?;
    let quotient = {
        let mut times = Vec::new();
        for _ in 0..=REPEATS {
            let evaluations = Evaluations {
                a: backend.upload(values.clone())?,
                b: backend.upload(values.clone())?,
            };
            backend.stream().synchronize()?;
            let timer = Timer::start(backend.stream())?;
            let quotient = backend.quotient(evaluations)?;
            times.push(timer.stop()?);
            drop(quotient);
        }
        times[1..].sort_by(f32::total_cmp);
        times[1 + REPEATS / 2]
    };
    let mut verdict = "not compared";
    if check {
        backend.ntt(&mut vector, Transform::CosetForward)?;
        let mut wanted = values;
        CpuBackend.ntt(&mut wanted, Transform::CosetForward)?;
        verdict = if backend.download(vector)? == wanted {
            "equal"
        } else {
            DIFFERS
        };
    }
    println!(
        "ntt 2^{log_size}: forward, natural order {forward:.3} ms, to bit-reversed order {reversed:.3} ms, quotient {quotient:.3} ms, {verdict}"
    );
    agreed(verdict)
}

/// A table's worth of bases: more points are repetitions of these.
fn encoded<G: Group>(backend: &CudaBackend, size: usize) -> Result<EncodedPoints<G>> {
    let distinct = DISTINCT.min(size);
    let points = backend.fixed_base::<G>(&G::Affine::generator(), &scalars(distinct, 2))?;
    let encoded = EncodedPoints::<G>::encode(&points);
    let repeated = encoded.bytes().repeat(size / distinct);
    Ok(EncodedPoints::<G>::new(repeated.into()).ok_or("whole points")?)
}

/// The product on the CPU, by distinct points.
fn on_the_cpu<G: Group>(points: &EncodedPoints<G>, values: &[Fr]) -> Result<G::Projective> {
    let distinct = DISTINCT.min(points.len());
    let sums: Vec<Fr> = (0..distinct)
        .into_par_iter()
        .map(|i| values[i..].iter().step_by(distinct).sum())
        .collect();
    let first = points.bytes()[..distinct * G::UNCOMPRESSED_BYTES].to_vec();
    let first = EncodedPoints::<G>::new(first.into()).ok_or("whole points")?;
    Ok(CpuBackend.msm::<G>(&first, &sums)?)
}

fn verdict<T: PartialEq>(found: &Option<T>, wanted: &T) -> &'static str {
    if found.as_ref() == Some(wanted) {
        "equal"
    } else {
        DIFFERS
    }
}

fn multiplications<G: Group>(
    backend: &CudaBackend,
    log_size: u32,
    most_tables: u32,
    check: bool,
) -> Result<()> {
    let points = encoded::<G>(backend, 1 << log_size)?;
    let clock = Instant::now();
    let bases = backend.load_bases_with_tables(&points, most_tables)?;
    let load = clock.elapsed().as_secs_f64();
    let values = scalars(1 << log_size, 3);
    let vector = backend.upload(values.clone())?;
    let mut found = None;
    let time = median(backend, || {
        found = Some(backend.msm::<G>(&bases, &vector)?);
        Ok(())
    })?;
    let compared = if check {
        verdict(&found, &on_the_cpu::<G>(&points, &values)?)
    } else {
        "not compared"
    };
    println!(
        "msm {} 2^{log_size}: {time:.3} ms, {:?}, loaded in {load:.2} s, {compared}",
        G::NAME,
        bases.plan()
    );
    agreed(compared)
}

/// A query over variables that are all bits, with sums of so many neighbours at most, and a witness in which half are one.
fn selections(backend: &CudaBackend, log_size: u32, neighbours: u32, check: bool) -> Result<()> {
    let count = 1usize << log_size;
    let shape = Shape {
        inputs: 1,
        aux: count,
        constraints: 0,
    };
    let root = TemplateWriter::default().finish(1, count as u32);
    let variables = VariableSet {
        inputs: Bitmap::zeros(1),
        aux: Bitmap::ones(count),
    };
    let coefficients = vec![Fr::ONE, -Fr::ONE];
    let matrices = Matrices::new(vec![root], shape, &coefficients)?;
    let r1cs = CompactR1cs {
        shape,
        hash: ShapeHash([0; 32]),
        coefficients,
        touched_once: TouchedOnce::of(&matrices)?,
        matrices,
        field_class: RankedBitmap::new(Bitmap::zeros(count)),
    };
    let mut rng = ChaCha12Rng::seed_from_u64(5);
    let words: Vec<u32> = (0..count.div_ceil(32)).map(|_| rng.next_u32()).collect();
    let bit = |i: usize| Fr::from(u64::from(words[i / 32] >> (i % 32) & 1));
    let values: Vec<Fr> = (0..count).map(bit).collect();
    let witness = Assignment::new(vec![Fr::ONE], values.iter().copied()).pack(&r1cs)?;
    let points = encoded::<G1>(backend, count)?;
    let clock = Instant::now();
    let query = backend.load_query_with_clusters::<G1>(
        points.clone(),
        &variables,
        r1cs.classes(),
        neighbours,
    )?;
    let load = clock.elapsed().as_secs_f64();
    let witness = backend.load_witness(Arc::new(witness))?;
    let mut found = None;
    let time = median(backend, || {
        found = Some(backend.msm_query::<G1>(&query, &witness)?);
        Ok(())
    })?;
    let compared = if check {
        verdict(&found, &on_the_cpu::<G1>(&points, &values)?)
    } else {
        "not compared"
    };
    println!(
        "bits 2^{log_size}, sums of {neighbours}: {time:.3} ms, loaded in {load:.2} s, {compared}"
    );
    agreed(compared)
}

fn main() -> Result<()> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let check = arguments.iter().any(|argument| argument == "check");
    let mut sizes: Vec<u32> = arguments.iter().filter_map(|a| a.parse().ok()).collect();
    if sizes.is_empty() {
        sizes = vec![16, 18, 20, 22];
    }
    let kinds = ["ntt", "g1", "tables", "bits", "twos", "fours", "g2"];
    let named = |kind: &str| arguments.iter().any(|argument| argument == kind);
    let any = kinds.into_iter().any(named);
    let backend = CudaBackend::open(0)?;
    println!("{:?}", backend.device().info());
    for kind in kinds {
        if any && !named(kind) {
            continue;
        }
        for &size in &sizes {
            match kind {
                "ntt" => transforms(&backend, size, check)?,
                "g1" => multiplications::<G1>(&backend, size, 1, check)?,
                "tables" => multiplications::<G1>(&backend, size, u32::MAX, check)?,
                "bits" => selections(&backend, size, 1, check)?,
                "twos" => selections(&backend, size, 2, check)?,
                "fours" => selections(&backend, size, 4, check)?,
                _ => multiplications::<G2>(&backend, size, 1, check)?,
            }
        }
    }
    Ok(())
}
