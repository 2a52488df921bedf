//! `cuzk inspect`: what a file is, and what is wrong with it.

use std::fs::{self, File};
use std::io::Read;
use std::path::Path;

use anyhow::Context;
use cuzk_curve::Group;
use cuzk_curve::{G1, G2};
use cuzk_groth16::{PROOF_BYTES, Proof};
use cuzk_params::{
    DevelopmentMark, FileDigest, ParameterFiles, Parameters, PointCheck, VerifyingKey,
    digest_bytes, digest_file,
};
use cuzk_pce::Pce;
use cuzk_r1cs::Matrix;
use cuzk_synth::Payload;
use serde_json::{Map, Value};

use crate::args::Inspect;
use crate::console::Console;
use crate::failure::{INPUT, USAGE, exit_code, failure, said};
use crate::job;

/// More partitions than any proof has.
const LARGEST_PROOF: u64 = 1 << 12;

/// What a file seems to be, by its name and first bytes.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
enum Guess {
    Pce,
    Params,
    VerifyingKey,
    Payload,
    Proof,
}

/// Facts about a file, and what is wrong with it.
#[derive(Default)]
struct Report {
    facts: Map<String, Value>,
    faults: Vec<String>,
    code: u8,
}

impl Report {
    fn fact(&mut self, name: &str, value: impl Into<Value>) {
        self.facts.insert(name.to_owned(), value.into());
    }

    fn fault(&mut self, error: anyhow::Error) {
        if self.faults.is_empty() {
            self.code = exit_code(&error);
        }
        self.faults.push(said(&error));
    }

    /// Keeps a value, or its error as a fault.
    fn take<T>(&mut self, result: anyhow::Result<T>) -> Option<T> {
        result.map_err(|error| self.fault(error)).ok()
    }
}

/// Says what a file is. Ends with the code of the first fault.
pub fn run(args: &Inspect, console: &Console) -> anyhow::Result<()> {
    let path = &args.file;
    let size = fs::metadata(path)
        .with_context(|| path.display().to_string())?
        .len();
    let mut report = Report::default();
    report.fact("file", path.display().to_string());
    report.fact("bytes", size);
    let guess = guess(path, size)?;
    match (&args.manifest, guess) {
        (Some(manifest), Guess::Params | Guess::VerifyingKey) => {
            published(path, manifest, console, &mut report);
        }
        (Some(_), _) => {
            let message = format!(
                "{}: --manifest is for .params and .vk files, and this is neither",
                path.display()
            );
            return Err(failure(USAGE, message));
        }
        (None, _) => {}
    }
    match guess {
        Guess::Pce => pce(path, console, &mut report),
        Guess::Params => params(path, args.quick, console, &mut report)?,
        Guess::VerifyingKey => verifying_key(path, &mut report),
        Guess::Payload => payload(path, console, &mut report),
        Guess::Proof => proof(path, size, &mut report)?,
    }
    let faults: Vec<Value> = report.faults.iter().cloned().map(Value::from).collect();
    report.fact("faults", faults);
    let text: Vec<String> = report.facts.iter().map(line).collect();
    console.result(&report.facts, &text.join("\n"))?;
    match report.faults.len() {
        0 => Ok(()),
        n => Err(failure(
            report.code,
            format!("{}: {n} fault(s)", path.display()),
        )),
    }
}

fn line((name, value): (&String, &Value)) -> String {
    match value {
        Value::String(text) => format!("{name}: {text}"),
        Value::Array(items) if items.is_empty() => format!("{name}: none"),
        Value::Array(items) => {
            let items = items.iter().map(|item| match item {
                Value::String(text) => format!("\n  {text}"),
                other => format!("\n  {other}"),
            });
            format!("{name}:{}", items.collect::<String>())
        }
        other => format!("{name}: {other}"),
    }
}

