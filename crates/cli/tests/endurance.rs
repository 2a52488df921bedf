//! The real process with real proofs of 2 KiB: killed at any moment, given more callers than it has places, with a disk that
//! is full. `CUZK_KILLS` and `CUZK_CALLERS` set how much of it there is; the usual numbers are small for the time they take.

use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::OnceLock;
use std::time::{Duration, Instant};

use cuzk_daemon::{Address, Client, connect};
use cuzk_groth16::{PreparedVerifyingKey, Proof, verify};
use cuzk_params::KeyStore;
use cuzk_plugins as _;
use cuzk_proof_api::{by_circuit, by_wire_kind};
use cuzk_proto::v1::await_proof_response::Status;
use cuzk_proto::v1::{AwaitProofRequest, AwaitProofResponse, ProveRequest, SubmitProofRequest};
use cuzk_proto::{from_request, to_request};
use cuzk_synth::{Kind, Options, SectorSize, synthetic};
use tokio::runtime::Runtime;
use tonic::Code;

const CIRCUIT: &str = "winning-2k";

/// A folder with a key and a compiled circuit, which all tests use.
fn kept() -> &'static Path {
    static KEPT: OnceLock<tempfile::TempDir> = OnceLock::new();
    let folder = KEPT.get_or_init(|| {
        let folder = tempfile::tempdir().unwrap();
        let made = cuzk(folder.path())
            .args(["keygen", "--circuit", CIRCUIT, "--quiet"])
            .stdout(Stdio::null())
            .status();
        assert!(made.unwrap().success());
        folder
    });
    folder.path()
}

/// Where keys and compiled circuits lie.
fn places(kept: &Path) -> [(&'static str, PathBuf); 2] {
    [
        ("FIL_PROOFS_PARAMETER_CACHE", kept.join("keys")),
        ("CUZK_PCE_CACHE", kept.join("pce")),
    ]
}

fn cuzk(kept: &Path) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_cuzk"));
    command.envs(places(kept));
    command
}

/// Something that is ended with the test.
struct Daemon {
    child: Child,
    socket: PathBuf,
}

impl Drop for Daemon {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

impl Daemon {
    /// A daemon that answers, with its jobs in a folder.
    fn start(folder: &Path, more: &[&str]) -> Self {
        let socket = folder.join("cuzk.sock");
        let mut child = Command::new("sh")
            // A write beyond the limit of a file is an error, as on a full disk, and no signal.
            .args([
                "-c",
                "trap '' XFSZ; exec \"$0\" \"$@\"",
                env!("CARGO_BIN_EXE_cuzk"),
            ])
            .envs(places(kept()))
            .args(["serve", "--backend", "cpu", "--log-format", "json"])
            .arg("--listen")
            .arg(format!("unix://{}", socket.display()))
            .arg("--store")
            .arg(folder.join("jobs"))
            .args(more)
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        let mut log = BufReader::new(child.stderr.take().unwrap()).lines();
        let listening = log.any(|line| line.unwrap().contains("\"listening\""));
        assert!(listening, "the daemon does not come up");
        // The pipe must not fill up.
        std::thread::spawn(move || log.for_each(drop));
        Self { child, socket }
    }

    async fn client(&self) -> Client {
        let address = Address::Unix(self.socket.clone());
        connect(&address, None, None).await.unwrap()
    }

    /// The most memory that the process had resident, in MiB.
    fn peak_mib(&self) -> u64 {
        let status = std::fs::read_to_string(format!("/proc/{}/status", self.child.id()));
        let status = status.unwrap();
        let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"));
        let kib: u64 = line
            .unwrap()
            .trim()
            .trim_end_matches(" kB")
            .parse()
            .unwrap();
        kib / 1024
    }
}

/// A statement that no other number has. Two numbers share a name, so that what is answered must be told apart by content.
fn request(number: u64) -> SubmitProofRequest {
    let options = Options {
        seed: number,
        ..Options::default()
    };
    let payload = synthetic(Kind::WinningPost, SectorSize::KIB_2, &options).unwrap();
    let (proof_type, _) = by_circuit(CIRCUIT).unwrap();
    SubmitProofRequest {
        request_id: format!("winpost-1000-{}", number / 2),
        ..from_request(payload.into_request(), proof_type.wire_kind())
    }
}

/// Holds answers against their requests' statements.
struct Verifier(PreparedVerifyingKey);

impl Verifier {
    fn new() -> Self {
        let (proof_type, _) = by_circuit(CIRCUIT).unwrap();
        let names = proof_type.key_names(CIRCUIT).unwrap();
        let name = names.params.trim_end_matches(".params");
        let key = KeyStore::new(kept().join("keys")).parameters(name).unwrap();
        Self(PreparedVerifyingKey::from(key.vk()))
    }

