//! `cuzk keygen`.

use cuzk_backend_cpu::CpuBackend;
use serde::Serialize;

use crate::args::Keygen;
use crate::backend::{self, Chosen};
use crate::circuits::Circuit;
use crate::console::Console;
use crate::keys::{self, Consent};
use crate::places;

#[derive(Serialize)]
struct Row {
    circuit: &'static str,
    params: String,
    params_bytes: u64,
    keygen_s: f64,
}

/// Makes a development key.
pub fn run(args: &Keygen, console: &Console) -> anyhow::Result<()> {
    let circuit = Circuit::chosen(&args.choice)?;
    let store = places::key_store(&args.params)?;
    let name = keys::key_name(&circuit)?;
    let consent = Consent {
        insecure: args.i_know_these_keys_are_insecure,
        replace: args.force,
    };
    keys::allowed(&circuit, consent.insecure)?;
    if !consent.replace {
        keys::absent(&circuit, &store, &name)?;
    }
    let chosen = backend::choose(&args.backend, console)?;
    let pce = circuit.open(&places::cache(&args.pce)?, console)?.value;
    let made = match &chosen {
        Chosen::Cpu => keys::make(&CpuBackend, &circuit, &pce, &store, consent, console)?,
        Chosen::Cuda(devices) => keys::make(&devices[0], &circuit, &pce, &store, consent, console)?,
    };
    let row = Row {
        circuit: circuit.spec.id,
        params: made.value.display().to_string(),
        params_bytes: std::fs::metadata(&made.value)?.len(),
        keygen_s: made.seconds,
    };
    let text = format!(
        "{}: {} ({} bytes) in {:.2} s. A development key: never use it in production.",
        row.circuit, row.params, row.params_bytes, row.keygen_s
    );
    console.result(&row, &text)
}
