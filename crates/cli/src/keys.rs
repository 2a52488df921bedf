//! Opening keys and making development keys.

use std::path::PathBuf;

use cuzk_backend::Backend;
use cuzk_groth16::{Prover, keygen};
use cuzk_params::{KeyFileKind, KeyStore, Parameters};
use cuzk_pce::Pce;
use rand_core::OsRng;

use crate::circuits::Circuit;
use crate::console::{Console, Timed};
use crate::failure::{USAGE, failure};

/// Sectors from this size on are the network's: their keys come from its trusted setup.
const PRODUCTION_BYTES: u64 = 512 << 20;

/// The name of the circuit's key in a store, without extension.
pub fn key_name(circuit: &Circuit) -> anyhow::Result<String> {
    let names = circuit.proof_type.key_names(circuit.spec.id)?;
    let stem = names
        .params
        .strip_suffix(".params")
        .unwrap_or(&names.params);
    Ok(stem.to_owned())
}

/// Opens the circuit's key.
pub fn open(circuit: &Circuit, store: &KeyStore, console: &Console) -> anyhow::Result<Parameters> {
    let name = key_name(circuit)?;
    let opened = console.step(&format!("{}: opening its key", circuit.spec.id), |_| {
        store.parameters(&name)
    })?;
    if let Some(mark) = store.development_mark(&name)? {
        console.note(&format!(
            "{}: the key was made for development by {}: proofs under it prove nothing to others",
            circuit.spec.id, mark.made_by
        ));
    }
    Ok(opened.value)
}

/// Refuses a development key for the network's sector sizes unless the caller insists.
pub fn allowed(circuit: &Circuit, insecure: bool) -> anyhow::Result<()> {
    if circuit.spec.sector_bytes >= PRODUCTION_BYTES && !insecure {
        return Err(failure(
            USAGE,
            format!(
                "{0}: the keys of this sector size come from the network's trusted setup. Whoever makes a key can forge \
                 proofs under it; if one is wanted all the same, `cuzk keygen --circuit {0} \
                 --i-know-these-keys-are-insecure` makes it",
                circuit.spec.id
            ),
        ));
    }
    Ok(())
}

/// Refuses where a file of the circuit's key is there. One without the other may be half of a published key.
pub fn absent(circuit: &Circuit, store: &KeyStore, name: &str) -> anyhow::Result<()> {
    for kind in [KeyFileKind::Params, KeyFileKind::VerifyingKey] {
        let path = store.path(name, kind)?;
        if path.exists() {
            let message = format!(
                "{}: {} is there; `cuzk keygen --force` replaces a key",
                circuit.spec.id,
                path.display()
            );
            return Err(failure(USAGE, message));
        }
    }
    Ok(())
}

/// Brings a circuit and its key to each backend, but to no more than there are partitions to prove.
pub fn load<B: Backend + Clone>(
    backends: &[B],
    partitions: usize,
    circuit: &Circuit,
    pce: &Pce,
    key: &Parameters,
    console: &Console,
) -> anyhow::Result<Vec<Prover<B>>> {
    let what = format!("{}: bringing its key to the backend", circuit.spec.id);
    let loaded = console.step(&what, |_| {
        let used = backends.iter().take(partitions.max(1));
        let provers = used.map(|backend| Prover::new(backend.clone(), pce, key));
        provers.collect::<Result<_, _>>()
    })?;
    Ok(loaded.value)
}

/// What the caller of [`make`] takes upon itself.
#[derive(Copy, Clone, Debug, Default)]
pub struct Consent {
    /// The key is known to be insecure.
    pub insecure: bool,
    /// A key that is there may be replaced.
    pub replace: bool,
}

/// Makes a development key and writes it to the store.
pub fn make<B: Backend>(
    backend: &B,
    circuit: &Circuit,
    pce: &Pce,
    store: &KeyStore,
    consent: Consent,
    console: &Console,
) -> anyhow::Result<Timed<PathBuf>> {
    allowed(circuit, consent.insecure)?;
    let name = key_name(circuit)?;
    if !consent.replace {
        absent(circuit, store, &name)?;
    }
    let path = store.path(&name, KeyFileKind::Params)?;
    let what = format!("{}: making a development key", circuit.spec.id);
    let made = console.measured(&what, 1000, |bar| {
        std::fs::create_dir_all(store.folder())?;
        let mut progress = |done: f64| bar.set_position((done * 1000.0) as u64);
        keygen::write(backend, pce, &path, &mut OsRng, &mut progress)?;
        Ok::<_, anyhow::Error>(())
    })?;
    Ok(Timed {
        value: path,
        seconds: made.seconds,
    })
}
