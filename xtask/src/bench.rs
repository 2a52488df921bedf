//! `bench`: runs a suite's release binary and prints its rows.
//!
//! A suite is a binary that writes one JSON array to standard output, a row a measurement:
//! `{"name", "ours", "peer", "ratio", "unit"}`. Progress goes to standard error.

use std::process::Stdio;

use anyhow::{Context, Result, bail, ensure};
use serde_json::Value;

use crate::commands;

/// The suites: name, what it compares, the command that runs it.
const SUITES: &[Suite] = &[
    Suite {
        name: "peers-cpu",
        about: "this prover against bellperson's on the CPU",
        command: "cargo run --release --quiet --bin peers-cpu --",
    },
    Suite {
        name: "witness",
        about: "direct witnesses against closures; -- --full-size for 32 GiB too",
        command: "cargo run --release --quiet --bin peers-cpu -- --only witness,pce-size",
    },
];

struct Suite {
    name: &'static str,
    about: &'static str,
    command: &'static str,
}

/// The fields of a row, in the order in which they are shown.
const FIELDS: [&str; 5] = ["name", "ours", "peer", "ratio", "unit"];

/// What to run and how to show it.
#[derive(clap::Args)]
pub struct Options {
    /// The suite; none lists them
    suite: Option<String>,
    /// Print the rows as a JSON array
    #[arg(long)]
    json: bool,
    /// Arguments for the suite's binary
    #[arg(last = true)]
    arguments: Vec<String>,
}

/// Runs the suite.
pub fn run(options: &Options) -> Result<()> {
    let Some(name) = &options.suite else {
        for suite in SUITES {
            println!("{:<12} {}", suite.name, suite.about);
        }
        return Ok(());
    };
    let Some(suite) = SUITES.iter().find(|suite| suite.name == name) else {
        let known: Vec<_> = SUITES.iter().map(|suite| suite.name).collect();
        bail!("no suite {name}; known: {}", known.join(", "));
    };
    let mut command = commands::parse(suite.command)?;
    command.args(&options.arguments).stderr(Stdio::inherit());
    let output = command
        .output()
        .with_context(|| format!("cannot start {command:?}"))?;
    ensure!(output.status.success(), "{command:?}: {}", output.status);
    let rows: Vec<Value> = serde_json::from_slice(&output.stdout)
        .with_context(|| format!("suite {name} wrote no JSON array"))?;
    check(&rows)?;
    if options.json {
        println!("{}", serde_json::to_string_pretty(&rows)?);
    } else {
        print!("{}", table(&rows));
    }
    Ok(())
}

fn check(rows: &[Value]) -> Result<()> {
    ensure!(!rows.is_empty(), "the suite wrote no rows");
    for (index, row) in rows.iter().enumerate() {
        for field in FIELDS {
            ensure!(row.get(field).is_some(), "row {index} has no field {field}");
        }
    }
    Ok(())
}

/// Names to the left, numbers to the right, each column as wide as it must be.
fn table(rows: &[Value]) -> String {
    let header = FIELDS.map(str::to_owned);
    let cells: Vec<[String; 5]> = std::iter::once(header)
        .chain(
            rows.iter()
                .map(|row| FIELDS.map(|field| cell(row.get(field)))),
        )
        .collect();
    let width = |column: usize| cells.iter().map(|row| row[column].len()).max().unwrap_or(0);
    let widths: [usize; 5] = std::array::from_fn(width);
    let mut text = String::new();
    for [name, ours, peer, ratio, unit] in &cells {
        let [name_width, ours_width, peer_width, ratio_width, _] = widths;
        text += &format!("{name:<name_width$}  {ours:>ours_width$}  {peer:>peer_width$}  ");
        text += &format!("{ratio:>ratio_width$}  {unit}\n");
    }
    text
}

fn cell(value: Option<&Value>) -> String {
    match value {
        Some(Value::Number(number)) => match number.as_f64() {
            Some(real) if !number.is_u64() => format!("{real:.3}"),
            _ => number.to_string(),
        },
        Some(Value::String(text)) => text.clone(),
        Some(Value::Null) | None => "-".to_owned(),
        Some(other) => other.to_string(),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn rows_become_a_table() {
        let rows = [json!({"name": "msm", "ours": 1.5, "peer": 30, "ratio": 20.0, "unit": "s"})];
        let expected = "name   ours  peer   ratio  unit\nmsm   1.500    30  20.000  s\n";
        assert_eq!(table(&rows), expected);
    }

    #[test]
    fn a_row_without_a_field_is_refused() {
        let mut row = json!({"name": "msm", "ours": 1, "peer": 2, "ratio": 2, "unit": "s"});
        assert!(check(&[row.clone()]).is_ok());
        row.as_object_mut().and_then(|row| row.remove("peer"));
        assert!(check(&[row]).is_err());
        assert!(check(&[]).is_err());
    }
}
