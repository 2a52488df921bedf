//! Synthetic payloads before the official verifiers of vanilla proofs.

use cuzk_synth::{
    Kind, Options, Payload, PoRepFeature, SectorSize, SynthError, synthetic, verify_vanilla,
};
use sha2::{Digest, Sha256};

type TestResult = Result<(), Box<dyn std::error::Error>>;

fn make(kind: Kind, size: SectorSize, options: Options) -> Result<Payload, SynthError> {
    synthetic(kind, size, &options)
}

fn digest(payload: &Payload) -> String {
    Sha256::digest(payload.to_json())
        .iter()
        .take(8)
        .map(|byte| format!("{byte:02x}"))
        .collect()
}

#[test]
fn every_kind_at_2kib_is_accepted_and_reads_back() -> TestResult {
    for kind in Kind::ALL {
        let payload = make(kind, SectorSize::KIB_2, Options::default())?;
        assert!(verify_vanilla(&payload)?, "{kind}");
        assert_eq!(
            Payload::from_json(payload.to_json().as_bytes())?,
            payload,
            "{kind}"
        );
        let raw: usize = payload
            .raw_files()
            .iter()
            .map(|(_, bytes)| bytes.len())
            .sum();
        let held = payload.vanilla_proof.len() + payload.vanilla_proofs.concat().len();
        assert!(raw > 0 && raw == held, "{kind}");
    }
    Ok(())
}

#[test]
fn every_kind_is_accepted_with_the_trees_of_32_and_64_gib() -> TestResult {
    for (kind, size, sectors) in [
        (Kind::WinningPost, SectorSize::GIB_32, 1),
        (Kind::WinningPost, SectorSize::GIB_64, 1),
        (Kind::WindowPost, SectorSize::GIB_32, 3),
        (Kind::WindowPost, SectorSize::GIB_64, 3),
        (Kind::PoRep, SectorSize::GIB_32, 1),
        (Kind::PoRep, SectorSize::GIB_64, 1),
        (Kind::Snap, SectorSize::GIB_32, 1),
        (Kind::Snap, SectorSize::GIB_64, 1),
    ] {
        let payload = make(
            kind,
            size,
            Options {
                window_sectors: Some(sectors),
                ..Options::default()
            },
        )?;
        assert!(verify_vanilla(&payload)?, "{kind} {size}");
    }
    Ok(())
}

#[test]
fn every_feature_of_porep_is_accepted_or_refused() -> TestResult {
    for porep_feature in PoRepFeature::ALL {
        let options = Options {
            porep_feature,
            ..Options::default()
        };
        assert!(
            verify_vanilla(&make(Kind::PoRep, SectorSize::KIB_2, options)?)?,
            "{porep_feature}"
        );
        let large = make(Kind::PoRep, SectorSize::MIB_512, options);
        match porep_feature {
            PoRepFeature::Interactive => assert!(verify_vanilla(&large?)?),
            _ => assert!(
                matches!(large, Err(SynthError::NeedsSealedSector { .. })),
                "{porep_feature}"
            ),
        }
    }
    Ok(())
}

#[test]
fn window_post_takes_one_to_all_sectors() -> TestResult {
    let of = |sectors| {
        make(
            Kind::WindowPost,
            SectorSize::KIB_2,
            Options {
                window_sectors: Some(sectors),
                ..Options::default()
            },
        )
    };
    for sectors in [1, 2] {
        let payload = of(sectors)?;
        assert_eq!(
            (payload.replicas.len(), payload.vanilla_proofs.len()),
            (sectors, sectors)
        );
        assert!(verify_vanilla(&payload)?, "{sectors}");
    }
    for sectors in [0, 3, usize::MAX] {
        assert!(
            matches!(of(sectors), Err(SynthError::SectorCount { limit: 2, found, .. }) if found == sectors)
        );
    }
    Ok(())
}

