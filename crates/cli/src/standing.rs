//! What is known of a circuit's direct witnesses, kept beside its compiled form.

use cuzk_pce::{Cache, Pce};
use cuzk_proof_api::{Standing, Witnesses, direct_topic};
use cuzk_synth::{Kind, Options, SectorSize, synthetic};
use rand_core::{OsRng, RngCore};

use crate::circuits::Circuit;
use crate::console::Console;
use crate::job;

/// The witnesses of a compiled circuit, with what the cache knows of them.
pub fn witnesses<'a>(pce: &'a Pce, cache: &Cache) -> anyhow::Result<Witnesses<'a>> {
    let note = cache.note(pce.hash, &direct_topic())?;
    let standing = note.map_or(Standing::Unknown, |note| Standing::named(note.trim()));
    Ok(Witnesses::new(pce.r1cs(), standing))
}

/// Keeps what is known by now, where it is not what the cache knows.
pub fn keep(witnesses: &Witnesses<'_>, pce: &Pce, cache: &Cache) -> anyhow::Result<()> {
    let (known, standing) = (cache.note(pce.hash, &direct_topic())?, witnesses.standing());
    if known.map_or(Standing::Unknown, |note| Standing::named(note.trim())) != standing {
        cache.put_note(pce.hash, &direct_topic(), &format!("{}\n", standing.name()))?;
    }
    Ok(())
}

/// Holds the direct witness of a random synthetic sector against the compiled circuit, where nothing is known yet or
/// it is wanted `again`.
pub fn validate(
    circuit: &Circuit,
    pce: &Pce,
    cache: &Cache,
    again: bool,
    console: &Console,
) -> anyhow::Result<Standing> {
    let mut witnesses = witnesses(pce, cache)?;
    if again {
        witnesses = Witnesses::new(pce.r1cs(), Standing::Unknown);
    }
    if witnesses.standing() == Standing::Unknown {
        let id = circuit.spec.id;
        let kind: Kind = circuit.proof_type.id().parse()?;
        let size = SectorSize::from_bytes(circuit.spec.sector_bytes)?;
        let options = Options {
            seed: OsRng.next_u64(),
            ..Options::default()
        };
        console.step(&format!("{id}: validating its direct witness"), |_| {
            let job = job::decode(&synthetic(kind, size, &options)?)?;
            if job.circuit_id() == id {
                witnesses.validate(&*job, 0)?;
            }
            Ok::<_, anyhow::Error>(())
        })?;
        keep(&witnesses, pce, cache)?;
    }
    Ok(witnesses.standing())
}
