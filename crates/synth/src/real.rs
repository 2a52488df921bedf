//! Real sectors: data, sealed by `filecoin-proofs`, updated, and asked for every vanilla proof.

use crate::error::Step as _;
use crate::payload::{Payload, prover_id};
use crate::phase1::{SealCommitPhase1Output, VanillaSealProof};
use crate::prf::{Prf, Purpose};
use crate::registered::{self, SealProof};
use crate::sector_size::{Arity, Tree};
use crate::{
    FIRST_SECTOR, Kind, MINER_ID, PoRepFeature, SectorSize, SynthError, porep, post, snap,
};
use filecoin_proofs::{
    PieceInfo, PoRepConfig, PrivateReplicaInfo, SealPreCommitOutput, SectorUpdateConfig,
    UnpaddedBytesAmount, add_piece, encode_into, generate_fallback_sector_challenges,
    generate_partition_proofs, generate_single_vanilla_proof, seal_commit_phase1,
    seal_pre_commit_phase1, seal_pre_commit_phase2,
};
use generic_array::typenum::U0;
use rand::{RngCore, SeedableRng};
use rand_chacha::ChaCha20Rng;
use std::fmt;
use std::fs::{self, File};
use std::path::{Path, PathBuf};
use storage_proofs_core::sector::SectorId;

/// The seed of the data, ticket, challenge seed and randomness of real sectors.
const SEED: u64 = 2;

/// A step in the making of a real sector.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RealStep {
    /// Data is written and its commitment computed.
    AddPiece,
    /// The layers of labels are computed.
    PreCommit1,
    /// The trees over columns and replica are computed.
    PreCommit2,
    /// The challenged nodes are opened.
    Commit1,
    /// New data is encoded into the replica.
    UpdateEncode,
    /// The challenged nodes of the update are opened.
    UpdateProve,
    /// The challenged leaves of a WindowPoSt are opened.
    WindowPost,
    /// The challenged leaves of a WinningPoSt are opened.
    WinningPost,
}

impl RealStep {
    /// The name that a progress bar shows.
    pub fn name(self) -> &'static str {
        match self {
            RealStep::AddPiece => "add piece",
            RealStep::PreCommit1 => "pre-commit 1",
            RealStep::PreCommit2 => "pre-commit 2",
            RealStep::Commit1 => "commit 1",
            RealStep::UpdateEncode => "update: encode",
            RealStep::UpdateProve => "update: vanilla proofs",
            RealStep::WindowPost => "WindowPoSt: vanilla proof",
            RealStep::WinningPost => "WinningPoSt: vanilla proof",
        }
    }
}

impl fmt::Display for RealStep {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

/// Seals a sector of 2 KiB or 8 MiB and makes a payload of each kind that is asked for, in that order.
///
/// The sector stands in a new folder in `scratch`, which is removed at the end, and `progress` is called
/// before each step. Everything is the same in every run. `filecoin-proofs` also keeps a file of graph
/// parents (4 KiB; at 8 MiB, 14 MiB) in a folder that it takes from the environment when the process first
/// asks; see [`environment`](crate::environment).
///
/// # Errors
/// [`SynthError::TooLargeToSeal`] for larger sectors; [`SynthError::Io`] when `scratch` cannot be written;
/// [`SynthError::Filecoin`] when `filecoin-proofs` fails.
pub fn real(
    size: SectorSize,
    kinds: &[Kind],
    scratch: &Path,
    progress: &mut dyn FnMut(RealStep),
) -> Result<Vec<Payload>, SynthError> {
    if size > SectorSize::MIB_8 {
        return Err(SynthError::TooLargeToSeal { size });
    }
    real_shape::<U0, U0>(size, kinds, scratch, progress)
}

/// `real` for one shape of the replica tree.
fn real_shape<V: Arity, W: Arity>(
    size: SectorSize,
    kinds: &[Kind],
    scratch: &Path,
    progress: &mut dyn FnMut(RealStep),
) -> Result<Vec<Payload>, SynthError> {
    let folder = tempfile::tempdir_in(scratch).map_err(|source| SynthError::Io {
        what: "make a folder for the sector",
        source,
    })?;
    let sector = Sector::seal::<V, W>(size, folder.path(), progress)?;
    let make = |kind: &Kind| match kind {
        Kind::PoRep => sector.porep::<V, W>(progress),
        Kind::WindowPost => sector.post::<V, W>(Kind::WindowPost, RealStep::WindowPost, progress),
        Kind::WinningPost => {
            sector.post::<V, W>(Kind::WinningPost, RealStep::WinningPost, progress)
        }
        Kind::Snap => sector.snap::<V, W>(progress),
    };
    kinds.iter().map(make).collect()
}

/// A sealed sector on disk.
struct Sector {
    size: SectorSize,
    proof: SealProof,
    config: PoRepConfig,
    folder: PathBuf,
    piece: PieceInfo,
    commitments: SealPreCommitOutput,
    prf: Prf,
}

impl Sector {
    /// Fills and seals a sector in `folder`.
    fn seal<V: Arity, W: Arity>(
        size: SectorSize,
        folder: &Path,
        progress: &mut dyn FnMut(RealStep),
    ) -> Result<Self, SynthError> {
        let prf = Prf::new(SEED);
        let proof = SealProof::current(size, PoRepFeature::Interactive);
        let config = proof.config();
        let file = |name| folder.join(name);
        progress(RealStep::AddPiece);
        let piece = stage(size, &file("staged"), SEED)?;
        make_folder(&file("cache"))?;
        make_file(&file("sealed"), 0)?;
        progress(RealStep::PreCommit1);
        let phase1 = seal_pre_commit_phase1::<_, _, _, Tree<V, W>>(
            &config,
            file("cache"),
            file("staged"),
            file("sealed"),
            prover_id(MINER_ID),
            SectorId::from(FIRST_SECTOR),
            prf.digest(Purpose::Ticket, 0, 0),
            std::slice::from_ref(&piece),
        )
        .step("pre-commit 1")?;
        progress(RealStep::PreCommit2);
        let commitments = seal_pre_commit_phase2(&config, phase1, file("cache"), file("sealed"))
            .step("pre-commit 2")?;
        Ok(Sector {
            size,
            proof,
            config,
            folder: folder.to_owned(),
            piece,
            commitments,
            prf,
        })
    }