#[test]
fn the_seed_determines_every_byte() -> TestResult {
    for (kind, pinned) in [
        (Kind::PoRep, "fd310cb00bc6263e"),
        (Kind::WindowPost, "8ee10763e6e17ed8"),
        (Kind::WinningPost, "569195dcb3dcb747"),
        (Kind::Snap, "8c8ae6222fd191c2"),
    ] {
        let of = |seed| {
            make(
                kind,
                SectorSize::KIB_2,
                Options {
                    seed,
                    ..Options::default()
                },
            )
        };
        assert_eq!(digest(&of(0)?), pinned, "{kind}");
        let other = of(1)?;
        assert_ne!(digest(&other), pinned, "{kind}");
        assert!(verify_vanilla(&other)?, "{kind}");
    }
    Ok(())
}

#[test]
fn sizes_are_those_of_curios_payloads() -> TestResult {
    let sizes = |kind| -> Result<Vec<usize>, SynthError> {
        let payload = make(kind, SectorSize::KIB_2, Options::default())?;
        Ok(payload.vanilla_proofs.iter().map(Vec::len).collect())
    };
    assert_eq!(sizes(Kind::WindowPost)?, [5680, 5680]);
    assert_eq!(sizes(Kind::WinningPost)?, [36816]);
    assert_eq!(sizes(Kind::Snap)?, [15064]);
    Ok(())
}

#[test]
fn another_statement_is_not_accepted() -> TestResult {
    let accepted = |payload: &Payload| verify_vanilla(payload).unwrap_or(false);
    type Change = fn(&mut Payload);
    let changes: [(Kind, Change); 9] = [
        (Kind::PoRep, |payload| payload.comm_r = Some([1; 32])),
        (Kind::PoRep, |payload| payload.miner_id += 1),
        (Kind::PoRep, |payload| payload.registered_proof = 0),
        (Kind::PoRep, |payload| payload.seed = None),
        (Kind::WindowPost, |payload| payload.randomness[0] ^= 1),
        (Kind::WindowPost, |payload| payload.replicas.swap(0, 1)),
        (Kind::WinningPost, |payload| {
            payload.replicas[0].sector_number += 1
        }),
        (Kind::Snap, |payload| {
            payload.comm_r_old = payload.comm_r_new
        }),
        (Kind::Snap, |payload| payload.vanilla_proofs.clear()),
    ];
    for (place, (kind, change)) in changes.into_iter().enumerate() {
        let mut payload = make(kind, SectorSize::KIB_2, Options::default())?;
        change(&mut payload);
        assert!(!accepted(&payload), "change {place}");
    }
    Ok(())
}

#[test]
fn a_changed_byte_of_a_vanilla_proof_is_not_accepted() -> TestResult {
    for kind in [Kind::WindowPost, Kind::Snap] {
        let payload = make(
            kind,
            SectorSize::KIB_2,
            Options {
                window_sectors: Some(1),
                ..Options::default()
            },
        )?;
        // The end of a sector proof repeats comm_r_last, which the verifier takes from the openings.
        let end = payload.vanilla_proofs[0].len() - if kind == Kind::WindowPost { 32 } else { 0 };
        for place in (0..end).step_by(101) {
            let mut changed = payload.clone();
            changed.vanilla_proofs[0][place] ^= 1;
            assert!(
                !verify_vanilla(&changed).unwrap_or(false),
                "{kind} byte {place}"
            );
        }
    }
    Ok(())
}

#[test]
fn a_cut_vanilla_proof_is_a_typed_error() -> TestResult {
    for kind in Kind::ALL {
        let mut payload = make(kind, SectorSize::KIB_2, Options::default())?;
        let cut = |bytes: &mut Vec<u8>| bytes.truncate(bytes.len() / 2);
        if kind == Kind::PoRep {
            cut(&mut payload.vanilla_proof);
            assert!(matches!(
                verify_vanilla(&payload),
                Err(SynthError::Json { .. })
            ));
        } else {
            cut(&mut payload.vanilla_proofs[0]);
            assert!(
                matches!(
                    verify_vanilla(&payload),
                    Err(SynthError::Bincode { index: 0, .. })
                ),
                "{kind}"
            );
        }
    }
    Ok(())
}