    fn check(&self, answer: &AwaitProofResponse, request: &SubmitProofRequest) {
        assert_eq!(
            answer.status(),
            Status::Completed,
            "{}",
            answer.error_message
        );
        let proof_type = by_wire_kind(request.proof_kind).unwrap();
        let job = proof_type.decode(&to_request(request.clone())).unwrap();
        let proof = Proof::from_bytes(&answer.proof).unwrap();
        assert!(verify(&self.0, &proof, &job.public_inputs(0).unwrap()).unwrap());
    }
}

fn setting(name: &str, usual: u64) -> u64 {
    std::env::var(name).map_or(usual, |text| text.parse().unwrap())
}

#[test]
fn kills_lose_no_accepted_job_and_mix_up_none() {
    let kills = setting("CUZK_KILLS", 4);
    let folder = tempfile::tempdir().unwrap();
    let runtime = Runtime::new().unwrap();
    let mut accepted = Vec::new();
    let mut next = 0;
    for kill in 0..kills {
        let daemon = Daemon::start(folder.path(), &[]);
        runtime.block_on(async {
            let mut client = daemon.client().await;
            // One at least, and at most so many, or the last start would have all of them to prove.
            let first = client.submit_proof(request(next)).await.unwrap();
            accepted.push((first.into_inner().job_id, next));
            next += 1;
            let submits = async {
                for _ in 0..2 {
                    tokio::time::sleep(Duration::from_millis(next % 7 * 10)).await;
                    let submitted = client.submit_proof(request(next)).await;
                    if let Ok(job) = submitted {
                        accepted.push((job.into_inner().job_id, next));
                    }
                    next += 1;
                }
            };
            let moment = Duration::from_millis(50 + kill * kill * 37 % 600);
            let _ = tokio::time::timeout(moment, submits).await;
        });
        drop(daemon);
    }
    let daemon = Daemon::start(folder.path(), &[]);
    let verifier = Verifier::new();
    runtime.block_on(async {
        let mut client = daemon.client().await;
        for (job_id, number) in &accepted {
            let wait = AwaitProofRequest {
                job_id: job_id.clone(),
                timeout_ms: 600_000,
            };
            let mut answer = client.await_proof(wait).await.unwrap().into_inner();
            if answer.status() == Status::Failed {
                // One that ran at three kills is given up, and runs again for who submits it again.
                assert!(answer.error_message.contains("3 times"), "{answer:?}");
                let submit = Some(request(*number));
                let again = client.prove(ProveRequest { submit }).await.unwrap();
                answer = again.into_inner().result.unwrap();
                assert_eq!(answer.job_id, *job_id);
            }
            verifier.check(&answer, &request(*number));
        }
    });
    println!(
        "{kills} kills, {} accepted jobs, each with its own proof",
        accepted.len()
    );
}

#[test]
fn callers_get_their_own_proofs_in_bounded_memory() {
    let callers = setting("CUZK_CALLERS", 20);
    let folder = tempfile::tempdir().unwrap();
    let daemon = Daemon::start(folder.path(), &[]);
    let verifier = Verifier::new();
    let requests: Vec<SubmitProofRequest> = (0..callers).map(request).collect();
    let start = Instant::now();
    let answers = Runtime::new().unwrap().block_on(async {
        let client = daemon.client().await;
        let calls = requests.iter().map(|request| {
            let mut client = client.clone();
            let submit = Some(request.clone());
            tokio::spawn(async move { client.prove(ProveRequest { submit }).await })
        });
        let calls: Vec<_> = calls.collect();
        let mut answers = Vec::new();
        for call in calls {
            let answer = call.await.unwrap().unwrap().into_inner();
            answers.push(answer.result.unwrap());
        }
        answers
    });
    let seconds = start.elapsed().as_secs_f64();
    for (answer, request) in answers.iter().zip(&requests) {
        verifier.check(answer, request);
    }
    let peak = daemon.peak_mib();
    println!("{callers} callers at once: {seconds:.1} s, at most {peak} MiB");
    assert!(peak < 2048, "{peak} MiB");
}

#[test]
fn a_full_disk_refuses_jobs_and_keeps_proofs() {
    let folder = tempfile::tempdir().unwrap();
    let daemon = Daemon::start(folder.path(), &[]);
    let verifier = Verifier::new();
    let limit = |bytes: &str| {
        let pid = daemon.child.id().to_string();
        let limited = Command::new("prlimit")
            .args(["--pid", &pid, &format!("--fsize={bytes}")])
            .status();
        assert!(limited.unwrap().success());
    };
    Runtime::new().unwrap().block_on(async {
        let mut client = daemon.client().await;
        let mut prove = async |number| {
            let submit = Some(request(number));
            let answer = client.prove(ProveRequest { submit }).await?;
            Ok::<_, tonic::Status>(answer.into_inner().result.unwrap())
        };
        verifier.check(&prove(0).await.unwrap(), &request(0));
        // No file may grow past this, which is less than any payload has.
        limit("16:unlimited");
        let refused = prove(1).await.unwrap_err();
        assert_eq!(refused.code(), Code::Unavailable, "{refused}");
        assert!(refused.message().contains("large"), "{refused}");
        verifier.check(&prove(0).await.unwrap(), &request(0));
        limit("unlimited:unlimited");
        verifier.check(&prove(1).await.unwrap(), &request(1));
    });
    drop(daemon);
    let daemon = Daemon::start(folder.path(), &[]);
    Runtime::new().unwrap().block_on(async {
        let mut client = daemon.client().await;
        for number in [0, 1] {
            let submit = Some(request(number));
            let kept = client.prove(ProveRequest { submit }).await.unwrap();
            verifier.check(&kept.into_inner().result.unwrap(), &request(number));
        }
    });
}

#[test]
fn a_store_that_cannot_be_written_is_named() {
    for store in ["/proc/self/cuzk-jobs", "/dev/null/jobs"] {
        let output = cuzk(kept())
            .args(["serve", "--backend", "cpu", "--listen", "127.0.0.1:0"])
            .args(["--store", store])
            .output()
            .unwrap();
        assert_eq!(output.status.code(), Some(1));
        let told = String::from_utf8_lossy(&output.stderr).into_owned();
        assert!(told.contains(store), "{told}");
    }
}