    fn file(&self, name: &str) -> PathBuf {
        self.folder.join(name)
    }

    fn porep<V: Arity, W: Arity>(
        &self,
        progress: &mut dyn FnMut(RealStep),
    ) -> Result<Payload, SynthError> {
        progress(RealStep::Commit1);
        let output = seal_commit_phase1::<_, Tree<V, W>>(
            &self.config,
            self.file("cache"),
            self.file("sealed"),
            prover_id(MINER_ID),
            SectorId::from(FIRST_SECTOR),
            self.prf.digest(Purpose::Ticket, 0, 0),
            self.prf.digest(Purpose::Seed, 0, 0),
            self.commitments.clone(),
            std::slice::from_ref(&self.piece),
        )
        .step("commit 1")?;
        let output = SealCommitPhase1Output::<V, W> {
            registered_proof: self.proof.name(),
            vanilla_proofs: VanillaSealProof::new(self.size, output.vanilla_proofs),
            comm_r: output.comm_r,
            comm_d: output.comm_d,
            replica_id: output.replica_id,
            seed: output.seed,
            ticket: output.ticket,
        };
        porep::payload(self.size, self.proof, &output)
    }

    fn post<V: Arity, W: Arity>(
        &self,
        kind: Kind,
        step: RealStep,
        progress: &mut dyn FnMut(RealStep),
    ) -> Result<Payload, SynthError> {
        progress(step);
        let number = registered::current_number(kind, self.size);
        let config = registered::post_config(kind, self.size, number)?;
        let id = SectorId::from(FIRST_SECTOR);
        let randomness = self.prf.digest(Purpose::Randomness, 0, 0);
        let challenges = generate_fallback_sector_challenges::<Tree<V, W>>(
            &config,
            &randomness,
            &[id],
            prover_id(MINER_ID),
        )
        .step("PoSt challenges")?;
        let leaves = challenges.get(&id).map(Vec::as_slice).unwrap_or_default();
        let replica = PrivateReplicaInfo::<Tree<V, W>>::new(
            self.file("sealed"),
            self.commitments.comm_r,
            self.file("cache"),
        )
        .step("open the replica")?;
        let proof = generate_single_vanilla_proof(&config, id, &replica, leaves)
            .step("PoSt vanilla proof")?;
        post::payload::<V, W>(kind, self.size, number, &[proof], randomness)
    }

    fn snap<V: Arity, W: Arity>(
        &self,
        progress: &mut dyn FnMut(RealStep),
    ) -> Result<Payload, SynthError> {
        let config = SectorUpdateConfig::from_porep_config(&registered::update_config(self.size));
        let (old, old_cache) = (self.file("sealed"), self.file("cache"));
        let (new, new_cache, staged) = (
            self.file("updated"),
            self.file("update-cache"),
            self.file("update-staged"),
        );
        progress(RealStep::UpdateEncode);
        let piece = stage(self.size, &staged, SEED + 1)?;
        make_folder(&new_cache)?;
        make_file(&new, self.size.bytes())?;
        let encoded = encode_into::<Tree<V, W>>(
            &config,
            &new,
            &new_cache,
            &old,
            &old_cache,
            &staged,
            &[piece],
        )
        .step("update: encode")?;
        progress(RealStep::UpdateProve);
        let comm_r_old = self.commitments.comm_r;
        let (comm_r_new, comm_d_new) = (encoded.comm_r_new, encoded.comm_d_new);
        let proofs = generate_partition_proofs::<Tree<V, W>>(
            config, comm_r_old, comm_r_new, comm_d_new, &old, &old_cache, &new, &new_cache,
        )
        .step("update: vanilla proofs")?;
        snap::payload::<V, W>(self.size, &proofs, comm_r_old, comm_r_new, comm_d_new)
    }
}

/// Writes one piece of random data that fills the sector, padded as Filecoin pads it.
fn stage(size: SectorSize, path: &Path, seed: u64) -> Result<PieceInfo, SynthError> {
    let bytes = size.bytes() / 128 * 127;
    let mut data = vec![0; bytes as usize];
    ChaCha20Rng::seed_from_u64(seed).fill_bytes(&mut data);
    let mut file = make_file(path, 0)?;
    let (piece, _) =
        add_piece(data.as_slice(), &mut file, UnpaddedBytesAmount(bytes), &[]).step("add piece")?;
    Ok(piece)
}

fn make_folder(path: &Path) -> Result<(), SynthError> {
    fs::create_dir(path).map_err(|source| SynthError::Io {
        what: "make a folder of the sector",
        source,
    })
}

fn make_file(path: &Path, bytes: u64) -> Result<File, SynthError> {
    let make = || {
        let file = File::create(path)?;
        file.set_len(bytes)?;
        Ok(file)
    };
    make().map_err(|source| SynthError::Io {
        what: "make a file of the sector",
        source,
    })
}
