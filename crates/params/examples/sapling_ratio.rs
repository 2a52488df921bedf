//! Times a full check of Zcash's Sapling spend key against bellperson's checked read of the same bytes, in one run.
//!
//! `cargo run --release -p cuzk-params --example sapling_ratio` prints one JSON row.

use std::hint::black_box;
use std::io::Cursor;
use std::path::Path;
use std::time::Instant;

use cuzk_curve::{Bls12, Bytes};
use cuzk_params::{Parameters, PointCheck};

const RUNS: usize = 3;

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

/// The median time of a few runs in seconds.
fn median(mut run: impl FnMut()) -> f64 {
    let mut times: Vec<f64> = (0..RUNS)
        .map(|_| {
            let start = Instant::now();
            run();
            start.elapsed().as_secs_f64()
        })
        .collect();
    times.sort_by(f64::total_cmp);
    times[RUNS / 2]
}

fn main() {
    let key = Bytes::new(spend());
    let ours = median(|| {
        let parameters = Parameters::from_bytes(Path::new("sapling-spend.params"), &key);
        let parameters = parameters.expect("the published key");
        parameters
            .check_points(PointCheck::Subgroup, &mut |_, _| {})
            .expect("the published points");
    });
    let peer = median(|| {
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
