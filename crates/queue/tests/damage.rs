//! Damaged files are set aside and reported; a store always opens.

use std::fs;
use std::path::{Path, PathBuf};

use cuzk_queue::{
    Config, ContentHash, EmbeddedQueue, Job, JobQueue, Outcome, QueueError, State, Submission,
    Submitted, Timings,
};

fn open(folder: &Path) -> EmbeddedQueue {
    EmbeddedQueue::open(folder, Config::default(), 10).expect("it opens")
}

fn payload(name: &str) -> Vec<u8> {
    name.as_bytes().repeat(100)
}

fn submit(queue: &EmbeddedQueue, name: &str) -> (Job, Submitted) {
    let submission = Submission {
        request_id: name.to_owned(),
        kind: 1,
        priority: 2,
        payload: payload(name),
    };
    queue.submit(submission, 11).expect("there is room")
}

fn payload_file(folder: &Path, job: &Job) -> PathBuf {
    folder.join("payloads").join(job.content.to_string())
}

#[test]
fn a_damaged_payload_fails_its_job_and_no_other() {
    let folder = tempfile::tempdir().expect("a folder");
    let queue = open(folder.path());
    let (bad, _) = submit(&queue, "bad");
    let (good, _) = submit(&queue, "good");
    let file = payload_file(folder.path(), &bad);
    let mut bytes = fs::read(&file).expect("it is there");
    bytes[7] ^= 1;
    fs::write(&file, &bytes).expect("it is ours");

    let claimed = queue.claim(0, 12).expect("it reads");
    assert_eq!(claimed.map(|claimed| claimed.job.id), Some(good.id));
    let found = queue.job(bad.id).expect("it is known");
    assert!(matches!(&found.state, State::Failed { message } if message.contains("damaged")));
    let reports = queue.take_quarantined();
    let told = (reports.len(), reports[0].what, reports[0].job);
    assert_eq!(told, (1, "payload", Some(bad.id)));
    let aside = reports[0].file.as_ref().expect("it was set aside");
    assert_eq!(fs::read(aside).expect("it is there"), bytes);

    // The failure is not sticky.
    let (again, how) = submit(&queue, "bad");
    assert_eq!((how, again.attempt), (Submitted::New, 2));
    let claimed = queue.claim(0, 13).expect("it reads").expect("it is sound");
    assert_eq!(ContentHash::of(&claimed.payload), bad.content);
}

#[test]
fn a_payload_that_is_short_or_gone_is_noticed_at_the_start() {
    let folder = tempfile::tempdir().expect("a folder");
    let queue = open(folder.path());
    let jobs = ["short", "gone", "good"].map(|name| submit(&queue, name).0);
    drop(queue);
    fs::write(payload_file(folder.path(), &jobs[0]), b"short").expect("it is ours");
    fs::remove_file(payload_file(folder.path(), &jobs[1])).expect("it is ours");
    fs::write(folder.path().join("payloads/17.part"), b"half").expect("it is ours");

    let queue = open(folder.path());
    assert_eq!(queue.take_quarantined().len(), 2);
    for job in &jobs[..2] {
        let state = queue.job(job.id).expect("it is known").state;
        assert!(matches!(state, State::Failed { .. }));
    }
    let claimed = queue.claim(0, 12).expect("it reads");
    assert_eq!(claimed.map(|claimed| claimed.job.id), Some(jobs[2].id));
    assert!(!folder.path().join("payloads/17.part").exists());
}

/// A store with finished and waiting jobs, closed.
fn filled(folder: &Path) -> Vec<Job> {
    let queue = open(folder);
    for number in 0..6 {
        submit(&queue, &format!("finished {number}"));
        let claimed = queue.claim(0, 12).expect("it reads").expect("it waits");
        let outcome = Outcome::Completed {
            proof: claimed.payload[..10].to_vec(),
            timings: Timings::default(),
        };
        let finished = queue.finish(claimed.job.id, 1, outcome, 13);
        finished.expect("it is written");
    }
    for number in 0..6 {
        submit(&queue, &format!("waiting {number}"));
    }
    queue.jobs(100).expect("they read")
}

/// Everything that a store still knows is true, losses are reported, and it works. Returns the jobs that are left.
fn check(folder: &Path, known: &[Job]) -> usize {
    let queue = open(folder);
    let mut left = 0;
    for wanted in known {
        match queue.job(wanted.id) {
            Ok(job) => {
                left += 1;
                assert_eq!(job.request_id, wanted.request_id);
                if let State::Completed { proof, .. } = &job.state {
                    assert_eq!(proof[..], payload(&job.request_id)[..10]);
                }
            }
            Err(QueueError::UnknownJob { .. }) => {}
            Err(error) => panic!("{error}"),
        }
    }
    if left < known.len() {
        assert_ne!(queue.take_quarantined(), vec![], "a loss must be reported");
    }
    let (job, _) = submit(&queue, "new");
    let state = queue.job(job.id).expect("it is known").state;
    assert_eq!(state, State::Accepted);
    left
}

/// Damages a database in the way of a case.
fn damage(bytes: &mut Vec<u8>, case: usize) {
    match case {
        0 => bytes.clear(),
        1 => bytes.fill(0xff),
        2 => bytes.truncate(1),
        3..10 => bytes.truncate(bytes.len() * (case - 2) / 10),
        // Most of a young database is empty, so the cases go through its first pages.
        10..40 => bytes[(case - 10) * 613..][..8].fill(0xa5),
        _ => {
            let place = bytes.len() / 20 * (case - 40);
            bytes[place..][..512].fill(0x5a);
        }
    }
}

#[test]
fn a_damaged_database_never_keeps_a_store_from_opening() {
    let folder = tempfile::tempdir().expect("a folder");
    let known = filled(folder.path());
    let sound = fs::read(folder.path().join("jobs.redb")).expect("it is there");
    assert_eq!(check(folder.path(), &known), known.len());

    let mut whole = 0;
    for case in 0..60 {
        let copy = tempfile::tempdir().expect("a folder");
        fs::create_dir(copy.path().join("payloads")).expect("it is ours");
        for job in known.iter().filter(|job| !job.state.is_final()) {
            fs::write(payload_file(copy.path(), job), payload(&job.request_id))
                .expect("it is ours");
        }
        let mut bytes = sound.clone();
        damage(&mut bytes, case);
        fs::write(copy.path().join("jobs.redb"), bytes).expect("it is ours");
        whole += usize::from(check(copy.path(), &known) == known.len());
    }
    assert!(
        (1..60).contains(&whole),
        "some of the damage hits, some does not: {whole}"
    );
}

#[test]
fn a_second_process_is_told_who_holds_the_store() {
    let folder = tempfile::tempdir().expect("a folder");
    let queue = open(folder.path());
    match EmbeddedQueue::open(folder.path(), Config::default(), 10) {
        Err(QueueError::Held { holder, store }) => {
            assert_eq!(holder, std::process::id().to_string());
            assert_eq!(store, folder.path());
        }
        Err(error) => panic!("{error}"),
        Ok(_) => panic!("two hold one store"),
    }
    drop(queue);
    open(folder.path());
}
