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

/// Keeps what was learnt, where the cache does not know it, and returns what the cache knows then. What was refused stays so.
pub fn keep(witnesses: &Witnesses<'_>, pce: &Pce, cache: &Cache) -> anyhow::Result<Standing> {
    keep_standing(witnesses.standing(), pce, cache)
}

fn keep_standing(learnt: Standing, pce: &Pce, cache: &Cache) -> anyhow::Result<Standing> {
    let note = cache.note(pce.hash, &direct_topic())?;
    let known = note.map_or(Standing::Unknown, |note| Standing::named(note.trim()));
    if known == Standing::Refused || learnt == Standing::Unknown || learnt == known {
        return Ok(known);
    }
    put(learnt, pce, cache)?;
    Ok(learnt)
}

fn put(standing: Standing, pce: &Pce, cache: &Cache) -> anyhow::Result<()> {
    let text = format!("{}\n", standing.name());
    Ok(cache.put_note(pce.hash, &direct_topic(), &text)?)
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
    let found = witnesses.standing();
    if again && found != Standing::Unknown {
        // Whatever was known before.
        put(found, pce, cache)?;
        return Ok(found);
    }
    keep_standing(found, pce, cache)
}

#[cfg(test)]
mod tests {
    use cuzk_testing::circuits::Cubic;

    use super::*;

    #[test]
    fn what_is_kept_gives_way_only_to_what_is_learnt() {
        let folder = tempfile::tempdir().unwrap();
        let cache = Cache::new(folder.path());
        let pce = Pce::record(Cubic { x: None }).unwrap();
        let note = || cache.note(pce.hash, &direct_topic()).unwrap();
        let (unknown, validated) = (Standing::Unknown, Standing::Validated);
        let refused = Standing::Refused;
        for (learnt, kept) in [
            (unknown, unknown),
            (validated, validated),
            (unknown, validated),
            (refused, refused),
            (validated, refused),
            (unknown, refused),
        ] {
            let known = keep_standing(learnt, &pce, &cache).unwrap();
            assert_eq!(known, kept, "{learnt:?}");
            let text = note().unwrap_or_default();
            assert_eq!(Standing::named(text.trim()), kept, "{learnt:?}");
            assert_eq!(text.is_empty(), kept == unknown);
        }
    }
}
