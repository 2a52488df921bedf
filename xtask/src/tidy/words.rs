//! Words that do not belong in the tree: unfinished work, history, and what is true of one machine only.

use super::finding::Finding;
use super::source::is_identifier;
use super::tree::Tree;

/// A forbidden word and what to do about it. Each is spelled in two parts here, so that this file does not hold it.
const WORDS: &[(&str, &str, &str)] = &[
    ("TO", "DO", UNFINISHED),
    ("FIX", "ME", UNFINISHED),
    ("to", "do!", UNFINISHED),
    ("unimple", "mented!", UNFINISHED),
    ("db", "g!", "remove it"),
    ("#[ign", "ore", "make the test fast or remove it"),
    ("allow(dead", "_code)", "remove what is not used"),
    ("index.cra", "tes.io", HOST),
    ("static.cra", "tes.io", HOST),
    ("local", "host:", HOST),
    ("[sour", "ce.", HOST),
    ("/wo", "rk/", MACHINE),
    ("/ro", "ot/", MACHINE),
    ("/ho", "me/", MACHINE),
];

const UNFINISHED: &str = "finish the work or open an issue";
const HOST: &str = "leave the choice of a registry to the reader's configuration";
const MACHINE: &str = "use a path from the workspace's root";

/// Finds the words in source and documents, comments and strings included.
pub fn check(tree: &Tree) -> Vec<Finding> {
    let mut findings = Vec::new();
    for file in tree.files() {
        for (index, line) in file.text.lines().enumerate() {
            for &(head, tail, remedy) in WORDS {
                let word = [head, tail].concat();
                if contains_word(line, &word) {
                    let what = format!("`{word}` in the tree");
                    findings.push(Finding::new(&file.path, index + 1, what, remedy));
                }
            }
            if names_a_phase(line) {
                let what = "a comment that tells history";
                let remedy = "say what the code does now";
                findings.push(Finding::new(&file.path, index + 1, what, remedy));
            }
        }
    }
    findings
}

/// Whether `word` stands in the line and, where it begins or ends with a letter, is not part of a longer one.
fn contains_word(line: &str, word: &str) -> bool {
    let bytes = line.as_bytes();
    let first = word.bytes().next().is_some_and(is_identifier);
    let last = word.bytes().last().is_some_and(is_identifier);
    line.match_indices(word).any(|(at, _)| {
        let joined_before = first && at > 0 && is_identifier(bytes[at - 1]);
        let after = bytes.get(at + word.len()).copied();
        let joined_after = last && after.is_some_and(is_identifier);
        !joined_before && !joined_after
    })
}

/// `Phase` with a number after a space.
fn names_a_phase(line: &str) -> bool {
    let mut after = line.split("Phase ").skip(1);
    after.any(|rest| rest.starts_with(|c: char| c.is_ascii_digit()))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(text: &str) -> usize {
        check(&Tree::of(&[("docs/a.md", text)])).len()
    }

    #[test]
    fn ordinary_text_passes() {
        for text in [
            "Phase1Out and SealCommitPhase1Output",
            "Phase one of the setup",
            "a mastodon",
            "target/release/cuzk",
            "networks/ and framework/x",
            "METHODOLOGY",
            "crates.io",
        ] {
            assert_eq!(found(text), 0, "{text}");
        }
    }

    #[test]
    fn each_word_is_found() {
        for &(head, tail, _) in WORDS {
            assert_eq!(
                found(&format!("before {head}{tail} after")),
                1,
                "{head}{tail}"
            );
        }
        assert_eq!(found(&format!("as in {} {}", "Phase", 9)), 1);
    }

    #[test]
    fn the_line_is_named() {
        let findings = check(&Tree::of(&[("a.rs", &format!("a\n// {}{}\n", "TO", "DO"))]));
        assert_eq!((findings[0].line, findings.len()), (2, 1));
    }
}
