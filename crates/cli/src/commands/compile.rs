//! `cuzk compile`.

use cuzk_pce::Pce;
use cuzk_proof_api::Witnesses;
use serde::Serialize;

use crate::args::Compile;
use crate::circuits::Circuit;
use crate::console::Console;
use crate::failure::{INPUT, USAGE, failure};
use crate::job::Ways;
use crate::table::grouped;
use crate::{job, places, standing};

/// What a compiled circuit is.
#[derive(Serialize)]
pub struct Row {
    circuit: &'static str,
    shape_hash: String,
    inputs: usize,
    aux: usize,
    constraints: usize,
    domain: usize,
    non_zeros: u64,
    coefficients: usize,
    field_class: usize,
    templates: usize,
    matrix_bytes: usize,
    memory_bytes: usize,
    bytes_per_non_zero: f64,
    file: String,
    file_bytes: u64,
    /// Seconds of compiling, or of opening what was compiled before.
    compile_s: f64,
    direct_witness: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    checked: Option<Checked>,
}

/// The check of a witness.
#[derive(Serialize)]
struct Checked {
    partition: usize,
    witness_s: f64,
    witnesses: Ways,
    witness_bytes: usize,
    check_s: f64,
    satisfied: bool,
}

/// Records circuits and keeps their compiled forms, each as soon as it is done.
pub fn run(args: &Compile, console: &Console) -> anyhow::Result<()> {
    let circuits = Circuit::all_chosen(&args.choice)?;
    if let [circuit] = circuits.as_slice() {
        let row = compile(args, circuit, console)?;
        return console.result(&row, &text(&row));
    }
    if args.check.is_some() {
        let message = "a payload is checked against one circuit; name a kind and a sector size";
        return Err(failure(USAGE, message));
    }
    let mut rows = Vec::with_capacity(circuits.len());
    for (index, circuit) in circuits.iter().enumerate() {
        let id = circuit.spec.id;
        console.note(&format!("{id} ({} of {})", index + 1, circuits.len()));
        rows.push(compile(args, circuit, console)?);
    }
    let text: Vec<String> = rows.iter().map(text).collect();
    console.result(&rows, &text.join("\n"))
}

fn compile(args: &Compile, circuit: &Circuit, console: &Console) -> anyhow::Result<Row> {
    let cache = places::cache(&args.pce)?;
    let compiled = if args.force {
        circuit.compile(&cache, console)?
    } else {
        circuit.open(&cache, console)?
    };
    let pce = &compiled.value;
    let file = cache.path(pce.hash);
    let direct_witness = standing::validate(circuit, pce, &cache, args.force, console)?.name();
    let checked = match &args.check {
        None => None,
        Some(path) => {
            let mut witnesses = standing::witnesses(pce, &cache)?;
            let checked = check(circuit, pce, path, &mut witnesses, console)?;
            standing::keep(&witnesses, pce, &cache)?;
            Some(checked)
        }
    };
    Ok(Row {
        circuit: circuit.spec.id,
        shape_hash: pce.hash.to_string(),
        inputs: pce.shape.inputs,
        aux: pce.shape.aux,
        constraints: pce.shape.constraints,
        domain: pce.shape.domain(),
        non_zeros: pce.terms(),
        coefficients: pce.coefficients.len(),
        field_class: pce.field_class.count_ones(),
        templates: pce.matrices.templates().len(),
        matrix_bytes: pce.matrix_bytes(),
        memory_bytes: pce.size_bytes(),
        bytes_per_non_zero: pce.matrix_bytes() as f64 / pce.terms().max(1) as f64,
        file_bytes: std::fs::metadata(&file)?.len(),
        file: file.display().to_string(),
        compile_s: compiled.seconds,
        direct_witness,
        checked,
    })
}

fn check(
    circuit: &Circuit,
    pce: &Pce,
    path: &std::path::Path,
    witnesses: &mut Witnesses<'_>,
    console: &Console,
) -> anyhow::Result<Checked> {
    let payload = job::read_payload(path)?;
    let job = job::decode(&payload)?;
    if job.circuit_id() != circuit.spec.id {
        let found = job.circuit_id();
        let message = format!(
            "the payload is for {found}, the circuit is {}",
            circuit.spec.id
        );
        return Err(failure(INPUT, message));
    }
    let id = circuit.spec.id;
    let witness = console.step(&format!("{id}: witness of partition 0"), |_| {
        witnesses.make(&*job, 0)
    })?;
    let checked = console.step(&format!("{id}: checking every constraint"), |_| {
        pce.check(&witness.value)
    })?;
    Ok(Checked {
        partition: 0,
        witness_s: witness.seconds,
        witnesses: Ways::of(witnesses),
        witness_bytes: witness.value.size_bytes(),
        check_s: checked.seconds,
        satisfied: true,
    })
}

fn text(row: &Row) -> String {
    let mut lines = vec![
        format!(
            "{} in {:.2} s, shape {}",
            row.circuit, row.compile_s, row.shape_hash
        ),
        format!(
            "  {} inputs, {} aux ({} field elements, the rest bits), {} constraints, domain {}",
            grouped(row.inputs as u64),
            grouped(row.aux as u64),
            grouped(row.field_class as u64),
            grouped(row.constraints as u64),
            grouped(row.domain as u64)
        ),
        format!(
            "  {} non-zeros of {} distinct coefficients at {:.2} bytes each",
            grouped(row.non_zeros),
            row.coefficients,
            row.bytes_per_non_zero
        ),
        format!("  {} ({} bytes)", row.file, grouped(row.file_bytes)),
        format!("  direct witness: {}", row.direct_witness),
    ];
    if let Some(checked) = &row.checked {
        lines.push(format!(
            "  partition {}: witness in {:.2} s ({}, {} bytes packed), all constraints satisfied (checked in {:.2} s)",
            checked.partition,
            checked.witness_s,
            checked.witnesses,
            grouped(checked.witness_bytes as u64),
            checked.check_s
        ));
    }
    lines.join("\n")
}
