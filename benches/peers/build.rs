//! Compiles sppark's code with the nvcc that `CUZK_NVCC` names, for the architecture that `CUZK_ARCH` names.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::{env, fs};

/// The units of `cuda/`.
const UNITS: [&str; 3] = ["msm_g1", "msm_g2", "ntt"];

fn variable(name: &str) -> String {
    println!("cargo::rerun-if-env-changed={name}");
    env::var(name).unwrap_or_else(|_| {
        panic!("{name} is not set: build with `cargo xtask device-bundle --peers ARCH`")
    })
}

fn run(command: &mut Command) {
    let status = command.status();
    assert!(
        status.is_ok_and(|status| status.success()),
        "failed: {command:?}"
    );
}

fn main() {
    println!("cargo::rerun-if-changed=cuda");
    let nvcc = variable("CUZK_NVCC");
    let arch = format!("-arch=sm_{}", variable("CUZK_ARCH"));
    let [sppark, blst] = ["DEP_SPPARK_ROOT", "DEP_BLST_C_SRC"].map(variable);
    let out = PathBuf::from(variable("OUT_DIR"));
    let compile = |source: &Path, name: &str| {
        let object = out.join(format!("{name}.o"));
        let mut command = Command::new(&nvcc);
        command.args([
            "-std=c++17",
            "-O2",
            &arch,
            "-DFEATURE_BLS12_381",
            "-I",
            &sppark,
            "-I",
            &blst,
        ]);
        run(command
            .args(["-x", "cu", "-c"])
            .arg(source)
            .arg("-o")
            .arg(&object));
        object
    };
    // sppark's kernels are not static, and two units have some of one name: a unit keeps all but its own functions to itself.
    let own = |unit: &&str| {
        let (object, whole) = (
            compile(&Path::new("cuda").join(format!("{unit}.cu")), unit),
            out.join(format!("{unit}.whole.o")),
        );
        run(Command::new("objcopy")
            .args(["-w", "--keep-global-symbol=peer_*"])
            .arg(&object));
        run(Command::new("ld")
            .args(["-r", "--force-group-allocation"])
            .arg(&object)
            .arg("-o")
            .arg(&whole));
        whole
    };
    let mut objects: Vec<PathBuf> = UNITS.iter().map(own).collect();
    objects.push(compile(
        &Path::new(&sppark).join("util/all_gpus.cpp"),
        "all_gpus",
    ));
    let library = out.join("libpeers.a");
    let _ = fs::remove_file(&library);
    run(Command::new(&nvcc)
        .arg("-lib")
        .args(&objects)
        .arg("-o")
        .arg(&library));
    link(&nvcc, &out);
}

/// What the program is linked with: the units, and the run time that stands beside nvcc.
fn link(nvcc: &str, out: &Path) {
    let toolkit = Path::new(nvcc)
        .parent()
        .and_then(Path::parent)
        .unwrap_or(Path::new("/"));
    for folder in ["lib", "lib64"] {
        println!(
            "cargo::rustc-link-search=native={}",
            toolkit.join(folder).display()
        );
    }
    println!("cargo::rustc-link-search=native={}", out.display());
    println!("cargo::rustc-link-lib=static=peers");
    println!("cargo::rustc-link-lib=static=cudart_static");
    for library in ["stdc++", "dl", "rt", "pthread"] {
        println!("cargo::rustc-link-lib={library}");
    }
}
