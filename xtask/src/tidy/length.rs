//! Files of at most 600 lines and functions of at most 70, with a list of exceptions that can only shrink.
//!
//! An exception names the present length exactly. Where the code grows past it, tidy fails; where the code shrinks,
//! tidy asks for the entry to shrink with it, and to go once the limit holds.

use super::finding::Finding;
use super::source::{Source, is_identifier};
use super::tree::{File, Tree};

/// Lines of a file.
const FILE_LIMIT: usize = 600;
/// Lines of a function, from `fn` to its closing brace.
const FUNCTION_LIMIT: usize = 70;
/// The exceptions, one a line: `<path> <lines>` or `<path>::<function> <lines>`.
const RATCHET: &str = "xtask/src/tidy/ratchet.txt";

/// Something with a length.
struct Measured<'a> {
    /// As the list of exceptions names it.
    key: String,
    path: &'a str,
    line: usize,
    lines: usize,
    limit: usize,
}

struct Exception<'a> {
    line: usize,
    key: &'a str,
    lines: usize,
}

/// Compares every file and function with its limit and the list of exceptions.
pub fn check(tree: &Tree) -> Vec<Finding> {
    let mut findings = Vec::new();
    let exceptions = exceptions(tree, &mut findings);
    let measured: Vec<Measured> = tree
        .rust()
        .flat_map(|(file, source)| measure(file, &source))
        .filter(|one| one.lines > one.limit)
        .collect();
    for one in &measured {
        let allowed = exceptions.iter().find(|e| e.key == one.key);
        match allowed {
            None => findings.push(too_long(one, one.limit)),
            Some(exception) if one.lines > exception.lines => {
                findings.push(too_long(one, exception.lines));
            }
            Some(_) => {}
        }
    }
    for exception in &exceptions {
        let longest = measured.iter().filter(|one| one.key == exception.key);
        let now = longest.map(|one| one.lines).max().unwrap_or(0);
        if now < exception.lines {
            findings.push(slack(exception, now));
        }
    }
    findings
}

fn too_long(one: &Measured, limit: usize) -> Finding {
    Finding::new(
        one.path,
        one.line,
        format!("{} has {} lines, the limit is {limit}", one.key, one.lines),
        "split it by responsibility",
    )
}

fn slack(exception: &Exception, now: usize) -> Finding {
    let remedy = match now {
        0 => "remove the entry".to_owned(),
        now => format!("lower the entry to {now}"),
    };
    let what = format!(
        "{} is shorter than its exception of {}",
        exception.key, exception.lines
    );
    Finding::new(RATCHET, exception.line, what, remedy)
}

fn exceptions<'a>(tree: &'a Tree, findings: &mut Vec<Finding>) -> Vec<Exception<'a>> {
    let mut exceptions = Vec::new();
    let text = tree.get(RATCHET).map_or("", |file| &file.text);
    for (index, content) in text.lines().enumerate() {
        if content.is_empty() || content.starts_with('#') {
            continue;
        }
        let entry = content.rsplit_once(' ');
        match entry.and_then(|(key, lines)| Some((key, lines.parse().ok()?))) {
            Some((key, lines)) => exceptions.push(Exception {
                line: index + 1,
                key,
                lines,
            }),
            None => findings.push(Finding::new(
                RATCHET,
                index + 1,
                format!("`{content}` is no exception"),
                "write `<path> <lines>` or `<path>::<function> <lines>`",
            )),
        }
    }
    exceptions
}

fn measure<'a>(file: &'a File, source: &Source) -> Vec<Measured<'a>> {
    let mut measured = vec![Measured {
        key: file.path.clone(),
        path: &file.path,
        line: 1,
        lines: file.text.lines().count(),
        limit: FILE_LIMIT,
    }];
    for at in source.words("fn") {
        let Some(name) = function_name(&source.code[at + 2..]) else {
            continue;
        };
        let Some((_, close)) = source.body(at) else {
            continue;
        };
        let line = source.line(at);
        measured.push(Measured {
            key: format!("{}::{name}", file.path),
            path: &file.path,
            line,
            lines: source.line(close) + 1 - line,
            limit: FUNCTION_LIMIT,
        });
    }
    measured
}

/// The name after `fn`; none for a function pointer's type.
fn function_name(after: &str) -> Option<&str> {
    let after = after.trim_start().trim_start_matches('$');
    let end = after.bytes().position(|byte| !is_identifier(byte))?;
    (end > 0).then(|| &after[..end])
}

#[cfg(test)]
mod tests {
    use super::*;

    fn function(lines: usize) -> String {
        format!(
            "fn long() {{\n{}}}\n",
            "// fn { in a comment\n".repeat(lines - 2)
        )
    }

    fn findings(text: &str, ratchet: &str) -> Vec<String> {
        let tree = Tree::of(&[("a.rs", text), (RATCHET, ratchet)]);
        check(&tree).iter().map(ToString::to_string).collect()
    }

    #[test]
    fn lengths_up_to_the_limit_pass() {
        assert_eq!(findings(&function(FUNCTION_LIMIT), "# none\n"), [""; 0]);
        assert_eq!(findings(&"x\n".repeat(FILE_LIMIT), ""), [""; 0]);
    }

    #[test]
    fn lengths_over_the_limit_are_found() {
        let text = findings(&function(FUNCTION_LIMIT + 1), "");
        assert_eq!(
            text,
            ["a.rs:1: a.rs::long has 71 lines, the limit is 70; split it by responsibility"]
        );
        assert_eq!(findings(&"x\n".repeat(FILE_LIMIT + 1), "").len(), 1);
    }

    #[test]
    fn an_exception_holds_exactly() {
        let text = function(80);
        assert_eq!(findings(&text, "a.rs::long 80\n"), [""; 0]);
        assert_eq!(findings(&text, "a.rs::long 79\n").len(), 1);
        let slack = findings(&text, "a.rs::long 81\n");
        assert_eq!(slack.len(), 1);
        assert!(slack[0].contains("lower the entry to 80"), "{slack:?}");
        let unused = findings("", "a.rs::long 81\n");
        assert!(unused[0].contains("remove the entry"), "{unused:?}");
        assert_eq!(findings("", "nonsense\n").len(), 1);
    }

    #[test]
    fn declarations_and_pointers_have_no_length() {
        let text = format!(
            "trait T {{ fn f(); }}\nconst F: fn() = x;\n{}",
            "\n".repeat(80)
        );
        assert_eq!(findings(&text, ""), [""; 0]);
    }
}
