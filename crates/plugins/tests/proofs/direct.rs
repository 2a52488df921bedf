//! Direct witnesses against the circuits' closures, bit for bit: on good sectors, and on openings that prove nothing.

use cuzk_cs_witness::WitnessCS;
use cuzk_proof_api::{Job, ProofApiError, Request};
use cuzk_r1cs::Assignment;
use cuzk_synth::{Kind, Options, SectorSize, synthetic};
use serde_json::Value;

use crate::support::{close_porep, decode, open_porep, real, request, snap_8m};

/// Bytes of a replica's inclusion proof in a 2 KiB sector: a tag, the root, the leaf, and two levels of seven siblings
/// and a place.
const REPLICA_PROOF: usize = 4 + 32 + 32 + 8 + 2 * (8 + 7 * 32 + 8);

fn by_closures(job: &dyn Job, partition: usize) -> Assignment {
    let mut cs = WitnessCS::default();
    job.circuit(partition).unwrap().witness(&mut cs).unwrap();
    cs.into_assignment()
}

fn check(kind: Kind, request: &Request, partition: usize) {
    let job = decode(kind, request).unwrap();
    let direct = job.direct_witness(partition).unwrap();
    // Not `assert_eq`, which would print millions of values.
    assert!(
        direct.as_ref() == Some(&by_closures(&*job, partition)),
        "{kind}, partition {partition}"
    );
    let one_thread = rayon::ThreadPoolBuilder::new()
        .num_threads(1)
        .build()
        .unwrap();
    let again = one_thread.install(|| job.direct_witness(partition).unwrap());
    assert!(direct == again, "{kind} on one thread");
}

fn made(kind: Kind, seed: u64) -> Request {
    let options = Options {
        seed,
        ..Options::default()
    };
    request(&synthetic(kind, SectorSize::KIB_2, &options).unwrap())
}

/// Changes the lowest bit of every node below `value` but the roots.
fn change_nodes(value: &mut Value) {
    match value {
        Value::Array(items) if items.len() == 32 && items.iter().all(Value::is_u64) => {
            items[0] = (items[0].as_u64().unwrap() ^ 1).into();
        }
        Value::Array(items) => items.iter_mut().for_each(change_nodes),
        Value::Object(fields) => {
            let nodes = fields.iter_mut().filter(|(name, _)| *name != "root");
            nodes.for_each(|(_, value)| change_nodes(value));
        }
        _ => {}
    }
}

/// The challenges' proofs of a PoRep's first partition.
fn challenges(document: &mut Value) -> &mut Vec<Value> {
    let proofs = document["vanilla_proofs"].as_object_mut().unwrap();
    let partitions = proofs.values_mut().next().unwrap();
    partitions[0].as_array_mut().unwrap()
}

#[test]
fn porep() {
    check(Kind::PoRep, &real(Kind::PoRep), 0);
    check(Kind::PoRep, &made(Kind::PoRep, 1), 0);
}

#[test]
fn porep_whose_openings_prove_nothing() {
    let mut request = made(Kind::PoRep, 2);
    let (envelope, mut document) = open_porep(&request);
    for challenge in challenges(&mut document) {
        change_nodes(challenge);
        let node = &mut challenge["labeling_proofs"][0]["node"];
        *node = (node.as_u64().unwrap() | 1 << 40).into();
    }
    let bytes = serde_json::to_vec(&document).unwrap();
    close_porep(&mut request, envelope, &bytes);
    check(Kind::PoRep, &request, 0);
}

#[test]
fn porep_of_two_trees() {
    let mut request = made(Kind::PoRep, 3);
    let (envelope, mut document) = open_porep(&request);
    let root = &mut challenges(&mut document)[1]["comm_r_last_proof"]["data"]["Single"]["root"][0];
    *root = (root.as_u64().unwrap() ^ 1).into();
    let bytes = serde_json::to_vec(&document).unwrap();
    close_porep(&mut request, envelope, &bytes);
    let job = decode(Kind::PoRep, &request).unwrap();
    assert!(job.direct_witness(0).unwrap().is_none());
    assert!(matches!(job.circuit(0), Err(ProofApiError::Library { .. })));
}

#[test]
fn snap() {
    check(Kind::Snap, &real(Kind::Snap), 0);
    check(Kind::Snap, &made(Kind::Snap, 1), 0);
}

#[test]
fn snap_of_several_partitions() {
    check(Kind::Snap, &snap_8m(), 3);
}

#[test]
fn snap_whose_openings_prove_nothing() {
    let mut request = made(Kind::Snap, 2);
    let partition = &mut request.vanilla_proofs[0];
    let end = partition.len();
    // The last sibling of the last path and the place beside it, the last path's root, CommC and an apex leaf.
    partition[end - 8 - 32] ^= 1;
    partition[end - 8] = (partition[end - 8] + 1) % 8;
    partition[end - REPLICA_PROOF + 4] ^= 1;
    partition[0] ^= 1;
    partition[32 + 8] ^= 1;
    check(Kind::Snap, &request, 0);
}

#[test]
fn snap_whose_replica_is_not_the_encoding() {
    let mut request = made(Kind::Snap, 3);
    let partition = &mut request.vanilla_proofs[0];
    let leaf = partition.len() - REPLICA_PROOF + 4 + 32;
    partition[leaf] ^= 1;
    let job = decode(Kind::Snap, &request).unwrap();
    assert!(job.direct_witness(0).unwrap().is_none());
    assert!(matches!(
        job.circuit(0),
        Err(ProofApiError::InvalidVanillaProof { .. })
    ));
}

#[test]
fn partitions_that_are_not_there() {
    for kind in [Kind::PoRep, Kind::Snap] {
        let job = decode(kind, &real(kind)).unwrap();
        assert!(matches!(
            job.direct_witness(1),
            Err(ProofApiError::Partition {
                found: 1,
                partitions: 1
            })
        ));
    }
}
