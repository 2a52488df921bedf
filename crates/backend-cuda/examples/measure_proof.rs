//! Times whole proofs on device 0, from a packed witness with the key resident, of circuits that are mostly booleans.
//!
//! Arguments: `LOG/N`, 2^LOG constraints of which one in N makes a field element and the others booleans (default 18/4
//! 20/4). The key is made on the device. Prints the median of five proofs and the stages of that proof; a stage's time is
//! until its work is queued, except for the multiplications, which end with their result.

use std::error::Error;
use std::time::Instant;

use cuzk_backend_cuda::CudaBackend;
use cuzk_curve::Fr;
use cuzk_groth16::keygen::{ToxicWaste, in_memory_with};
use cuzk_groth16::{Blinding, Prover};
use cuzk_pce::Pce;
use cuzk_testing::circuits::{Step, StepCircuit};
use rand_chacha::ChaCha12Rng;
use rand_chacha::rand_core::SeedableRng;

/// Bits, then, as every `period`-th step, a product of what came before, which is a field element.
fn circuit(steps: usize, period: usize) -> StepCircuit {
    let steps = (0..steps).map(|i| match i % period {
        _ if i == 0 => Step::Aux(0x1234_5678_9abc),
        last if last == period - 1 => {
            // The product before, or the one variable that is neither bit nor product.
            let first = (i - last).max(1);
            Step::Product(vec![(i - 1, 1), (first, 7)], vec![(i - 2, 1), (first, -1)])
        }
        _ => Step::Bit((i * 0x9e37) >> 7 & 1 == 1),
    });
    StepCircuit {
        steps: steps.collect(),
        blank: false,
    }
}

fn measure(backend: &CudaBackend, log_size: u32, period: usize) -> Result<(), Box<dyn Error>> {
    // The input row makes the domain full.
    let circuit = circuit((1 << log_size) - 2, period);
    let pce = Pce::record(circuit.to_blank())?;
    let clock = Instant::now();
    let toxic = ToxicWaste::sample(&mut ChaCha12Rng::seed_from_u64(1));
    let key = in_memory_with(backend, &pce, &toxic)?;
    let keygen = clock.elapsed().as_secs_f64();
    let prover = Prover::new(backend.clone(), &pce, &key)?;
    let witness = prover.witness(circuit)?;
    let mut times = Vec::new();
    for run in 0..6 {
        let blinding = Blinding {
            r: Fr::from(run + 2),
            s: Fr::from(run + 3),
        };
        let witness = witness.clone();
        let clock = Instant::now();
        let proved = prover.start(witness, blinding)?.finish()?;
        if run > 0 {
            times.push((clock.elapsed().as_secs_f64(), proved.stages));
        }
    }
    times.sort_by(|a, b| a.0.total_cmp(&b.0));
    let (seconds, stages) = &times[times.len() / 2];
    println!(
        "proof 2^{log_size}, one field element in {period}: {:.1} ms, key {keygen:.2} s, {stages:?}",
        seconds * 1e3
    );
    Ok(())
}

fn main() -> Result<(), Box<dyn Error>> {
    let mut arguments: Vec<String> = std::env::args().skip(1).collect();
    if arguments.is_empty() {
        arguments = ["18/4", "20/4"].map(str::to_owned).to_vec();
    }
    let backend = CudaBackend::open(0)?;
    for argument in arguments {
        let (log_size, period) = argument.split_once('/').ok_or("LOG/N")?;
        let period: usize = period.parse()?;
        if period < 4 {
            return Err("at least four constraints a field element".into());
        }
        measure(&backend, log_size.parse()?, period)?;
    }
    Ok(())
}
