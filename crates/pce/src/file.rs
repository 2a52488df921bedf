//! Writing and opening PCE files.

use std::fs::File;
use std::io::{self, BufWriter, Cursor, Seek, SeekFrom, Write};
use std::path::Path;
use std::sync::Arc;

use cuzk_curve::{Bytes, Fr};
use cuzk_r1cs::{
    CompactR1cs, Matrices, Matrix, RankedBitmap, RunBitmap, Shape, ShapeHash, TouchedOnce,
};
use ff::Field;
use tempfile::NamedTempFile;
use xxhash_rust::xxh3::{Xxh3, xxh3_64};

use crate::format::{
    A_AUX, ALIGNMENT, B_AUX, B_INPUTS, COEFFICIENTS, Entry, FIELD_CLASS, HEADER_BYTES, Header,
    ROWS, SECTIONS, TEMPLATES,
};
use crate::stored::{
    StoredBitmaps, decode_bitmap, decode_templates, encode_bitmap, encode_templates,
};
use crate::{FileFault, Pce, PceError};

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
        self.write_sections(file.as_file_mut())
            .map_err(PceError::io(path))?;
        file.as_file().sync_all().map_err(PceError::io(path))?;
        file.persist(path)
            .map_err(|e| PceError::io(path)(e.error))?;
        // The rename itself is durable once the folder is synced.
        let synced = File::open(folder).and_then(|folder| folder.sync_all());
        synced.map_err(PceError::io(folder))
    }

    /// The bytes of the circuit's file.
    ///
    /// Errors: [`PceError::Io`], though memory refuses nothing.
    pub fn to_bytes(&self) -> Result<Vec<u8>, PceError> {
        let mut bytes = Cursor::new(Vec::new());
        self.write_sections(&mut bytes)
            .map_err(PceError::io(Path::new("memory")))?;
        Ok(bytes.into_inner())
    }

    fn write_sections(&self, file: impl Write + Seek) -> io::Result<()> {
        let mut out = Sections::new(file)?;
        out.section(COEFFICIENTS, self.coefficients.iter().map(Fr::to_bytes_le))?;
        let templates = self.matrices.templates();
        out.section(TEMPLATES, [encode_templates(templates)])?;
        for (index, matrix) in Matrix::ALL.into_iter().enumerate() {
            out.section(
                ROWS + index,
                templates
                    .iter()
                    .map(|template| &**template.own(matrix).bytes()),
            )?;
        }
        let classes = self.matrices.differences(self.field_class.bits());
        let classes = classes.iter().map(RunBitmap::from);
        out.section(FIELD_CLASS, classes.map(|bits| encode_bitmap(&bits)))?;
        let once = &self.touched_once;
        for (index, bits) in [
            (A_AUX, &once.a_aux),
            (B_INPUTS, &once.b_inputs),
            (B_AUX, &once.b_aux),
        ] {
            out.section(index, [encode_bitmap(bits)])?;
        }
        let shape = self.shape;
        out.finish(&Header {
            counts: [shape.inputs, shape.aux, shape.constraints].map(|n| n as u64),
            hash: self.hash.0,
            sections: [Entry::default(); SECTIONS.len()],
        })
    }

    /// Opens a PCE file by mapping it, and verifies its checksums.
    ///
    /// The file must not be changed while it is open; [`Pce::write`] never changes one in place.
    ///
    /// Errors: [`PceError::Io`], and as [`Pce::from_bytes`].
    pub fn open(path: &Path) -> Result<Self, PceError> {
        let file = File::open(path).map_err(PceError::io(path))?;
        // SAFETY: the mapping is read-only. Files of this format are replaced by renaming, never written in place, so
        // the pages do not change under us; the trait `AsRef<[u8]>` gives out shared access alone.
        #[allow(unsafe_code)]
        let map = unsafe { memmap2::Mmap::map(&file) }.map_err(PceError::io(path))?;
        Self::from_bytes(path, Bytes::new(map))
    }

    /// Reads a PCE file's bytes, of which the matrices stay where they are; `path` is for errors.
    ///
    /// Errors: [`PceError::File`].
    pub fn from_bytes(path: &Path, bytes: Bytes) -> Result<Self, PceError> {
        Self::decode(&bytes).map_err(FileFault::at(path))
    }

    fn decode(bytes: &Bytes) -> Result<Self, FileFault> {
        let header = Header::decode(bytes)?;
        let mut sections = Vec::with_capacity(SECTIONS.len());
        for (entry, name) in header.sections.iter().zip(SECTIONS) {
            sections.push(section(bytes, *entry, name)?);
        }
        let shape = shape(header.counts)?;
        let coefficients = coefficients(&sections[COEFFICIENTS])?;
        let rows = [&sections[ROWS], &sections[ROWS + 1], &sections[ROWS + 2]];
        let templates = decode_templates(&sections[TEMPLATES], rows, shape)?;
        let matrices = Matrices::new(templates, shape, &coefficients)?;
        let bits = |index: usize, len| decode_bitmap(&sections[index], SECTIONS[index], len);
        let mut classes = StoredBitmaps::new(&sections[FIELD_CLASS], SECTIONS[FIELD_CLASS]);
        let field_class = matrices.with_differences(|len| classes.next(len))?;
        classes.end()?;
        let touched_once = TouchedOnce {
            a_aux: bits(A_AUX, shape.aux)?,
            b_inputs: bits(B_INPUTS, shape.inputs)?,
            b_aux: bits(B_AUX, shape.aux)?,
        };
        Ok(Self {
            r1cs: Arc::new(CompactR1cs {
                shape,
                hash: ShapeHash(header.hash),
                coefficients,
                touched_once,
                matrices,
                field_class: RankedBitmap::new(field_class),
            }),
        })
    }
}

