//! The dependency table holds: directions within the workspace, and what never comes in from outside.

use std::process::Command;

use anyhow::{Context, Result, ensure};
use cargo_metadata::{DependencyKind, MetadataCommand};

use super::dependency_table::{FILECOIN, Row, SINGLE, TABLE, fits};
use super::finding::Finding;
use crate::commands;

/// Where the table stands.
const TABLE_FILE: &str = "xtask/src/tidy/dependency_table.rs";

/// A package of the workspace.
struct Member {
    name: String,
    /// Its manifest, from the workspace's root.
    manifest: String,
    /// The workspace's packages among its normal and build dependencies.
    uses: Vec<String>,
    /// Every package that is built with it, itself included.
    closure: Vec<String>,
    /// The same with what its tests need.
    test_closure: Vec<String>,
}

/// Checks the workspace that this crate is part of.
pub fn check_workspace() -> Result<Vec<Finding>> {
    let root = commands::root();
    let metadata = MetadataCommand::new().current_dir(&root).exec()?;
    let packages = metadata.workspace_packages();
    let is_member = |name: &str| packages.iter().any(|package| *package.name == name);
    let mut members = Vec::new();
    for package in &packages {
        let name = package.name.to_string();
        let manifest = package.manifest_path.strip_prefix(&root)?.to_string();
        let normal = package
            .dependencies
            .iter()
            .filter(|d| d.kind != DependencyKind::Development);
        let uses = normal
            .map(|d| d.name.clone())
            .filter(|name| is_member(name))
            .collect();
        let test_closure = closure(&name, "normal,build,dev")?;
        let closure = closure(&name, "normal,build")?;
        members.push(Member {
            name,
            manifest,
            uses,
            closure,
            test_closure,
        });
    }
    let versions: Vec<_> = metadata
        .packages
        .iter()
        .map(|package| (package.name.to_string(), package.version.to_string()))
        .collect();
    let mut findings = check_table(&members, TABLE);
    findings.extend(check_versions(&versions));
    Ok(findings)
}

/// The names that `cargo tree` prints for a package, with the features that it has when built alone.
fn closure(package: &str, edges: &str) -> Result<Vec<String>> {
    let output = Command::new("cargo")
        .args([
            "tree", "--edges", edges, "--prefix", "none", "--format", "{p}",
        ])
        .args(["--package", package])
        .current_dir(commands::root())
        .output()
        .context("cannot start cargo tree")?;
    let errors = String::from_utf8_lossy(&output.stderr);
    ensure!(output.status.success(), "cargo tree of {package}: {errors}");
    let listing = String::from_utf8_lossy(&output.stdout);
    let names = listing.lines().filter_map(|line| line.split(' ').next());
    let mut names: Vec<_> = names
        .filter(|name| !name.is_empty())
        .map(str::to_owned)
        .collect();
    names.sort_unstable();
    names.dedup();
    Ok(names)
}

fn check_table(members: &[Member], table: &[Row]) -> Vec<Finding> {
    let mut findings = Vec::new();
    for member in members {
        match table.iter().find(|row| fits(row.package, &member.name)) {
            Some(row) => findings.extend(check_member(member, row)),
            None => findings.push(Finding::new(
                &member.manifest,
                1,
                format!("{} is not in the dependency table", member.name),
                format!("add a row to {TABLE_FILE}"),
            )),
        }
    }
    let is_absent = |row: &&Row| !members.iter().any(|member| fits(row.package, &member.name));
    findings.extend(table.iter().filter(is_absent).map(|row| {
        let what = format!("the workspace has no package {}", row.package);
        Finding::new(TABLE_FILE, 1, what, "remove the row")
    }));
    findings
}

fn check_member(member: &Member, row: &Row) -> Vec<Finding> {
    let Member { name, manifest, .. } = member;
    let mut findings = Vec::new();
    for used in &member.uses {
        if !row.may_use.iter().any(|name| fits(name, used)) {
            let what = format!("{name} depends on {used}");
            let remedy = format!("remove the dependency; {TABLE_FILE} says what {name} may use");
            findings.push(Finding::new(manifest, 1, what, remedy));
        }
    }
    for group in row.never {
        for package in member.closure.iter().filter(|package| group.holds(package)) {
            let what = format!("{name} brings in {package}: {}", group.name);
            let remedy = format!("see `cargo tree -p {name} -i {package}` and cut the edge");
            findings.push(Finding::new(manifest, 1, what, remedy));
        }
    }
    let is_light = row.never.iter().any(|group| group.name == FILECOIN.name);
    if is_light
        && let Some(package) = member
            .test_closure
            .iter()
            .find(|package| FILECOIN.holds(package))
    {
        let what = format!("the tests of {name} bring in {package}: {}", FILECOIN.name);
        let remedy = "move the test to a crate that knows Filecoin's circuits";
        findings.push(Finding::new(manifest, 1, what, remedy));
    }
    findings
}

