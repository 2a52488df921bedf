//! `cuzk demo`: the whole way from a sector to verified proofs.

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::Context;
use cuzk_backend::Backend;
use cuzk_backend_cpu::CpuBackend;
use cuzk_params::{KeyFileKind, KeyStore};
use cuzk_pce::Cache;
use cuzk_synth::{Kind, Options, Payload, SectorSize, real, synthetic};
use serde::Serialize;

use crate::args::{Demo, ParamsFolder, PceFolder};
use crate::backend::{self, Chosen};
use crate::bellperson_verifier::Verifier;
use crate::circuits::Circuit;
use crate::console::Console;
use crate::failure::{INVALID, failure};
use crate::job::{Proving, Ways};
use crate::table::{grouped, table};
use crate::{job, keys, places, standing};

/// One proof type's line.
#[derive(Serialize)]
struct Row {
    kind: &'static str,
    backend: String,
    sector_size: String,
    constraints: usize,
    partitions: usize,
    keygen_s: Option<f64>,
    compile_s: f64,
    witness_s: f64,
    witnesses: Ways,
    prove_s: f64,
    verify_s: f64,
    verified: bool,
}

/// Where the demo works.
struct Workshop {
    store: KeyStore,
    cache: Cache,
    keep: Option<PathBuf>,
    backend: String,
}

/// Proves the demo's proof types and prints a table.
pub fn run(args: &Demo, console: &Console) -> anyhow::Result<()> {
    let kinds = if args.kind.is_empty() {
        Kind::ALL.to_vec()
    } else {
        args.kind.clone()
    };
    let chosen = backend::choose(&args.backend, console)?;
    let workshop = Workshop::new(args, chosen.name())?;
    let payloads = payloads(args.sector_size, &kinds, console)?;
    let mut rows = Vec::new();
    for payload in &payloads {
        rows.push(match &chosen {
            Chosen::Cpu => workshop.show(payload, &[CpuBackend], console)?,
            Chosen::Cuda(devices) => workshop.show(payload, devices, console)?,
        });
    }
    console.result(&rows, &text(&rows))?;
    match rows.iter().find(|row| !row.verified) {
        None => Ok(()),
        Some(row) => Err(failure(
            INVALID,
            format!("{}: bellperson's verifier refuses the proof", row.kind),
        )),
    }
}

fn payloads(size: SectorSize, kinds: &[Kind], console: &Console) -> anyhow::Result<Vec<Payload>> {
    if size <= SectorSize::MIB_8 {
        let scratch = tempfile::tempdir()?;
        let made = console.step(&format!("sealing a {size} sector"), |bar| {
            real(size, kinds, scratch.path(), &mut |step| {
                bar.set_message(format!("sealing a {size} sector: {}", step.name()));
            })
        })?;
        return Ok(made.value);
    }
    let mut payloads = Vec::new();
    for &kind in kinds {
        let what = format!("making a synthetic {size} sector for {kind}");
        let made = console.step(&what, |_| synthetic(kind, size, &Options::default()))?;
        payloads.push(made.value);
    }
    Ok(payloads)
}

impl Workshop {
    fn new(args: &Demo, backend: String) -> anyhow::Result<Self> {
        let mut params = args.params.clone();
        let mut pce = args.pce.clone();
        if let Some(keep) = &args.keep {
            let inside = |given: Option<PathBuf>, name| given.or_else(|| Some(keep.join(name)));
            params = ParamsFolder {
                params: inside(params.params, "keys"),
            };
            pce = PceFolder {
                pce: inside(pce.pce, "pce"),
            };
        }
        Ok(Self {
            store: places::key_store(&params)?,
            cache: places::cache(&pce)?,
            keep: args.keep.clone(),
            backend,
        })
    }

