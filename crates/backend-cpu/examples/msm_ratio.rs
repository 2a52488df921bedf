//! Multi-scalar and fixed-base multiplication beside bellperson's, in one run on all threads; rows {name, ours, peer,
//! ratio, unit} as JSON.
//!
//! `cargo run --release -p cuzk-backend-cpu --example msm_ratio -- 20 16` for 2^18 and 2^20 points of G1, 2^16 of G2.

use std::sync::Arc;
use std::time::Instant;

use cuzk_backend_cpu::{fixed_base, msm};
use cuzk_curve::{EncodedPoints, Fr, G1, G2, Group};
use ec_gpu_gen::multiexp_cpu::{FullDensity, multiexp_cpu};
use ec_gpu_gen::threadpool::Worker;
use ff::{Field, PrimeField};
use group::prime::PrimeCurveAffine;
use group::{Curve, Group as _, Wnaf, WnafGroup};
use rand::SeedableRng;
use rand_chacha::ChaCha8Rng;
use rayon::prelude::*;
use serde_json::{Value, json};

/// Runs of each side after a warm-up, in turn; the median counts.
const RUNS: usize = 3;

type Fallible<T> = Result<T, Box<dyn std::error::Error>>;

fn main() -> Fallible<()> {
    let mut args = std::env::args().skip(1);
    let g1_log: u32 = args.next().unwrap_or("20".into()).parse()?;
    let g2_log: u32 = args.next().unwrap_or("16".into()).parse()?;
    let rows = [
        full::<G1>(g1_log.saturating_sub(2))?,
        full::<G1>(g1_log)?,
        full::<G2>(g2_log)?,
        selected::<G1>(g1_log)?,
        selected::<G2>(g2_log)?,
        many_multiples::<G1>(g1_log.min(18))?,
        many_multiples::<G2>(g2_log)?,
    ];
    println!("{}", serde_json::to_string_pretty(&rows)?);
    Ok(())
}

fn scalars(count: usize) -> Vec<Fr> {
    let mut rng = ChaCha8Rng::seed_from_u64(count as u64);
    (0..count).map(|_| Fr::random(&mut rng)).collect()
}

fn points<G: Group>(count: usize) -> Vec<G::Affine> {
    fixed_base::fixed_base::<G>(&G::Affine::generator(), &scalars(count + 1)[1..])
}

/// Random points times random scalars, as for the H query.
fn full<G: Group>(log: u32) -> Fallible<Value> {
    let name = format!("msm-{}-2^{log}", G::NAME.to_lowercase());
    let scalars = scalars(1 << log);
    compare_msm::<G>(name, points::<G>(1 << log), &scalars, |points| {
        msm::msm_indexed(points, None, &scalars)
    })
}

/// A random half of the points, as for a witness of bits.
fn selected<G: Group>(log: u32) -> Fallible<Value> {
    let name = format!("sum-of-bits-{}-2^{log}", G::NAME.to_lowercase());
    let bits: Vec<bool> = scalars(1 << log)
        .iter()
        .map(|s| s.is_odd().into())
        .collect();
    let scalars: Vec<Fr> = bits.iter().map(|&bit| Fr::from(u64::from(bit))).collect();
    compare_msm::<G>(name, points::<G>(1 << log), &scalars, |points| {
        let ones = (0..).zip(&bits).filter(|(_, bit)| **bit);
        let ones: Vec<u32> = ones.map(|(index, _)| index).collect();
        msm::sum_selected(points, &ones)
    })
}

fn compare_msm<G: Group>(
    name: String,
    points: Vec<G::Affine>,
    scalars: &[Fr],
    ours: impl Fn(&EncodedPoints<G>) -> G::Projective,
) -> Fallible<Value> {
    let worker = Worker::new();
    let encoded = EncodedPoints::<G>::encode(&points);
    let points = Arc::new(points);
    let exponents: Arc<Vec<_>> = Arc::new(scalars.iter().map(PrimeField::to_repr).collect());
    compare(
        name,
        || Ok(ours(&encoded)),
        || {
            let bases = (Arc::clone(&points), 0);
            let exponents = Arc::clone(&exponents);
            Ok(
                multiexp_cpu::<_, _, G::Affine, _>(&worker, bases, FullDensity, exponents)
                    .wait()?,
            )
        },
    )
}

/// Multiples of the generator, as for key generation; the peer is the wNAF table of bellperson's.
fn many_multiples<G: Group>(log: u32) -> Fallible<Value>
where
    G::Projective: WnafGroup,
{
    let name = format!("fixed-base-{}-2^{log}", G::NAME.to_lowercase());
    let scalars = scalars(1 << log);
    compare(
        name,
        || {
            Ok(fixed_base::fixed_base::<G>(
                &G::Affine::generator(),
                &scalars,
            ))
        },
        || {
            let mut wnaf = Wnaf::new();
            let table = wnaf.base(G::Projective::generator(), scalars.len());
            let chunk = scalars.len().div_ceil(rayon::current_num_threads());
            let mut out = vec![G::Affine::identity(); scalars.len()];
            out.par_chunks_mut(chunk)
                .zip(scalars.par_chunks(chunk))
                .for_each(|(out, scalars)| {
                    let mut table = table.shared();
                    let points: Vec<_> = scalars.iter().map(|s| table.scalar(s)).collect();
                    G::Projective::batch_normalize(&points, out);
                });
            Ok(out)
        },
    )
}

/// Times both sides in turn, and checks that they agree.
fn compare<T: PartialEq>(
    name: String,
    ours: impl Fn() -> Fallible<T>,
    peer: impl Fn() -> Fallible<T>,
) -> Fallible<Value> {
    if ours()? != peer()? {
        return Err(format!("{name}: the results differ").into());
    }
    let (mut our_s, mut peer_s) = (Vec::new(), Vec::new());
    for _ in 0..RUNS {
        let start = Instant::now();
        ours()?;
        our_s.push(start.elapsed().as_secs_f64());
        let start = Instant::now();
        peer()?;
        peer_s.push(start.elapsed().as_secs_f64());
    }
    let (our_s, peer_s) = (median(our_s), median(peer_s));
    Ok(json!({
        "name": name,
        "ours": our_s,
        "peer": peer_s,
        "ratio": peer_s / our_s,
        "unit": "s",
    }))
}

fn median(mut times: Vec<f64>) -> f64 {
    times.sort_by(f64::total_cmp);
    times[times.len() / 2]
}
