//! The PCE file: header, section table, sections.
//!
//! ```text
//! magic "cuzkPCE\0" | version u32 | sections u32 | shape: inputs, aux, constraints u64 | shape hash 32
//! | a table entry a section: offset, length, checksum u64 | checksum of all before u64
//! | sections, each at a multiple of 64 bytes
//! ```
//! Numbers are little-endian, checksums XXH3-64. The sections stand in the order of [`SECTIONS`].

use xxhash_rust::xxh3::xxh3_64;

use crate::FileFault;

/// The version of the format that this library writes, and the only one that it reads.
pub const VERSION: u32 = 2;

pub(crate) const MAGIC: [u8; 8] = *b"cuzkPCE\0";
pub(crate) const ALIGNMENT: u64 = 64;

pub(crate) const COEFFICIENTS: usize = 0;
/// The templates but for their rows.
pub(crate) const TEMPLATES: usize = 1;
/// The templates' rows of A; those of B and C follow.
pub(crate) const ROWS: usize = 2;
pub(crate) const FIELD_CLASS: usize = 5;
/// The aux variables of A in the rows of templates that occur once. The rest of the density follows from the templates.
pub(crate) const A_AUX: usize = 6;
pub(crate) const B_INPUTS: usize = 7;
pub(crate) const B_AUX: usize = 8;

/// The sections' names, in order.
pub(crate) const SECTIONS: [&str; 9] = [
    "coefficients",
    "templates",
    "rows of A",
    "rows of B",
    "rows of C",
    "field class",
    "density of A",
    "input density of B",
    "aux density of B",
];

/// Bytes of the header with the section table and its checksum.
pub(crate) const HEADER_BYTES: usize = 8 + 4 + 4 + 3 * 8 + 32 + SECTIONS.len() * 24 + 8;

#[derive(Copy, Clone, Debug, Default)]
pub(crate) struct Entry {
    pub(crate) offset: u64,
    pub(crate) length: u64,
    pub(crate) checksum: u64,
}

#[derive(Clone, Debug)]
pub(crate) struct Header {
    pub(crate) counts: [u64; 3],
    pub(crate) hash: [u8; 32],
    pub(crate) sections: [Entry; SECTIONS.len()],
}

impl Header {
    pub(crate) fn encode(&self) -> Vec<u8> {
        let mut out = Vec::with_capacity(HEADER_BYTES);
        out.extend_from_slice(&MAGIC);
        out.extend_from_slice(&VERSION.to_le_bytes());
        out.extend_from_slice(&(SECTIONS.len() as u32).to_le_bytes());
        self.counts
            .iter()
            .for_each(|n| out.extend_from_slice(&n.to_le_bytes()));
        out.extend_from_slice(&self.hash);
        for entry in &self.sections {
            for number in [entry.offset, entry.length, entry.checksum] {
                out.extend_from_slice(&number.to_le_bytes());
            }
        }
        let checksum = xxh3_64(&out);
        out.extend_from_slice(&checksum.to_le_bytes());
        out
    }

    pub(crate) fn decode(file: &[u8]) -> Result<Self, FileFault> {
        let magic = file.get(..8).unwrap_or(file);
        if magic != MAGIC {
            let found = magic.to_vec();
            return Err(FileFault::Magic { found });
        }
        let truncated = || FileFault::Truncated {
            section: "the header",
            wanted: HEADER_BYTES as u64,
            found: file.len() as u64,
        };
        let mut reader = Reader(&file[8..]);
        let version = reader.u32().ok_or_else(truncated)?;
        let sections = reader.u32().ok_or_else(truncated)?;
        if version != VERSION {
            return Err(FileFault::Version {
                wanted: VERSION,
                found: version,
            });
        }
        if sections != SECTIONS.len() as u32 {
            return Err(FileFault::Sections {
                wanted: SECTIONS.len() as u32,
                found: sections,
            });
        }
        let header = file.get(..HEADER_BYTES).ok_or_else(truncated)?;
        let found = xxh3_64(&header[..HEADER_BYTES - 8]);
        let wanted = Reader(&header[HEADER_BYTES - 8..])
            .u64()
            .ok_or_else(truncated)?;
        if found != wanted {
            return Err(FileFault::Checksum {
                section: "the header",
                wanted,
                found,
            });
        }
        Self::fields(&mut reader).ok_or_else(truncated)
    }

    fn fields(reader: &mut Reader<'_>) -> Option<Self> {
        let counts = [reader.u64()?, reader.u64()?, reader.u64()?];
        let hash = reader.array()?;
        let mut sections = [Entry::default(); SECTIONS.len()];
        for entry in &mut sections {
            *entry = Entry {
                offset: reader.u64()?,
                length: reader.u64()?,
                checksum: reader.u64()?,
            };
        }
        Some(Self {
            counts,
            hash,
            sections,
        })
    }
}

struct Reader<'a>(&'a [u8]);

impl Reader<'_> {
    fn array<const N: usize>(&mut self) -> Option<[u8; N]> {
        let (head, tail) = self.0.split_first_chunk::<N>()?;
        self.0 = tail;
        Some(*head)
    }

    fn u32(&mut self) -> Option<u32> {
        self.array().map(u32::from_le_bytes)
    }

    fn u64(&mut self) -> Option<u64> {
        self.array().map(u64::from_le_bytes)
    }
}
