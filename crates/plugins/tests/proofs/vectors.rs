//! Data that others made. Its tests say that they skip where its folder is not named.

use std::io::Write;
use std::path::Path;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use cuzk_filecoin::SectorSize;
use cuzk_groth16::{PROOF_BYTES, Proof};
use cuzk_proof_api::Request;
use cuzk_proof_porep::SealProof;
use cuzk_synth::Kind;
use ff::PrimeField;
use filecoin_proofs::PoRepConfig;
use serde_json::Value;

use crate::support::decode;

/// A file of the vectors' folder, or nothing and a message where no folder is named.
pub fn vector(name: &str) -> Option<Vec<u8>> {
    let Some(folder) = std::env::var_os("CUZK_TEST_VECTORS") else {
        // Not through `println!`, which the test harness keeps to itself.
        let note = format!("not tested: {name}, since CUZK_TEST_VECTORS is not set\n");
        std::io::stdout().write_all(note.as_bytes()).unwrap();
        return None;
    };
    let path = Path::new(&folder).join(name);
    let bytes = std::fs::read(&path).unwrap_or_else(|e| panic!("{}: {e}", path.display()));
    Some(bytes)
}

/// A 32 GiB sector's WindowPoSt item as Curio sent it, with what the chain knows about it.
#[test]
fn curios_post_item() {
    let (Some(item), Some(public)) = (vector("curio/post.vproof"), vector("curio/postpub.json"))
    else {
        return;
    };
    let public: Value = serde_json::from_slice(&public).unwrap();
    let sector = &public["ChallengedSectors"][0];
    let request = Request {
        sector_size: SectorSize::GiB32.bytes(),
        registered_proof: public["Proofs"][0]["PoStProof"].as_u64().unwrap(),
        vanilla_proofs: vec![item],
        miner_id: public["Prover"].as_u64().unwrap(),
        randomness: STANDARD
            .decode(public["Randomness"].as_str().unwrap())
            .unwrap(),
        ..Request::default()
    };
    let job = decode(Kind::WindowPost, &request).unwrap();
    assert_eq!((job.circuit_id(), job.partitions()), ("wpost-32g", 1));
    job.self_check().unwrap();
    let inputs = job.public_inputs(0).unwrap();
    assert_eq!(inputs.len(), 25_839);
    let cid = base32(&sector["SealedCID"]["/"].as_str().unwrap()[1..]);
    assert_eq!(inputs[0].to_repr(), cid[cid.len() - 32..]);
    // The one sector fills the whole partition.
    assert!(inputs.chunks(11).all(|sector| sector == &inputs[..11]));

    for (number, valid) in [(13, true), (7, false), (3, false)] {
        let request = Request {
            registered_proof: number,
            ..request.clone()
        };
        assert_eq!(
            decode(Kind::WindowPost, &request).is_ok(),
            valid,
            "{number}"
        );
    }
    for cut in [0, 7, 8, 24_959] {
        let mut request = request.clone();
        request.vanilla_proofs[0].truncate(cut);
        assert!(decode(Kind::WindowPost, &request).is_err(), "cut at {cut}");
    }
    let mut longer = request.clone();
    longer.vanilla_proofs[0].push(0);
    assert!(decode(Kind::WindowPost, &longer).is_err());
    // In partition 1 other nodes are challenged under this version of the proof.
    let second = Request {
        partition_index: 1,
        ..request
    };
    assert!(
        decode(Kind::WindowPost, &second)
            .unwrap()
            .self_check()
            .is_err()
    );
}

/// RFC 4648, lower case, without padding.
fn base32(text: &str) -> Vec<u8> {
    let (mut bytes, mut bits, mut held) = (Vec::new(), 0u32, 0);
    for letter in text.bytes() {
        let value = b"abcdefghijklmnopqrstuvwxyz234567"
            .iter()
            .position(|b| *b == letter)
            .unwrap();
        bits = bits << 5 | value as u32;
        held += 5;
        if held >= 8 {
            held -= 8;
            bytes.push((bits >> held) as u8);
        }
    }
    bytes
}

/// The configurations of real seal proofs, where they have the id of a registered proof.
#[test]
fn configurations_of_real_seals() {
    let mut compared = 0;
    for name in [
        "filecoin/seal_regression_records-v16.json",
        "filecoin/seal_regression_records-v18.json",
    ] {
        let Some(bytes) = vector(name) else { return };
        for line in bytes
            .split(|byte| *byte == b'\n')
            .filter(|line| !line.is_empty())
        {
            let record: Value = serde_json::from_slice(line).unwrap();
            let wanted: PoRepConfig =
                serde_json::from_value(record["porep_config"].clone()).unwrap();
            let size = SectorSize::from_bytes(u64::from(wanted.sector_size)).unwrap();
            let number = u64::from_le_bytes(wanted.porep_id[..8].try_into().unwrap());
            let Ok(proof) = SealProof::new(size, number) else {
                continue;
            };
            let found = proof.config().unwrap();
            if (found.api_version, &found.api_features)
                == (wanted.api_version, &wanted.api_features)
            {
                assert_eq!(found.porep_id, wanted.porep_id);
                assert_eq!(
                    usize::from(found.partitions),
                    usize::from(wanted.partitions)
                );
                let proof: Vec<u8> = serde_json::from_value(record["proof"].clone()).unwrap();
                assert_eq!(proof.len(), PROOF_BYTES * usize::from(found.partitions));
                for partition in proof.chunks(PROOF_BYTES) {
                    let decoded = Proof::from_bytes(partition).unwrap();
                    assert_eq!(decoded.to_bytes(), partition);
                }
                compared += 1;
            }
        }
    }
    assert!(compared > 200, "{compared}");
}
