//! Bounds, full disks and folders that cannot be written: clear errors, and nothing is lost by them.

use std::fs;
use std::io::{BufRead, BufReader, Write};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use cuzk_queue::{
    Config, EmbeddedQueue, Finished, Job, JobQueue, Outcome, QueueError, State, Submission, Timings,
};

fn submit(queue: &EmbeddedQueue, name: &str, bytes: usize) -> Result<Job, QueueError> {
    let submission = Submission {
        request_id: name.to_owned(),
        kind: 1,
        priority: 2,
        payload: name.bytes().cycle().take(bytes).collect(),
    };
    queue.submit(submission, 11).map(|(job, _)| job)
}

#[test]
fn bounds_push_back_and_leave_everything_as_it_was() {
    let folder = tempfile::tempdir().expect("a folder");
    let config = Config {
        max_jobs: 3,
        max_payload_bytes: 1000,
        ..Config::default()
    };
    let queue = EmbeddedQueue::open(folder.path(), config, 1).expect("it opens");
    submit(&queue, "a", 600).expect("there is room");
    for bytes in [401, 5000, 100_000] {
        match submit(&queue, "b", bytes) {
            Err(QueueError::TooManyBytes {
                wanted,
                used,
                limit,
            }) => {
                assert_eq!((wanted, used, limit), (bytes as u64, 600, 1000));
            }
            other => panic!("{other:?}"),
        }
    }
    let b = submit(&queue, "b", 400).expect("it fits exactly");
    submit(&queue, "a", 600).expect("it is there already");
    submit(&queue, "c", 0).expect("no bytes are left, and none are wanted");
    assert!(matches!(
        submit(&queue, "d", 0),
        Err(QueueError::TooManyJobs { limit: 3 })
    ));
    queue.cancel(b.id, 2).expect("it is known");
    submit(&queue, "d", 400).expect("there is room again");
    let files = fs::read_dir(folder.path().join("payloads")).expect("it is there");
    assert_eq!(files.count(), 3);
}

#[test]
fn a_list_shows_what_waits_and_what_ended_last() {
    let folder = tempfile::tempdir().expect("a folder");
    let queue = EmbeddedQueue::open(folder.path(), Config::default(), 1).expect("it opens");
    let names = |limit| -> Vec<String> {
        let jobs = queue.jobs(limit).expect("they read");
        jobs.into_iter().map(|job| job.request_id).collect()
    };
    for name in ["a", "b", "c", "d", "e"] {
        submit(&queue, name, 10).expect("there is room");
    }
    assert_eq!(names(4), ["a", "b", "c", "d"]);
    for (ended, now_ms) in [("a", 12), ("b", 13), ("c", 14)] {
        let claimed = queue.claim(0, now_ms).expect("it reads").expect("it waits");
        assert_eq!(claimed.job.request_id, ended);
        queue.cancel(claimed.job.id, now_ms).expect("it is known");
    }
    for name in ["f", "g", "h"] {
        submit(&queue, name, 10).expect("there is room");
    }
    queue.claim(0, 15).expect("it reads").expect("it waits");
    assert_eq!(names(4), ["d", "e", "c", "b"]);
    assert_eq!(names(7), ["d", "e", "f", "g", "c", "b", "a"]);
    assert_eq!(names(9), ["d", "e", "f", "g", "h", "c", "b", "a"]);
    assert_eq!(names(1), ["d"]);
    assert_eq!(names(0), [""; 0]);
}

/// A folder that this process cannot write to, whoever it runs as.
fn unwritable() -> (tempfile::TempDir, PathBuf) {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("store");
    fs::create_dir(&path).expect("it is ours");
    fs::set_permissions(&path, fs::Permissions::from_mode(0o555)).expect("it is ours");
    // Permissions do not hold root back; the process's own folder in /proc does.
    match fs::write(path.join("probe"), b"") {
        Err(_) => (folder, path),
        Ok(()) => (folder, PathBuf::from("/proc/self/cuzk")),
    }
}

#[test]
fn a_folder_that_cannot_be_written_is_named() {
    let (_folder, path) = unwritable();
    match EmbeddedQueue::open(&path, Config::default(), 1) {
        Err(QueueError::Io { file, .. }) => assert!(file.starts_with(&path), "{file:?}"),
        Err(error) => panic!("{error}"),
        Ok(_) => panic!("{} was written", path.display()),
    }
}

