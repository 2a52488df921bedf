//! bellperson's side, on the very circuits that cuzk proves.

use bellpepper_core::{Circuit, ConstraintSystem};
use bellperson::groth16::{Parameters, create_random_proof, generate_random_parameters};
use bellperson::util_cs::witness_cs::WitnessCS;
use blstrs::Bls12;
use cuzk_curve::Fr;
use cuzk_filecoin::CircuitVisitor;
use cuzk_proof_api::Request;
use cuzk_synth::Kind;
use cuzk_testing::oracle::FullSynthesis;
use rand_core::OsRng;

use crate::measure::{Measurement, seconds};
use crate::workshop::{Workshop, circuit};

/// Shows the circuit of a request's first partition to a visitor.
fn visit<V: CircuitVisitor>(
    what: &Measurement,
    request: &Request,
    visitor: V,
) -> anyhow::Result<V::Output> {
    Ok(match what.kind {
        Kind::PoRep => cuzk_proof_porep::visit_circuit(request, 0, visitor)?,
        Kind::WindowPost => cuzk_proof_window_post::visit_circuit(request, 0, visitor)?,
        Kind::WinningPost => cuzk_proof_winning_post::visit_circuit(request, 0, visitor)?,
        Kind::Snap => cuzk_proof_snap::visit_circuit(request, 0, visitor)?,
    })
}

struct Prove<'a>(&'a std::path::Path);

impl CircuitVisitor for Prove<'_> {
    type Output = anyhow::Result<Vec<u8>>;

    fn visit<C: Circuit<Fr> + Send + 'static>(self, circuit: C) -> Self::Output {
        let key = Parameters::<Bls12>::build_mapped_parameters(self.0.to_owned(), false)?;
        let proof = create_random_proof(circuit, &key, &mut OsRng)?;
        let mut bytes = Vec::new();
        proof.write(&mut bytes)?;
        Ok(bytes)
    }
}

/// Payload to proof, with the key mapped as Filecoin maps it.
pub fn prove(workshop: &Workshop, what: &Measurement) -> anyhow::Result<f64> {
    let request = workshop.request(what)?;
    let params = workshop.params_path(what);
    seconds(|| visit(what, &request, Prove(&params))?)
}

struct Keygen;

impl CircuitVisitor for Keygen {
    type Output = anyhow::Result<Parameters<Bls12>>;

    fn visit<C: Circuit<Fr> + Send + 'static>(self, circuit: C) -> Self::Output {
        Ok(generate_random_parameters::<Bls12, _, _>(
            circuit, &mut OsRng,
        )?)
    }
}

/// Blank circuit to a key in memory.
pub fn keygen(what: &Measurement) -> anyhow::Result<f64> {
    let (_, circuit) = circuit(what)?;
    seconds(|| {
        let id = circuit.id;
        match what.kind {
            Kind::PoRep => cuzk_proof_porep::visit_blank(id, Keygen)?,
            Kind::WindowPost => cuzk_proof_window_post::visit_blank(id, Keygen)?,
            Kind::WinningPost => cuzk_proof_winning_post::visit_blank(id, Keygen)?,
            Kind::Snap => cuzk_proof_snap::visit_blank(id, Keygen)?,
        }
    })
}

struct Evaluate;

impl CircuitVisitor for Evaluate {
    type Output = anyhow::Result<f64>;

    fn visit<C: Circuit<Fr> + Send + 'static>(self, circuit: C) -> Self::Output {
        seconds(|| Ok(FullSynthesis::<false>::of(circuit)?))
    }
}

/// Circuit to inputs, aux, a, b and c, as bellperson's private proving assignment computes them, on one thread.
pub fn evaluate(workshop: &Workshop, what: &Measurement) -> anyhow::Result<f64> {
    visit(what, &workshop.request(what)?, Evaluate)?
}

struct Witness;

impl CircuitVisitor for Witness {
    type Output = anyhow::Result<f64>;

    fn visit<C: Circuit<Fr> + Send + 'static>(self, circuit: C) -> Self::Output {
        seconds(|| {
            let mut cs = WitnessCS::<Fr>::new();
            circuit.synthesize(&mut cs)?;
            Ok(cs)
        })
    }
}

/// Circuit to its assignment with bellperson's own witness constraint system.
pub fn witness(workshop: &Workshop, what: &Measurement) -> anyhow::Result<f64> {
    visit(what, &workshop.request(what)?, Witness)?
}
