//! The Filecoin proof type WinningPoSt as a plugin: the one sector whose opening wins a block.
//!
//! A request holds one bincode `FallbackPoStSectorProof` with 66 openings. The circuit is that of WindowPoSt with one
//! opening a sector, so the sector is listed 66 times.

use cuzk_filecoin::{
    Boxed, CircuitVisitor, OpenedSector, PostJob, PostRequest, SectorSize, SectorTree, Within,
    key_names, library, size_of, with_tree, wrong,
};
use cuzk_proof_api::{
    AnyCircuit, CircuitSpec, Job, KeyNames, Priority, ProofApiError, ProofType, Registered,
    Request, inventory,
};
use filecoin_proofs::parameters::winning_post_public_params;
use filecoin_proofs::{
    PoStConfig, PoStType, WINNING_POST_CHALLENGE_COUNT, WINNING_POST_SECTOR_COUNT,
};
use storage_proofs_core::api_version::ApiVersion;
use storage_proofs_core::compound_proof::CompoundProof;
use storage_proofs_post::fallback::{FallbackPoStCompound, PublicParams};

/// WinningPoSt.
#[derive(Copy, Clone, Debug)]
pub struct WinningPost;

inventory::submit! { Registered(&WinningPost) }

/// All circuits, by ascending [`SectorSize`].
const CIRCUITS: [CircuitSpec; 5] = [
    circuit("winning-2k", SectorSize::KiB2),
    circuit("winning-8m", SectorSize::MiB8),
    circuit("winning-512m", SectorSize::MiB512),
    circuit("winning-32g", SectorSize::GiB32),
    circuit("winning-64g", SectorSize::GiB64),
];

/// Registered proof numbers 0 to 4.
const ROWS: std::ops::Range<u64> = 0..1;

const fn circuit(id: &'static str, size: SectorSize) -> CircuitSpec {
    CircuitSpec {
        id,
        sector_bytes: size.bytes(),
        partitions: 1,
    }
}

impl ProofType for WinningPost {
    fn id(&self) -> &'static str {
        "winning-post"
    }

    fn wire_kind(&self) -> i32 {
        4
    }

    /// Critical: a block must be out within seconds of its epoch, or its reward is lost.
    fn priority(&self) -> Priority {
        Priority::Critical
    }

    fn circuits(&self) -> &'static [CircuitSpec] {
        &CIRCUITS
    }

    fn blank(&self, circuit: &str) -> Result<Box<dyn AnyCircuit>, ProofApiError> {
        visit_blank(circuit, Boxed)
    }

    fn key_names(&self, circuit: &str) -> Result<KeyNames, ProofApiError> {
        let size = size_of(&CIRCUITS, circuit)?;
        let identifier = with_tree!(size, Tree => config(size).get_cache_identifier::<Tree>());
        Ok(key_names(
            &identifier.map_err(library("WinningPoSt cache identifier"))?,
        ))
    }

    fn decode(&self, request: &Request) -> Result<Box<dyn Job>, ProofApiError> {
        let size = SectorSize::from_bytes(request.sector_size).within("sector_size")?;
        with_tree!(size, Tree => Ok(Box::new(decode::<Tree>(request)?)))
    }
}

/// Calls `visitor` with the circuit of a request, its witness in it.
///
/// Errors: those of decoding, and [`ProofApiError::Partition`] where `partition` is not 0.
pub fn visit_circuit<V: CircuitVisitor>(
    request: &Request,
    partition: usize,
    visitor: V,
) -> Result<V::Output, ProofApiError> {
    let size = SectorSize::from_bytes(request.sector_size).within("sector_size")?;
    with_tree!(size, Tree => {
        Ok(visitor.visit(decode::<Tree>(request)?.typed_circuit(partition)?))
    })
}

/// Calls `visitor` with the circuit called `circuit`, without a witness.
///
/// Errors: [`ProofApiError::UnknownCircuit`].
pub fn visit_blank<V: CircuitVisitor>(
    circuit: &str,
    visitor: V,
) -> Result<V::Output, ProofApiError> {
    let size = size_of(&CIRCUITS, circuit)?;
    with_tree!(size, Tree => {
        Ok(visitor.visit(FallbackPoStCompound::<Tree>::blank_circuit(&params::<Tree>(size)?)))
    })
}

fn decode<Tree: SectorTree>(request: &Request) -> Result<PostJob<Tree>, ProofApiError> {
    let post = PostRequest::read(request)?;
    post.size
        .row_of(request.registered_proof, ROWS)
        .within("registered_proof")?;
    if request.partition_index != 0 {
        return Err(wrong(0, request.partition_index)).within("partition_index");
    }
    let [item] = request.vanilla_proofs.as_slice() else {
        return Err(wrong("1 sector", request.vanilla_proofs.len())).within("vanilla_proofs");
    };
    let sector = OpenedSector::decode(item, post.size, WINNING_POST_CHALLENGE_COUNT)
        .within_item(0)
        .within("vanilla_proofs")?;
    let params = params::<Tree>(post.size)?;
    Ok(PostJob::new(
        CIRCUITS[post.size as usize].id,
        params,
        &post,
        0,
        sector.unroll(),
    ))
}

fn config(size: SectorSize) -> PoStConfig {
    PoStConfig {
        sector_size: filecoin_proofs::SectorSize(size.bytes()),
        challenge_count: WINNING_POST_CHALLENGE_COUNT,
        sector_count: WINNING_POST_SECTOR_COUNT,
        typ: PoStType::Winning,
        priority: true,
        api_version: ApiVersion::V1_0_0,
    }
}

fn params<Tree: SectorTree>(size: SectorSize) -> Result<PublicParams, ProofApiError> {
    winning_post_public_params::<Tree>(&config(size)).map_err(library("WinningPoSt parameters"))
}
