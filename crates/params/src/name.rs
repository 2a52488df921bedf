//! Names of Filecoin's key files.

use std::fmt;
use std::str::FromStr;

use crate::ParamsError;

/// Which file of a key.
#[derive(Copy, Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum KeyFileKind {
    /// A `.params` file: all that a prover needs.
    Params,
    /// A `.vk` file: all that a verifier needs.
    VerifyingKey,
}

impl KeyFileKind {
    /// The extension without its dot.
    pub fn extension(self) -> &'static str {
        match self {
            Self::Params => "params",
            Self::VerifyingKey => "vk",
        }
    }
}

/// A name such as `v28-stacked-proof-of-replication-merkletree-poseidon_hasher-8-0-0-sha256_hasher-032d….params`.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct KeyName {
    /// The version of the circuits: 28.
    pub version: u32,
    /// The circuit and the shape of its trees: what stands between version and hash.
    pub circuit: String,
    /// SHA-256 of the public parameters' description, lower-case hexadecimal.
    pub id: String,
    /// Which file of the key.
    pub kind: KeyFileKind,
}

impl KeyName {
    /// The name of the key's other file.
    pub fn with_kind(&self, kind: KeyFileKind) -> Self {
        Self {
            kind,
            ..self.clone()
        }
    }

    /// The name without its extension, as [`crate::KeyStore`] wants it.
    pub fn stem(&self) -> String {
        format!("v{}-{}-{}", self.version, self.circuit, self.id)
    }
}

impl fmt::Display for KeyName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}.{}", self.stem(), self.kind.extension())
    }
}

impl FromStr for KeyName {
    type Err = ParamsError;

    fn from_str(name: &str) -> Result<Self, ParamsError> {
        let refuse = |reason| ParamsError::Name {
            name: name.to_owned(),
            reason,
        };
        let (stem, kind) = [KeyFileKind::Params, KeyFileKind::VerifyingKey]
            .into_iter()
            .find_map(|kind| {
                let stem = name.strip_suffix(kind.extension())?;
                Some((stem.strip_suffix('.')?, kind))
            })
            .ok_or_else(|| refuse("wanted the extension .params or .vk"))?;
        let rest = stem
            .strip_prefix('v')
            .ok_or_else(|| refuse("wanted a version such as v28 first"))?;
        let (version, rest) = rest
            .split_once('-')
            .ok_or_else(|| refuse("wanted a dash after the version"))?;
        let (circuit, id) = rest
            .rsplit_once('-')
            .ok_or_else(|| refuse("wanted a dash before the hash"))?;
        let version = version
            .parse()
            .ok()
            .filter(|parsed: &u32| parsed.to_string() == version)
            .ok_or_else(|| refuse("the version is not a plain number"))?;
        let plain = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit();
        if circuit.is_empty() || !circuit.bytes().all(|b| plain(b) || b == b'-' || b == b'_') {
            return Err(refuse(
                "the circuit holds other characters than a-z, 0-9, - and _",
            ));
        }
        if id.len() != 64 || !id.bytes().all(|b| plain(b) && b.is_ascii_hexdigit()) {
            return Err(refuse("the hash is not 64 lower-case hexadecimal digits"));
        }
        Ok(Self {
            version,
            circuit: circuit.to_owned(),
            id: id.to_owned(),
            kind,
        })
    }
}
