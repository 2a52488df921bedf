//! The Filecoin proof type WindowPoSt as a plugin: one partition of a deadline's sectors.
//!
//! A request holds one bincode `FallbackPoStSectorProof` a sector, in the order in which the chain lists the sectors,
//! and the index of the partition in its deadline. The circuit has room for a fixed number of sectors; a smaller
//! partition repeats its last sector. The same sector may be listed more than once: Filecoin's miners put a healthy
//! sector in the place of a faulty one.

use cuzk_filecoin::{
    Boxed, CircuitVisitor, OpenedSector, PostJob, PostRequest, SectorSize, SectorTree, Within,
    key_names, library, size_of, with_tree, wrong,
};
use cuzk_proof_api::{
    AnyCircuit, CircuitSpec, Job, KeyNames, Priority, ProofApiError, ProofType, Registered,
    Request, inventory,
};
use filecoin_proofs::parameters::window_post_public_params;
use filecoin_proofs::{PoStConfig, PoStType, WINDOW_POST_CHALLENGE_COUNT};
use storage_proofs_core::api_version::ApiVersion;
use storage_proofs_core::compound_proof::CompoundProof;
use storage_proofs_post::fallback::{FallbackPoStCompound, PublicParams};

/// WindowPoSt.
#[derive(Copy, Clone, Debug)]
pub struct WindowPost;

inventory::submit! { Registered(&WindowPost) }

/// All circuits, by ascending [`SectorSize`].
const CIRCUITS: [CircuitSpec; 5] = [
    circuit("wpost-2k", SectorSize::KiB2),
    circuit("wpost-8m", SectorSize::MiB8),
    circuit("wpost-512m", SectorSize::MiB512),
    circuit("wpost-32g", SectorSize::GiB32),
    circuit("wpost-64g", SectorSize::GiB64),
];

/// Rows of registered proof numbers: V1 (5 to 9) and V1_1 (10 to 14), the numbers below are WinningPoSt's.
const ROWS: std::ops::Range<u64> = 1..3;

/// Partitions that a deadline may have on Filecoin's chain.
const MAX_PARTITIONS: u32 = 3000;

const fn circuit(id: &'static str, size: SectorSize) -> CircuitSpec {
    CircuitSpec {
        id,
        sector_bytes: size.bytes(),
        partitions: 1,
    }
}

impl ProofType for WindowPost {
    fn id(&self) -> &'static str {
        "window-post"
    }

    fn wire_kind(&self) -> i32 {
        3
    }

    /// High: a deadline is half an hour, and a partition without a proof is a fault with a penalty. Only a block is
    /// more urgent.
    fn priority(&self) -> Priority {
        Priority::High
    }

    fn circuits(&self) -> &'static [CircuitSpec] {
        &CIRCUITS
    }

    fn blank(&self, circuit: &str) -> Result<Box<dyn AnyCircuit>, ProofApiError> {
        visit_blank(circuit, Boxed)
    }

    fn key_names(&self, circuit: &str) -> Result<KeyNames, ProofApiError> {
        let size = size_of(&CIRCUITS, circuit)?;
        let config = config(size, ApiVersion::V1_2_0);
        let identifier = with_tree!(size, Tree => config.get_cache_identifier::<Tree>());
        Ok(key_names(
            &identifier.map_err(library("WindowPoSt cache identifier"))?,
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
        Ok(visitor.visit(FallbackPoStCompound::<Tree>::blank_circuit(&params::<Tree>(size, ApiVersion::V1_2_0)?)))
    })
}

fn decode<Tree: SectorTree>(request: &Request) -> Result<PostJob<Tree>, ProofApiError> {
    let post = PostRequest::read(request)?;
    let row = post
        .size
        .row_of(request.registered_proof, ROWS)
        .within("registered_proof")?;
    let version = if row == 1 {
        ApiVersion::V1_0_0
    } else {
        ApiVersion::V1_2_0
    };
    let params = params::<Tree>(post.size, version)?;
    if request.partition_index >= MAX_PARTITIONS {
        let wanted = format!("an index below {MAX_PARTITIONS}");
        return Err(wrong(wanted, request.partition_index)).within("partition_index");
    }
    let items = &request.vanilla_proofs;
    if items.is_empty() || items.len() > params.sector_count {
        let wanted = format!("1 to {} sectors", params.sector_count);
        return Err(wrong(wanted, items.len())).within("vanilla_proofs");
    }
    let sectors = items.iter().enumerate().map(|(i, bytes)| {
        OpenedSector::decode(bytes, post.size, params.challenge_count)
            .within_item(i)
            .within("vanilla_proofs")
    });
    let sectors = sectors.collect::<Result<_, _>>()?;
    let partition = request.partition_index as usize;
    Ok(PostJob::new(
        CIRCUITS[post.size as usize].id,
        params,
        &post,
        partition,
        sectors,
    ))
}

fn config(size: SectorSize, api_version: ApiVersion) -> PoStConfig {
    PoStConfig {
        sector_size: filecoin_proofs::SectorSize(size.bytes()),
        challenge_count: WINDOW_POST_CHALLENGE_COUNT,
        sector_count: match size {
            SectorSize::GiB32 => 2349,
            SectorSize::GiB64 => 2300,
            _ => 2,
        },
        typ: PoStType::Window,
        priority: true,
        api_version,
    }
}

fn params<Tree: SectorTree>(
    size: SectorSize,
    version: ApiVersion,
) -> Result<PublicParams, ProofApiError> {
    window_post_public_params::<Tree>(&config(size, version))
        .map_err(library("WindowPoSt parameters"))
}
