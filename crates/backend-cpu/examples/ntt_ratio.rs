//! The transforms beside bellperson's, in one run on all threads; rows {name, ours, peer, ratio, unit} as JSON.
//!
//! `cargo run --release -p cuzk-backend-cpu --example ntt_ratio -- 20` for domains of 2^20.

use std::time::Instant;

use bellperson::domain::EvaluationDomain;
use cuzk_backend::Transform;
use cuzk_backend_cpu::ntt;
use cuzk_curve::Fr;
use ec_gpu_gen::threadpool::Worker;
use ff::Field;
use serde_json::json;

/// Runs of each side after a warm-up, in turn; the median counts.
const RUNS: usize = 3;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let log: u32 = std::env::args().nth(1).unwrap_or("20".into()).parse()?;
    let values: Vec<Fr> = std::iter::successors(Some(Fr::from(3)), |value| Some(value.square()))
        .take(1 << log)
        .collect();
    let rows = [transform(log, &values)?, quotient(log, &values)?];
    println!("{}", serde_json::to_string_pretty(&rows)?);
    Ok(())
}

/// One transform of coefficients to values.
fn transform(log: u32, values: &[Fr]) -> Result<serde_json::Value, Box<dyn std::error::Error>> {
    let worker = Worker::new();
    compare(
        format!("ntt-2^{log}"),
        || {
            let mut values = values.to_vec();
            let start = Instant::now();
            ntt::transform(&mut values, Transform::Forward)?;
            Ok((start.elapsed().as_secs_f64(), values))
        },
        || {
            let mut domain = EvaluationDomain::from_coeffs(values.to_vec())?;
            let start = Instant::now();
            domain.fft(&worker, &mut None)?;
            Ok((start.elapsed().as_secs_f64(), domain.into_coeffs()))
        },
    )
}

/// The quotient from the values of a, b (and for bellperson c), as its prover computes it.
fn quotient(log: u32, values: &[Fr]) -> Result<serde_json::Value, Box<dyn std::error::Error>> {
    let worker = Worker::new();
    let b: Vec<Fr> = values.iter().map(|value| value.double()).collect();
    let c: Vec<Fr> = values.iter().zip(&b).map(|(a, b)| a * b).collect();
    compare(
        format!("quotient-2^{log}"),
        || {
            let (a, b) = (values.to_vec(), b.clone());
            let start = Instant::now();
            let h = ntt::quotient(a, b)?;
            Ok((start.elapsed().as_secs_f64(), h))
        },
        || {
            let mut a = EvaluationDomain::from_coeffs(values.to_vec())?;
            let mut b = EvaluationDomain::from_coeffs(b.clone())?;
            let mut c = EvaluationDomain::from_coeffs(c.clone())?;
            let start = Instant::now();
            EvaluationDomain::ifft_many(&mut [&mut a, &mut b, &mut c], &worker, &mut None)?;
            EvaluationDomain::coset_fft_many(&mut [&mut a, &mut b, &mut c], &worker, &mut None)?;
            a.mul_assign(&worker, &b);
            a.sub_assign(&worker, &c);
            a.divide_by_z_on_coset(&worker);
            a.icoset_fft(&worker, &mut None)?;
            Ok((start.elapsed().as_secs_f64(), a.into_coeffs()))
        },
    )
}

type Timed = Result<(f64, Vec<Fr>), Box<dyn std::error::Error>>;

/// Times both sides in turn, and checks that they agree.
fn compare(
    name: String,
    mut ours: impl FnMut() -> Timed,
    mut peer: impl FnMut() -> Timed,
) -> Result<serde_json::Value, Box<dyn std::error::Error>> {
    if ours()?.1 != peer()?.1 {
        return Err(format!("{name}: the results differ").into());
    }
    let (mut our_s, mut peer_s) = (Vec::new(), Vec::new());
    for _ in 0..RUNS {
        our_s.push(ours()?.0);
        peer_s.push(peer()?.0);
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
