//! `validate`: what CI runs, one step after the other, stopping at the first that fails.

use std::collections::BTreeSet;
use std::io::{BufRead, BufReader, Write};
use std::process::{Command, ExitCode, Stdio};
use std::time::{Duration, Instant};

use anyhow::{Context, Result};

use crate::commands::{self, TEST};

/// The tests with generated cases, with more of them. The selection is that of the tests, so nothing is built again.
pub const PROPERTIES: &str = "PROPTEST_CASES=400 cargo test --release --workspace \
    --test equals_synthesis --test equals_bellpepper --test gadgets --test poseidon --test templates \
    --test equals_bellperson --test keygen --test conformance --test bad_input --test proofs \
    --test model --test leases";

/// Each step is a command that can be run by hand just as it stands here.
pub const STEPS: &[(&str, &str)] = &[
    ("tests", TEST),
    ("properties", PROPERTIES),
    ("fuzz", "cargo xtask fuzz --seconds 15"),
    (
        "clippy",
        "cargo clippy --release --workspace --all-targets -- -D warnings",
    ),
    ("format", "cargo fmt --all --check"),
    ("tidy", "cargo xtask tidy"),
];

/// Counts of passed and failed tests. A step that runs no tests counts as one.
#[derive(Copy, Clone, Debug, Default, PartialEq, Eq)]
struct Tally {
    passed: u64,
    failed: u64,
}

impl Tally {
    /// Adds what a line of `cargo test` says, if it is the summary of a test binary.
    fn add_line(&mut self, line: &str) {
        let Some(summary) = line.trim().strip_prefix("test result: ") else {
            return;
        };
        let count = |word: &str| {
            let before = summary.split(word).next().unwrap_or_default();
            before.rsplit(' ').next()?.parse::<u64>().ok()
        };
        self.passed += count(" passed").unwrap_or(0);
        self.failed += count(" failed").unwrap_or(0);
    }

    /// Closes a step: where no test spoke for it, it counts as one, and a failure is never lost.
    fn close_step(&mut self, before: Self, success: bool) {
        if success && *self == before {
            self.passed += 1;
        }
        if !success && self.failed == before.failed {
            self.failed += 1;
        }
    }
}

/// Runs the steps. The last line printed is `N passed, N failed`.
pub fn run() -> Result<ExitCode> {
    let mut tally = Tally::default();
    let mut timings = Vec::new();
    let mut notes = BTreeSet::new();
    let mut failed = None;
    for &(name, line) in STEPS {
        println!("\n$ {line}");
        let before = tally;
        let start = Instant::now();
        let success = run_step(commands::parse(line)?, &mut tally, &mut notes)
            .with_context(|| format!("step {name}"))?;
        tally.close_step(before, success);
        timings.push((name, start.elapsed(), success));
        if !success {
            failed = Some((name, line));
            break;
        }
    }
    print_timings(&timings);
    for note in &notes {
        println!("{note}");
    }
    if let Some((name, line)) = failed {
        println!("step {name} failed; run it alone with: {line}");
    }
    println!("{} passed, {} failed", tally.passed, tally.failed);
    Ok(match failed {
        None => ExitCode::SUCCESS,
        Some(_) => ExitCode::FAILURE,
    })
}

fn run_step(mut command: Command, tally: &mut Tally, notes: &mut BTreeSet<String>) -> Result<bool> {
    let mut child = command
        .stdout(Stdio::piped())
        .spawn()
        .with_context(|| format!("cannot start {command:?}"))?;
    let pipe = child.stdout.take().context("no pipe to the step")?;
    let mut stdout = std::io::stdout().lock();
    for line in BufReader::new(pipe).split(b'\n') {
        let line = line?;
        let line = String::from_utf8_lossy(&line);
        tally.add_line(&line);
        notes.extend(not_tested(&line));
        writeln!(stdout, "{line}")?;
    }
    Ok(child.wait()?.success())
}

/// What a test says that it left out, said again at the end. The harness may have begun the line.
fn not_tested(line: &str) -> Option<String> {
    line.find("not tested: ").map(|at| line[at..].to_owned())
}

fn print_timings(timings: &[(&str, Duration, bool)]) {
    println!();
    for (name, elapsed, success) in timings {
        let verdict = if *success { "ok" } else { "FAILED" };
        println!("{name:<12} {:>8.1} s  {verdict}", elapsed.as_secs_f64());
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn summaries_are_counted() {
        let mut tally = Tally::default();
        tally.add_line(
            "test result: ok. 12 passed; 0 failed; 1 ignored; 0 measured; 3 filtered out",
        );
        tally.add_line("test result: FAILED. 3 passed; 2 failed; 0 ignored");
        tally.add_line("12 passed in a sentence");
        assert_eq!(
            tally,
            Tally {
                passed: 15,
                failed: 2
            }
        );
    }

    #[test]
    fn what_is_left_out_is_found() {
        let line = "test vectors ... not tested: points, since";
        assert_eq!(
            not_tested(line).as_deref(),
            Some("not tested: points, since")
        );
        assert_eq!(not_tested("test result: ok. 12 passed"), None);
    }

    #[test]
    fn a_step_without_tests_counts_as_one() {
        let mut tally = Tally {
            passed: 3,
            failed: 0,
        };
        tally.close_step(tally, true);
        assert_eq!(
            tally,
            Tally {
                passed: 4,
                failed: 0
            }
        );
        tally.close_step(tally, false);
        assert_eq!(
            tally,
            Tally {
                passed: 4,
                failed: 1
            }
        );
    }

    #[test]
    fn a_test_failure_is_not_counted_twice() {
        let before = Tally {
            passed: 3,
            failed: 0,
        };
        let mut tally = Tally {
            passed: 5,
            failed: 1,
        };
        tally.close_step(before, false);
        assert_eq!(
            tally,
            Tally {
                passed: 5,
                failed: 1
            }
        );
    }
}