/// Writes sections behind the room for a header, checksums on the way.
struct Sections<W: Write + Seek> {
    file: BufWriter<W>,
    position: u64,
    entries: [Entry; SECTIONS.len()],
}

impl<W: Write + Seek> Sections<W> {
    fn new(file: W) -> io::Result<Self> {
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

fn section(file: &Bytes, entry: Entry, name: &'static str) -> Result<Bytes, FileFault> {
    let truncated = FileFault::Truncated {
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
        Err(FileFault::Checksum {
            section: name,
            wanted: entry.checksum,
            found,
        })
    }
}

/// The counts of a header, which are held to the limits before anything of their size is allocated.
fn shape(counts: [u64; 3]) -> Result<Shape, FileFault> {
    let [inputs, aux, constraints] =
        counts.map(|count| usize::try_from(count).unwrap_or(usize::MAX));
    let shape = Shape {
        inputs,
        aux,
        constraints,
    };
    shape.check()?;
    Ok(shape)
}

/// A coefficient that is what its index says: an evaluation takes the first two for 1 and -1 without reading them.
fn pinned(index: usize, element: Fr) -> Result<Fr, FileFault> {
    let (holds, wanted) = match index as u32 {
        CompactR1cs::ONE => (element == Fr::ONE, "1"),
        CompactR1cs::MINUS_ONE => (element == -Fr::ONE, "-1"),
        _ => (element != Fr::ZERO, "another than 0"),
    };
    if holds {
        return Ok(element);
    }
    Err(FileFault::PinnedCoefficient {
        index,
        wanted,
        found: format!("{element:?}"),
    })
}

fn coefficients(bytes: &[u8]) -> Result<Vec<Fr>, FileFault> {
    let (values, rest) = bytes.as_chunks::<32>();
    if !rest.is_empty() {
        return Err(FileFault::Truncated {
            section: SECTIONS[COEFFICIENTS],
            wanted: bytes.len().next_multiple_of(32) as u64,
            found: bytes.len() as u64,
        });
    }
    let decode = |(index, value): (usize, &[u8; 32])| {
        let element: Option<Fr> = Fr::from_bytes_le(value).into();
        let element = element.ok_or(FileFault::Coefficient { index })?;
        pinned(index, element)
    };
    values.iter().enumerate().map(decode).collect()
}
