//! Labels of the opened nodes of a stacked depth-robust graph, without the other ones.

use crate::prf::{Prf, Purpose};
use filecoin_hashers::poseidon::PoseidonDomain;
use sha2::{Digest, Sha256};
use std::collections::{BTreeMap, BTreeSet};

/// The parents of a node: those in the same layer, then those in the layer before.
pub(crate) const DEGREE: usize = BASE_DEGREE + filecoin_proofs::EXP_DEGREE;

/// The parents in the same layer.
pub(crate) const BASE_DEGREE: usize = filecoin_proofs::DRG_DEGREE;

/// The parents are repeated until a label's preimage holds this many.
const PREIMAGE_PARENTS: usize = 37;

/// The labels of each opened node, one a layer.
pub(crate) struct Labels {
    columns: BTreeMap<u64, Vec<PoseidonDomain>>,
    parents: BTreeMap<u64, [u32; DEGREE]>,
}

impl Labels {
    /// Labels the nodes that `parents` maps to their parents, and those parents.
    ///
    /// A node in `parents` gets the label that its parents determine. Any other opened node gets a
    /// pseudo-random one. Layers ascend and nodes ascend in a layer, so that each parent comes first.
    pub(crate) fn new(
        prf: &Prf,
        replica_id: PoseidonDomain,
        layers: usize,
        parents: BTreeMap<u64, [u32; DEGREE]>,
    ) -> Self {
        let opened: BTreeSet<u64> = parents
            .iter()
            .flat_map(|(&node, parents)| parents.iter().map(|&p| u64::from(p)).chain([node]))
            .collect();
        let columns = opened
            .iter()
            .map(|&node| (node, Vec::with_capacity(layers)))
            .collect();
        let mut labels = Labels { columns, parents };
        for layer in 1..=layers {
            for &node in &opened {
                let label = if labels.parents.contains_key(&node) {
                    label(replica_id, layer, node, &labels.preimage(layer, node))
                } else {
                    prf.digest(Purpose::Label, layer, node).into()
                };
                labels.columns.entry(node).or_default().push(label);
            }
        }
        labels
    }

    /// The opened nodes and their labels by layer, ascending.
    pub(crate) fn columns(&self) -> &BTreeMap<u64, Vec<PoseidonDomain>> {
        &self.columns
    }

    /// The nodes that have the label which their parents determine, ascending.
    pub(crate) fn labelled(&self) -> impl Iterator<Item = u64> + '_ {
        self.parents.keys().copied()
    }

    /// The parents of a labelled node.
    pub(crate) fn parents(&self, node: u64) -> &[u32; DEGREE] {
        &self.parents[&node]
    }

    /// The label of the last layer, with which the node's data is encoded.
    pub(crate) fn key(&self, node: u64) -> PoseidonDomain {
        self.columns[&node].last().copied().unwrap_or_default()
    }

    /// The parents' labels in the preimage of a label: in the first layer the base parents alone.
    pub(crate) fn preimage(&self, layer: usize, node: u64) -> Vec<PoseidonDomain> {
        let (base, expansion) = self.parents[&node].split_at(BASE_DEGREE);
        let in_layer =
            |layer: usize| move |&parent: &u32| self.columns[&u64::from(parent)][layer - 1];
        let mut labels: Vec<PoseidonDomain> = base.iter().map(in_layer(layer)).collect();
        if layer > 1 {
            labels.extend(expansion.iter().map(in_layer(layer - 1)));
        }
        labels
            .iter()
            .copied()
            .cycle()
            .take(PREIMAGE_PARENTS)
            .collect()
    }
}

/// SHA-256 of the replica id, layer and node, and the parents' labels, cut to 254 bits.
fn label(
    replica_id: PoseidonDomain,
    layer: usize,
    node: u64,
    preimage: &[PoseidonDomain],
) -> PoseidonDomain {
    let mut head = [0; 64];
    head[..32].copy_from_slice(replica_id.as_ref());
    head[32..36].copy_from_slice(&(layer as u32).to_be_bytes());
    head[36..44].copy_from_slice(&node.to_be_bytes());
    let mut hash = Sha256::new_with_prefix(head);
    for parent in preimage {
        hash.update(AsRef::<[u8]>::as_ref(parent));
    }
    let mut label: [u8; 32] = hash.finalize().into();
    label[31] &= 0x3f;
    label.into()
}
