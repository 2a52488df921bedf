//! Payloads with random damage: refused or decoded, never a panic, and what decodes can be run.

use cuzk_proof_api::Request;
use cuzk_synth::Kind;
use proptest::prelude::*;

use crate::support::{close_porep, decode, open_porep, real};

/// One damage to a byte string.
#[derive(Clone, Debug)]
enum Damage {
    Flip {
        place: usize,
        mask: u8,
    },
    Cut {
        place: usize,
    },
    Insert {
        place: usize,
        byte: u8,
    },
    Remove {
        place: usize,
    },
    /// Eight bytes at once, as a length or an index.
    Number {
        place: usize,
        value: u64,
    },
}

fn damage() -> impl Strategy<Value = Damage> {
    let place = any::<usize>;
    prop_oneof![
        4 => (place(), 1..=255u8).prop_map(|(place, mask)| Damage::Flip { place, mask }),
        1 => place().prop_map(|place| Damage::Cut { place }),
        1 => (place(), any::<u8>()).prop_map(|(place, byte)| Damage::Insert { place, byte }),
        1 => place().prop_map(|place| Damage::Remove { place }),
        2 => (place(), prop_oneof![0..300u64, any::<u64>()]).prop_map(|(place, value)| Damage::Number { place, value }),
    ]
}

fn apply(bytes: &mut Vec<u8>, damages: &[Damage]) {
    for damage in damages {
        if bytes.is_empty() {
            return;
        }
        let length = bytes.len();
        match *damage {
            Damage::Flip { place, mask } => bytes[place % length] ^= mask,
            Damage::Cut { place } => bytes.truncate(place % length),
            Damage::Insert { place, byte } => bytes.insert(place % length, byte),
            Damage::Remove { place } => drop(bytes.remove(place % length)),
            Damage::Number { place, value } => {
                let place = place % length;
                let end = length.min(place + 8);
                bytes[place..end].copy_from_slice(&value.to_le_bytes()[..end - place]);
            }
        }
    }
}

/// What decodes must be usable: inputs, circuit and check may fail, but not panic.
fn survive(kind: Kind, request: &Request) {
    if let Ok(job) = decode(kind, request) {
        let _ = job.self_check();
        for partition in 0..=job.partitions() {
            let _ = job.public_inputs(partition);
            let _ = job.circuit(partition);
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(256))]

    #[test]
    fn damaged_window_posts(damages in prop::collection::vec(damage(), 1..4)) {
        let mut request = real(Kind::WindowPost);
        apply(&mut request.vanilla_proofs[0], &damages);
        survive(Kind::WindowPost, &request);
    }

    #[test]
    fn damaged_winning_posts(damages in prop::collection::vec(damage(), 1..4)) {
        let mut request = real(Kind::WinningPost);
        apply(&mut request.vanilla_proofs[0], &damages);
        survive(Kind::WinningPost, &request);
    }

    #[test]
    fn damaged_updates(damages in prop::collection::vec(damage(), 1..4)) {
        let mut request = real(Kind::Snap);
        apply(&mut request.vanilla_proofs[0], &damages);
        survive(Kind::Snap, &request);
    }

    #[test]
    fn damaged_porep_envelopes(damages in prop::collection::vec(damage(), 1..4)) {
        let mut request = real(Kind::PoRep);
        apply(&mut request.vanilla_proof, &damages);
        survive(Kind::PoRep, &request);
    }

    #[test]
    fn damaged_porep_documents(damages in prop::collection::vec(damage(), 1..4)) {
        let mut request = real(Kind::PoRep);
        let (envelope, inner) = open_porep(&request);
        let mut bytes = inner.to_string().into_bytes();
        apply(&mut bytes, &damages);
        close_porep(&mut request, envelope, &bytes);
        survive(Kind::PoRep, &request);
    }
}

/// Damage that decodes reaches the circuit: run the small ones for their witness.
#[test]
fn flipped_window_posts_run() {
    let whole = real(Kind::WindowPost);
    for place in (0..whole.vanilla_proofs[0].len()).step_by(197) {
        let mut request = whole.clone();
        request.vanilla_proofs[0][place] ^= 1;
        if let Ok(job) = decode(Kind::WindowPost, &request) {
            let mut cs = cuzk_cs_witness::WitnessCS::default();
            job.circuit(0).unwrap().witness(&mut cs).unwrap();
            assert_eq!(cs.into_assignment().aux_len(), 22_128);
        }
    }
}
