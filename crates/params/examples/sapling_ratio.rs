//! Times a full check of Zcash's Sapling spend key (the median of a few, after one to warm up) against bellperson's
//! checked read of the same bytes, in one run.
//!
//! `cargo run --release -p cuzk-params --example sapling_ratio` prints one JSON row.

use std::hint::black_box;
use std::io::Cursor;
use std::path::Path;
use std::time::Instant;

use cuzk_curve::{Bls12, Bytes};
use cuzk_params::{Parameters, PointCheck};

const RUNS: usize = 5;

/// The key, put together from the parts in which it is published.
fn spend() -> Vec<u8> {
    [
        wagyu_zcash_parameters_1::load_partial_parameters(),
        wagyu_zcash_parameters_2::load_partial_parameters(),
        wagyu_zcash_parameters_3::load_partial_parameters(),
        wagyu_zcash_parameters_4::load_partial_parameters(),
        wagyu_zcash_parameters_5::load_partial_parameters(),
    ]
    .concat()
}

/// Seconds that `run` takes.
fn seconds(run: impl FnOnce()) -> f64 {
    let start = Instant::now();
    run();
    start.elapsed().as_secs_f64()
}

fn check(key: &Bytes) {
    let parameters = Parameters::from_bytes(Path::new("sapling-spend.params"), key);
    parameters
        .expect("the published key")
        .check_points(PointCheck::Subgroup, &mut |_, _| {})
        .expect("the published points");
}

fn main() {
    let key = Bytes::new(spend());
    check(&key);
    let mut times: Vec<f64> = (0..RUNS).map(|_| seconds(|| check(&key))).collect();
    times.sort_by(f64::total_cmp);
    let ours = times[RUNS / 2];
    let peer = seconds(|| {
        let read = bellperson::groth16::Parameters::<Bls12>::read(Cursor::new(&*key), true);
        black_box(read.expect("the published key"));
    });
    let row = serde_json::json!({
        "name": "checked-read-sapling-spend",
        "ours": ours,
        "peer": peer,
        "ratio": peer / ours,
        "unit": "s",
    });
    println!("{row}");
}
