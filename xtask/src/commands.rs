//! The commands that README, CI and `validate` share, and how a command line is run.

use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result, ensure};

/// README's first command: the demonstration.
pub const RUN: &str = "cargo run --release --bin cuzk -- demo";

/// README's second command: all tests.
pub const TEST: &str = "cargo test --release --workspace";

/// The last line of `.ci/run`: CI and `validate` are one list.
pub const CI: &str = "exec cargo xtask validate";

/// The root of the workspace.
pub fn root() -> PathBuf {
    let manifest = Path::new(env!("CARGO_MANIFEST_DIR"));
    manifest.parent().unwrap_or(manifest).to_owned()
}

/// A command from a line of words without quotes; leading `NAME=value` words set the environment.
pub fn parse(line: &str) -> Result<Command> {
    let mut words = line.split_whitespace().peekable();
    let mut environment = Vec::new();
    while let Some(pair) = words.peek().and_then(|word| word.split_once('=')) {
        environment.push(pair);
        words.next();
    }
    let program = words.next().context("an empty command line")?;
    let mut command = Command::new(program);
    command.args(words).envs(environment).current_dir(root());
    Ok(command)
}

/// Runs a command, its output shown, and fails when it does.
pub fn run(command: &mut Command) -> Result<()> {
    let status = command
        .status()
        .with_context(|| format!("cannot start {command:?}"))?;
    ensure!(status.success(), "{command:?}: {status}");
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn leading_assignments_are_environment() -> Result<()> {
        let command = parse("CASES=8 cargo test name=x")?;
        assert_eq!(command.get_program(), "cargo");
        assert_eq!(command.get_args().collect::<Vec<_>>(), ["test", "name=x"]);
        let environment: Vec<_> = command.get_envs().collect();
        assert_eq!(environment, [("CASES".as_ref(), Some("8".as_ref()))]);
        Ok(())
    }

    #[test]
    fn an_empty_line_is_an_error() {
        assert!(parse("A=1").is_err());
    }
}
