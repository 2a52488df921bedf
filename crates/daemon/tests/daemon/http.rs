//! The state over HTTP.

use std::sync::atomic::Ordering;
use std::time::Duration;

use crate::support::daemon::Running;
use crate::support::{prove, request, start, submit};
use cuzk_daemon::Address;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;

async fn daemon() -> Running {
    start(|config| config.status_listen = Some("127.0.0.1:0".parse().expect("an address"))).await
}

/// Sends bytes and returns the whole answer.
async fn send(daemon: &Running, bytes: &[u8]) -> String {
    let Some(Address::Tcp(address)) = &daemon.status else {
        panic!("no status address");
    };
    let mut stream = TcpStream::connect(address).await.expect("it listens");
    stream.write_all(bytes).await.expect("it is read");
    let mut answer = String::new();
    stream.read_to_string(&mut answer).await.expect("text");
    answer
}

async fn get(daemon: &Running, path: &str) -> (String, String) {
    let request = format!("GET {path} HTTP/1.1\r\nhost: x\r\nconnection: close\r\n\r\n");
    let answer = send(daemon, request.as_bytes()).await;
    let (head, body) = answer.split_once("\r\n\r\n").expect("a head");
    (head.to_owned(), body.to_owned())
}

#[tokio::test]
async fn the_state_is_shown() {
    let daemon = daemon().await;
    let mut client = daemon.client().await;
    prove(&mut client, request(4, "<b>done</b>", b"x"))
        .await
        .expect("it is proved");
    prove(&mut client, request(4, "fails", b"fails"))
        .await
        .expect("an answer");
    let id = submit(&mut client, request(3, "hangs", b"hangs"))
        .await
        .expect("it is taken");
    while daemon.proving.running() == 0 {
        tokio::time::sleep(Duration::from_millis(1)).await;
    }
    let (head, body) = get(&daemon, "/status").await;
    assert!(
        head.starts_with("HTTP/1.1 200") && head.contains("application/json"),
        "{head}"
    );
    let found: serde_json::Value = serde_json::from_str(&body).expect("JSON");
    assert_eq!(found["phase"], "serving");
    assert_eq!(found["total_proofs_completed"], 1);
    assert_eq!(found["total_proofs_failed"], 1);
    assert_eq!(found["gpus"][0]["name"], "simulated");
    assert_eq!(found["gpus"][0]["lanes"][0]["job"], id.as_str());
    let queues = found["queues"].as_array().expect("a list");
    assert_eq!(queues.len(), 4, "each kind has one");
    let jobs = found["jobs"].as_array().expect("a list");
    let states: Vec<_> = jobs
        .iter()
        .map(|job| job["state"].as_str().expect("text"))
        .collect();
    assert_eq!(states, ["running", "failed", "completed"]);
    assert_eq!(jobs[0]["partitions"], 1);
    assert_eq!(jobs[1]["error"], "partition 0: it fails");
    assert_eq!(jobs[2]["request_id"], "<b>done</b>");

    let (head, body) = get(&daemon, "/metrics").await;
    assert!(head.contains("text/plain; version=0.0.4"), "{head}");
    assert!(body.contains("cuzk_jobs_ended_total{kind=\"WINNING_POST\",end=\"failed\"} 1"));
    let (head, body) = get(&daemon, "/").await;
    assert!(head.contains("text/html"), "{head}");
    // Nothing comes from outside.
    assert!(!body.contains("http://") && !body.contains("https://") && !body.contains("src="));
    assert!(get(&daemon, "/other").await.0.starts_with("HTTP/1.1 404"));
    daemon.end_now().await;
}

#[tokio::test]
async fn health_is_whether_jobs_can_run() {
    let daemon = daemon().await;
    assert!(get(&daemon, "/healthz").await.0.starts_with("HTTP/1.1 200"));
    daemon.proving.in_service.store(false, Ordering::SeqCst);
    let (head, body) = get(&daemon, "/healthz").await;
    assert!(head.starts_with("HTTP/1.1 503"), "{head}");
    assert_eq!(body, "no device is in service\n");
    daemon.end().await;
}

#[tokio::test]
async fn what_is_no_request_is_refused() {
    let daemon = daemon().await;
    let post =
        b"POST /status HTTP/1.1\r\nhost: x\r\nconnection: close\r\ncontent-length: 0\r\n\r\n";
    assert!(send(&daemon, post).await.starts_with("HTTP/1.1 405"));
    assert!(
        send(&daemon, b"\x16\x03\x01\x02\x00\x01")
            .await
            .starts_with("HTTP/1.1 400")
    );
    // Whoever does not finish its request is let go.
    let answer = tokio::time::timeout(
        Duration::from_secs(20),
        send(&daemon, b"GET / HTTP/1.1\r\nho"),
    );
    answer.await.expect("it is closed");
    daemon.end().await;
}
