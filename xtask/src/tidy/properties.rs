//! Every integration test with generated cases is run with more of them by `validate`.

use super::finding::Finding;
use super::tree::Tree;
use crate::validate::PROPERTIES;

/// Each test target that uses proptest is named in the step, and the step names no other.
pub fn check(tree: &Tree) -> Vec<Finding> {
    compare(tree, PROPERTIES)
}

fn compare(tree: &Tree, step: &str) -> Vec<Finding> {
    let mut findings = Vec::new();
    let named: Vec<&str> = step.split("--test ").skip(1).map(str::trim).collect();
    let mut used = Vec::new();
    for (file, source) in tree.rust() {
        let Some(target) = test_target(&file.path) else {
            continue;
        };
        let Some(at) = source
            .words("proptest")
            .find(|at| source.code[*at..].starts_with("proptest!"))
        else {
            continue;
        };
        used.push(target);
        if !named.contains(&target) {
            let what =
                format!("`validate` does not run the properties of {target} with more cases");
            let remedy = format!("add `--test {target}` to PROPERTIES in xtask/src/validate.rs");
            findings.push(Finding::new(&file.path, source.line(at), what, remedy));
        }
    }
    for name in named.iter().filter(|name| !used.contains(*name)) {
        let what = format!("PROPERTIES names {name}, which has no properties");
        findings.push(Finding::new("xtask/src/validate.rs", 1, what, "remove it"));
    }
    findings
}

/// The test target that a file belongs to: `crates/x/tests/TARGET.rs` or `crates/x/tests/TARGET/….rs`.
fn test_target(path: &str) -> Option<&str> {
    let (_, below) = path.split_once("/tests/")?;
    path.starts_with("crates/").then_some(())?;
    let first = below.split('/').next()?;
    Some(first.strip_suffix(".rs").unwrap_or(first))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn findings(step: &str) -> Vec<String> {
        let tree = Tree::of(&[
            ("crates/a/tests/one.rs", "\nproptest! {}"),
            ("crates/a/tests/two/main.rs", "proptest! {}"),
            ("crates/a/tests/plain.rs", "use proptest::x; // proptest!"),
        ]);
        compare(&tree, step)
            .iter()
            .map(|f| format!("{}:{}", f.path, f.line))
            .collect()
    }

    #[test]
    fn named_targets_pass() {
        assert_eq!(findings("cargo test --test one --test two"), [""; 0]);
    }

    #[test]
    fn missing_and_superfluous_targets_are_found() {
        assert_eq!(
            findings("cargo test --test two"),
            ["crates/a/tests/one.rs:2"]
        );
        assert_eq!(
            findings("--test one --test two --test plain"),
            ["xtask/src/validate.rs:1"]
        );
    }
}