fn guess(path: &Path, size: u64) -> anyhow::Result<Guess> {
    let mut start = [0; 16];
    let mut file = File::open(path).with_context(|| path.display().to_string())?;
    let read = file
        .read(&mut start)
        .with_context(|| path.display().to_string())?;
    let start = &start[..read];
    let extension = path
        .extension()
        .and_then(|e| e.to_str())
        .unwrap_or_default();
    Ok(match extension {
        "pce" => Guess::Pce,
        "params" => Guess::Params,
        "vk" => Guess::VerifyingKey,
        _ if start.starts_with(b"cuzkPCE") => Guess::Pce,
        _ if start.trim_ascii_start().starts_with(b"{") => Guess::Payload,
        "proof" => Guess::Proof,
        _ if size > 0 && size.is_multiple_of(PROOF_BYTES as u64) && size <= 1 << 16 => Guess::Proof,
        _ if size > VerifyingKey::FIXED_BYTES as u64 && size <= 16 << 20 => Guess::VerifyingKey,
        _ if size > 16 << 20 => Guess::Params,
        _ => {
            let message = format!(
                "{}: not a file that cuzk knows: wanted a .params, a .vk, a PCE, a payload (JSON) or a proof (a multiple \
                 of {PROOF_BYTES} bytes)",
                path.display()
            );
            return Err(failure(INPUT, message));
        }
    })
}

fn pce(path: &Path, console: &Console, report: &mut Report) {
    report.fact("is", "a compiled circuit (PCE)");
    let Some(pce) = report.take(Pce::open(path).map_err(anyhow::Error::from)) else {
        return;
    };
    let shape = pce.shape;
    report.fact("format_version", cuzk_pce::VERSION);
    if let Some(digest) = report.take(digest(path, console)) {
        report.fact("digest", digest.to_string());
    }
    report.fact("shape_hash", pce.hash.to_string());
    report.fact("inputs", shape.inputs);
    report.fact("aux", shape.aux);
    report.fact("constraints", shape.constraints);
    report.fact("domain", shape.domain());
    report.fact("coefficients", pce.coefficients.len());
    report.fact("field_class", pce.field_class.count_ones());
    if let Some(density) = report.take(pce.density().map_err(anyhow::Error::from)) {
        report.fact("density_a_aux", density.a_aux.count_ones());
        report.fact("density_b_inputs", density.b_inputs.count_ones());
        report.fact("density_b_aux", density.b_aux.count_ones());
    }
    report.fact("templates", pce.matrices.templates().len());
    report.fact("non_zeros_a", pce.matrices.terms(Matrix::A));
    report.fact("non_zeros_b", pce.matrices.terms(Matrix::B));
    report.fact("non_zeros_c", pce.matrices.terms(Matrix::C));
    report.fact("matrix_bytes", pce.matrix_bytes());
    let non_zeros = pce.terms().max(1) as f64;
    report.fact("bytes_per_non_zero", pce.matrix_bytes() as f64 / non_zeros);
}

/// Holds a key's file against the digest that is published for its name.
fn published(path: &Path, manifest: &Path, console: &Console, report: &mut Report) {
    let held = || {
        let files = ParameterFiles::read(manifest)?;
        let length = fs::metadata(path)?.len();
        console.measured("published digest", length, |bar| {
            files.verify(path, &mut |done, _| bar.set_position(done))
        })?;
        Ok(())
    };
    if report.take(held()).is_some() {
        report.fact("published", "the digest is the published one");
    }
}

fn params(path: &Path, quick: bool, console: &Console, report: &mut Report) -> anyhow::Result<()> {
    report.fact("is", "a proving key (.params)");
    mark(path, report);
    let Some(key) = report.take(Parameters::open(path).map_err(anyhow::Error::from)) else {
        return Ok(());
    };
    report.fact("ic", key.vk().ic.len());
    report.fact("h", key.h().len());
    report.fact("l", key.l().len());
    report.fact("a", key.a().len());
    report.fact("b_g1", key.b_g1().len());
    report.fact("b_g2", key.b_g2().len());
    report.fact("domain", key.h().len() + 1);
    report.fact("trailing_bytes", key.trailing_bytes());
    report.fact("vk_digest", key.vk().digest().to_string());
    let beside = path.with_extension("vk");
    if beside.is_file() {
        let same = VerifyingKey::read(&beside)
            .and_then(|vk| key.check_verifying_key(&vk, &beside))
            .map_err(anyhow::Error::from);
        if report.take(same).is_some() {
            report.fact("vk_beside", "the same key");
        }
    } else {
        report.fact("vk_beside", "absent");
    }
    if quick {
        report.fact("points", "not checked (--quick)");
        return Ok(());
    }
    let digest = digest(path, console)?;
    report.fact("digest", digest.to_string());
    let total = key.h().len() + key.l().len() + key.a().len() + key.b_g1().len() + key.b_g2().len();
    let checked = console.measured("checking every point", total as u64, |bar| {
        let mut progress = |done: usize, _: usize| bar.set_position(done as u64);
        key.check_points(PointCheck::Subgroup, &mut progress)
    });
    let checked = checked.map_err(anyhow::Error::from);
    if report.take(checked).is_some() {
        report.fact("points", "all on the curve and in the subgroup");
    }
    Ok(())
}

