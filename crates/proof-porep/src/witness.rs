//! A partition's assignment computed directly, in the order in which `StackedCircuit` allocates.

use cuzk_curve::Fr;
use cuzk_filecoin::direct::{PoseidonTree, hash};
use cuzk_filecoin::poseidon;
use cuzk_gadgets::merkle::{Level, Sha256Tree, prove_inclusion};
use cuzk_gadgets::{Poseidon, Word, Writer, number, sha256};
use cuzk_r1cs::Assignment;
use rayon::prelude::*;
use storage_proofs_porep::stacked::TOTAL_PARENTS;

/// Words of a node.
const NODE_WORDS: usize = 8;

/// Paths that ascend side by side in one task.
const LANES: usize = 8;

/// The numbers that all challenges of a partition share.
#[derive(Copy, Clone, Debug)]
pub struct Commitments {
    /// The replica id, a public input as the next two.
    pub replica_id: Fr,
    /// Root of the data's tree.
    pub comm_d: Fr,
    /// Hash of the two below.
    pub comm_r: Fr,
    /// Root of the replica's tree.
    pub comm_r_last: Fr,
    /// Root of the tree of columns.
    pub comm_c: Fr,
}

/// What a challenge opens.
#[derive(Clone, Debug)]
pub struct Challenge {
    /// The challenged node.
    pub node: u64,
    /// Its data, and the path to CommD.
    pub data: Fr,
    /// See `data`.
    pub data_path: Vec<Level>,
    /// The columns of its parents in the layer below it: 6.
    pub drg_parents: Vec<Column>,
    /// The columns of its parents in the layer before: 8.
    pub exp_parents: Vec<Column>,
    /// The path from its replica.
    pub replica_path: Vec<Level>,
    /// The path from its column.
    pub column_path: Vec<Level>,
}

/// A node's labels in all layers, and the path of their hash.
#[derive(Clone, Debug)]
pub struct Column {
    /// A label a layer.
    pub rows: Vec<Fr>,
    /// The path.
    pub path: Vec<Level>,
}

/// The assignment of a partition, or none for columns of other lengths than the circuit has.
pub fn partition_witness(
    commitments: &Commitments,
    challenges: &[Challenge],
) -> Option<Assignment> {
    let layers = challenges.first()?.drg_parents.first()?.rows.len();
    let [pair, column] = [2, layers].map(poseidon);
    let (pair, column) = (pair?, column?);
    let mut root = [Writer::default()];
    let writer = &mut root[0];
    writer.input(Fr::from(1));
    writer.number(commitments.replica_id);
    writer.input(commitments.replica_id);
    number::unpack(writer, commitments.replica_id);
    for value in [commitments.comm_d, commitments.comm_r] {
        writer.number(value);
        writer.input(value);
    }
    let halves = [commitments.comm_c, commitments.comm_r_last];
    writer.number(halves[1]);
    writer.number(halves[0]);
    hash(pair, &mut root, &halves);
    let replica_id = sha256::number_words(commitments.replica_id);
    let parts: Vec<Vec<Writer>> = challenges
        .par_iter()
        .map(|challenge| challenge.write(&replica_id, layers, column))
        .collect();
    Some(Writer::concat(
        root.into_iter().chain(parts.into_iter().flatten()),
    ))
}

impl Challenge {
    /// The parts of the challenge's assignment, in order.
    fn write(&self, replica_id: &[Word; 8], layers: usize, column: &Poseidon) -> Vec<Writer> {
        let (data, labels) = rayon::join(
            || self.write_data(),
            || {
                let layers = 1..=layers as u32;
                let labels = layers.into_par_iter();
                labels
                    .map(|layer| self.write_label(replica_id, layer))
                    .collect::<Vec<_>>()
            },
        );
        let (labels, own_column): (Vec<Writer>, Vec<Fr>) = labels.into_iter().unzip();
        let (parents, tail) = self.write_trees(&own_column, column);
        let mut node = Writer::default();
        node.bits(self.node, 64);
        node.input(Fr::from(self.node));
        let mut parts = vec![data];
        parts.extend(parents);
        parts.push(node);
        parts.extend(labels);
        parts.extend(tail);
        parts
    }

    /// The data and its inclusion.
    fn write_data(&self) -> Writer {
        let mut writer = Writer::default();
        writer.number(self.data);
        prove_inclusion(
            std::slice::from_mut(&mut writer),
            vec![self.data],
            &[&self.data_path],
            &Sha256Tree,
        );
        writer
    }

    /// A layer's label: the bits of the parents, and their hash with the replica id, the layer and the node.
    fn write_label(&self, replica_id: &[Word; 8], layer: u32) -> (Writer, Fr) {
        let mut writer = Writer::default();
        let below = layer as usize - 1;
        // The first layer has no expander parents; theirs are in the layer before.
        let expander = below.checked_sub(1).into_iter().flat_map(|row| {
            let parents = self.exp_parents.iter();
            parents.map(move |column| column.rows[row])
        });
        let parents = self.drg_parents.iter().map(|column| column.rows[below]);
        let parents: Vec<[Word; NODE_WORDS]> = parents
            .chain(expander)
            .map(|label| {
                number::unpack(&mut writer, label);
                sha256::number_words(label)
            })
            .collect();
        let mut message = replica_id.to_vec();
        message.push(Word::constant(layer));
        let [high, low] = [self.node >> 32, self.node].map(|half| half as u32);
        message.extend([high, low].map(Word::variables));
        message.resize(2 * NODE_WORDS, Word::constant(0));
        let repeated = parents.iter().cycle().take(TOTAL_PARENTS);
        message.extend(repeated.flatten());
        let digest = sha256::sha256(&mut writer, &message);
        let label = sha256::pack_hash(&mut writer, &digest);
        (writer, label)
    }

    /// The parents' columns with their inclusion, one part each; then the replica's encoding with its inclusion, and
    /// that of the node's own column.
    fn write_trees(&self, own_column: &[Fr], column: &Poseidon) -> (Vec<Writer>, Vec<Writer>) {
        let parents: Vec<&Column> = self.drg_parents.iter().chain(&self.exp_parents).collect();
        let mut writers = vec![Writer::default(); parents.len() + 1];
        let mut columns = Vec::new();
        for (writer, parent) in writers.iter_mut().zip(&parents) {
            writer.numbers(&parent.rows);
            columns.extend_from_slice(&parent.rows);
        }
        columns.extend_from_slice(own_column);
        let mut leaves = hash(column, &mut writers, &columns);
        let mut paths: Vec<&[Level]> = parents.iter().map(|parent| &*parent.path).collect();
        paths.push(&self.column_path);
        // The replica: the last label plus the data.
        let replica = own_column.last().map_or(self.data, |key| key + self.data);
        let mut writer = Writer::default();
        writer.number(replica);
        writers.insert(parents.len(), writer);
        leaves.insert(parents.len(), replica);
        paths.insert(parents.len(), &self.replica_path);
        writers
            .par_chunks_mut(LANES)
            .zip(leaves.par_chunks(LANES))
            .zip(paths.par_chunks(LANES))
            .for_each(|((writers, leaves), paths)| {
                prove_inclusion(writers, leaves.to_vec(), paths, &PoseidonTree);
            });
        let tail = writers.split_off(parents.len());
        (writers, tail)
    }
}