    fn show<B: Backend + Clone>(
        &self,
        payload: &Payload,
        backends: &[B],
        console: &Console,
    ) -> anyhow::Result<Row> {
        let job = job::decode(payload)?;
        let circuit = Circuit::named(job.circuit_id())?;
        let compiled = circuit.open(&self.cache, console)?;
        let pce = &compiled.value;
        let name = keys::key_name(&circuit)?;
        let keygen_s = if self.store.contains(&name) {
            None
        } else {
            let consent = keys::Consent::default();
            Some(keys::make(&backends[0], &circuit, pce, &self.store, consent, console)?.seconds)
        };
        let key = keys::open(&circuit, &self.store, &Console::new(console.json(), true))?;
        let partitions: Vec<usize> = (0..job.partitions()).collect();
        let provers = keys::load(backends, partitions.len(), &circuit, pce, &key, console)?;
        let mut witnesses = standing::witnesses(pce, &self.cache)?;
        let proving = Proving {
            job: &*job,
            provers: &provers,
            check: false,
            console,
        };
        let proved = proving.prove(&mut witnesses, &partitions);
        standing::keep(&witnesses, pce, &self.cache)?;
        let proved = proved?;
        let proofs: Vec<_> = proved.proofs.iter().map(|proof| proof.to_bytes()).collect();

        let vk_path = self.store.path(&name, KeyFileKind::VerifyingKey)?;
        let verified =
            console.step(&format!("{}: bellperson verifies", circuit.spec.id), |_| {
                let verifier = Verifier::read(&vk_path)?;
                for (partition, proof) in proofs.iter().enumerate() {
                    if !verifier.verify(proof, &job.public_inputs(partition)?)? {
                        return Ok(false);
                    }
                }
                Ok::<_, anyhow::Error>(true)
            })?;
        if let Some(keep) = &self.keep {
            self.keep_files(keep, payload, circuit.spec.id, &job.assemble(&proofs)?)?;
        }
        Ok(Row {
            kind: payload.kind.name(),
            backend: self.backend.clone(),
            sector_size: payload.sector_size.to_string(),
            constraints: pce.shape.constraints,
            partitions: proved.proofs.len(),
            keygen_s,
            compile_s: compiled.seconds,
            witness_s: proved.witness_s,
            witnesses: Ways::of(&witnesses),
            prove_s: proved.prove_s,
            verify_s: verified.seconds,
            verified: verified.value,
        })
    }

    fn keep_files(
        &self,
        keep: &Path,
        payload: &Payload,
        circuit: &str,
        proof: &[u8],
    ) -> anyhow::Result<()> {
        let raw = keep.join(circuit);
        fs::create_dir_all(&raw).with_context(|| raw.display().to_string())?;
        let write = |path: PathBuf, bytes: &[u8]| {
            fs::write(&path, bytes).with_context(|| path.display().to_string())
        };
        write(
            keep.join(format!("{circuit}.json")),
            payload.to_json().as_bytes(),
        )?;
        write(keep.join(format!("{circuit}.proof")), proof)?;
        for (name, bytes) in payload.raw_files() {
            write(raw.join(name), bytes)?;
        }
        Ok(())
    }
}

fn text(rows: &[Row]) -> String {
    let seconds = |value: f64| format!("{value:.3}");
    let cells: Vec<Vec<String>> = rows
        .iter()
        .map(|row| {
            vec![
                row.kind.to_owned(),
                row.backend.clone(),
                row.sector_size.clone(),
                grouped(row.constraints as u64),
                row.partitions.to_string(),
                row.keygen_s.map_or_else(|| "cached".to_owned(), seconds),
                seconds(row.compile_s),
                seconds(row.witness_s),
                row.witnesses.to_string(),
                seconds(row.prove_s),
                seconds(row.verify_s),
                if row.verified { "yes" } else { "NO" }.to_owned(),
            ]
        })
        .collect();
    let header = [
        "kind",
        "backend",
        "sector",
        "constraints",
        "partitions",
        "keygen s",
        "compile s",
        "witness s",
        "witnesses",
        "prove s",
        "verify s",
        "verified by bellperson",
    ];
    table(&header, &cells)
}
