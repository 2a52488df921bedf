//! Insertion, selection and Merkle paths against the gadgets of `storage-proofs-core`.

use bellpepper_core::ConstraintSystem;
use bellpepper_core::boolean::{AllocatedBit, Boolean};
use bellpepper_core::num::AllocatedNum;
use cuzk_cs_witness::WitnessCS;
use cuzk_curve::Fr;
use cuzk_filecoin::direct::{PoseidonTree, levels};
use cuzk_filecoin::{Base, Sub8, Top2};
use cuzk_gadgets::merkle::{NodeHash, Sha256Tree, prove_inclusion};
use cuzk_gadgets::{Writer, insert, number};
use filecoin_hashers::Hasher;
use filecoin_hashers::sha256::Sha256Hasher;
use generic_array::typenum::Unsigned;
use proptest::prelude::*;
use storage_proofs_core::gadgets::insertion;
use storage_proofs_core::gadgets::por::PoRCircuit;
use storage_proofs_core::merkle::{
    BinaryMerkleTree, MerkleProof, MerkleProofTrait, MerkleTreeTrait,
};

fn scalar() -> impl Strategy<Value = Fr> {
    prop_oneof![
        8 => any::<[u64; 4]>().prop_map(number::pack),
        1 => (0..3u64).prop_map(Fr::from),
    ]
}

/// Numbers and the bits of an index, allocated in both systems.
fn allocate(
    numbers: &[Fr],
    index: usize,
    bits: usize,
) -> (WitnessCS, Writer, Vec<AllocatedNum<Fr>>, Vec<Boolean>) {
    let (mut cs, mut writer) = (WitnessCS::default(), Writer::default());
    let allocated = numbers
        .iter()
        .map(|&value| AllocatedNum::alloc(&mut cs, || Ok(value)).unwrap())
        .collect();
    let index_bits = (0..bits)
        .map(|i| AllocatedBit::alloc(&mut cs, Some(index >> i & 1 == 1)).unwrap())
        .map(Boolean::from)
        .collect();
    writer.numbers(numbers);
    writer.bits(index as u64, bits);
    (cs, writer, allocated, index_bits)
}

/// A path of a tree of `Tree`'s shape with `base` levels below the others, which leads nowhere.
fn path_equals_gadget<Tree>(
    base: usize,
    values: &[Fr],
    index: usize,
    hash: &impl NodeHash<Writer>,
) -> Result<(), TestCaseError>
where
    Tree: MerkleTreeTrait + 'static,
    Fr: From<<Tree::Hasher as Hasher>::Domain>,
    Tree: MerkleTreeTrait<
        Proof = MerkleProof<
            <Tree as MerkleTreeTrait>::Hasher,
            <Tree as MerkleTreeTrait>::Arity,
            <Tree as MerkleTreeTrait>::SubTreeArity,
            <Tree as MerkleTreeTrait>::TopTreeArity,
        >,
    >,
{
    let mut arities = vec![Tree::Arity::USIZE; base];
    arities.extend([Tree::SubTreeArity::USIZE, Tree::TopTreeArity::USIZE]);
    arities.retain(|&arity| arity > 0);
    let mut values = values.iter().cycle().map(|&value| value.into());
    let mut rest = index;
    let path = arities
        .iter()
        .map(|&arity| {
            let place = rest % arity;
            rest /= arity;
            (values.by_ref().take(arity - 1).collect(), place)
        })
        .collect();
    let [leaf, root] = [values.next().unwrap(), values.next().unwrap()];
    let proof = Tree::Proof::from_parts(leaf, root, path);

    let mut cs = WitnessCS::default();
    let circuit = PoRCircuit::<Tree>::new(proof.clone(), true);
    bellpepper_core::Circuit::synthesize(circuit, &mut cs).unwrap();
    let mut writers = [Writer::default()];
    let leaf = Fr::from(proof.leaf());
    writers[0].number(leaf);
    prove_inclusion(&mut writers, vec![leaf], &[&levels(&proof)], hash);
    let [mut writer] = writers;
    writer.number(Fr::from(proof.root()));
    prop_assert!(writer.finish() == cs.into_assignment());
    Ok(())
}

proptest! {
    #![proptest_config(ProptestConfig { cases: ProptestConfig::default().cases.div_ceil(4), ..Default::default() })]

    #[test]
    fn insertion_equals_gadget(
        values in prop::collection::vec(scalar(), 16),
        bits in 1usize..=4,
        index in 0usize..16,
    ) {
        let index = index % (1 << bits);
        let values = &values[..1 << bits];
        let (mut cs, mut writer, numbers, index_bits) = allocate(values, index, bits);
        let wanted = insertion::insert(&mut cs, &numbers[0], &index_bits, &numbers[1..]).unwrap();
        let found = insert::insert(&mut writer, values[0], index, &values[1..]);
        let wanted: Vec<_> = wanted.iter().map(|number| number.get_value().unwrap()).collect();
        prop_assert_eq!(found, wanted);
        prop_assert_eq!(writer.finish(), cs.into_assignment());
    }

    #[test]
    fn selection_equals_gadget(
        values in prop::collection::vec(scalar(), 32),
        bits in 0usize..=5,
        index in 0usize..32,
    ) {
        let index = index % (1 << bits);
        let values = &values[..1 << bits];
        let (mut cs, mut writer, numbers, index_bits) = allocate(values, index, bits);
        let wanted = insertion::select(cs.namespace(|| "select"), &numbers, &index_bits).unwrap();
        let found = insert::select(&mut writer, values, index);
        prop_assert_eq!(Some(found), wanted.get_value());
        prop_assert_eq!(writer.finish(), cs.into_assignment());
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: ProptestConfig::default().cases.div_ceil(32), ..Default::default() })]

    #[test]
    fn paths_equal_gadget(values in prop::collection::vec(scalar(), 23), index in any::<u32>()) {
        let index = index as usize;
        path_equals_gadget::<Base>(2, &values, index, &PoseidonTree)?;
        path_equals_gadget::<Sub8>(2, &values, index, &PoseidonTree)?;
        path_equals_gadget::<Top2>(1, &values, index, &PoseidonTree)?;
        path_equals_gadget::<BinaryMerkleTree<Sha256Hasher>>(3, &values, index, &Sha256Tree)?;
    }
}
