//! Writing and opening PCE files.

use std::fs::File;
use std::io::{self, BufWriter, Seek, SeekFrom, Write};
use std::path::Path;
use std::sync::Arc;

use cuzk_curve::{Bytes, Fr};
use cuzk_r1cs::{Bitmap, CompactR1cs, Density, RankedBitmap, Rows, Shape, ShapeHash};
use tempfile::NamedTempFile;
use xxhash_rust::xxh3::{Xxh3, xxh3_64};

use crate::format::{
    A_AUX, ALIGNMENT, B_AUX, B_INPUTS, COEFFICIENTS, Entry, FIELD_CLASS, HEADER_BYTES, Header,
    MATRICES, SECTIONS,
};
use crate::{Pce, PceError};

impl Pce {
    /// Writes the circuit to `path`: to a temporary name beside it, synced, then renamed, so that a reader never sees
    /// half a file.
    pub fn write(&self, path: &Path) -> Result<(), PceError> {
        let folder = match path.parent() {
            Some(parent) if !parent.as_os_str().is_empty() => parent,
            _ => Path::new("."),
        };
        std::fs::create_dir_all(folder).map_err(PceError::io(folder))?;
        let mut file = NamedTempFile::new_in(folder).map_err(PceError::io(folder))?;
        self.write_to(file.as_file_mut())
            .map_err(PceError::io(path))?;
        file.as_file().sync_all().map_err(PceError::io(path))?;
        file.persist(path)
            .map_err(|e| PceError::io(path)(e.error))?;
        // The rename itself is durable once the folder is synced.
        let synced = File::open(folder).and_then(|folder| folder.sync_all());
        synced.map_err(PceError::io(folder))
    }

    fn write_to(&self, file: &mut File) -> io::Result<()> {
        let mut out = Sections::new(file)?;
        out.section(COEFFICIENTS, self.coefficients.iter().map(Fr::to_bytes_le))?;
        for (index, rows) in [&self.a, &self.b, &self.c].into_iter().enumerate() {
            out.section(MATRICES + 2 * index, [&**rows.bytes()])?;
            let blocks = rows.block_table().iter().map(|n| n.to_le_bytes());
            out.section(MATRICES + 2 * index + 1, blocks)?;
        }
        for (index, bits) in [
            (FIELD_CLASS, self.field_class.bits()),
            (A_AUX, &self.density.a_aux),
            (B_INPUTS, &self.density.b_inputs),
            (B_AUX, &self.density.b_aux),
        ] {
            out.section(index, bits.words().iter().map(|n| n.to_le_bytes()))?;
        }
        let shape = self.shape;
        out.finish(&Header {
            counts: [shape.inputs, shape.aux, shape.constraints].map(|n| n as u64),
            hash: self.hash.0,
            terms: [&self.a, &self.b, &self.c].map(Rows::terms),
            sections: [Entry::default(); SECTIONS.len()],
        })
    }

    /// Opens a PCE file by mapping it, and verifies its checksums.
    ///
    /// The file must not be changed while it is open; [`Pce::write`] never changes one in place.
    pub fn open(path: &Path) -> Result<Self, PceError> {
        let file = File::open(path).map_err(PceError::io(path))?;
        // SAFETY: the mapping is read-only. Files of this format are replaced by renaming, never written in place, so
        // the pages do not change under us; the trait `AsRef<[u8]>` gives out shared access alone.
        #[allow(unsafe_code)]
        let map = unsafe { memmap2::Mmap::map(&file) }.map_err(PceError::io(path))?;
        Self::from_bytes(Bytes::new(map))
    }

    /// Reads a PCE file's bytes, of which the matrices stay where they are.
    pub fn from_bytes(bytes: Bytes) -> Result<Self, PceError> {
        let header = Header::decode(&bytes)?;
        let mut sections = Vec::with_capacity(SECTIONS.len());
        for (entry, name) in header.sections.iter().zip(SECTIONS) {
            sections.push(section(&bytes, *entry, name)?);
        }
        let shape = shape(header.counts)?;
        let matrix = |index: usize, name| {
            let at = MATRICES + 2 * index;
            let blocks = words(&sections[at + 1], SECTIONS[at + 1])?;
            let bytes = sections[at].clone();
            let rows =
                Rows::from_parts(name, bytes, blocks, shape.constraints, header.terms[index]);
            Ok::<_, PceError>(rows?)
        };
        let bits = |index: usize, len| bitmap(&sections[index], SECTIONS[index], len);
        Ok(Self {
            r1cs: Arc::new(CompactR1cs {
                shape,
                hash: ShapeHash(header.hash),
                coefficients: coefficients(&sections[COEFFICIENTS])?,
                a: matrix(0, "A")?,
                b: matrix(1, "B")?,
                c: matrix(2, "C")?,
                field_class: RankedBitmap::new(bits(FIELD_CLASS, shape.aux)?),
                density: Density {
                    a_aux: bits(A_AUX, shape.aux)?,
                    b_inputs: bits(B_INPUTS, shape.inputs)?,
                    b_aux: bits(B_AUX, shape.aux)?,
                },
            }),
        })
    }
}

