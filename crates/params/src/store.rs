//! A folder of keys.

use std::path::{Component, Path, PathBuf};

use crate::{DevelopmentMark, KeyFileKind, Parameters, ParamsError, VerifyingKey};

/// A folder in which the key `<name>` is the files `<name>.params` and `<name>.vk`.
#[derive(Clone, Debug)]
pub struct KeyStore {
    folder: PathBuf,
}

impl KeyStore {
    /// A store in `folder`, which need not exist yet.
    pub fn new(folder: impl Into<PathBuf>) -> Self {
        Self {
            folder: folder.into(),
        }
    }

    /// The folder.
    pub fn folder(&self) -> &Path {
        &self.folder
    }

    /// Where a file of the key `name` lies, whether it exists or not.
    ///
    /// # Errors
    /// [`ParamsError::Name`] where `name` is empty or is not a plain file name.
    pub fn path(&self, name: &str, kind: KeyFileKind) -> Result<PathBuf, ParamsError> {
        let mut parts = Path::new(name).components();
        match (parts.next(), parts.next()) {
            (Some(Component::Normal(part)), None) if part == name => {
                Ok(self.folder.join(format!("{name}.{}", kind.extension())))
            }
            _ => Err(ParamsError::Name {
                name: name.to_owned(),
                reason: "wanted a plain file name",
            }),
        }
    }

    /// Whether both files of the key `name` are there.
    pub fn contains(&self, name: &str) -> bool {
        [KeyFileKind::Params, KeyFileKind::VerifyingKey]
            .into_iter()
            .all(|kind| self.path(name, kind).is_ok_and(|path| path.is_file()))
    }

    /// Opens the `.params` of the key `name` and holds it against the `.vk` beside it.
    ///
    /// # Errors
    /// [`ParamsError::Missing`] with the file that is not there, [`ParamsError::VerifyingKeyDiffers`] where the two are
    /// of different setups, or what opening them returns.
    pub fn parameters(&self, name: &str) -> Result<Parameters, ParamsError> {
        let parameters = Parameters::open(&self.path(name, KeyFileKind::Params)?)?;
        let vk_file = self.path(name, KeyFileKind::VerifyingKey)?;
        parameters.check_verifying_key(&VerifyingKey::read(&vk_file)?, &vk_file)?;
        Ok(parameters)
    }

    /// Reads the `.vk` of the key `name`.
    ///
    /// # Errors
    /// As [`VerifyingKey::read`].
    pub fn verifying_key(&self, name: &str) -> Result<VerifyingKey, ParamsError> {
        VerifyingKey::read(&self.path(name, KeyFileKind::VerifyingKey)?)
    }

    /// The mark of the key `name` where it was made for development.
    ///
    /// # Errors
    /// As [`DevelopmentMark::read`].
    pub fn development_mark(&self, name: &str) -> Result<Option<DevelopmentMark>, ParamsError> {
        DevelopmentMark::read(&self.path(name, KeyFileKind::Params)?)
    }
}