fn check_versions(versions: &[(String, String)]) -> Vec<Finding> {
    let mut findings = Vec::new();
    for single in SINGLE {
        let found: Vec<_> = versions.iter().filter(|(name, _)| name == single).collect();
        if found.len() > 1 {
            let list: Vec<_> = found.iter().map(|(_, version)| version.as_str()).collect();
            let what = format!("{single} is there in versions {}", list.join(" and "));
            findings.push(Finding::new(
                "Cargo.lock",
                1,
                what,
                "make all dependencies agree on one",
            ));
        }
    }
    let tombstone = versions
        .iter()
        .filter(|(name, version)| name == "bincode" && !version.starts_with("1."));
    findings.extend(tombstone.map(|(_, version)| {
        let what = format!("bincode {version} is there");
        Finding::new(
            "Cargo.lock",
            1,
            what,
            "payloads are bincode 1 and later versions differ",
        )
    }));
    findings
}

#[cfg(test)]
mod tests {
    use super::super::dependency_table::Group;
    use super::*;

    const RUNTIME: Group = Group {
        name: "a run time",
        packages: &["tokio", "filecoin-*"],
    };
    const ROWS: &[Row] = &[
        Row {
            package: "low",
            may_use: &[],
            never: &[&RUNTIME],
        },
        Row {
            package: "high",
            may_use: &["low"],
            never: &[],
        },
    ];

    fn member(name: &str, uses: &[&str], closure: &[&str]) -> Member {
        Member {
            name: name.to_owned(),
            manifest: format!("crates/{name}/Cargo.toml"),
            uses: uses.iter().map(ToString::to_string).collect(),
            closure: closure.iter().map(ToString::to_string).collect(),
            test_closure: Vec::new(),
        }
    }

    fn whats(members: &[Member]) -> Vec<String> {
        check_table(members, ROWS)
            .into_iter()
            .map(|finding| finding.what)
            .collect()
    }

    #[test]
    fn allowed_edges_pass() {
        let members = [
            member("low", &[], &["low", "tokio-like"]),
            member("high", &["low"], &["tokio"]),
        ];
        assert_eq!(whats(&members), [""; 0]);
    }

    #[test]
    fn an_upward_edge_is_found() {
        let members = [member("low", &["high"], &[]), member("high", &[], &[])];
        assert_eq!(whats(&members), ["low depends on high"]);
    }

    #[test]
    fn a_forbidden_package_is_found() {
        let members = [
            member("low", &[], &["filecoin-x", "tokio"]),
            member("high", &[], &[]),
        ];
        let expected = [
            "low brings in filecoin-x: a run time",
            "low brings in tokio: a run time",
        ];
        assert_eq!(whats(&members), expected);
    }

    #[test]
    fn a_heavy_test_of_a_light_crate_is_found() {
        let light = &[Row {
            package: "low",
            may_use: &[],
            never: &[&FILECOIN],
        }];
        let mut low = member("low", &[], &[]);
        low.test_closure = vec!["bellperson".to_owned()];
        assert_eq!(check_table(&[low], light), []);
        let mut low = member("low", &[], &[]);
        low.test_closure = vec!["filecoin-proofs".to_owned()];
        assert_eq!(check_table(&[low], light).len(), 1);
    }

    #[test]
    fn table_and_workspace_name_the_same_packages() {
        let members = [member("low", &[], &[]), member("new", &[], &[])];
        let expected = [
            "new is not in the dependency table",
            "the workspace has no package high",
        ];
        assert_eq!(whats(&members), expected);
    }

    #[test]
    fn a_second_version_is_found() {
        let version = |name: &str, version: &str| (name.to_owned(), version.to_owned());
        let one = [
            version("blst", "0.3.17"),
            version("bincode", "1.3.3"),
            version("rand", "0.8.5"),
            version("rand", "0.9.0"),
        ];
        assert_eq!(check_versions(&one), []);
        let two = [
            version("blst", "0.3.17"),
            version("blst", "0.4.0"),
            version("bincode", "3.0.0"),
        ];
        assert_eq!(check_versions(&two).len(), 2);
    }
}
