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

/// Constraints that are held against random instances before direct witnesses of a circuit are used.
const VALIDATED_CONSTRAINTS: usize = 16 << 20;

/// How many random instances that takes: a large circuit repeats its gadgets so often that two suffice.
fn instances(constraints: usize) -> usize {
    VALIDATED_CONSTRAINTS
        .div_ceil(constraints.max(1))
        .clamp(2, 10)
}

/// Holds the direct witnesses of random synthetic sectors against the compiled circuit, where nothing is known yet or
/// it is wanted `again`.
pub fn validate(
    circuit: &Circuit,
    pce: &Pce,
    cache: &Cache,
    again: bool,
    console: &Console,
) -> anyhow::Result<Standing> {
    let known = witnesses(pce, cache)?.standing();
    if known != Standing::Unknown && !again {
        return Ok(known);
    }
    let id = circuit.spec.id;
    let synthesized = (
        circuit.proof_type.id().parse::<Kind>(),
        SectorSize::from_bytes(circuit.spec.sector_bytes),
    );
    let (Ok(kind), Ok(size)) = synthesized else {
        // A proof type of which no synthetic sector is made: its first job is checked instead.
        return Ok(known);
    };
    let mut witnesses = Witnesses::new(pce.r1cs(), Standing::Unknown);
    console.step(&format!("{id}: validating its direct witness"), |_| {
        for _ in 0..instances(pce.shape.constraints) {
            let options = Options {
                seed: OsRng.next_u64(),
                ..Options::default()
            };
            let job = job::decode(&synthetic(kind, size, &options)?)?;
            if job.circuit_id() != id {
                break;
            }
            // Each is checked whatever is known of those before it.
            witnesses = Witnesses::new(pce.r1cs(), Standing::Unknown);
            let partition = OsRng.next_u64() as usize % job.partitions().max(1);
            witnesses.validate(&*job, partition)?;
            if witnesses.standing() == Standing::Refused {
                break;
            }
        }
        Ok::<_, anyhow::Error>(())
    })?;
    keep(&witnesses, pce, cache)?;
    Ok(witnesses.standing())
}
