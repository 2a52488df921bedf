//! The proof type that docs/adding-a-proof-type.md walks through, compiled and proved with.

mod example;

use std::path::Path;

use cuzk_cs_recording::RecordingCS;
use cuzk_curve::Fr;
use cuzk_pce::Pce;
use cuzk_proof_api::{ProofApiError, Request, Standing, Witnesses, by_id};
use ff::PrimeField;

/// The request for a proof that `root` is the cube root of `cube`.
fn request(root: u64, cube: u64) -> Request {
    Request {
        vanilla_proof: Fr::from(root).to_repr().to_vec(),
        randomness: Fr::from(cube).to_repr().to_vec(),
        ..Request::default()
    }
}

#[test]
fn the_page_holds_the_code() {
    let page = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/adding-a-proof-type.md");
    let page = std::fs::read_to_string(page).unwrap();
    let blocks = page.split("```rust\n").skip(1);
    let blocks = blocks.map(|rest| rest.split("```").next().unwrap());
    let (code, other): (Vec<&str>, Vec<&str>) =
        blocks.partition(|block| include_str!("example.rs").contains(block));
    assert_eq!(code.len(), 3, "blocks of the crate that are in example.rs");
    assert_eq!(other, ["use cuzk_proof_example as _;\n"]);
}

#[test]
fn the_registered_type_makes_a_witness_that_satisfies_its_circuit() {
    let proof_type = by_id("example").unwrap();
    let mut cs = RecordingCS::default();
    proof_type
        .blank("example")
        .unwrap()
        .record(&mut cs)
        .unwrap();
    let pce = Pce::compile(cs.finish().unwrap()).unwrap();
    assert_eq!(pce.shape.inputs, 2);
    assert_eq!(pce.shape.constraints, 3);

    let job = proof_type.decode(&request(3, 27)).unwrap();
    job.self_check().unwrap();
    let witness = Witnesses::new(pce.r1cs(), Standing::Unknown).make(&*job, 0);
    let witness = witness.unwrap();
    assert_eq!(witness.inputs()[1..], job.public_inputs(0).unwrap());
    pce.check(&witness).unwrap();
}

#[test]
fn lies_and_bad_fields_are_told_apart() {
    let decode = |request: &Request| by_id("example").unwrap().decode(request);
    let lie = decode(&request(3, 28)).unwrap();
    assert!(matches!(
        lie.self_check(),
        Err(ProofApiError::InvalidVanillaProof { .. })
    ));
    let short = Request {
        randomness: vec![1; 31],
        ..request(3, 27)
    };
    let error = decode(&short).err().unwrap().to_string();
    assert!(
        error.contains("randomness") && error.contains("31 bytes"),
        "{error}"
    );
    assert!(by_id("example").unwrap().blank("other").is_err());
}
