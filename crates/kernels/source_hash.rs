//! The SHA-256 of the kernels' sources, in std alone: what a build script has, and `cargo xtask`, which shares this file.

use std::path::{Path, PathBuf};
use std::{fs, io};

/// The field of the manifest that holds the hash.
pub const FIELD: &str = "source_sha256";

/// What is said of kernels that were built of other sources.
pub const OLDER: &str = "kernels/built is older than kernels/: run `cargo xtask build-kernels`, or remove kernels/built";

/// Round constants of SHA-256: the first 32 bits of the fractional parts of the cube roots of the first 64 primes.
const ROUNDS: [u32; 64] = [
    0x428a2f98, 0x71374491, 0xb5c0fbcf, 0xe9b5dba5, 0x3956c25b, 0x59f111f1, 0x923f82a4, 0xab1c5ed5,
    0xd807aa98, 0x12835b01, 0x243185be, 0x550c7dc3, 0x72be5d74, 0x80deb1fe, 0x9bdc06a7, 0xc19bf174,
    0xe49b69c1, 0xefbe4786, 0x0fc19dc6, 0x240ca1cc, 0x2de92c6f, 0x4a7484aa, 0x5cb0a9dc, 0x76f988da,
    0x983e5152, 0xa831c66d, 0xb00327c8, 0xbf597fc7, 0xc6e00bf3, 0xd5a79147, 0x06ca6351, 0x14292967,
    0x27b70a85, 0x2e1b2138, 0x4d2c6dfc, 0x53380d13, 0x650a7354, 0x766a0abb, 0x81c2c92e, 0x92722c85,
    0xa2bfe8a1, 0xa81a664b, 0xc24b8b70, 0xc76c51a3, 0xd192e819, 0xd6990624, 0xf40e3585, 0x106aa070,
    0x19a4c116, 0x1e376c08, 0x2748774c, 0x34b0bcb5, 0x391c0cb3, 0x4ed8aa4a, 0x5b9cca4f, 0x682e6ff3,
    0x748f82ee, 0x78a5636f, 0x84c87814, 0x8cc70208, 0x90befffa, 0xa4506ceb, 0xbef9a3f7, 0xc67178f2,
];

/// The hash before the first block: the same of the square roots of the first eight primes.
const START: [u32; 8] = [
    0x6a09e667, 0xbb67ae85, 0x3c6ef372, 0xa54ff53a, 0x510e527f, 0x9b05688c, 0x1f83d9ab, 0x5be0cd19,
];

/// A hash over the names and contents of all sources below the folder `kernels`, as hexadecimal digits.
pub fn source_hash(kernels: &Path) -> io::Result<String> {
    let mut bytes = Vec::new();
    for extension in ["cu", "cuh"] {
        for folder in ["src", "include"] {
            for file in files(&kernels.join(folder), extension)? {
                let text = fs::read(&file)?;
                let name = file.strip_prefix(kernels).unwrap_or(&file);
                bytes.extend_from_slice(name.to_string_lossy().as_bytes());
                bytes.extend_from_slice(&(text.len() as u64).to_le_bytes());
                bytes.extend_from_slice(&text);
            }
        }
    }
    Ok(sha256(&bytes))
}

/// Whether a manifest, as it is written, is of sources with this hash.
pub fn is_of(manifest: &str, hash: &str) -> bool {
    manifest.contains(&format!("\"{FIELD}\": \"{hash}\""))
}

/// The files below a folder with this extension, in order.
pub fn files(folder: &Path, extension: &str) -> io::Result<Vec<PathBuf>> {
    let mut found = Vec::new();
    for entry in fs::read_dir(folder)? {
        let path = entry?.path();
        if path.is_dir() {
            found.extend(files(&path, extension)?);
        } else if path.extension().is_some_and(|found| found == extension) {
            found.push(path);
        }
    }
    found.sort();
    Ok(found)
}

/// FIPS 180-4, section 6.2.
pub fn sha256(message: &[u8]) -> String {
    let mut padded = message.to_vec();
    padded.push(0x80);
    padded.resize((message.len() + 9).next_multiple_of(64) - 8, 0);
    padded.extend_from_slice(&(8 * message.len() as u64).to_be_bytes());
    let mut hash = START;
    for block in padded.chunks(64) {
        add_block(&mut hash, block);
    }
    hash.map(|word| format!("{word:08x}")).concat()
}

fn add_block(hash: &mut [u32; 8], block: &[u8]) {
    let mut words = [0u32; 64];
    for (word, bytes) in words.iter_mut().zip(block.chunks(4)) {
        *word = bytes
            .iter()
            .fold(0, |word, &byte| word << 8 | u32::from(byte));
    }
    for i in 16..64 {
        let (early, late) = (words[i - 15], words[i - 2]);
        let early = early.rotate_right(7) ^ early.rotate_right(18) ^ early >> 3;
        let late = late.rotate_right(17) ^ late.rotate_right(19) ^ late >> 10;
        let sum = words[i - 16].wrapping_add(words[i - 7]);
        words[i] = sum.wrapping_add(early).wrapping_add(late);
    }
    let mut state = *hash;
    for (word, round) in words.into_iter().zip(ROUNDS) {
        let [a, b, c, d, e, f, g, h] = state;
        let mixed = e.rotate_right(6) ^ e.rotate_right(11) ^ e.rotate_right(25);
        let chosen = e & f ^ !e & g;
        let first = [mixed, chosen, round, word]
            .into_iter()
            .fold(h, u32::wrapping_add);
        let mixed = a.rotate_right(2) ^ a.rotate_right(13) ^ a.rotate_right(22);
        let second = mixed.wrapping_add(a & b ^ a & c ^ b & c);
        state = [
            first.wrapping_add(second),
            a,
            b,
            c,
            d.wrapping_add(first),
            e,
            f,
            g,
        ];
    }
    for (sum, word) in hash.iter_mut().zip(state) {
        *sum = sum.wrapping_add(word);
    }
}
