//! The identifiers of proof types are pinned: clients, files and jobs are named by them.

use super::finding::Finding;
use super::source::Source;
use super::tree::Tree;

/// The pinned identifiers, one a line.
const PINNED: &str = "xtask/src/pinned_proof_types.txt";
/// The crate that defines what a proof type is, and is none.
const INTERFACE: &str = "crates/proof-api/";

/// An identifier in a proof type's descriptor.
struct Declared {
    path: String,
    line: usize,
    id: Option<String>,
}

/// The identifiers in the descriptors of `crates/proof-*` equal the pinned list.
pub fn check(tree: &Tree) -> Vec<Finding> {
    let Some(pinned) = tree.get(PINNED) else {
        let remedy = "write the identifiers of the proof types, one a line";
        return vec![Finding::new(PINNED, 1, "the list is missing", remedy)];
    };
    let declared = declared(tree);
    let mut findings = Vec::new();
    for one in &declared {
        let known = |id: &String| pinned.text.lines().any(|line| line == id);
        if !one.id.as_ref().is_some_and(known) {
            let found = one.id.as_deref().unwrap_or("no literal");
            let what = format!("the identifier of a proof type is {found}, which is not pinned");
            let remedy = format!("restore it, or add a new type's identifier to {PINNED}");
            findings.push(Finding::new(&one.path, one.line, what, remedy));
        }
    }
    for (index, line) in pinned.text.lines().enumerate() {
        if !declared.iter().any(|one| one.id.as_deref() == Some(line)) {
            let what = format!("no proof type has the pinned identifier `{line}`");
            let remedy = "restore the type: a pinned identifier is not dropped";
            findings.push(Finding::new(PINNED, index + 1, what, remedy));
        }
    }
    findings
}

fn declared(tree: &Tree) -> Vec<Declared> {
    let mut declared = Vec::new();
    for (file, source) in tree.rust() {
        let path = &file.path;
        if path.starts_with("crates/proof-")
            && !path.starts_with(INTERFACE)
            && path.contains("/src/")
        {
            let ids = descriptor_ids(&source).into_iter();
            declared.extend(ids.map(|(line, id)| Declared {
                path: path.clone(),
                line,
                id,
            }));
        }
    }
    declared
}

/// The string literal in the body of each `fn id(&self)`, or in the constant that the body names.
fn descriptor_ids(source: &Source) -> Vec<(usize, Option<String>)> {
    let signature = "fn id(&self)";
    let functions = source.code.match_indices(signature);
    let id = |at: usize| {
        let (open, close) = source.body(at)?;
        let body = &source.text[open + 1..close];
        first_literal(body).or_else(|| {
            let constant = format!("const {}:", body.trim());
            let at = source.text.find(&constant)?;
            first_literal(source.text[at..].split(';').next()?)
        })
    };
    functions.map(|(at, _)| (source.line(at), id(at))).collect()
}

fn first_literal(text: &str) -> Option<String> {
    text.split('"').nth(1).map(str::to_owned)
}

#[cfg(test)]
mod tests {
    use super::*;

    const FILE: &str = "crates/proof-porep/src/lib.rs";
    const LITERAL: &str =
        "impl ProofType for P {\n fn id(&self) -> &'static str {\n \"porep\"\n } }";

    fn findings(source: &str, pinned: &str) -> Vec<Finding> {
        check(&Tree::of(&[
            (FILE, source),
            (
                "crates/proof-api/src/lib.rs",
                "trait T { fn id(&self) -> &'static str { \"x\" } }",
            ),
            (PINNED, pinned),
        ]))
    }

    #[test]
    fn pinned_identifiers_pass() {
        assert_eq!(findings(LITERAL, "porep\n"), []);
        let constant = "const ID: &str = \"porep\"; fn id(&self) -> &'static str { ID }";
        assert_eq!(findings(constant, "porep\n"), []);
    }

    #[test]
    fn a_changed_identifier_is_found_from_both_sides() {
        let found = findings(LITERAL, "porep-v2\n");
        let places: Vec<_> = found.iter().map(|f| (f.path.as_str(), f.line)).collect();
        assert_eq!(places, [(FILE, 2), (PINNED, 1)]);
    }

    #[test]
    fn a_missing_list_or_literal_is_found() {
        assert_eq!(check(&Tree::of(&[(FILE, LITERAL)])).len(), 1);
        assert_eq!(
            findings("fn id(&self) -> &'static str { name() }", "").len(),
            1
        );
    }
}
