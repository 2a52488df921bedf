//! README's two commands, `.ci/run` and `validate` say the same.

use super::finding::Finding;
use super::tree::{File, Tree};
use crate::commands::{CI, RUN, TEST};
use crate::validate::STEPS;

const README: &str = "README.md";
const CI_FILE: &str = ".ci/run";

/// README's marked blocks hold the commands that are run here, and CI runs `validate`.
pub fn check(tree: &Tree) -> Vec<Finding> {
    let mut findings = Vec::new();
    match tree.get(README) {
        None => findings.push(Finding::new(README, 1, "it is missing", "write it")),
        Some(readme) => {
            findings.extend(check_block(readme, "run", RUN));
            findings.extend(check_block(readme, "test", TEST));
        }
    }
    let last = tree.get(CI_FILE).and_then(|file| file.text.lines().last());
    if last != Some(CI) {
        let remedy = format!("end it with `{CI}`");
        findings.push(Finding::new(
            CI_FILE,
            1,
            "CI does not run `validate`",
            remedy,
        ));
    }
    if !STEPS.iter().any(|&(_, line)| line == TEST) {
        let remedy = "put the test command into STEPS";
        findings.push(Finding::new(
            "xtask/src/validate.rs",
            1,
            "README's tests are not run",
            remedy,
        ));
    }
    findings
}

/// The fenced block after `<!-- command: NAME -->` is exactly `command`, and there is one such block.
fn check_block(readme: &File, name: &str, command: &str) -> Option<Finding> {
    let marker = format!("<!-- command: {name} -->");
    let lines: Vec<&str> = readme.text.lines().collect();
    let marked: Vec<usize> = (0..lines.len()).filter(|&i| lines[i] == marker).collect();
    let [at] = marked[..] else {
        let what = format!("{} marks `{marker}`, one is wanted", marked.len());
        return Some(Finding::new(
            &readme.path,
            1,
            what,
            "mark the block of the command",
        ));
    };
    let block = lines.get(at + 1..at + 4).unwrap_or_default();
    if block == ["```sh", command, "```"] {
        return None;
    }
    let what = format!("the {name} command differs from `{command}`");
    let remedy = "change both, here and in xtask/src/commands.rs";
    Some(Finding::new(&readme.path, at + 2, what, remedy))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn readme(run: &str, test: &str) -> String {
        format!(
            "# x\n<!-- command: run -->\n```sh\n{run}\n```\n<!-- command: test -->\n```sh\n{test}\n```\n"
        )
    }

    fn findings(readme: &str, ci: &str) -> usize {
        check(&Tree::of(&[(README, readme), (CI_FILE, ci)])).len()
    }

    #[test]
    fn equal_commands_pass() {
        assert_eq!(
            findings(&readme(RUN, TEST), &format!("#!/bin/sh\n{CI}\n")),
            0
        );
    }

    #[test]
    fn different_commands_are_found() {
        assert_eq!(findings(&readme("make", TEST), CI), 1);
        assert_eq!(findings(&readme(RUN, "make test"), CI), 1);
        assert_eq!(findings(&readme(RUN, TEST), "make"), 1);
        assert_eq!(findings("no commands", CI), 2);
        assert_eq!(check(&Tree::of(&[])).len(), 2);
    }
}
