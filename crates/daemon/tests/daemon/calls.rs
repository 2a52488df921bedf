//! The eight calls, as a client sees them.

use std::collections::BTreeMap;
use std::sync::atomic::Ordering;
use std::time::Duration;

use crate::support::{check, prove, request, start, status, submit, wait};
use cuzk_proto::v1::await_proof_response::Status;
use cuzk_proto::v1::{
    CancelProofRequest, EvictSrsRequest, GetMetricsRequest, GetStatusRequest, PreloadSrsRequest,
    SubmitProofRequest,
};
use tonic::Code;

#[tokio::test]
async fn every_kind_is_proved() {
    let daemon = start(|_| {}).await;
    let mut client = daemon.client().await;
    for kind in 1..=4 {
        let request = request(kind, "wdpost-[1 2] 3", &[kind as u8; 100]);
        let answer = prove(&mut client, request.clone())
            .await
            .expect("it is proved");
        check(&answer, &request);
        assert_eq!(
            (
                answer.srs_load_ms,
                answer.synthesis_ms,
                answer.gpu_compute_ms
            ),
            (1, 2, 3)
        );
        assert!(answer.total_ms >= answer.queue_wait_ms);
        let again = wait(&mut client, &answer.job_id, 0)
            .await
            .expect("it is kept");
        assert_eq!(again, answer);
    }
    daemon.end().await;
}

#[tokio::test]
async fn waiting_has_a_limit_and_the_job_goes_on() {
    let daemon = start(|_| {}).await;
    let mut client = daemon.client().await;
    let slow = request(1, "slow", b"slow");
    let id = submit(&mut client, slow.clone())
        .await
        .expect("it is taken");
    let answer = wait(&mut client, &id, 20).await.expect("it waits");
    assert_eq!(
        (status(&answer), answer.job_id.as_str()),
        (Status::Timeout, id.as_str())
    );
    check(
        &wait(&mut client, &id, 10_000).await.expect("it ends"),
        &slow,
    );
    for (id, code) in [
        ("00".repeat(16), Code::NotFound),
        ("x".to_owned(), Code::InvalidArgument),
    ] {
        assert_eq!(
            wait(&mut client, &id, 1).await.expect_err("no job").code(),
            code
        );
    }
    daemon.end().await;
}

#[tokio::test]
async fn identity_is_name_and_content() {
    let daemon = start(|_| {}).await;
    let mut client = daemon.client().await;
    let started = || daemon.proving.started.load(Ordering::SeqCst);
    let first = request(1, "porep-1000-1", b"ticket 1");
    let second = request(1, "porep-1000-1", b"ticket 2");
    let answers = [
        prove(&mut client, first.clone())
            .await
            .expect("it is proved"),
        prove(&mut client, second.clone())
            .await
            .expect("it is proved"),
        prove(&mut client, first.clone()).await.expect("it is kept"),
    ];
    check(&answers[0], &first);
    check(&answers[1], &second);
    assert_eq!(answers[2], answers[0]);
    assert_eq!(started(), 2);

    // Priority is no part of it, and whoever comes while it runs joins.
    let slow = request(1, "joined", b"slow");
    let urgent = SubmitProofRequest {
        priority: 4,
        ..slow.clone()
    };
    let mut other = daemon.client().await;
    let (one, two) = tokio::join!(prove(&mut client, slow.clone()), prove(&mut other, urgent));
    check(&one.expect("it is proved"), &slow);
    check(&two.expect("it is proved"), &slow);
    assert_eq!(started(), 3);

    // A failure is not kept against a request.
    for attempt in 0..2 {
        let answer = prove(&mut client, request(4, "fails", b"fails"))
            .await
            .expect("an answer");
        assert_eq!(status(&answer), Status::Failed);
        assert_eq!(answer.error_message, "partition 0: it fails");
        assert_eq!(started(), 4 + attempt);
    }
    let answer = prove(&mut client, request(4, "no key", b"unavailable")).await;
    let answer = answer.expect("an answer");
    assert_eq!(
        (status(&answer), answer.error_message.as_str()),
        (Status::Failed, "unavailable: no key")
    );
    daemon.end().await;
}

