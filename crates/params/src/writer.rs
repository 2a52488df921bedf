//! Writing keys: streamed to memory, or to a temporary file in the same folder that is synced and renamed.

use std::fs::File;
use std::io::{BufWriter, Cursor, Seek, SeekFrom, Write};
use std::marker::PhantomData;
use std::path::{Path, PathBuf};

use cuzk_curve::{Bytes, EncodedPoints, Group};
use tempfile::NamedTempFile;

use crate::reader::COUNT_BYTES;
use crate::{Parameters, ParamsError, Section, VerifyingKey};

const BUFFER_BYTES: usize = 1 << 20;

/// Where a [`ParamsWriter`] writes: a file that is not yet visible under its name.
pub type NewFile = BufWriter<NamedTempFile>;

/// Writes a `.params` file: the verifying key, then the sections of [`Section::QUERIES`] in order, each point as it
/// comes. Nothing is visible under the file's name before [`ParamsWriter::finish`].
///
/// ```
/// # use cuzk_params::{ParamsError, ParamsWriter, Section, VerifyingKey};
/// # use cuzk_curve::{G1, G1Affine, G2, G2Affine};
/// # fn write(path: &std::path::Path, vk: &VerifyingKey, g1: &[G1Affine], g2: &[G2Affine]) -> Result<(), ParamsError> {
/// let mut writer = ParamsWriter::create(path, vk)?;
/// for section in [Section::H, Section::L, Section::A, Section::BG1] {
///     let mut points = writer.section::<G1>(section)?;
///     points.write(g1)?;
///     points.finish()?;
/// }
/// let mut points = writer.section::<G2>(Section::BG2)?;
/// points.write(g2)?;
/// points.finish()?;
/// writer.finish()
/// # }
/// ```
#[derive(Debug)]
pub struct ParamsWriter<W = NewFile> {
    path: PathBuf,
    out: W,
    offset: u64,
    sections: usize,
}

impl ParamsWriter {
    /// Begins a file with its verifying key.
    ///
    /// # Errors
    /// [`ParamsError::Io`], or [`ParamsError::TooManyPoints`] where ic is too long for its count.
    pub fn create(path: &Path, vk: &VerifyingKey) -> Result<Self, ParamsError> {
        let out = BufWriter::with_capacity(BUFFER_BYTES, temporary(path)?);
        Self::begin(path, out, vk)
    }

    /// Syncs the file and gives it its name, replacing what had it.
    ///
    /// # Errors
    /// [`ParamsError::SectionOrder`] where sections are missing, or [`ParamsError::Io`].
    pub fn finish(self) -> Result<(), ParamsError> {
        self.complete()?;
        let Self { path, out, .. } = self;
        let file = out
            .into_inner()
            .map_err(|error| ParamsError::io(&path, "write", error.into_error()))?;
        publish(file, &path)
    }
}

impl ParamsWriter<Cursor<Vec<u8>>> {
    /// Begins a key in memory; `name` is for errors.
    ///
    /// # Errors
    /// [`ParamsError::TooManyPoints`] where ic is too long for its count.
    pub fn in_memory(name: &Path, vk: &VerifyingKey) -> Result<Self, ParamsError> {
        Self::begin(name, Cursor::new(Vec::new()), vk)
    }

    /// Opens the key.
    ///
    /// # Errors
    /// [`ParamsError::SectionOrder`] where sections are missing, or as [`Parameters::open`].
    pub fn open(self) -> Result<Parameters, ParamsError> {
        self.complete()?;
        Parameters::from_bytes(&self.path, &Bytes::from(self.out.into_inner()))
    }
}

impl<W: Write + Seek> ParamsWriter<W> {
    fn begin(path: &Path, out: W, vk: &VerifyingKey) -> Result<Self, ParamsError> {
        if u32::try_from(vk.ic.len()).is_err() {
            return Err(ParamsError::TooManyPoints {
                file: path.to_path_buf(),
                section: Section::Ic,
            });
        }
        let mut writer = Self {
            path: path.to_path_buf(),
            out,
            offset: 0,
            sections: 0,
        };
        writer.append(&vk.to_bytes())?;
        Ok(writer)
    }

