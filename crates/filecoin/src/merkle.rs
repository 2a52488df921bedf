//! Merkle inclusion proofs as payloads hold them, JSON and bincode alike.

use cuzk_proof_api::ProofApiError;
use filecoin_hashers::{Hasher, PoseidonArity};
use serde::Deserialize;
use storage_proofs_core::merkle::{MerkleProof, base_path_length};

use crate::{List, Node, SectorTree, TreeProof, Within, wrong};

/// An inclusion proof in the form of `storage-proofs-core`'s `MerkleProof`, its shape not checked yet.
#[derive(Clone, Debug, Deserialize)]
pub struct InclusionProof {
    data: Data,
}

#[derive(Clone, Debug, Deserialize)]
enum Data {
    Single(Single),
    Sub(Sub),
    Top(Top),
}

#[derive(Clone, Debug, Deserialize)]
struct Single {
    root: Node,
    leaf: Node,
    path: Path,
}

#[derive(Clone, Debug, Deserialize)]
struct Sub {
    base_proof: Path,
    sub_proof: Path,
    root: Node,
    leaf: Node,
}

#[derive(Clone, Debug, Deserialize)]
struct Top {
    base_proof: Path,
    sub_proof: Path,
    top_proof: Path,
    root: Node,
    leaf: Node,
}

/// A path is at most 31 levels high: the binary tree over the nodes of a 64 GiB sector.
#[derive(Clone, Debug, Deserialize)]
struct Path {
    path: List<Level, 31>,
}

/// The siblings at one level and the place of the node among them.
#[derive(Clone, Debug, Deserialize)]
struct Level {
    hashes: List<Node, 7>,
    index: u64,
}

/// A level of Filecoin's proofs: the siblings, and the node's place among them.
type Step<H> = (Vec<<H as Hasher>::Domain>, usize);

/// What a part of a proof must look like: its name in each form, its arity and its number of levels.
struct Part {
    name: &'static str,
    arity: usize,
    levels: usize,
}

impl InclusionProof {
    /// The proof in a replica tree over `leaves` nodes.
    ///
    /// Errors: [`ProofApiError::Field`] where the shape differs from the tree's or a node is no field element.
    pub fn in_tree<Tree: SectorTree>(
        self,
        leaves: usize,
    ) -> Result<TreeProof<Tree>, ProofApiError> {
        self.in_shape(leaves)
    }

    /// The proof in a tree of any hasher and arities over `leaves` nodes; arity 0 stands for "no such level".
    ///
    /// Errors: [`ProofApiError::Field`] where the shape differs from the tree's or a node is no field element.
    pub fn in_shape<H, A, S, T>(
        self,
        leaves: usize,
    ) -> Result<MerkleProof<H, A, S, T>, ProofApiError>
    where
        H: Hasher + 'static,
        A: PoseidonArity + 'static,
        S: PoseidonArity + 'static,
        T: PoseidonArity + 'static,
    {
        let names = if S::USIZE == 0 {
            ["path", "", ""]
        } else {
            ["base_proof", "sub_proof", "top_proof"]
        };
        let levels = [base_path_length::<A, S, T>(leaves), 1, 1];
        let arities = [A::USIZE, S::USIZE, T::USIZE];
        let wanted: Vec<Part> = (0..3)
            .map(|i| Part {
                name: names[i],
                arity: arities[i],
                levels: levels[i],
            })
            .filter(|part| part.arity != 0)
            .collect();
        self.data.check::<H, A, S, T>(&wanted).within("data")
    }
}

impl Data {
    fn check<H, A, S, T>(self, wanted: &[Part]) -> Result<MerkleProof<H, A, S, T>, ProofApiError>
    where
        H: Hasher + 'static,
        A: PoseidonArity + 'static,
        S: PoseidonArity + 'static,
        T: PoseidonArity + 'static,
    {
        const FORMS: [&str; 3] = ["Single", "Sub", "Top"];
        let (root, leaf, parts) = match self {
            Self::Single(p) => (p.root, p.leaf, vec![p.path]),
            Self::Sub(p) => (p.root, p.leaf, vec![p.base_proof, p.sub_proof]),
            Self::Top(p) => (p.root, p.leaf, vec![p.base_proof, p.sub_proof, p.top_proof]),
        };
        let form = FORMS[parts.len() - 1];
        if parts.len() != wanted.len() {
            return Err(wrong(FORMS[wanted.len() - 1], form));
        }
        let convert = || {
            let mut path = Vec::new();
            for (part, wanted) in parts.into_iter().zip(wanted) {
                path.extend(part.check::<H>(wanted).within(wanted.name)?);
            }
            let leaf = leaf.domain().within("leaf")?;
            let root = root.domain().within("root")?;
            Ok(MerkleProof::from_parts(leaf, root, path))
        };
        convert().within(form)
    }
}

impl Path {
    fn check<H: Hasher>(self, wanted: &Part) -> Result<Vec<Step<H>>, ProofApiError> {
        self.path
            .exactly(wanted.levels, "levels", |level| {
                level.check::<H>(wanted.arity)
            })
            .within("path")
    }
}

impl Level {
    fn check<H: Hasher>(self, arity: usize) -> Result<Step<H>, ProofApiError> {
        let hashes = self
            .hashes
            .exactly(arity - 1, "siblings", Node::domain)
            .within("hashes")?;
        if self.index >= arity as u64 {
            return Err(wrong(format_args!("an index below {arity}"), self.index)).within("index");
        }
        Ok((hashes, self.index as usize))
    }
}