#[test]
fn a_folder_that_goes_away_while_the_queue_is_open_loses_nothing() {
    let folder = tempfile::tempdir().expect("a folder");
    let queue = EmbeddedQueue::open(folder.path(), Config::default(), 1).expect("it opens");
    let kept = submit(&queue, "kept", 100).expect("there is room");
    let (payloads, away) = (folder.path().join("payloads"), folder.path().join("away"));
    fs::rename(&payloads, &away).expect("it is ours");
    fs::write(&payloads, b"no folder").expect("it is ours");
    assert!(matches!(
        submit(&queue, "lost", 100),
        Err(QueueError::Io { .. })
    ));
    assert!(
        queue.claim(0, 2).is_err(),
        "the payload cannot be read, which is no damage"
    );
    fs::remove_file(&payloads).expect("it is ours");
    fs::rename(&away, &payloads).expect("it is ours");
    submit(&queue, "taken", 100).expect("there is room");
    let claimed = queue.claim(0, 1100).expect("it reads");
    assert_eq!(claimed.map(|claimed| claimed.job.id), Some(kept.id));
    assert_eq!(queue.take_quarantined(), vec![]);
}

/// Set in the process whose files may not grow: the folder of its store.
const CHILD: &str = "CUZK_QUEUE_TEST_FULL";
/// What a file may have there.
const LIMIT_KIB: usize = 3 << 10;

fn proof(number: usize) -> Vec<u8> {
    vec![number as u8; 20_000]
}

/// Fills the disk with proofs, and ends the last one when there is no room for it.
fn fill(folder: &Path) {
    let queue = EmbeddedQueue::open(folder, Config::default(), 1).expect("it opens");
    let too_long = submit(&queue, "payload", (LIMIT_KIB << 10) + 1);
    assert!(
        matches!(too_long, Err(QueueError::Io { .. })),
        "{too_long:?}"
    );
    let mut unsaved = None;
    for number in 0..1000 {
        submit(&queue, &format!("job {number}"), 1000).expect("there is room for this");
        let claimed = queue.claim(0, 2).expect("it reads").expect("it waits");
        let outcome = Outcome::Completed {
            proof: proof(number),
            timings: Timings::default(),
        };
        let id = claimed.job.id;
        if let Finished::Unsaved { message } = queue.finish(id, 1, outcome, 3).expect("it takes it")
        {
            assert!(message.contains("large"), "{message}");
            unsaved = Some((id, number));
            break;
        }
    }
    let (id, number) = unsaved.expect("the disk is full at last");
    let wanted = State::Completed {
        proof: proof(number),
        timings: Timings::default(),
    };
    assert_eq!(queue.job(id).expect("it is in memory").state, wanted);
    assert!(queue.sweep(4).is_err(), "there still is no room");
    println!("\n@full {number}");
    let mut line = String::new();
    std::io::stdin().read_line(&mut line).expect("a line");
    assert_eq!(queue.sweep(5).expect("there is room now").saved, 1);
    assert_eq!(queue.job(id).expect("it is on disk").state, wanted);
    println!("\n@saved {id}");
}

#[test]
fn a_full_disk_loses_no_proof() {
    if let Some(folder) = std::env::var_os(CHILD) {
        return fill(Path::new(&folder));
    }
    let folder = tempfile::tempdir().expect("a folder");
    let script = "trap '' XFSZ; pid=$$; prlimit --pid $pid --fsize=$0:unlimited; exec \"$@\"";
    let mut child = Command::new("sh")
        .args(["-c", script, &(LIMIT_KIB << 10).to_string()])
        .arg(std::env::current_exe().expect("this test"))
        .args(["--exact", "a_full_disk_loses_no_proof", "--nocapture"])
        .env(CHILD, folder.path())
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .expect("a shell");
    let lines = BufReader::new(child.stdout.take().expect("a pipe")).lines();
    let mut said =
        lines.filter_map(|line| line.expect("text").strip_prefix('@').map(str::to_owned));
    let full = said.next().expect("the disk fills up");
    let number: usize = full.trim_start_matches("full ").parse().expect("a number");
    let lifted = Command::new("prlimit")
        .args(["--pid", &child.id().to_string(), "--fsize=unlimited"])
        .status();
    assert!(lifted.expect("prlimit").success());
    let stdin = child.stdin.as_mut().expect("a pipe");
    stdin.write_all(b"go on\n").expect("it waits");
    let saved = said.next().expect("it is written at last");
    assert!(child.wait().expect("it ends").success());

    let queue = EmbeddedQueue::open(folder.path(), Config::default(), 6).expect("it opens");
    assert_eq!(queue.usage().finished, number + 1);
    let id = saved.trim_start_matches("saved ").parse().expect("an id");
    let state = queue.job(id).expect("it is on disk").state;
    assert!(matches!(state, State::Completed { proof: found, .. } if found == proof(number)));
    assert_eq!(queue.take_quarantined(), vec![]);
}
