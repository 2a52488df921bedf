//! The data of synthetic sectors: a few hundred pseudo-random nodes, repeated, so that CommD is cheap.

use crate::SectorSize;
use crate::merkle::data_arities;
use crate::periodic_tree::{PeriodicTree, Repetition};
use crate::prf::{Prf, Purpose};
use blstrs::Scalar;
use filecoin_hashers::sha256::{Sha256Domain, Sha256Hasher};
use generic_array::typenum::U2;
use storage_proofs_core::merkle::MerkleProof;

/// The nodes after which data and old replicas repeat.
pub(crate) const PERIOD: u64 = 512;

/// The data of a sector and its tree.
pub(crate) struct Data {
    prf: Prf,
    period: u64,
    tree: PeriodicTree<Sha256Hasher>,
}

impl Data {
    /// The data that a function of places gives.
    pub(crate) fn new(size: SectorSize, prf: &Prf) -> Self {
        let period = PERIOD.min(size.nodes());
        let repetition = Repetition {
            block: size.nodes(),
            period,
        };
        let tree = PeriodicTree::new(data_arities(size), repetition, |node| {
            leaf(prf, period, node)
        });
        Data {
            prf: prf.clone(),
            period,
            tree,
        }
    }

    /// CommD.
    pub(crate) fn comm_d(&self) -> Sha256Domain {
        self.tree.root()
    }

    /// A node of the data as a field element.
    pub(crate) fn scalar(&self, node: u64) -> Scalar {
        leaf(&self.prf, self.period, node).into()
    }

    /// A node of the data tree; level 0 holds the data.
    pub(crate) fn node(&self, level: usize, index: u64) -> Sha256Domain {
        self.tree.node(level, index)
    }

    /// The opening of a node of the data.
    pub(crate) fn open(&self, node: u64) -> MerkleProof<Sha256Hasher, U2> {
        MerkleProof::from_parts(
            leaf(&self.prf, self.period, node),
            self.tree.root(),
            self.tree.path(node),
        )
    }
}

fn leaf(prf: &Prf, period: u64, node: u64) -> Sha256Domain {
    prf.digest(Purpose::Data, 0, node % period).into()
}
