//! A process that is killed at any moment loses nothing that it said it had accepted.

use std::collections::BTreeMap;
use std::io::{BufRead, BufReader, Read, Write};
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::Duration;

use cuzk_queue::{
    Config, ContentHash, EmbeddedQueue, JobId, JobQueue, Outcome, State, Submission, Timings,
};

/// Set in the process that is going to be killed: the folder of its store.
const CHILD: &str = "CUZK_QUEUE_TEST_CHILD";
const ROUNDS: u64 = 25;

/// A job may be interrupted as often as there are kills.
fn config() -> Config {
    Config {
        max_interruptions: u32::MAX,
        ..Config::default()
    }
}

fn payload(number: u64) -> Vec<u8> {
    let length = number.wrapping_mul(7919) % 5000;
    let bytes = number.to_le_bytes().into_iter().cycle();
    bytes.take(length as usize + 8).collect()
}

fn proof(payload: &[u8]) -> Vec<u8> {
    ContentHash::of(payload).0.repeat(6)
}

fn say(line: &str) {
    // One write a line, so that lines of threads do not mix; the test harness does not capture it.
    let _ = std::io::stdout().write_all(format!("\n@{line}\n").as_bytes());
}

/// Submits, claims, finishes and cancels until it is killed, and says what was done once it was done.
fn work_until_killed(folder: &Path) {
    let queue = EmbeddedQueue::open(folder, config(), 1).expect("it opens after a kill");
    assert_eq!(queue.take_quarantined(), vec![], "nothing may be damaged");
    let start = u64::from(std::process::id()) << 32;
    std::thread::scope(|scope| {
        scope.spawn(|| submit_all(&queue, start));
        scope.spawn(|| submit_all(&queue, start + 1));
        scope.spawn(|| finish_all(&queue));
    });
}

fn submit_all(queue: &EmbeddedQueue, start: u64) {
    for number in (start..).step_by(2) {
        let submission = Submission {
            request_id: format!("job {number}"),
            kind: 1,
            priority: 2,
            payload: payload(number),
        };
        let (job, _) = queue.submit(submission, 2).expect("there is room");
        say(&format!("accepted {} {number}", job.id));
        if number % 7 == 0 {
            queue.cancel(job.id, 3).expect("it is known");
            say(&format!("ended {}", job.id));
        }
    }
}

fn finish_all(queue: &EmbeddedQueue) {
    loop {
        let Some(claimed) = queue.claim(0, 4).expect("it reads") else {
            continue;
        };
        let proof = proof(&claimed.payload);
        let timings = Timings::default();
        let (id, attempt) = (claimed.job.id, claimed.job.attempt);
        let outcome = Outcome::Completed { proof, timings };
        queue
            .finish(id, attempt, outcome, 5)
            .expect("it is written");
        say(&format!("ended {id}"));
    }
}

/// Runs a process for a while, kills it, and returns what it had said.
fn run_and_kill(folder: &Path, after: Duration) -> Vec<String> {
    let mut child = Command::new(std::env::current_exe().expect("this test"))
        .args(["--exact", "kill_9_loses_nothing"])
        .env(CHILD, folder)
        .stdout(Stdio::piped())
        .spawn()
        .expect("this test starts");
    let mut lines = BufReader::new(child.stdout.take().expect("a pipe"));
    let mut said = Vec::new();
    // The time counts from the first job on.
    while !said.starts_with(b"@") {
        said.clear();
        let read = lines.read_until(b'\n', &mut said).expect("a pipe");
        assert_ne!(read, 0, "the process ended by itself");
    }
    let reader = std::thread::spawn(move || {
        let mut rest = Vec::new();
        lines.read_to_end(&mut rest).map(|_| rest)
    });
    std::thread::sleep(after);
    child.kill().expect("it runs");
    child.wait().expect("it was killed");
    said.extend(reader.join().expect("it reads").expect("it reads"));
    let text = String::from_utf8_lossy(&said);
    let whole = text
        .split_inclusive('\n')
        .filter(|line| line.ends_with('\n'));
    let whole = whole.filter_map(|line| line.trim().strip_prefix('@'));
    whole.map(str::to_owned).collect()
}

#[test]
fn kill_9_loses_nothing() {
    if let Some(folder) = std::env::var_os(CHILD) {
        return work_until_killed(Path::new(&folder));
    }
    let folder = tempfile::tempdir().expect("a folder");
    let mut accepted = BTreeMap::new();
    let mut ended = Vec::new();
    for round in 0..ROUNDS {
        for line in run_and_kill(folder.path(), Duration::from_millis(round * round % 97)) {
            let words: Vec<&str> = line.split(' ').collect();
            let id: JobId = words[1].parse().expect("an id");
            match words[0] {
                "accepted" => drop(accepted.insert(id, words[2].parse().expect("a number"))),
                _ => ended.push(id),
            }
        }
        check(folder.path(), &accepted, &ended);
    }
    let counts = (accepted.len(), ended.len());
    assert!(
        counts.0 > 50 && counts.1 > 20,
        "too little work: {counts:?}"
    );
}

fn check(folder: &Path, accepted: &BTreeMap<JobId, u64>, ended: &[JobId]) {
    let queue = EmbeddedQueue::open(folder, config(), 1).expect("it opens after a kill");
    assert_eq!(queue.take_quarantined(), vec![]);
    for (id, number) in accepted {
        let job = queue.job(*id).expect("an accepted job is known");
        assert_eq!(job.content, ContentHash::of(&payload(*number)));
        if let State::Completed { proof: found, .. } = job.state {
            assert_eq!(found, proof(&payload(*number)));
        }
    }
    for id in ended {
        let job = queue.job(*id).expect("an ended job is known");
        assert!(job.state.is_final());
    }
}
