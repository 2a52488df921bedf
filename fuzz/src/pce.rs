//! PCE files.

use cuzk_curve::{Bytes, Fr};
use cuzk_pce::Pce;
use cuzk_r1cs::Assignment;
use ff::Field;
use xxhash_rust::xxh3::xxh3_64;

/// Where the counts stand: inputs, aux, constraints.
const COUNTS: usize = 8 + 4 + 4;
/// A circuit may be far larger than its file: repeated blocks are stored once. What is larger than this is not opened.
const LARGEST: u64 = 1 << 20;
/// Bytes before the section table: magic, version, count, shape, hash.
const TABLE: usize = COUNTS + 24 + 32;
/// Sections of a file.
const SECTIONS: usize = 9;
/// Bytes of an entry: offset, length, checksum.
const ENTRY: usize = 24;
/// Where the header's own checksum stands.
const CHECKSUM: usize = TABLE + SECTIONS * ENTRY;

/// A PCE file, as it is and with its checksums made right, so that what lies behind them is reached too.
pub fn pce(data: &[u8]) {
    open(data.to_vec());
    if let Some(repaired) = repair(data) {
        open(repaired);
    }
}

/// What opens can be evaluated, or says what is wrong with it.
fn open(data: Vec<u8>) {
    let counts = data.get(COUNTS..COUNTS + 24).unwrap_or_default();
    let too_large = |count: &[u8; 8]| u64::from_le_bytes(*count) > LARGEST;
    if counts.as_chunks::<8>().0.iter().any(too_large) {
        return;
    }
    let Ok(pce) = Pce::from_bytes(Bytes::new(data)) else {
        return;
    };
    let shape = pce.r1cs().shape;
    let mut assignment = Assignment::default();
    assignment.inputs.resize(shape.inputs, Fr::ONE);
    (0..shape.aux).for_each(|_| assignment.push_aux(Fr::ZERO));
    if let Ok(witness) = pce.pack(assignment) {
        let _ = pce.evaluate_single_threaded(&witness);
    }
}

/// The file with right checksums, if it is long enough to have any.
fn repair(data: &[u8]) -> Option<Vec<u8>> {
    let mut file = data.to_vec();
    file.get(..CHECKSUM + 8)?;
    for entry in 0..SECTIONS {
        let at = TABLE + entry * ENTRY;
        let number = |at: usize| {
            let bytes = file.get(at..at + 8)?.try_into().ok()?;
            usize::try_from(u64::from_le_bytes(bytes)).ok()
        };
        let (start, length) = (number(at)?, number(at + 8)?);
        let end = start.checked_add(length)?;
        if let Some(section) = file.get(start..end) {
            let checksum = xxh3_64(section).to_le_bytes();
            file[at + 16..at + 24].copy_from_slice(&checksum);
        }
    }
    let checksum = xxh3_64(&file[..CHECKSUM]).to_le_bytes();
    file[CHECKSUM..CHECKSUM + 8].copy_from_slice(&checksum);
    Some(file)
}