fn digest(path: &Path, console: &Console) -> anyhow::Result<FileDigest> {
    let length = fs::metadata(path)?.len();
    let digest = console.measured("digest", length, |bar| {
        digest_file(path, &mut |done, _| bar.set_position(done))
    })?;
    Ok(digest.value)
}

fn mark(path: &Path, report: &mut Report) {
    let mark = DevelopmentMark::read(path).map_err(anyhow::Error::from);
    if let Some(Some(mark)) = report.take(mark) {
        let text = format!(
            "made by {} for shape {}: insecure",
            mark.made_by, mark.shape_hash
        );
        report.fact("development_key", text);
    }
}

fn verifying_key(path: &Path, report: &mut Report) {
    report.fact("is", "a verifying key (.vk)");
    mark(path, report);
    let Some(vk) = report.take(VerifyingKey::read(path).map_err(anyhow::Error::from)) else {
        return;
    };
    report.fact("public_inputs", vk.ic.len() - 1);
    report.fact("digest", vk.digest().to_string());
    let mut point = |name: &str, hex: String| report.fact(name, hex);
    point("alpha_g1", hex::<G1>(&vk.alpha_g1));
    point("beta_g2", hex::<G2>(&vk.beta_g2));
    point("gamma_g2", hex::<G2>(&vk.gamma_g2));
    point("delta_g2", hex::<G2>(&vk.delta_g2));
}

fn hex<G: Group>(point: &G::Affine) -> String {
    let mut bytes = Vec::with_capacity(G::UNCOMPRESSED_BYTES);
    G::write_uncompressed(point, &mut bytes);
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

fn payload(path: &Path, console: &Console, report: &mut Report) {
    report.fact("is", "a payload");
    if let Some(digest) = report.take(digest(path, console)) {
        report.fact("digest", digest.to_string());
    }
    let Some(payload) = report.take(job::read_payload(path)) else {
        return;
    };
    describe(&payload, report);
    let Some(job) = report.take(job::decode(&payload)) else {
        return;
    };
    report.fact("circuit", job.circuit_id());
    report.fact("partitions", job.partitions());
    if let Some(inputs) = report.take(job.public_inputs(0).map_err(anyhow::Error::from)) {
        report.fact("public_inputs", inputs.len());
    }
    let checked = job.self_check().map_err(anyhow::Error::from);
    if report.take(checked).is_some() {
        report.fact("vanilla_proofs_valid", true);
    }
}

fn describe(payload: &Payload, report: &mut Report) {
    report.fact("kind", payload.kind.name());
    report.fact("sector_size", payload.sector_size.to_string());
    report.fact("registered_proof", payload.registered_proof);
    report.fact("miner_id", payload.miner_id);
    report.fact("sector_number", payload.sector_number);
    let raw = payload.raw_files();
    report.fact("vanilla_proofs", raw.len());
    report.fact(
        "vanilla_bytes",
        raw.iter().map(|(_, bytes)| bytes.len()).sum::<usize>(),
    );
}

fn proof(path: &Path, size: u64, report: &mut Report) -> anyhow::Result<()> {
    report.fact("is", "a proof");
    let partitions = size / PROOF_BYTES as u64;
    if !size.is_multiple_of(PROOF_BYTES as u64) || !(1..=LARGEST_PROOF).contains(&partitions) {
        let message =
            format!("wanted 1 to {LARGEST_PROOF} times {PROOF_BYTES} bytes, found {size}");
        report.fault(failure(INPUT, message));
        return Ok(());
    }
    let bytes = fs::read(path).with_context(|| path.display().to_string())?;
    report.fact("partitions", bytes.len() / PROOF_BYTES);
    report.fact("digest", digest_bytes(&bytes).to_string());
    for (partition, chunk) in bytes.chunks(PROOF_BYTES).enumerate() {
        let decoded = Proof::from_bytes(chunk).with_context(|| format!("partition {partition}"));
        report.take(decoded);
    }
    Ok(())
}
