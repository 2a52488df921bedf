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
fn a_damaged_payload_that_two_jobs_need_is_there_again_when_one_is_submitted_again() {
    let folder = tempfile::tempdir().expect("a folder");
    let queue = open(folder.path());
    let named = |name: &str| Submission {
        request_id: name.to_owned(),
        kind: 1,
        priority: 2,
        payload: payload("shared"),
    };
    let (first, _) = queue.submit(named("first"), 11).expect("there is room");
    let (second, _) = queue.submit(named("second"), 11).expect("there is room");
    fs::write(payload_file(folder.path(), &first), b"damaged").expect("it is ours");
    let job = |id| queue.job(id).expect("it is known");
    // The first fails; the second fails too unless the content comes back before it is claimed.
    let next = |wanted: &Job, now_ms| {
        let claimed = queue.claim(0, now_ms).expect("it reads");
        let claimed = claimed.expect("its content is there again");
        assert_eq!(claimed.job.id, wanted.id);
        assert_eq!(claimed.payload, payload("shared"));
    };
    let urgent = Submission {
        priority: 3,
        ..named("urgent")
    };
    let (urgent, _) = queue.submit(urgent, 11).expect("there is room");
    assert_eq!(queue.claim(3, 12).expect("it reads"), None);
    assert!(matches!(job(urgent.id).state, State::Failed { .. }));
    assert_eq!(job(first.id).state, State::Accepted);
    let (_, how) = queue.submit(named("urgent"), 13).expect("there is room");
    assert_eq!(how, Submitted::New);
    next(&first, 14);
    next(&second, 15);
    assert_eq!(queue.usage().payload_bytes, payload("shared").len() as u64);
}

#[test]
fn a_payload_that_cannot_be_read_holds_nobody_up_and_counts_as_damaged_at_last() {
    let folder = tempfile::tempdir().expect("a folder");
    let queue = open(folder.path());
    let (bad, _) = submit(&queue, "bad");
    let (good, _) = submit(&queue, "good");
    // Reading a folder is refused, whoever asks.
    let file = payload_file(folder.path(), &bad);
    fs::remove_file(&file).expect("it is ours");
    fs::create_dir(&file).expect("it is ours");
    let claimed = queue.claim(0, 0).expect("the other one reads");
    assert_eq!(claimed.map(|claimed| claimed.job.id), Some(good.id));
    assert_eq!(queue.claim(0, 999).expect("nothing is tried"), None);
    for second in 1..4 {
        let refused = queue.claim(0, second * 1000);
        assert!(matches!(refused, Err(QueueError::Io { .. })), "{refused:?}");
        let state = queue.job(bad.id).expect("it is known").state;
        assert_eq!(state, State::Accepted);
    }
    assert_eq!(queue.claim(0, 4000).expect("it failed"), None);
    let state = queue.job(bad.id).expect("it is known").state;
    assert!(matches!(&state, State::Failed { message } if message.contains("cannot be read")));
    let (_, how) = submit(&queue, "bad");
    assert_eq!(how, Submitted::New);
    let claimed = queue.claim(0, 4001).expect("it reads");
    assert_eq!(claimed.map(|claimed| claimed.job.id), Some(bad.id));
}

#[test]
fn a_job_that_ends_the_process_each_time_fails() {
    let folder = tempfile::tempdir().expect("a folder");
    let (bad, good) = {
        let queue = open(folder.path());
        let later = Submission {
            request_id: "good".to_owned(),
            kind: 1,
            priority: 2,
            payload: payload("good"),
        };
        let good = queue.submit(later, 12).expect("there is room").0;
        (submit(&queue, "bad").0, good)
    };
    for interruption in 0..3 {
        let queue = open(folder.path());
        assert_eq!(queue.take_quarantined(), vec![]);
        // A process that gives its jobs back ends well, however often.
        for _ in 0..3 {
            let claimed = queue.claim(0, 12).expect("it reads").expect("one waits");
            queue.release(claimed.job.id, 1).expect("it runs");
        }
        let claimed = queue.claim(0, 12).expect("it reads").expect("one waits");
        assert_eq!(claimed.job.id, bad.id);
        assert_eq!(claimed.job.interruptions, interruption);
        // What a kill leaves is what is on disk now.
        let copy = tempfile::tempdir().expect("a folder");
        fs::copy(folder.path().join("jobs.redb"), copy.path().join("x")).expect("it is ours");
        drop(queue);
        fs::copy(copy.path().join("x"), folder.path().join("jobs.redb")).expect("it is ours");
    }
    let queue = open(folder.path());
    let state = queue.job(bad.id).expect("it is known").state;
    assert!(
        matches!(&state, State::Failed { message } if message.contains("3 times")),
        "{state:?}"
    );
    let told = queue.take_quarantined();
    assert_eq!(
        (told.len(), told[0].what, told[0].job),
        (1, "job", Some(bad.id))
    );
    let claimed = queue.claim(0, 13).expect("it reads");
    assert_eq!(claimed.map(|claimed| claimed.job.id), Some(good.id));
    let (again, how) = submit(&queue, "bad");
    assert_eq!((how, again.interruptions), (Submitted::New, 0));
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
