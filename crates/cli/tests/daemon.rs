//! The verbs about a daemon, with a real engine and a real proof of 2 KiB.

use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};

use serde_json::Value;

fn cuzk(folder: &Path) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_cuzk"));
    command
        .current_dir(folder)
        .env("FIL_PROOFS_PARAMETER_CACHE", folder.join("kept/keys"))
        .env("FIL_PROOFS_PARENT_CACHE", folder.join("parents"))
        .env("CUZK_PCE_CACHE", folder.join("pce"));
    command
}

fn run(folder: &Path, args: &[&str]) -> Output {
    cuzk(folder).args(args).output().unwrap()
}

/// Runs what must succeed and returns its JSON.
fn json(folder: &Path, args: &[&str]) -> Value {
    let output = run(folder, &[args, &["--json"]].concat());
    let stderr = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{args:?}: {stderr}");
    serde_json::from_slice(&output.stdout).unwrap()
}

/// A daemon, which does not outlive a test that fails.
struct Daemon(Child);

impl Drop for Daemon {
    fn drop(&mut self) {
        // It has ended already where the test passed.
        drop(self.0.kill());
        drop(self.0.wait());
    }
}

/// A daemon that answers, and the lines of its log.
fn serve(folder: &Path, args: &[&str]) -> (Daemon, impl Iterator<Item = Value> + use<>) {
    let mut child = cuzk(folder)
        .args(args)
        .args(["--log-format", "json", "--store", "jobs"])
        .args(["--log-level", "cuzk_daemon=debug,info"])
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let lines = BufReader::new(child.stderr.take().unwrap()).lines();
    let mut log = lines.map(|line| serde_json::from_str::<Value>(&line.unwrap()).unwrap());
    let daemon = Daemon(child);
    assert!(log.any(|event| event["message"] == "listening"));
    (daemon, log)
}

fn socket(folder: &Path) -> (PathBuf, String) {
    let path = folder.join("cuzk.sock");
    let address = format!("unix://{}", path.display());
    (path, address)
}

#[test]
fn a_payload_goes_to_a_daemon_and_comes_back_as_a_proof() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    json(
        folder,
        &["demo", "--kind", "winning-post", "--keep", "kept"],
    );
    // Else the first job would be synthesised in full, and the key leave the memory when the circuit is compiled.
    json(folder, &["compile", "--circuit", "winning-2k"]);
    let (socket, address) = socket(folder);
    let daemon = ["--daemon", &address];
    let unanswered = run(folder, &[&["status"], &daemon[..]].concat());
    assert_eq!(unanswered.status.code(), Some(7));

    // Without a verb it serves.
    let (mut running, log) = serve(folder, &["--listen", &address]);
    let payload = "kept/winning-2k.json";
    let submit = [
        &["submit", payload, "--out", "proof", "--priority", "high"],
        &daemon[..],
    ];
    let ended = json(folder, &submit.concat());
    assert_eq!(ended["proof_bytes"], 192);
    assert_eq!(json(folder, &["verify", payload, "proof"])["valid"], true);
    let job = ended["job_id"].as_str().unwrap();
    let again = json(
        folder,
        &[&["await", job, "--out", "again"], &daemon[..]].concat(),
    );
    assert_eq!(again["total_ms"], ended["total_ms"]);
    assert_eq!(
        std::fs::read(folder.join("again")).unwrap(),
        std::fs::read(folder.join("proof")).unwrap()
    );
    let cancelled = json(folder, &[&["cancel", job], &daemon[..]].concat());
    assert_eq!(cancelled["was_running"], false);
    let status = json(folder, &[&["status"], &daemon[..]].concat());
    assert_eq!(status["total_proofs_completed"], 1);
    assert_eq!(status["loaded_srs"][0]["circuit_id"], "winning-2k");
    let unknown = run(folder, &[&["await", "00"], &daemon[..]].concat());
    assert_eq!(unknown.status.code(), Some(3));

    // A second one on the same store is told who has it.
    let second = run(
        folder,
        &["serve", "--listen", "127.0.0.1:0", "--store", "jobs"],
    );
    assert_eq!(second.status.code(), Some(1));
    let told = String::from_utf8_lossy(&second.stderr).into_owned();
    assert!(
        told.contains(&format!("process {}", running.0.id())),
        "{told}"
    );

    let killed = Command::new("kill")
        .arg(running.0.id().to_string())
        .status();
    assert!(killed.unwrap().success());
    assert!(running.0.wait().unwrap().success());
    assert!(!socket.exists());
    let log: Vec<Value> = log.collect();
    let proved = log
        .iter()
        .filter(|event| event["message"] == "proved" && event["job"] == job);
    let proved: Vec<&Value> = proved.map(|event| &event["synthesised"]).collect();
    assert_eq!(proved, [false]);
    check_spans(&log, job);
}

/// Each stage of a job is a span that says how long it took, with the partition and the device where there are.
fn check_spans(log: &[Value], job: &str) {
    let ended = log.iter().filter(|event| event["message"] == "close");
    let spans: Vec<&Value> = ended.map(|event| &event["span"]).collect();
    let of = |name: &str| {
        let mut found = spans.iter().filter(|span| span["name"] == name);
        let span = found
            .next()
            .unwrap_or_else(|| panic!("no span {name}: {log:?}"));
        assert_eq!(found.count(), 0, "{name}");
        assert_eq!(span["job"], job, "{name}");
        *span
    };
    for name in ["witness", "ready", "prove"] {
        assert_eq!(of(name)["partition"], 0, "{name}");
        assert!(of(name)["ms"].is_u64(), "{name}");
    }
    assert!(of("prove")["device"].is_string());
    assert!(of("prove")["lane"].is_u64());
    assert!(of("circuit")["ms"].is_u64());
    of("job");
}

#[test]
fn a_configuration_that_is_wrong_is_explained() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    std::fs::write(folder.join("cuzk.toml"), "[daemon]\nlistn = \"x\"\n").unwrap();
    let wrong = run(folder, &["--config", "cuzk.toml"]);
    assert_eq!(wrong.status.code(), Some(2));
    let told = String::from_utf8_lossy(&wrong.stderr).into_owned();
    assert!(
        told.contains("line 2: unknown key daemon.listn; did you mean listen?"),
        "{told}"
    );
    let open = run(
        folder,
        &["serve", "--listen", "0.0.0.0:0", "--store", "jobs"],
    );
    assert_eq!(open.status.code(), Some(2));
    assert!(String::from_utf8_lossy(&open.stderr).contains("--insecure"));
    // No machine has so many.
    std::fs::write(folder.join("devices.toml"), "[gpus]\ndevices = [99]\n").unwrap();
    for device in [&["--backend", "cuda:99"], &["--config", "devices.toml"]] {
        let args = ["serve", "--listen", "127.0.0.1:0", "--store", "jobs"];
        let refused = run(folder, &[&args[..], device].concat());
        assert_eq!(refused.status.code(), Some(6));
        let told = String::from_utf8_lossy(&refused.stderr).into_owned();
        assert!(told.contains("cuzk devices"), "{told}");
    }
    let misplaced = run(folder, &["--listen", "127.0.0.1:0", "status"]);
    assert_eq!(misplaced.status.code(), Some(2));
}
