//! Draining, stopping, and being killed: no accepted job is lost.

use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::sync::atomic::Ordering;
use std::time::Duration;

use crate::support::daemon::{client, open, start_in};
use crate::support::{check, prove, request, start, status, submit, wait};
use cuzk_daemon::Address;
use cuzk_daemon::config::Config;
use cuzk_proto::v1::await_proof_response::Status;
use cuzk_proto::v1::{GetStatusRequest, PreloadSrsRequest, SubmitProofRequest};
use tonic::Code;

#[tokio::test]
async fn draining_lets_jobs_end_and_takes_no_others() {
    let daemon = start(|_| {}).await;
    let mut client = daemon.client().await;
    let mut other = daemon.client().await;
    let slow = request(1, "slow", b"slow");
    let waiter = async {
        let answer = prove(&mut other, slow.clone()).await.expect("it may end");
        check(&answer, &slow);
    };
    let stopper = async {
        while daemon.proving.running() == 0 {
            tokio::time::sleep(Duration::from_millis(1)).await;
        }
        daemon.stop.send_replace(1);
        tokio::time::sleep(Duration::from_millis(20)).await;
        let refused = submit(&mut client, request(1, "late", b"x")).await;
        assert_eq!(refused.expect_err("it is ending").code(), Code::Unavailable);
        client
            .get_status(GetStatusRequest {})
            .await
            .expect("it still answers");
    };
    tokio::join!(waiter, stopper);
    daemon
        .served
        .await
        .expect("no panic")
        .expect("it ends well");
}

#[tokio::test]
async fn jobs_that_do_not_end_are_kept_for_the_next_start() {
    let folder = tempfile::tempdir().expect("a folder");
    let first = start_in(folder.path(), |config| {
        config.drain = Duration::from_millis(100);
        config.in_flight = Some(1);
    })
    .await;
    let mut client = first.client().await;
    let done = request(4, "done", b"done");
    let answer = prove(&mut client, done.clone())
        .await
        .expect("it is proved");
    let hung = submit(&mut client, request(1, "hung", b"hangs"))
        .await
        .expect("taken");
    let waiting = submit(&mut client, request(1, "waiting", b"hangs too"))
        .await
        .expect("taken");
    let mut other = first.client().await;
    let (waited, ()) = tokio::join!(wait(&mut other, &hung, 0), async {
        tokio::time::sleep(Duration::from_millis(100)).await;
        first.end().await;
    });
    let told = waited.expect_err("the daemon ended");
    assert_eq!(told.code(), Code::Unavailable);
    assert!(told.message().contains("is kept"), "{told}");

    let second = start_in(folder.path(), |_| {}).await;
    let mut client = second.client().await;
    assert_eq!(
        wait(&mut client, &answer.job_id, 0)
            .await
            .expect("its proof is kept"),
        answer
    );
    for id in [&hung, &waiting] {
        let found = wait(&mut client, id, 50).await.expect("it is known");
        assert_eq!(status(&found), Status::Timeout);
    }
    while second.proving.running() < 2 {
        tokio::time::sleep(Duration::from_millis(1)).await;
    }
    second.end_now().await;
}

#[tokio::test]
async fn a_key_that_does_not_load_holds_up_no_end() {
    let daemon = start(|_| {}).await;
    daemon.proving.loads_slowly.store(true, Ordering::SeqCst);
    let mut client = daemon.client().await;
    let circuit_id = "four-2k".to_owned();
    let load = client.preload_srs(PreloadSrsRequest { circuit_id });
    let (told, ()) = tokio::join!(load, async {
        tokio::time::sleep(Duration::from_millis(100)).await;
        let ended = tokio::time::timeout(Duration::from_secs(3), daemon.end());
        ended.await.expect("it ends at once");
    });
    let told = told.expect_err("the daemon ended");
    assert_eq!(told.code(), Code::Unavailable, "{told}");
}

#[tokio::test]
async fn a_job_that_is_given_back_at_each_end_is_never_given_up() {
    let folder = tempfile::tempdir().expect("a folder");
    let mut id = String::new();
    for start in 0..5 {
        let daemon = start_in(folder.path(), |config| {
            config.drain = Duration::from_millis(10);
        })
        .await;
        let mut client = daemon.client().await;
        if start == 0 {
            id = submit(&mut client, request(1, "hung", b"hangs"))
                .await
                .expect("taken");
        }
        while daemon.proving.running() == 0 {
            tokio::time::sleep(Duration::from_millis(1)).await;
        }
        match start % 2 {
            0 => daemon.end().await,
            _ => daemon.end_now().await,
        }
    }
    let queue = open(&folder.path().join("store"), &Config::default()).await;
    let id = id.parse().expect("an id");
    let job = cuzk_queue::JobQueue::job(&queue, id).expect("it is known");
    assert_eq!(
        (job.interruptions, job.state),
        (0, cuzk_queue::State::Accepted)
    );
}

