//! `cuzk completions` and `cuzk man`.

use std::path::Path;

use anyhow::Context;
use clap::CommandFactory;
use clap_complete::Shell;

use crate::args::Args;
use crate::console::print;

/// Prints completions for a shell.
pub fn completions(shell: Shell) -> anyhow::Result<()> {
    let mut script = Vec::new();
    clap_complete::generate(shell, &mut Args::command(), "cuzk", &mut script);
    print(String::from_utf8(script)?.trim_end())
}

/// Writes the manual pages, one a subcommand.
pub fn man(folder: &Path) -> anyhow::Result<()> {
    std::fs::create_dir_all(folder).with_context(|| folder.display().to_string())?;
    clap_mangen::generate_to(Args::command(), folder)
        .with_context(|| folder.display().to_string())?;
    print(&folder.join("cuzk.1").display().to_string())
}
