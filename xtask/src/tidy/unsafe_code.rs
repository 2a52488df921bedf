//! `unsafe` stands only in the crates that are named here.

use super::finding::Finding;
use super::tree::Tree;

/// Folders whose code may be unsafe, and how often: layouts and vector code in `curve`, one mapping call in
/// `params` and in `pce`, the driver's calls in `gpu`, layouts and launches in `backend-cuda`, a peer's calls in
/// `benches/peers`.
const ALLOWED: &[(&str, usize)] = &[
    ("crates/curve/", usize::MAX),
    ("crates/params/", 1),
    ("crates/pce/", 1),
    ("crates/gpu/", usize::MAX),
    ("crates/backend-cuda/", usize::MAX),
    ("benches/peers/", usize::MAX),
];

/// Finds `unsafe` outside those folders, or more often than allowed.
pub fn check(tree: &Tree) -> Vec<Finding> {
    let mut findings = Vec::new();
    let mut counts = vec![0; ALLOWED.len()];
    for (file, source) in tree.rust() {
        let allowed = ALLOWED
            .iter()
            .position(|(folder, _)| file.path.starts_with(folder));
        for at in source.words("unsafe") {
            let within = allowed.is_some_and(|index| {
                counts[index] += 1;
                counts[index] <= ALLOWED[index].1
            });
            if !within {
                findings.push(Finding::new(
                    &file.path,
                    source.line(at),
                    "`unsafe` where it is not allowed",
                    "use a safe interface, or move the code to a crate that is named in xtask/src/tidy/unsafe_code.rs",
                ));
            }
        }
    }
    findings
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn allowed_places_pass() {
        let tree = Tree::of(&[
            ("crates/curve/src/a.rs", "unsafe { a() } unsafe { b() }"),
            ("crates/params/src/a.rs", "unsafe { map() }"),
            (
                "crates/r1cs/src/a.rs",
                "// unsafe\n#![deny(unsafe_code)] let x = \"unsafe\";",
            ),
        ]);
        assert_eq!(check(&tree), []);
    }

    #[test]
    fn other_places_are_found() {
        let tree = Tree::of(&[
            ("crates/params/src/a.rs", "unsafe { map() }"),
            ("crates/params/src/b.rs", "unsafe { map() }"),
            ("crates/r1cs/src/a.rs", "\nunsafe fn f() {}"),
        ]);
        let found: Vec<_> = check(&tree).into_iter().map(|f| (f.path, f.line)).collect();
        let expected = [("crates/params/src/b.rs", 1), ("crates/r1cs/src/a.rs", 2)];
        assert_eq!(found, expected.map(|(path, line)| (path.to_owned(), line)));
    }
}
