//! A partition's assignment computed directly, in the order in which `EmptySectorUpdateCircuit` allocates.

use std::slice;
use std::sync::LazyLock;

use cuzk_curve::Fr;
use cuzk_filecoin::direct::{PoseidonTree, hash, levels, prepare};
use cuzk_filecoin::{SectorTree, poseidon};
use cuzk_gadgets::insert::select;
use cuzk_gadgets::merkle::{Level, Sha256Tree, ascend};
use cuzk_gadgets::{Poseidon, Writer, number, sha256};
use cuzk_r1cs::Assignment;
use rayon::prelude::*;
use storage_proofs_core::merkle::MerkleProofTrait;
use storage_proofs_update::constants::{POSEIDON_CONSTANTS_GEN_RANDOMNESS, hs};
use storage_proofs_update::{ChallengeProof, PartitionProof, PublicParams};

/// The hash of phi, rho and the challenges, with a domain tag of its own.
static RANDOMNESS: LazyLock<Poseidon> =
    LazyLock::new(|| prepare(&POSEIDON_CONSTANTS_GEN_RANDOMNESS));

/// Challenges whose hashes are computed side by side in one task.
const LANES: usize = 8;

/// What all challenges of a partition share.
struct Partition<'a> {
    params: &'a PublicParams,
    /// The partition's number.
    k: u64,
    /// Bit i says whether the i-th number of high bits of a challenge is the one that counts.
    selected: u64,
    phi: Fr,
    comm_r_new: Fr,
    apex: Vec<Fr>,
    /// From the root of the apex leaves to CommD.
    path: Vec<Level>,
}

/// What a challenge opens. Places on the paths are those of `node`, as in the circuit, whatever the proofs say.
struct Opening {
    node: u64,
    old: Fr,
    data: Fr,
    new: Fr,
    old_path: Vec<Level>,
    data_path: Vec<Level>,
    new_path: Vec<Level>,
}

/// The assignment of a partition from its public inputs without ONE, or none where the circuit would refuse: other
/// numbers of inputs or challenges, or a new node that is not the encoding of its data.
pub fn partition_witness<Tree: SectorTree>(
    params: &PublicParams,
    inputs: &[Fr],
    proof: &PartitionProof<Tree>,
) -> Option<Assignment> {
    let &[packed, comm_r_old, comm_d_new, comm_r_new] = inputs else {
        return None;
    };
    let first = proof.challenge_proofs.first()?;
    let bits = number::limbs(packed)[0];
    let mut partition = Partition {
        params,
        k: low_bits(bits, params.partition_bit_len),
        selected: bits >> params.partition_bit_len,
        phi: Fr::from(0),
        comm_r_new,
        apex: proof.apex_leafs.iter().map(|&leaf| leaf.into()).collect(),
        path: Vec::new(),
    };
    let height = params.challenge_bit_len - params.partition_bit_len;
    let mut path = levels(&first.proof_d_new);
    partition.path = placed(path.split_off(height), partition.k);

    let mut root = Writer::default();
    root.input(Fr::from(1));
    root.number(packed);
    root.input(packed);
    root.bits(
        bits,
        params.partition_bit_len + hs(params.sector_nodes).len(),
    );
    root.number(Fr::from(partition.k));
    for commitment in [comm_r_old, comm_d_new, comm_r_new] {
        root.number(commitment);
        root.input(commitment);
    }
    partition.phi = hash_pair(&RANDOMNESS, &mut root, comm_d_new, comm_r_old);
    let comm_c = Fr::from(proof.comm_c);
    let roots = [first.proof_r_old.root(), first.proof_r_new.root()].map(Fr::from);
    root.number(comm_c);
    root.numbers(&roots);
    root.numbers(&partition.apex);
    write_siblings(&mut root, &partition.path);
    for tree in roots {
        hash_pair(poseidon(2)?, &mut root, comm_c, tree);
    }
    partition.write_rest(root, &proof.challenge_proofs)
}