/// Set in the process that is going to be killed: the folder of its store and socket.
const CHILD: &str = "CUZK_DAEMON_TEST_CHILD";
const KILLS: usize = 50;

fn socket(folder: &Path) -> Address {
    Address::Unix(folder.join("cuzk.sock"))
}

/// Serves until it is killed.
fn serve_until_killed(folder: &Path) {
    let runtime = tokio::runtime::Runtime::new().expect("threads");
    runtime.block_on(async {
        let daemon = start_in(folder, |config| {
            config.listen = socket(folder);
            // They are killed more often than a job may be.
            config.queue.max_interruptions = u32::MAX;
        })
        .await;
        daemon.served.await.expect("no panic").expect("it serves");
    });
}

fn spawn(folder: &Path) -> Child {
    Command::new(std::env::current_exe().expect("this test"))
        .args([
            "--exact",
            "endings::fifty_kills_lose_no_job_and_mix_up_none",
        ])
        .env(CHILD, folder)
        .stdout(Stdio::null())
        .spawn()
        .expect("this test starts")
}

async fn connected(folder: &Path) -> crate::support::Client {
    let Address::Unix(path) = socket(folder) else {
        unreachable!("it is a unix socket");
    };
    for _ in 0..2000 {
        if tokio::net::UnixStream::connect(&path).await.is_ok() {
            return client(&socket(folder)).await;
        }
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
    panic!("the daemon does not come up");
}

fn numbered(number: usize) -> SubmitProofRequest {
    // Some jobs take a while, so that a kill finds them running.
    let first = if number.is_multiple_of(3) { b's' } else { b'x' };
    let mut payload = vec![first; 2000];
    payload.extend(number.to_le_bytes());
    request(
        number as i32 % 4 + 1,
        &format!("job {}", number / 2),
        &payload,
    )
}

#[test]
fn fifty_kills_lose_no_job_and_mix_up_none() {
    if let Some(folder) = std::env::var_os(CHILD) {
        return serve_until_killed(Path::new(&folder));
    }
    let runtime = tokio::runtime::Runtime::new().expect("threads");
    let folder = tempfile::tempdir().expect("a folder");
    let mut accepted = Vec::new();
    let mut next = 0;
    for kill in 0..KILLS {
        let mut child = spawn(folder.path());
        let submitted = runtime.block_on(async {
            let mut client = connected(folder.path()).await;
            let mut accepted = Vec::new();
            let deadline = Duration::from_millis((kill * kill % 89) as u64);
            let submits = async {
                loop {
                    next += 1;
                    if let Ok(id) = submit(&mut client, numbered(next)).await {
                        accepted.push((id, next));
                    }
                }
            };
            tokio::select! {
                () = submits => {}
                () = tokio::time::sleep(deadline) => {}
            }
            accepted
        });
        child.kill().expect("it runs");
        child.wait().expect("it was killed");
        accepted.extend(submitted);
    }
    assert!(
        accepted.len() > KILLS,
        "too little work: {}",
        accepted.len()
    );
    let mut child = spawn(folder.path());
    runtime.block_on(async {
        let mut client = connected(folder.path()).await;
        for (id, number) in &accepted {
            let answer = wait(&mut client, id, 60_000)
                .await
                .expect("an accepted job is known");
            check(&answer, &numbered(*number));
        }
    });
    child.kill().expect("it runs");
    child.wait().expect("it was killed");
}

#[tokio::test]
async fn a_second_order_to_end_does_not_wait() {
    let daemon = start(|config| config.drain = Duration::from_secs(3600)).await;
    let mut client = daemon.client().await;
    submit(&mut client, request(1, "hung", b"hangs"))
        .await
        .expect("it is taken");
    while daemon.proving.running() == 0 {
        tokio::time::sleep(Duration::from_millis(1)).await;
    }
    daemon.stop.send_replace(1);
    tokio::time::sleep(Duration::from_millis(50)).await;
    assert!(!daemon.served.is_finished(), "it drains");
    daemon.stop.send_replace(2);
    daemon
        .served
        .await
        .expect("no panic")
        .expect("it ends well");
    assert_eq!(daemon.proving.running(), 0);
    assert_eq!(daemon.proving.started.load(Ordering::SeqCst), 1);
}