/// Writes sections behind the room for a header, checksums on the way.
struct Sections<'a> {
    file: BufWriter<&'a mut File>,
    position: u64,
    entries: [Entry; SECTIONS.len()],
}

impl<'a> Sections<'a> {
    fn new(file: &'a mut File) -> io::Result<Self> {
        let mut file = BufWriter::with_capacity(1 << 20, file);
        file.write_all(&[0; HEADER_BYTES])?;
        Ok(Self {
            file,
            position: HEADER_BYTES as u64,
            entries: Default::default(),
        })
    }

    fn section<T: AsRef<[u8]>>(
        &mut self,
        index: usize,
        parts: impl IntoIterator<Item = T>,
    ) -> io::Result<()> {
        let padding = self.position.next_multiple_of(ALIGNMENT) - self.position;
        self.file
            .write_all(&[0; ALIGNMENT as usize][..padding as usize])?;
        self.position += padding;
        let offset = self.position;
        let mut hasher = Xxh3::new();
        for part in parts {
            let bytes = part.as_ref();
            self.file.write_all(bytes)?;
            hasher.update(bytes);
            self.position += bytes.len() as u64;
        }
        self.entries[index] = Entry {
            offset,
            length: self.position - offset,
            checksum: hasher.digest(),
        };
        Ok(())
    }

    fn finish(mut self, header: &Header) -> io::Result<()> {
        let header = Header {
            sections: self.entries,
            ..header.clone()
        };
        self.file.seek(SeekFrom::Start(0))?;
        self.file.write_all(&header.encode())?;
        self.file.flush()
    }
}

fn section(file: &Bytes, entry: Entry, name: &'static str) -> Result<Bytes, PceError> {
    let truncated = PceError::Truncated {
        section: name,
        wanted: entry.offset.saturating_add(entry.length),
        found: file.len() as u64,
    };
    let start = usize::try_from(entry.offset).ok();
    let end = entry
        .offset
        .checked_add(entry.length)
        .and_then(|end| usize::try_from(end).ok());
    let (Some(start), Some(end)) = (start, end) else {
        return Err(truncated);
    };
    let bytes = file.slice(start..end).ok_or(truncated)?;
    let found = xxh3_64(&bytes);
    if found == entry.checksum {
        Ok(bytes)
    } else {
        Err(PceError::Checksum {
            section: name,
            wanted: entry.checksum,
            found,
        })
    }
}

fn wrong(section: &'static str, wanted: impl ToString, found: impl ToString) -> PceError {
    PceError::Section {
        section,
        wanted: wanted.to_string(),
        found: found.to_string(),
    }
}

fn shape(counts: [u64; 3]) -> Result<Shape, PceError> {
    let limit = u64::from(u32::MAX - 1);
    let [inputs, aux, constraints] = counts;
    let fits = |a: u64, b: u64| a.checked_add(b).is_some_and(|sum| sum <= limit);
    if inputs == 0 || !fits(inputs, aux) || !fits(inputs, constraints) {
        let found = format!("{inputs} inputs, {aux} aux, {constraints} constraints");
        return Err(wrong("the header", "1 to 2^32 - 2 of each", found));
    }
    Ok(Shape {
        inputs: inputs as usize,
        aux: aux as usize,
        constraints: constraints as usize,
    })
}

fn coefficients(bytes: &[u8]) -> Result<Vec<Fr>, PceError> {
    let name = SECTIONS[COEFFICIENTS];
    let (values, rest) = bytes.as_chunks::<32>();
    if !rest.is_empty() {
        return Err(wrong(name, "a multiple of 32 bytes", bytes.len()));
    }
    let decode = |(index, value): (usize, &[u8; 32])| {
        let element: Option<Fr> = Fr::from_bytes_le(value).into();
        element.ok_or_else(|| {
            wrong(
                name,
                "elements below the modulus",
                format!("element {index}"),
            )
        })
    };
    values.iter().enumerate().map(decode).collect()
}

fn words(bytes: &[u8], name: &'static str) -> Result<Vec<u64>, PceError> {
    match bytes.as_chunks::<8>() {
        (words, []) => Ok(words.iter().map(|word| u64::from_le_bytes(*word)).collect()),
        _ => Err(wrong(name, "a multiple of 8 bytes", bytes.len())),
    }
}

fn bitmap(bytes: &[u8], name: &'static str, len: usize) -> Result<Bitmap, PceError> {
    Bitmap::from_words(words(bytes, name)?, len).ok_or_else(|| {
        wrong(
            name,
            format!("{len} bits"),
            format!("{} bytes", bytes.len()),
        )
    })
}