#[tokio::test]
async fn wrong_requests_are_refused_with_the_field() {
    let daemon = start(|_| {}).await;
    let mut client = daemon.client().await;
    type Change = fn(&mut SubmitProofRequest);
    let cases: [(&str, i32, Change); 12] = [
        ("proof_kind", 1, |r| r.proof_kind = 0),
        ("proof_kind", 1, |r| r.proof_kind = 77),
        ("priority", 1, |r| r.priority = 5),
        ("request_id", 1, |r| r.request_id = "x".repeat(1025)),
        ("vanilla_proof", 1, |r| r.vanilla_proof.clear()),
        ("vanilla_proofs", 3, |r| {
            r.vanilla_proofs = vec![vec![], vec![]]
        }),
        ("vanilla_proof", 3, |r| r.vanilla_proofs.clear()),
        ("sector_size", 1, |r| r.sector_size = 0),
        ("registered_proof", 1, |r| r.registered_proof = 12),
        ("partition_index", 3, |r| r.partition_index = u32::MAX),
        ("comm_r_old", 2, |r| r.comm_r_old.truncate(31)),
        ("randomness", 4, |r| r.randomness.clear()),
    ];
    for (field, kind, change) in cases {
        let mut wrong = request(kind, "wrong", b"payload");
        change(&mut wrong);
        for refused in [
            prove(&mut client, wrong.clone())
                .await
                .map(drop)
                .expect_err(field),
            submit(&mut client, wrong.clone())
                .await
                .map(drop)
                .expect_err(field),
        ] {
            assert_eq!(refused.code(), Code::InvalidArgument, "{field}: {refused}");
            assert!(
                refused
                    .message()
                    .contains(&format!("field {field}: wanted")),
                "{refused}"
            );
        }
    }
    let nothing = client
        .prove(cuzk_proto::v1::ProveRequest { submit: None })
        .await;
    assert_eq!(
        nothing.expect_err("nothing to prove").code(),
        Code::InvalidArgument
    );
    let mut panics = request(1, "panics", b"payload");
    panics.sector_number = u64::MAX;
    assert_eq!(
        prove(&mut client, panics)
            .await
            .expect_err("a fault")
            .code(),
        Code::Internal
    );
    assert_eq!(daemon.proving.started.load(Ordering::SeqCst), 0);
    check(
        &prove(&mut client, request(1, "right", b"x"))
            .await
            .expect("it still works"),
        &request(1, "right", b"x"),
    );
    daemon.end().await;
}

#[tokio::test]
async fn messages_may_have_256_mib() {
    let daemon = start(|_| {}).await;
    let mut client = daemon.client().await;
    let large = request(1, "large", &vec![7; (256 << 20) - (1 << 10)]);
    check(
        &prove(&mut client, large.clone())
            .await
            .expect("it is proved"),
        &large,
    );
    let larger = request(1, "larger", &vec![7; (256 << 20) + 1]);
    let refused = prove(&mut client, larger)
        .await
        .expect_err("it is too large");
    assert_eq!(refused.code(), Code::InvalidArgument, "{refused}");
    assert!(
        refused.message().contains("field vanilla_proof"),
        "{refused}"
    );
    let huge = request(1, "huge", &vec![7; 300 << 20]);
    let refused = prove(&mut client, huge).await.expect_err("it is too large");
    assert_eq!(refused.code(), Code::OutOfRange, "{refused}");
    daemon.end().await;
}

#[tokio::test]
async fn overload_is_told_from_absence() {
    let daemon = start(|config| config.queue.max_jobs = 2).await;
    let mut client = daemon.client().await;
    let done = request(1, "done", b"done");
    check(
        &prove(&mut client, done.clone())
            .await
            .expect("it is proved"),
        &done,
    );
    let mut ids = Vec::new();
    for name in ["a", "b"] {
        ids.push(
            submit(&mut client, request(1, name, b"hangs"))
                .await
                .expect("there is room"),
        );
    }
    let refused = submit(&mut client, request(1, "c", b"x"))
        .await
        .expect_err("it is full");
    assert_eq!(refused.code(), Code::ResourceExhausted);
    let joined = submit(&mut client, request(1, "a", b"hangs"))
        .await
        .expect("it joins");
    assert_eq!(joined, ids[0]);
    for job_id in ids {
        client
            .cancel_proof(CancelProofRequest { job_id })
            .await
            .expect("it is known");
    }
    daemon.proving.in_service.store(false, Ordering::SeqCst);
    let refused = submit(&mut client, request(1, "c", b"x"))
        .await
        .expect_err("no device");
    assert_eq!(refused.code(), Code::Unavailable);
    check(
        &prove(&mut client, done.clone())
            .await
            .expect("its proof is kept"),
        &done,
    );
    daemon.end().await;
}

