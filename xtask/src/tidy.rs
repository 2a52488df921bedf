//! `tidy`: what a compiler does not check. Each check is a function from the tree to its findings, in a file of its
//! own, with a test that shows it passing and one that shows it failing.

mod dependencies;
mod dependency_table;
mod finding;
mod length;
mod module_docs;
mod proof_types;
mod properties;
mod readme;
mod source;
mod tree;
mod unsafe_code;
mod words;

use anyhow::{Result, bail};

use crate::commands;
use finding::Finding;
use tree::Tree;

/// Runs every check and prints the findings.
pub fn run() -> Result<()> {
    let tree = Tree::read(&commands::root())?;
    let mut findings = dependencies::check_workspace()?;
    let checks: [fn(&Tree) -> Vec<Finding>; 7] = [
        module_docs::check,
        length::check,
        unsafe_code::check,
        words::check,
        proof_types::check,
        readme::check,
        properties::check,
    ];
    findings.extend(checks.iter().flat_map(|check| check(&tree)));
    for finding in &findings {
        eprintln!("{finding}");
    }
    match findings.len() {
        0 => {
            println!("tidy: {} files, nothing found", tree.files().len());
            Ok(())
        }
        count => bail!("tidy: {count} findings"),
    }
}