impl Partition<'_> {
    /// Everything from the apex tree on.
    fn write_rest<Tree: SectorTree>(
        &self,
        root: Writer,
        proofs: &[ChallengeProof<Tree>],
    ) -> Option<Assignment> {
        let mut challenges = Writer::default();
        let nodes = self.write_challenges(&mut challenges);
        let (apex, openings) = rayon::join(
            || self.write_apex(),
            || {
                let openings: Vec<Opening> = nodes
                    .iter()
                    .zip(proofs)
                    .map(|(&node, proof)| Opening::new(node, proof))
                    .collect();
                self.write_openings(&openings)
            },
        );
        let mut parts = vec![root];
        parts.extend(apex);
        parts.push(challenges);
        parts.extend(openings?);
        Some(Writer::concat(parts))
    }

    /// The tree over the apex leaves, and the path from its root.
    fn write_apex(&self) -> Vec<Writer> {
        let mut parts = Vec::new();
        let mut row = self.apex.clone();
        while row.len() > 1 {
            let pairs = row.as_chunks::<2>().0.par_iter();
            let (writers, parents): (Vec<Writer>, Vec<Fr>) = pairs
                .map(|&[left, right]| {
                    let mut writer = Writer::default();
                    let parent = sha256::hash_numbers(&mut writer, left, right);
                    (writer, parent)
                })
                .unzip();
            parts.extend(writers);
            row = parents;
        }
        let mut writer = Writer::default();
        ascend(
            slice::from_mut(&mut writer),
            row,
            &[&self.path],
            &Sha256Tree,
        );
        parts.push(writer);
        parts
    }

    /// Draws the challenged nodes: each has its bits from a digest, and above them the partition's number.
    fn write_challenges(&self, writer: &mut Writer) -> Vec<u64> {
        let bits = self.params.challenge_bit_len - self.params.partition_bit_len;
        let per_digest = number::CAPACITY / bits;
        let digests = self.params.challenge_count.div_ceil(per_digest);
        let mut nodes = Vec::with_capacity(self.params.challenge_count);
        for j in 0..digests as u64 {
            let index = Fr::from(self.k * digests as u64 + j);
            writer.number(index);
            let digest = hash_pair(&RANDOMNESS, writer, self.comm_r_new, index);
            number::unpack(writer, digest);
            let limbs = number::limbs(digest);
            let left = self.params.challenge_count - nodes.len();
            let drawn = (0..per_digest.min(left)).map(|i| bits_at(&limbs, i * bits, bits));
            nodes.extend(drawn.map(|node| node | self.k << bits));
        }
        nodes
    }

    /// A part for each challenge, or none where a new node is not the encoding of its data.
    fn write_openings(&self, openings: &[Opening]) -> Option<Vec<Writer>> {
        let mut writers = vec![Writer::default(); openings.len()];
        let encoded = writers
            .par_chunks_mut(LANES)
            .zip(openings.par_chunks(LANES))
            .all(|(writers, openings)| self.write_replicas(writers, openings));
        let data = writers.par_iter_mut().zip(openings);
        data.for_each(|(writer, opening)| self.write_data(writer, opening));
        encoded.then_some(writers)
    }

    /// The old and the new replica of some challenges. Whether the new ones are the encoding of the data.
    fn write_replicas(&self, writers: &mut [Writer], openings: &[Opening]) -> bool {
        let mut preimages = Vec::new();
        for (writer, opening) in writers.iter_mut().zip(openings) {
            preimages.extend([self.phi, self.write_high_bits(writer, opening.node)]);
        }
        let rhos = hash(&RANDOMNESS, writers, &preimages);
        let mut encoded = true;
        let (mut old, mut new) = (Vec::new(), Vec::new());
        for ((writer, opening), rho) in writers.iter_mut().zip(openings).zip(rhos) {
            let mask = opening.data * rho;
            let node = opening.old + mask;
            writer.numbers(&[opening.old, opening.data, mask, node]);
            write_siblings(writer, &opening.old_path);
            old.push(opening.old);
            new.push(node);
            encoded &= node == opening.new;
        }
        let paths: Vec<&[Level]> = openings.iter().map(|o| &*o.old_path).collect();
        ascend(writers, old, &paths, &PoseidonTree);
        for (writer, opening) in writers.iter_mut().zip(openings) {
            write_siblings(writer, &opening.new_path);
        }
        let paths: Vec<&[Level]> = openings.iter().map(|o| &*o.new_path).collect();
        ascend(writers, new, &paths, &PoseidonTree);
        encoded
    }

    /// The high bits of a challenge, for each number of them that there may be, and those that count.
    fn write_high_bits(&self, writer: &mut Writer, node: u64) -> Fr {
        let mut sum = Fr::from(0);
        for (i, count) in hs(self.params.sector_nodes).into_iter().enumerate() {
            let high = Fr::from(node >> (self.params.challenge_bit_len - count));
            let scaled = if self.selected >> i & 1 == 1 {
                high
            } else {
                Fr::from(0)
            };
            writer.numbers(&[high, scaled]);
            sum += scaled;
        }
        writer.number(sum);
        sum
    }

    /// The challenge's apex leaf, and the path to it from the data.
    fn write_data(&self, writer: &mut Writer, opening: &Opening) {
        let PublicParams {
            challenge_bit_len,
            partition_bit_len,
            apex_leaf_bit_len,
            ..
        } = *self.params;
        let height = challenge_bit_len - partition_bit_len - apex_leaf_bit_len;
        let leaf = low_bits(opening.node >> height, apex_leaf_bit_len);
        select(writer, &self.apex, leaf as usize);
        let path = &opening.data_path[..height];
        write_siblings(writer, path);
        let writers = slice::from_mut(writer);
        ascend(writers, vec![opening.data], &[path], &Sha256Tree);
    }
}

impl Opening {
    fn new<Tree: SectorTree>(node: u64, proof: &ChallengeProof<Tree>) -> Self {
        Self {
            node,
            old: proof.proof_r_old.leaf().into(),
            data: proof.proof_d_new.leaf().into(),
            new: proof.proof_r_new.leaf().into(),
            old_path: placed(levels(&proof.proof_r_old), node),
            data_path: placed(levels(&proof.proof_d_new), node),
            new_path: placed(levels(&proof.proof_r_new), node),
        }
    }
}

fn hash_pair(poseidon: &Poseidon, writer: &mut Writer, left: Fr, right: Fr) -> Fr {
    let hashes = hash(poseidon, slice::from_mut(writer), &[left, right]);
    hashes[0]
}

fn write_siblings(writer: &mut Writer, path: &[Level]) {
    path.iter()
        .for_each(|level| writer.numbers(&level.siblings));
}

/// A path with the places of a leaf's index.
fn placed(mut path: Vec<Level>, mut index: u64) -> Vec<Level> {
    for level in &mut path {
        let bits = level.index_bits();
        level.index = low_bits(index, bits as usize) as usize;
        index >>= bits;
    }
    path
}

/// The lowest `count` bits, fewer than 64.
fn low_bits(word: u64, count: usize) -> u64 {
    word & ((1 << count) - 1)
}

/// `count` bits, fewer than 64, of an integer from bit `first` on.
fn bits_at(limbs: &[u64; 4], first: usize, count: usize) -> u64 {
    let (limb, shift) = (first / 64, first % 64);
    let next = limbs.get(limb + 1).copied().unwrap_or(0);
    let word = u128::from(limbs[limb]) | u128::from(next) << 64;
    low_bits((word >> shift) as u64, count)
}
