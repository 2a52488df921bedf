//! The main job on all four proof types: `cuzk demo` from nothing, its proofs before filecoin-proofs' own verifiers, and the
//! same bytes from full synthesis.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::Arc;

use cuzk_backend_cpu::CpuBackend;
use cuzk_curve::Fr;
use cuzk_groth16::{Blinding, Prover};
use cuzk_params::Parameters;
use cuzk_pce::Cache;
use cuzk_plugins as _;
use cuzk_proof_api::{Standing, Witnesses, by_circuit, by_synthesis};
use cuzk_r1cs::PackedWitness;
use cuzk_synth::{Payload, verify_proof};
use serde_json::Value;

/// Set in the child process, whose settings name the folder of the keys.
const CHILD: &str = "CUZK_TEST_CHILD";

const CIRCUITS: [(&str, &str, u64); 4] = [
    ("porep", "porep-2k", 2_687_921),
    ("window-post", "wpost-2k", 21_866),
    ("winning-post", "winning-2k", 90_750),
    ("snap", "snap-2k", 1_705_039),
];

#[test]
fn filecoin_proofs_accepts_what_the_demo_proves() {
    if let Some(kept) = std::env::var_os(CHILD) {
        return proofs_hold(Path::new(&kept));
    }
    let folder = tempfile::tempdir().unwrap();
    let kept = folder.path().join("kept");
    let rows = demo(folder.path());
    for (row, (kind, _, constraints)) in rows.iter().zip(CIRCUITS) {
        assert_eq!(row["kind"], kind);
        assert_eq!(row["constraints"], constraints, "{kind}");
        assert_eq!(row["verified"], true, "{kind}");
        assert_eq!(row["witnesses"]["direct"], 1, "{kind}");
        assert!(row["keygen_s"].is_number(), "{kind}");
    }
    assert_eq!(rows.len(), CIRCUITS.len());
    let child = Command::new(std::env::current_exe().unwrap())
        .args(["filecoin_proofs_accepts_what_the_demo_proves", "--exact"])
        .env("FIL_PROOFS_PARAMETER_CACHE", kept.join("keys"))
        .env(CHILD, &kept)
        .output()
        .unwrap();
    let said = String::from_utf8_lossy(&child.stdout);
    assert!(child.status.success(), "{said}");
    for (kind, circuit, _) in CIRCUITS {
        full_synthesis_gives_the_same_bytes(&kept, kind, circuit);
    }
}

/// The proof from the compiled circuit and the direct witness is that of full synthesis, with one r and s.
fn full_synthesis_gives_the_same_bytes(kept: &Path, kind: &str, circuit: &str) {
    let (proof_type, _) = by_circuit(circuit).unwrap();
    let json = std::fs::read(kept.join(format!("{circuit}.json"))).unwrap();
    let request = Payload::from_json(&json).unwrap().into_request();
    let job = proof_type.decode(&request).unwrap();
    let pce = Cache::new(kept.join("pce")).find(circuit).unwrap().unwrap();
    let names = proof_type.key_names(circuit).unwrap();
    let key = Parameters::open(&kept.join("keys").join(names.params)).unwrap();
    let bytes = |prover: Prover<CpuBackend>, witness: PackedWitness| {
        let blinding = Blinding {
            r: Fr::from(12_345),
            s: Fr::from(678_910),
        };
        let proved = prover.start(witness, blinding).unwrap().finish();
        proved.unwrap().to_bytes()
    };
    let mut witnesses = Witnesses::new(pce.r1cs(), Standing::Validated);
    let direct = witnesses.make(&*job, 0).unwrap();
    assert_eq!(witnesses.counts().direct, 1, "{kind}");
    let wanted = bytes(Prover::new(CpuBackend, &pce, &key).unwrap(), direct);

    let synthesis = by_synthesis(&*job, 0, &Arc::default()).unwrap();
    let outline = synthesis.outline();
    assert_eq!(outline.shape, pce.shape, "{kind}");
    assert!(
        outline.density == pce.r1cs().density().unwrap(),
        "{kind}: density"
    );
    let prover = Prover::without_matrices(CpuBackend, &outline, &key).unwrap();
    let found = bytes(prover, synthesis.pack(&outline).unwrap());
    assert_eq!(found, wanted, "{kind}");
}

fn demo(folder: &Path) -> Vec<Value> {
    let output = Command::new(env!("CARGO_BIN_EXE_cuzk"))
        .args(["demo", "--keep", "kept", "--backend", "cpu", "--json"])
        .current_dir(folder)
        .env("FIL_PROOFS_PARENT_CACHE", folder.join("parents"))
        .output()
        .unwrap();
    let stderr = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{stderr}");
    serde_json::from_slice(&output.stdout).unwrap()
}

/// Each proof holds for its payload, and for no other statement.
fn proofs_hold(kept: &Path) {
    let read = |path: PathBuf| std::fs::read(path).unwrap();
    for (kind, circuit, _) in CIRCUITS {
        let json = read(kept.join(format!("{circuit}.json")));
        let mut payload = Payload::from_json(&json).unwrap();
        let proof = read(kept.join(format!("{circuit}.proof")));
        assert!(verify_proof(&payload, &proof).unwrap(), "{kind}");
        payload.sector_number += 1;
        payload.randomness[0] ^= 1;
        payload.comm_r_new = payload.comm_r_old;
        let holds = verify_proof(&payload, &proof);
        assert!(!matches!(holds, Ok(true)), "{kind}: another statement");
    }
}
