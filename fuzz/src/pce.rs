//! PCE files.

use std::path::Path;

use cuzk_curve::{Bytes, Fr};
use cuzk_pce::{FileFault, Pce, PceError};
use cuzk_r1cs::{Assignment, Column, Matrix, R1csError, Term};
use ff::Field;
use xxhash_rust::xxh3::xxh3_64;

/// Variables or constraints up to which a circuit is evaluated: that takes 32 bytes a variable and 96 a constraint, and a
/// circuit may have far more of them than its file has bytes, since repeated blocks are stored once. Whatever opens, however
/// large, is opened, its density derived, and encoded.
const LARGEST: usize = 1 << 20;
/// Bytes before the section table: magic, version, count, shape, hash.
const TABLE: usize = 8 + 4 + 4 + 24 + 32;
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

/// What opens has a density, encodes to a file of the same circuit, and can be evaluated, or says what is wrong with it.
fn open(data: Vec<u8>) {
    let read = |data| Pce::from_bytes(Path::new("fuzz"), Bytes::new(data));
    let Ok(pce) = read(data) else {
        return;
    };
    let _ = pce.density();
    // Numbers and runs have more than one form, so a file that is accepted need not be the one that is written.
    let written = pce.to_bytes().expect("memory takes all bytes");
    evaluate(&pce);
    drop(pce);
    match read(written.clone()) {
        Ok(again) => assert!(again.to_bytes().expect("memory takes all bytes") == written),
        // The shorter form pays for fewer arguments.
        Err(PceError::File {
            fault:
                FileFault::Number {
                    what: "arguments of a call",
                    ..
                },
            ..
        }) => {}
        Err(error) => panic!("what was written is refused: {error}"),
    }
}

/// All ways of evaluating agree with one another, and with the rows as they are written.
fn evaluate(pce: &Pce) {
    let shape = pce.r1cs().shape;
    if shape.inputs + shape.aux > LARGEST || shape.constraints > LARGEST {
        return;
    }
    let inputs = vec![Fr::ONE; shape.inputs];
    let aux: Vec<Fr> = (0..shape.aux).map(|j| Fr::from(j as u64 % 3)).collect();
    let values = [inputs.clone(), aux.clone()].concat();
    let assignment = Assignment::new(inputs, aux);
    let Ok(witness) = pce.pack(assignment) else {
        return;
    };
    let single = pce.evaluate_single_threaded(&witness);
    let parallel = pce.evaluate(&witness);
    let checked = pce.check(&witness);
    match (&single, &parallel) {
        (Ok(single), Ok(parallel)) => {
            assert!(single == parallel);
            let products = [&single.a, &single.b, &single.c];
            // Term by term takes longer, and a circuit may have far more terms than its file has bytes.
            let few = pce.terms() <= LARGEST as u64;
            for (matrix, found) in Matrix::ALL.into_iter().zip(products).filter(|_| few) {
                assert!(*found == naive(pce, matrix, &values), "{matrix:?}");
            }
            let row = |i: usize| single.a[i] * single.b[i] == single.c[i];
            assert_eq!(checked.is_ok(), (0..shape.constraints).all(row));
        }
        (Err(_), Err(_)) => {}
        _ => panic!("one thread: {:?}, many: {:?}", single.err(), parallel.err()),
    }
}

/// The rows of a matrix times the values of inputs and aux, term by term.
fn naive(pce: &Pce, matrix: Matrix, values: &[Fr]) -> Vec<Fr> {
    let r1cs = pce.r1cs();
    let value = |column| match column {
        Column::Dense(input) => values[input as usize],
        Column::Sparse(aux) => values[r1cs.shape.inputs + aux as usize],
    };
    let mut rows = Vec::with_capacity(r1cs.shape.constraints);
    let walked = r1cs
        .matrices
        .for_each_row(matrix, 0..r1cs.shape.constraints, |row| {
            let terms = row.iter().map(|term: &Term| {
                r1cs.coefficients[term.coefficient as usize] * value(term.column)
            });
            rows.push(terms.sum());
            Ok::<_, R1csError>(())
        });
    walked.expect("what was evaluated can be walked");
    rows
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
