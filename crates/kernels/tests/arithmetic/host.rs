//! The host program: `kernels/host/program.cpp` with the kernels' headers, built once by the system's C++ compiler.

use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::OnceLock;

fn program() -> &'static Path {
    static PROGRAM: OnceLock<PathBuf> = OnceLock::new();
    PROGRAM.get_or_init(|| {
        let kernels = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../kernels");
        let out = Path::new(env!("CARGO_TARGET_TMPDIR")).join("kernels-on-the-host");
        let built = Command::new("c++")
            .args([
                "-std=c++17",
                "-O2",
                "-Wall",
                "-Wextra",
                "-Werror",
                "-Wno-unknown-pragmas",
                "-I",
            ])
            .arg(kernels.join("include"))
            .arg(kernels.join("host/program.cpp"))
            .arg("-o")
            .arg(&out)
            .status();
        assert!(built.expect("a C++ compiler named c++").success());
        out
    })
}

/// The program's answer to `input` for an operation.
pub fn run(operation: &str, input: Vec<u8>) -> Vec<u8> {
    let mut child = Command::new(program())
        .arg(operation)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let mut stdin = child.stdin.take().unwrap();
    let writer = std::thread::spawn(move || stdin.write_all(&input).unwrap());
    let output = child.wait_with_output().unwrap();
    writer.join().unwrap();
    assert!(output.status.success());
    output.stdout
}
