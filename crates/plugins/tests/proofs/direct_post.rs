//! PoSt's direct witnesses against the circuits' closures, bit for bit.

use cuzk_proof_api::{Job, by_closures};
use cuzk_synth::{Kind, Options, SectorSize, synthetic};

use crate::support::{decode, real, request};

fn equal(job: &dyn Job, what: &str) {
    let direct = job.direct_witness(0).unwrap().unwrap();
    assert!(direct == by_closures(job, 0).unwrap(), "{what}");
    assert!(job.direct_witness(1).is_err(), "{what}");
}

fn job(kind: Kind, size: SectorSize, options: &Options) -> Box<dyn Job> {
    decode(kind, &request(&synthetic(kind, size, options).unwrap())).unwrap()
}

#[test]
fn real_sectors() {
    for kind in [Kind::WinningPost, Kind::WindowPost] {
        equal(&*decode(kind, &real(kind)).unwrap(), kind.name());
    }
}

/// One sector of two, which is then repeated, and both.
#[test]
fn random_small_sectors() {
    for seed in 0..6 {
        for (kind, window_sectors) in [
            (Kind::WinningPost, None),
            (Kind::WindowPost, Some(1)),
            (Kind::WindowPost, Some(2)),
        ] {
            let options = Options {
                seed,
                window_sectors,
                ..Options::default()
            };
            let job = job(kind, SectorSize::KIB_2, &options);
            equal(&*job, &format!("{kind}, seed {seed}, {window_sectors:?}"));
        }
    }
}

/// The 66 openings of a WinningPoSt are more than one thread computes before it appends.
#[test]
fn any_number_of_threads() {
    let job = job(Kind::WinningPost, SectorSize::KIB_2, &Options::default());
    for threads in [1, 2, 3] {
        let pool = rayon::ThreadPoolBuilder::new().num_threads(threads);
        let pool = pool.build().unwrap();
        pool.install(|| equal(&*job, &format!("{threads} threads")));
    }
}

/// Trees of one, two and three parts.
#[test]
fn large_sectors() {
    for size in [SectorSize::MIB_8, SectorSize::GIB_32, SectorSize::GIB_64] {
        let job = job(Kind::WinningPost, size, &Options::default());
        equal(&*job, &size.to_string());
    }
}
