//! Each module says at its top what it is for.

use super::finding::Finding;
use super::tree::Tree;

/// Every Rust file starts with `//!` or with a document taken in as such, after its inner attributes.
pub fn check(tree: &Tree) -> Vec<Finding> {
    let undocumented = tree
        .files()
        .iter()
        .filter(|file| file.path.ends_with(".rs") && !has_docs(&file.text));
    undocumented
        .map(|file| {
            Finding::new(
                &file.path,
                1,
                "the module has no documentation",
                "start the file with `//!` and a sentence on what it is for",
            )
        })
        .collect()
}

fn has_docs(text: &str) -> bool {
    let lines = text.lines().map(str::trim).filter(|line| !line.is_empty());
    for line in lines {
        if let Some(doc) = line.strip_prefix("//!") {
            return !doc.trim().is_empty();
        }
        if line.starts_with("#![doc = include_str!") {
            return true;
        }
        if !line.starts_with("#![") {
            return false;
        }
    }
    false
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn documented_modules_pass() {
        let tree = Tree::of(&[
            ("crates/a/src/lib.rs", "//! What it is for.\n"),
            ("crates/a/src/b.rs", "#![no_main]\n\n//! What it is for.\n"),
            (
                "crates/a/src/c.rs",
                "#![doc = include_str!(\"../README.md\")]\n",
            ),
            ("crates/a/README.md", "no module"),
        ]);
        assert_eq!(check(&tree), []);
    }

    #[test]
    fn undocumented_modules_are_found() {
        for text in [
            "",
            "use x;\n//! late",
            "//!\nuse x;",
            "// a comment",
            "/// of an item\nfn f() {}",
        ] {
            let findings = check(&Tree::of(&[("crates/a/src/lib.rs", text)]));
            assert_eq!(findings.len(), 1, "{text:?}");
            assert_eq!(findings[0].path, "crates/a/src/lib.rs");
        }
    }
}