    /// Begins a section, which must be the next of the file; [`SectionWriter::finish`] ends it.
    ///
    /// # Errors
    /// [`ParamsError::SectionOrder`] for another section or another group than the next one's, or
    /// [`ParamsError::Io`].
    pub fn section<G: Group>(
        &mut self,
        section: Section,
    ) -> Result<SectionWriter<'_, G, W>, ParamsError> {
        let next = Section::QUERIES.get(self.sections).copied();
        let group = if section == Section::BG2 { "G2" } else { "G1" };
        if next != Some(section) {
            return Err(self.order(section.name()));
        }
        if group != G::NAME {
            return Err(self.order(G::NAME));
        }
        let count_at = self.offset;
        self.append(&[0; COUNT_BYTES])?;
        Ok(SectionWriter {
            writer: self,
            section,
            count_at,
            count: 0,
            encoded: Vec::new(),
            group: PhantomData,
        })
    }

    fn complete(&self) -> Result<(), ParamsError> {
        if self.sections == Section::QUERIES.len() {
            return Ok(());
        }
        Err(self.order("the end"))
    }

    fn order(&self, found: &'static str) -> ParamsError {
        let next = Section::QUERIES.get(self.sections);
        ParamsError::SectionOrder {
            file: self.path.clone(),
            wanted: next.map_or("the end", |section| section.name()),
            found,
        }
    }

    fn append(&mut self, bytes: &[u8]) -> Result<(), ParamsError> {
        self.out
            .write_all(bytes)
            .map_err(|source| ParamsError::io(&self.path, "write", source))?;
        self.offset += bytes.len() as u64;
        Ok(())
    }

    /// Writes the count of the section that ends here.
    fn patch(&mut self, at: u64, count: u32) -> Result<(), ParamsError> {
        let out = &mut self.out;
        out.seek(SeekFrom::Start(at))
            .and_then(|_| out.write_all(&count.to_be_bytes()))
            .and_then(|()| out.seek(SeekFrom::Start(self.offset)))
            .map_err(|source| ParamsError::io(&self.path, "write", source))?;
        self.sections += 1;
        Ok(())
    }
}

/// Writes the points of one section.
#[derive(Debug)]
pub struct SectionWriter<'a, G, W = NewFile> {
    writer: &'a mut ParamsWriter<W>,
    section: Section,
    count_at: u64,
    count: u32,
    encoded: Vec<u8>,
    group: PhantomData<G>,
}

impl<G: Group, W: Write + Seek> SectionWriter<'_, G, W> {
    /// Appends points.
    ///
    /// # Errors
    /// [`ParamsError::TooManyPoints`] or [`ParamsError::Io`].
    pub fn write(&mut self, points: &[G::Affine]) -> Result<(), ParamsError> {
        self.add(points.len())?;
        self.encoded.clear();
        for point in points {
            G::write_uncompressed(point, &mut self.encoded);
        }
        self.writer.append(&self.encoded)
    }

    /// Appends points that are encoded already.
    ///
    /// # Errors
    /// As [`SectionWriter::write`].
    pub fn write_encoded(&mut self, points: &EncodedPoints<G>) -> Result<(), ParamsError> {
        self.add(points.len())?;
        self.writer.append(points.bytes())
    }

    /// Ends the section by writing its count.
    ///
    /// # Errors
    /// [`ParamsError::Io`].
    pub fn finish(self) -> Result<(), ParamsError> {
        self.writer.patch(self.count_at, self.count)
    }

    fn add(&mut self, points: usize) -> Result<(), ParamsError> {
        let count = u32::try_from(points)
            .ok()
            .and_then(|n| self.count.checked_add(n));
        self.count = count.ok_or_else(|| ParamsError::TooManyPoints {
            file: self.writer.path.clone(),
            section: self.section,
        })?;
        Ok(())
    }
}

/// Writes a `.vk` file.
///
/// # Errors
/// [`ParamsError::Io`].
pub fn write_verifying_key(path: &Path, vk: &VerifyingKey) -> Result<(), ParamsError> {
    replace_file(path, &vk.to_bytes())
}

/// Writes a small file under a temporary name and renames it.
pub(crate) fn replace_file(path: &Path, bytes: &[u8]) -> Result<(), ParamsError> {
    let mut file = temporary(path)?;
    file.write_all(bytes)
        .map_err(|source| ParamsError::io(path, "write", source))?;
    publish(file, path)
}

/// The folder of `path`, `.` for a bare name.
fn folder(path: &Path) -> &Path {
    path.parent()
        .filter(|parent| !parent.as_os_str().is_empty())
        .unwrap_or(Path::new("."))
}

fn temporary(path: &Path) -> Result<NamedTempFile, ParamsError> {
    let name = path.file_name().unwrap_or_default();
    tempfile::Builder::new()
        .prefix(name)
        .suffix(".partial")
        .tempfile_in(folder(path))
        .map_err(|source| ParamsError::io(folder(path), "create a file in", source))
}

fn publish(file: NamedTempFile, path: &Path) -> Result<(), ParamsError> {
    let sync = |file: &File| file.sync_all();
    sync(file.as_file()).map_err(|source| ParamsError::io(path, "sync", source))?;
    file.persist(path)
        .map_err(|error| ParamsError::io(path, "rename", error.error))?;
    File::open(folder(path))
        .and_then(|folder| sync(&folder))
        .map_err(|source| ParamsError::io(folder(path), "sync", source))
}
