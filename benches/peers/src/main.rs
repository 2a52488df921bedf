//! The CUDA backend beside sppark, on device 0 in one run.
//!
//! Prints a JSON array, a row a measurement: medians of five runs after one that does not count, milliseconds, and the
//! peer's time over ours. Our points are resident and our scalars on the device, as in a proof; sppark's call takes both
//! from the host's memory, which is pinned, and its time is the call's. Transforms are in the device's memory on both sides, and timed by
//! events. Rows also go to standard error as they come, with whether the results are equal; where they are
//! not, the program fails after the last.
//!
//! Arguments: powers of two after `g1`, `g2` and `ntt`; by default `g1 20 22 24 26 g2 20 22 ntt 20 22 24 27`.

mod peer;

use anyhow::{Context, Result};
use cuzk_backend::{FixedBase, Msm, Ntt, Transform, Vectors};
use cuzk_backend_cuda::CudaBackend;
use cuzk_curve::{EncodedPoints, Fr, G1, G2, Group};
use cuzk_gpu::Timer;
use ff::Field;
use group::prime::PrimeCurveAffine;
use rand_chacha::ChaCha12Rng;
use rand_chacha::rand_core::SeedableRng;
use rayon::prelude::*;
use serde_json::{Value, json};

/// Distinct points; more are repetitions of these.
const DISTINCT: usize = 1 << 16;
const REPEATS: usize = 5;
const DEFAULT: &str = "g1 20 22 24 26 g2 20 22 ntt 20 22 24 27";

fn scalars(count: usize) -> Vec<Fr> {
    let part = 1 << 12;
    let parts = (0..count.div_ceil(part) as u64).into_par_iter();
    let values = parts.flat_map_iter(|index| {
        let mut rng = ChaCha12Rng::seed_from_u64(index);
        (0..part).map(move |_| Fr::random(&mut rng))
    });
    values.collect::<Vec<_>>().into_iter().take(count).collect()
}

fn median(mut times: Vec<f32>) -> f32 {
    times.sort_by(f32::total_cmp);
    times[times.len() / 2]
}

/// Milliseconds of what is queued on the backend's stream, after a run that does not count.
fn ours(backend: &CudaBackend, mut run: impl FnMut() -> Result<()>) -> Result<f32> {
    run()?;
    let mut times = Vec::with_capacity(REPEATS);
    for _ in 0..REPEATS {
        backend.stream().synchronize()?;
        let timer = Timer::start(backend.stream())?;
        run()?;
        times.push(timer.stop()?);
    }
    Ok(median(times))
}

fn row(name: String, ours: f32, peer: f32, equal: bool) -> Value {
    let row = json!({
        "name": name,
        "ours": ours,
        "peer": peer,
        "ratio": peer / ours,
        "unit": "ms",
        "equal": equal,
    });
    eprintln!("{row}");
    row
}

fn multiplication<G: Group>(backend: &CudaBackend, log_size: u32) -> Result<Vec<Value>> {
    let size = 1usize << log_size;
    let distinct = DISTINCT.min(size);
    let points = backend.fixed_base::<G>(&G::Affine::generator(), &scalars(distinct))?;
    let repeated = EncodedPoints::<G>::encode(&points)
        .bytes()
        .repeat(size / distinct);
    let encoded = EncodedPoints::<G>::new(repeated.into()).context("whole points")?;
    let values = scalars(size);
    let vector = backend.upload(values.clone())?;
    let (mut results, mut times) = (Vec::new(), Vec::new());
    for tables in [1, u32::MAX] {
        let bases = match tables {
            1 => backend.load_bases_with_tables(&encoded, 1)?,
            _ => backend.load_bases(encoded.clone())?,
        };
        times.push(ours(backend, || {
            results.push(backend.msm::<G>(&bases, &vector)?);
            Ok(())
        })?);
    }
    drop((vector, encoded));
    let memory = in_memory::<G>(&points).repeat(size / distinct);
    let pinned = (peer::Pinned::new(&memory)?, peer::Pinned::new(&values)?);
    let (wanted, _) = peer::msm::<G>(&memory, &values)?;
    let calls = (0..REPEATS).map(|_| Ok(peer::msm::<G>(&memory, &values)?.1));
    let peer = median(calls.collect::<Result<_>>()?);
    drop(pinned);
    let equal = results.iter().all(|result| *result == wanted);
    Ok(vec![
        row(
            format!("msm {} 2^{log_size}", G::NAME),
            times[0],
            peer,
            equal,
        ),
        row(
            format!("msm {} 2^{log_size}, with tables", G::NAME),
            times[1],
            peer,
            equal,
        ),
    ])
}

/// Affine points as they lie in memory.
fn in_memory<G: Group>(points: &[G::Affine]) -> Vec<u64> {
    let words = peer::words::<G>();
    let point = |point: &G::Affine| {
        let (x, y) = G::coordinates(point);
        [x, y].map(|coordinate| {
            // SAFETY: a coordinate is a transparent wrapper of `words` limbs.
            let limbs =
                unsafe { std::slice::from_raw_parts((&raw const coordinate).cast(), words) };
            limbs.to_vec()
        })
    };
    points.iter().flat_map(point).flatten().collect()
}

fn transform(backend: &CudaBackend, log_size: u32) -> Result<Vec<Value>> {
    let mut values = scalars(1 << log_size);
    let mut vector = backend.upload(values.clone())?;
    backend.ntt(&mut vector, Transform::Forward)?;
    let found = backend.download(vector)?;
    let mut vector = backend.upload(values.clone())?;
    let natural = ours(
        backend,
        || Ok(backend.ntt(&mut vector, Transform::Forward)?),
    )?;
    let reversed = ours(backend, || Ok(backend.ntt_to_reversed(&mut vector)?))?;
    drop(vector);
    let mut peers = [vec![0.0; REPEATS], vec![0.0; REPEATS]];
    peer::ntt(&mut values, true, &mut peers[0])?;
    let equal = values == found;
    peer::ntt(&mut values, false, &mut peers[1])?;
    let [peer_natural, peer_reversed] = peers.map(median);
    Ok(vec![
        row(
            format!("ntt 2^{log_size}, natural order"),
            natural,
            peer_natural,
            equal,
        ),
        row(
            format!("ntt 2^{log_size}, to bit-reversed order"),
            reversed,
            peer_reversed,
            equal,
        ),
    ])
}

fn main() -> Result<()> {
    let given = std::env::args().skip(1).collect::<Vec<_>>().join(" ");
    let words = if given.is_empty() { DEFAULT } else { &given };
    let backend = CudaBackend::open(0)?;
    eprintln!("{:?}", backend.device().info());
    let (mut kind, mut rows) = ("", Vec::new());
    for word in words.split(' ') {
        let Ok(log_size) = word.parse() else {
            kind = word;
            continue;
        };
        rows.extend(match kind {
            "g1" => multiplication::<G1>(&backend, log_size)?,
            "g2" => multiplication::<G2>(&backend, log_size)?,
            "ntt" => transform(&backend, log_size)?,
            _ => anyhow::bail!("{kind}: wanted g1, g2 or ntt"),
        });
    }
    println!("{}", serde_json::to_string_pretty(&rows)?);
    let differs = rows.iter().find(|row| row["equal"] != true);
    match differs {
        Some(row) => anyhow::bail!("the peer's result is another: {row}"),
        None => Ok(()),
    }
}
