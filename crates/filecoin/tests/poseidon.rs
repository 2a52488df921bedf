//! Poseidon's direct witness against the circuit's closures.

use bellpepper_core::num::AllocatedNum;
use bellpepper_core::{Circuit, ConstraintSystem, SynthesisError};
use cuzk_cs_witness::WitnessCS;
use cuzk_curve::Fr;
use cuzk_filecoin::poseidon;
use cuzk_r1cs::{Assignment, synthesize};
use ff::Field;
use filecoin_hashers::poseidon::PoseidonFunction;
use filecoin_hashers::{HashFunction, PoseidonArity};
use generic_array::typenum::{U2, U4, U8, U11};
use proptest::prelude::*;

/// Hashes some preimages, one after the other.
struct Hashes<'a, A> {
    preimages: &'a [Fr],
    arity: std::marker::PhantomData<A>,
}

impl<A: PoseidonArity + 'static> Circuit<Fr> for Hashes<'_, A> {
    fn synthesize<CS: ConstraintSystem<Fr>>(self, cs: &mut CS) -> Result<(), SynthesisError> {
        for (i, preimage) in self.preimages.chunks(A::to_usize()).enumerate() {
            let mut cs = cs.namespace(|| format!("hash {i}"));
            let mut leaves = Vec::new();
            for (j, value) in preimage.iter().enumerate() {
                let cs = cs.namespace(|| format!("leaf {j}"));
                leaves.push(AllocatedNum::alloc(cs, || Ok(*value))?);
            }
            PoseidonFunction::hash_multi_leaf_circuit::<A, _>(cs, &leaves, 0)?;
        }
        Ok(())
    }
}

fn by_closures<A: PoseidonArity + 'static>(preimages: &[Fr]) -> Assignment {
    let mut cs = WitnessCS::default();
    let circuit = Hashes::<A> {
        preimages,
        arity: std::marker::PhantomData,
    };
    synthesize(circuit, &mut cs).unwrap();
    cs.into_assignment()
}

fn check<A: PoseidonArity + 'static>(values: &[Fr]) {
    let poseidon = poseidon(A::to_usize()).unwrap();
    assert_eq!(poseidon.arity(), A::to_usize());
    let preimages = &values[..values.len() - values.len() % A::to_usize()];
    let count = preimages.len() / A::to_usize();
    let mut witnesses = vec![Fr::ZERO; count * poseidon.witness_len()];
    poseidon.witnesses(preimages, &mut witnesses);
    let mut found = Assignment::new(vec![Fr::ONE], []);
    let witnesses = witnesses.chunks(poseidon.witness_len());
    for (preimage, witness) in preimages.chunks(A::to_usize()).zip(witnesses) {
        found.push_all_aux(preimage);
        found.push_all_aux(witness);
    }
    assert_eq!(found, by_closures::<A>(preimages));
}

fn check_all(values: &[Fr]) {
    check::<U2>(values);
    check::<U4>(values);
    check::<U8>(values);
    check::<U11>(values);
}

fn element() -> impl Strategy<Value = Fr> {
    prop_oneof![
        1 => Just(Fr::ZERO),
        1 => Just(Fr::ONE),
        1 => Just(-Fr::ONE),
        1 => any::<u64>().prop_map(Fr::from),
        4 => any::<[u64; 4]>().prop_map(|words| {
            let radix = Fr::from(2).pow_vartime([64]);
            words.iter().fold(Fr::ZERO, |sum, word| sum * radix + Fr::from(*word))
        }),
    ]
}

proptest! {
    #[test]
    fn direct_witnesses_equal_the_circuits(values in prop::collection::vec(element(), 0..24)) {
        check_all(&values);
    }
}

/// Around multiples of the lanes.
#[test]
fn every_number_of_preimages_is_computed() {
    for count in [0, 1, 7, 8, 9, 15, 16, 17] {
        let values: Vec<Fr> = (0..count * 2).map(|i| Fr::from(i * i + 3)).collect();
        check::<U2>(&values);
    }
}
