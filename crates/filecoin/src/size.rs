//! The sector sizes of Filecoin's networks.

use cuzk_proof_api::ProofApiError;

use crate::{TreeShape, wrong};

/// A sector size that has published keys.
#[derive(Copy, Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum SectorSize {
    /// 2 KiB, for tests.
    KiB2,
    /// 8 MiB, for tests.
    MiB8,
    /// 512 MiB, for tests.
    MiB512,
    /// 32 GiB.
    GiB32,
    /// 64 GiB.
    GiB64,
}

impl SectorSize {
    /// All sizes, smallest first.
    pub const ALL: [Self; 5] = [
        Self::KiB2,
        Self::MiB8,
        Self::MiB512,
        Self::GiB32,
        Self::GiB64,
    ];

    /// The size of that many bytes.
    ///
    /// Errors: [`ProofApiError::Field`].
    pub fn from_bytes(bytes: u64) -> Result<Self, ProofApiError> {
        Self::ALL
            .into_iter()
            .find(|size| size.bytes() == bytes)
            .ok_or_else(|| {
                wrong(
                    "a sector size of 2 KiB, 8 MiB, 512 MiB, 32 GiB or 64 GiB",
                    bytes,
                )
            })
    }

    /// Bytes of a sector.
    pub const fn bytes(self) -> u64 {
        1 << [11, 23, 29, 35, 36][self as usize]
    }

    /// Number of 32-byte nodes in a sector.
    pub const fn nodes(self) -> usize {
        (self.bytes() / 32) as usize
    }

    /// The size as Filecoin writes it in the names of proofs, such as `32GiB`.
    pub const fn name(self) -> &'static str {
        ["2KiB", "8MiB", "512MiB", "32GiB", "64GiB"][self as usize]
    }

    /// The shape of the replica tree.
    pub const fn shape(self) -> TreeShape {
        match self {
            Self::KiB2 | Self::MiB8 | Self::MiB512 => TreeShape::Base,
            Self::GiB32 => TreeShape::Sub8,
            Self::GiB64 => TreeShape::Top2,
        }
    }

    /// The version of a registered proof number. Filecoin numbers its proofs in rows of the five sizes; `rows` is the
    /// range of rows that belong to the proof type.
    ///
    /// Errors: [`ProofApiError::Field`] where the number is of another size or outside the rows.
    pub fn row_of(self, number: u64, rows: std::ops::Range<u64>) -> Result<u64, ProofApiError> {
        let column = self as u64;
        let count = Self::ALL.len() as u64;
        if number % count == column && rows.contains(&(number / count)) {
            return Ok(number / count);
        }
        let known: Vec<_> = rows.map(|row| (row * count + column).to_string()).collect();
        let wanted = format!("{} for {} sectors", known.join(" or "), self.name());
        Err(wrong(wanted, number))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_and_their_bytes() {
        for size in SectorSize::ALL {
            assert_eq!(SectorSize::from_bytes(size.bytes()).unwrap(), size);
        }
        assert_eq!(SectorSize::GiB32.bytes(), 32 << 30);
        assert_eq!(SectorSize::KiB2.nodes(), 64);
        for bytes in [0, 2047, 4096, u64::MAX] {
            assert!(SectorSize::from_bytes(bytes).is_err(), "{bytes}");
        }
    }

    #[test]
    fn numbers_of_other_sizes_and_rows_are_refused() {
        assert_eq!(SectorSize::GiB32.row_of(8, 1..3).unwrap(), 1);
        for number in [3, 7, 18, u64::MAX] {
            let error = SectorSize::GiB32
                .row_of(number, 1..3)
                .unwrap_err()
                .to_string();
            assert!(
                error.contains("wanted 8 or 13 for 32GiB sectors"),
                "{error}"
            );
        }
    }
}
