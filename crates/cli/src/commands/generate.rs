//! `cuzk completions` and `cuzk man`.

use std::io;
use std::path::Path;

use anyhow::Context;
use clap::CommandFactory;
use clap_complete::Shell;

use crate::args::Args;

/// Prints completions for a shell.
pub fn completions(shell: Shell) -> anyhow::Result<()> {
    clap_complete::generate(shell, &mut Args::command(), "cuzk", &mut io::stdout());
    Ok(())
}

/// Writes the manual pages, one a subcommand.
pub fn man(folder: &Path) -> anyhow::Result<()> {
    std::fs::create_dir_all(folder).with_context(|| folder.display().to_string())?;
    clap_mangen::generate_to(Args::command(), folder)
        .with_context(|| folder.display().to_string())?;
    println!("{}", folder.join("cuzk.1").display());
    Ok(())
}
