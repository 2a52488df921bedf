//! The identity of a job: what its caller called it, and what it is about.

use std::fmt;
use std::str::FromStr;

use sha2::{Digest, Sha256};

/// SHA-256 of a payload; the name of its file.
#[derive(Copy, Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ContentHash(pub [u8; 32]);

impl ContentHash {
    /// The hash of a payload.
    pub fn of(payload: &[u8]) -> Self {
        Self(Sha256::digest(payload).into())
    }
}

/// The identity of a job: the hash of its request id and of its payload's hash.
///
/// So the same request under the same name is the same job, wherever and whenever it is submitted, and the same name
/// with other bytes is another one.
#[derive(Copy, Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct JobId(pub [u8; 16]);

impl JobId {
    /// The id of the job with this request id and payload.
    pub fn of(request_id: &str, content: &ContentHash) -> Self {
        let mut hasher = Sha256::new();
        hasher.update((request_id.len() as u64).to_le_bytes());
        hasher.update(request_id);
        hasher.update(content.0);
        let digest: [u8; 32] = hasher.finalize().into();
        let mut id = [0; 16];
        id.copy_from_slice(&digest[..16]);
        Self(id)
    }
}

/// A text that is no identity.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("wanted {wanted} hexadecimal digits, found {found:?}")]
pub struct NotAnId {
    /// Digits that an identity has.
    pub wanted: usize,
    /// What was found.
    pub found: String,
}

macro_rules! hex_text {
    ($name:ident, $bytes:literal) => {
        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str(&hex::encode(self.0))
            }
        }

        impl FromStr for $name {
            type Err = NotAnId;

            fn from_str(text: &str) -> Result<Self, NotAnId> {
                let mut bytes = [0; $bytes];
                hex::decode_to_slice(text, &mut bytes).map_err(|_| NotAnId {
                    wanted: 2 * $bytes,
                    found: text.to_owned(),
                })?;
                Ok(Self(bytes))
            }
        }
    };
}

hex_text!(ContentHash, 32);
hex_text!(JobId, 16);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn identities_are_of_name_and_content() {
        let (a, b) = (ContentHash::of(b"a"), ContentHash::of(b"b"));
        assert_eq!(JobId::of("x", &a), JobId::of("x", &a));
        assert_ne!(JobId::of("x", &a), JobId::of("x", &b));
        assert_ne!(JobId::of("x", &a), JobId::of("y", &a));
        assert_ne!(JobId::of("", &a), JobId::of("\0", &a));
    }

    #[test]
    fn texts_read_back() {
        let id = JobId::of("winpost-1000-[a b]", &ContentHash::of(b""));
        assert_eq!(id.to_string().parse(), Ok(id));
        for text in ["", "0", "zz", &id.to_string()[1..], &format!("{id}0")] {
            assert!(text.parse::<JobId>().is_err(), "{text}");
        }
    }
}