#[tokio::test]
async fn jobs_are_cancelled_in_every_state() {
    let daemon = start(|config| config.in_flight = Some(1)).await;
    let mut client = daemon.client().await;
    let running = submit(&mut client, request(1, "running", b"hangs"))
        .await
        .expect("taken");
    while daemon.proving.running() == 0 {
        tokio::time::sleep(Duration::from_millis(1)).await;
    }
    let waiting = submit(&mut client, request(1, "waiting", b"hangs"))
        .await
        .expect("taken");
    let mut other = daemon.client().await;
    let (waited, cancelled) = tokio::join!(wait(&mut other, &running, 0), async {
        tokio::time::sleep(Duration::from_millis(50)).await;
        let mut were_running = Vec::new();
        for job_id in [&waiting, &running, &running] {
            let job_id = job_id.clone();
            let answer = client.cancel_proof(CancelProofRequest { job_id }).await;
            were_running.push(answer.expect("it is known").into_inner().was_running);
        }
        were_running
    });
    assert_eq!(cancelled, [false, true, false]);
    assert_eq!(status(&waited.expect("it ends")), Status::Cancelled);
    let answer = wait(&mut client, &waiting, 0).await.expect("it has ended");
    assert_eq!(status(&answer), Status::Cancelled);
    assert_eq!(daemon.proving.running(), 0);
    assert_eq!(daemon.proving.started.load(Ordering::SeqCst), 1);
    let job_id = "ab".repeat(16);
    let unknown = client.cancel_proof(CancelProofRequest { job_id }).await;
    assert_eq!(unknown.expect_err("no job").code(), Code::NotFound);
    // The place is free, and a cancelled job may come again.
    let next = request(1, "next", b"next");
    check(
        &prove(&mut client, next.clone())
            .await
            .expect("it is proved"),
        &next,
    );
    daemon.end().await;
}

#[tokio::test]
async fn urgent_jobs_do_not_wait_for_a_place() {
    let daemon = start(|config| config.in_flight = Some(1)).await;
    let mut client = daemon.client().await;
    submit(&mut client, request(2, "low", b"hangs"))
        .await
        .expect("it is taken");
    submit(&mut client, request(2, "also low", b"hangs"))
        .await
        .expect("it is taken");
    for kind in [1, 3, 4] {
        let more_urgent = request(kind, "urgent", b"x");
        check(
            &prove(&mut client, more_urgent.clone())
                .await
                .expect("it is proved"),
            &more_urgent,
        );
    }
    let answer = client
        .submit_proof(request(2, "last", b"hangs"))
        .await
        .expect("it is taken");
    assert_eq!(
        answer.into_inner().queue_position,
        1,
        "one low job waits before it"
    );
    daemon.end_now().await;
}

