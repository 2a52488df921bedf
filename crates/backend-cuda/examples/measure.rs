//! Times operations on device 0 against their results on the CPU. Prints a table of medians, milliseconds by events.
//!
//! Arguments: the largest size as a power of two (default 22), and `check` to compare large results with the CPU.

use std::error::Error;
use std::sync::Arc;

use cuzk_backend::{Evaluations, FixedBase, Msm, Ntt, Transform, Vectors};
use cuzk_backend_cpu::CpuBackend;
use cuzk_backend_cuda::CudaBackend;
use cuzk_curve::{EncodedPoints, Fr, G1, G2, Group};
use cuzk_gpu::Timer;
use ff::Field;
use group::prime::PrimeCurveAffine;
use rand_chacha::ChaCha12Rng;
use rand_chacha::rand_core::SeedableRng;
use rayon::prelude::*;

type Result<T> = std::result::Result<T, Box<dyn Error>>;

/// Distinct points; more are repetitions of these.
const DISTINCT: usize = 1 << 16;
const REPEATS: usize = 5;

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
            "DIFFERS"
        };
    }
    println!(
        "ntt 2^{log_size}: forward, natural order {forward:.3} ms, quotient {quotient:.3} ms, {verdict}"
    );
    Ok(())
}

fn multiplications<G: Group>(backend: &CudaBackend, log_size: u32, check: bool) -> Result<()> {
    let size = 1usize << log_size;
    let distinct = DISTINCT.min(size);
    let points = backend.fixed_base::<G>(&G::Affine::generator(), &scalars(distinct, 2))?;
    let encoded = EncodedPoints::<G>::encode(&points);
    let repeated = encoded.bytes().repeat(size / distinct);
    let all = EncodedPoints::<G>::new(repeated.into()).ok_or("whole points")?;
    let bases = backend.load_bases(all)?;
    let values = scalars(size, 3);
    let vector = backend.upload(values.clone())?;
    let mut found = None;
    let time = median(backend, || {
        found = Some(backend.msm::<G>(&bases, &vector)?);
        Ok(())
    })?;
    let mut verdict = "not compared";
    if check {
        let sums: Vec<Fr> = (0..distinct)
            .into_par_iter()
            .map(|i| values[i..].iter().step_by(distinct).sum())
            .collect();
        let wanted = CpuBackend.msm::<G>(&encoded, &sums)?;
        verdict = if found == Some(wanted) {
            "equal"
        } else {
            "DIFFERS"
        };
    }
    println!("msm {} 2^{log_size}: {time:.3} ms, {verdict}", G::NAME);
    Ok(())
}

fn main() -> Result<()> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let largest: u32 = arguments.first().map_or(Ok(22), |text| text.parse())?;
    let check = arguments.iter().any(|argument| argument == "check");
    let backend = CudaBackend::open(0)?;
    let info = Arc::clone(backend.stream().device());
    println!("{:?}", info.info());
    for log_size in (16..=largest).step_by(2) {
        transforms(&backend, log_size, check)?;
    }
    for log_size in (16..=largest).step_by(2) {
        multiplications::<G1>(&backend, log_size, check)?;
    }
    for log_size in (16..=largest.min(22)).step_by(2) {
        multiplications::<G2>(&backend, log_size, check)?;
    }
    Ok(())
}
