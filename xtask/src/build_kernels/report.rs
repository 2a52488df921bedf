//! Registers and spills of each kernel, as the assembler reports them.

use anyhow::{Context, Result};
use serde_json::{Value, json};

/// What a kernel takes on an architecture.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct Usage {
    kernel: String,
    architecture: String,
    registers: u32,
    stack_bytes: u32,
    spill_bytes: u32,
}

impl Usage {
    pub fn to_json(&self) -> Value {
        json!({
            "kernel": self.kernel,
            "architecture": self.architecture,
            "registers": self.registers,
            "stack_bytes": self.stack_bytes,
            "spill_bytes": self.spill_bytes,
        })
    }
}

/// Reads the assembler's lines. A kernel's first line names it; lines on functions that it calls come after its own.
pub fn parse(log: &str) -> Result<Vec<Usage>> {
    let mut usages: Vec<Usage> = Vec::new();
    let mut is_kernel = false;
    for line in log.lines() {
        if let Some((_, rest)) = line.split_once("Compiling entry function '") {
            let mut quoted = rest.split('\'');
            let kernel = quoted.next().unwrap_or_default().to_owned();
            let architecture = quoted
                .nth(1)
                .with_context(|| format!("no architecture in: {line}"))?;
            usages.push(Usage {
                kernel,
                architecture: architecture.to_owned(),
                ..Usage::default()
            });
        } else if let Some((_, name)) = line.split_once("Function properties for ") {
            is_kernel = usages
                .last()
                .is_some_and(|usage| usage.kernel == name.trim());
        } else if let Some(usage) = usages.last_mut() {
            if is_kernel && line.contains("bytes stack frame") {
                usage.stack_bytes = number_before(line, " bytes stack frame")?;
                usage.spill_bytes = number_before(line, " bytes spill stores")?;
            } else if line.contains("Used ") {
                usage.registers = number_before(line, " registers")?;
            }
        }
    }
    Ok(usages)
}

fn number_before(line: &str, what: &str) -> Result<u32> {
    let before = line.split(what).next().unwrap_or_default();
    let number = before.rsplit(' ').next().unwrap_or_default();
    number
        .parse()
        .with_context(|| format!("no number before {what:?} in: {line}"))
}

/// A line a kernel and architecture.
pub fn print(usages: &[Usage]) {
    println!(
        "{:<32} {:>8} {:>10} {:>8} {:>8}",
        "kernel", "arch", "registers", "stack", "spilled"
    );
    for usage in usages {
        let (kernel, architecture) = (&usage.kernel, &usage.architecture);
        let (registers, stack, spilled) = (usage.registers, usage.stack_bytes, usage.spill_bytes);
        println!("{kernel:<32} {architecture:>8} {registers:>10} {stack:>8} {spilled:>8}");
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const LOG: &str = "ptxas info    : 0 bytes gmem
ptxas info    : Compiling entry function 'one' for 'sm_90'
ptxas info    : Function properties for one
    40 bytes stack frame, 64 bytes spill stores, 88 bytes spill loads
ptxas info    : Used 128 registers, used 1 barriers, 40 bytes cumulative stack size
ptxas info    : Function properties for a_call
    8 bytes stack frame, 12 bytes spill stores, 12 bytes spill loads
ptxas info    : Compile time = 934.312 ms
";

    #[test]
    fn a_kernels_own_lines_count() -> Result<()> {
        let expected = Usage {
            kernel: "one".to_owned(),
            architecture: "sm_90".to_owned(),
            registers: 128,
            stack_bytes: 40,
            spill_bytes: 64,
        };
        assert_eq!(parse(LOG)?, [expected]);
        Ok(())
    }

    #[test]
    fn a_line_without_its_number_is_an_error() {
        let log = "Compiling entry function 'one' for 'sm_90'\nUsed many registers";
        assert!(parse(log).is_err());
    }
}