#[tokio::test]
async fn a_refusal_of_the_prover_delays_a_job_only() {
    let daemon = start(|_| {}).await;
    daemon.proving.refuse.store(2, Ordering::SeqCst);
    let mut client = daemon.client().await;
    let request = request(4, "later", b"x");
    check(
        &prove(&mut client, request.clone())
            .await
            .expect("it is proved"),
        &request,
    );
    assert_eq!(daemon.proving.refuse.load(Ordering::SeqCst), 0);
    daemon.end().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn five_hundred_callers_get_their_own_proofs() {
    let daemon = start(|_| {}).await;
    let client = daemon.client().await;
    let mut callers = tokio::task::JoinSet::new();
    for number in 0..500_u32 {
        let mut client = client.clone();
        callers.spawn(async move {
            let kind = number as i32 % 4 + 1;
            let digits = number.to_le_bytes().repeat(50 + number as usize);
            let payload = [b"x", digits.as_slice()].concat();
            let request = request(kind, &format!("job {}", number / 2), &payload);
            check(
                &prove(&mut client, request.clone())
                    .await
                    .expect("it is proved"),
                &request,
            );
        });
    }
    let done = callers.join_all().await;
    assert_eq!(done.len(), 500);
    let peak = daemon.proving.peak.load(Ordering::SeqCst);
    assert!(peak <= 4 * 16, "{peak} jobs at a time");
    daemon.end().await;
}

#[tokio::test]
async fn a_caller_that_goes_away_finds_its_proof_later() {
    let daemon = start(|_| {}).await;
    let slow = request(1, "slow", b"slow");
    let mut client = daemon.client().await;
    let left = tokio::time::timeout(Duration::from_millis(100), prove(&mut client, slow.clone()));
    assert!(left.await.is_err(), "it takes longer");
    drop(client);
    let mut client = daemon.client().await;
    check(
        &prove(&mut client, slow.clone()).await.expect("it joins"),
        &slow,
    );
    assert_eq!(daemon.proving.started.load(Ordering::SeqCst), 1);
    daemon.end().await;
}

#[tokio::test]
async fn status_and_metrics_are_real() {
    let daemon = start(|_| {}).await;
    let mut client = daemon.client().await;
    prove(&mut client, request(4, "done", b"x"))
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
    let found = client
        .get_status(GetStatusRequest {})
        .await
        .expect("it answers")
        .into_inner();
    let queues: BTreeMap<&str, (u32, u32)> = found
        .queues
        .iter()
        .map(|queue| {
            (
                queue.proof_kind.as_str(),
                (queue.pending, queue.in_progress),
            )
        })
        .collect();
    assert_eq!(queues.len(), 4);
    assert_eq!(queues["WINDOW_POST_PARTITION"], (0, 1));
    assert_eq!(queues["WINNING_POST"], (0, 0));
    assert_eq!(
        (found.total_proofs_completed, found.total_proofs_failed),
        (1, 1)
    );
    assert_eq!(
        (found.pinned_memory_bytes, found.pinned_memory_limit_bytes),
        (10, 20)
    );
    let gpu = &found.gpus[0];
    assert_eq!(
        (gpu.name.as_str(), gpu.vram_total_bytes),
        ("simulated", 1 << 30)
    );
    assert_eq!(
        (gpu.current_job_id.as_str(), gpu.current_proof_kind.as_str()),
        (id.as_str(), "WINDOW_POST_PARTITION")
    );

    let metrics = client
        .get_metrics(GetMetricsRequest {})
        .await
        .expect("it answers");
    let text = metrics.into_inner().prometheus_text;
    for line in [
        "cuzk_jobs_ended_total{kind=\"WINNING_POST\",end=\"completed\"} 1",
        "cuzk_jobs{kind=\"WINDOW_POST_PARTITION\",state=\"running\"} 1",
        "cuzk_calls_total{call=\"Prove\",code=\"OK\"} 2",
        "cuzk_device_memory_bytes{device=\"0\",name=\"simulated\"} 1073741824",
    ] {
        assert!(text.lines().any(|found| found == line), "{line}\n{text}");
    }
    daemon.end_now().await;
}

#[tokio::test]
async fn keys_are_loaded_and_let_go() {
    let daemon = start(|_| {}).await;
    let mut client = daemon.client().await;
    let circuit_id = "four-2k".to_owned();
    for already_loaded in [false, true] {
        let circuit_id = circuit_id.clone();
        let loaded = client.preload_srs(PreloadSrsRequest { circuit_id }).await;
        assert_eq!(
            loaded.expect("it loads").into_inner().already_loaded,
            already_loaded
        );
    }
    let found = client
        .get_status(GetStatusRequest {})
        .await
        .expect("it answers")
        .into_inner();
    assert_eq!(
        (found.loaded_srs.len(), found.loaded_srs[0].size_bytes),
        (1, 1100)
    );
    for was_loaded in [true, false] {
        let circuit_id = circuit_id.clone();
        let evicted = client.evict_srs(EvictSrsRequest { circuit_id }).await;
        let evicted = evicted.expect("it goes").into_inner();
        assert_eq!(
            (evicted.was_loaded, evicted.freed_bytes > 0),
            (was_loaded, was_loaded)
        );
    }
    let circuit_id = "porep-3k".to_owned();
    let unknown = client.preload_srs(PreloadSrsRequest { circuit_id }).await;
    assert_eq!(
        unknown.expect_err("no circuit").code(),
        Code::InvalidArgument
    );
    daemon.end().await;
}
