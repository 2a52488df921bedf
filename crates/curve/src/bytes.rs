//! Shared, immutable byte ranges: owned or a part of a mapped file.

use std::fmt;
use std::marker::PhantomData;
use std::ops::{Deref, Range};
use std::sync::Arc;

use crate::Group;

/// An immutable range of bytes that is cheap to clone: an owned buffer or a window of a mapped file.
#[derive(Clone)]
pub struct Bytes {
    owner: Arc<dyn AsRef<[u8]> + Send + Sync>,
    range: Range<usize>,
}

impl Bytes {
    /// Wraps an owner of bytes, such as a `Vec<u8>` or a memory map.
    pub fn new(owner: impl AsRef<[u8]> + Send + Sync + 'static) -> Self {
        let len = owner.as_ref().len();
        Self {
            owner: Arc::new(owner),
            range: 0..len,
        }
    }

    /// The part `range` of these bytes, or `None` where it reaches past the end.
    pub fn slice(&self, range: Range<usize>) -> Option<Self> {
        if range.start > range.end || range.end > self.range.len() {
            return None;
        }
        Some(Self {
            owner: Arc::clone(&self.owner),
            range: self.range.start + range.start..self.range.start + range.end,
        })
    }
}

impl Deref for Bytes {
    type Target = [u8];

    fn deref(&self) -> &[u8] {
        &(*self.owner).as_ref()[self.range.clone()]
    }
}

impl Default for Bytes {
    fn default() -> Self {
        Self::new(Vec::new())
    }
}

impl From<Vec<u8>> for Bytes {
    fn from(bytes: Vec<u8>) -> Self {
        Self::new(bytes)
    }
}

impl fmt::Debug for Bytes {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Bytes({} bytes)", self.len())
    }
}

/// A sequence of points in the uncompressed big-endian encoding, `G::UNCOMPRESSED_BYTES` each.
///
/// The bytes are not checked here: a point may be off the curve. Whoever computes with them must be safe on any bytes
/// and may return any point for such input; proofs are verified before they leave.
#[derive(Clone, Debug)]
pub struct EncodedPoints<G: Group> {
    bytes: Bytes,
    group: PhantomData<G>,
}

impl<G: Group> EncodedPoints<G> {
    /// Takes `bytes` as points, or `None` where their length is not a multiple of a point's.
    pub fn new(bytes: Bytes) -> Option<Self> {
        bytes
            .len()
            .is_multiple_of(G::UNCOMPRESSED_BYTES)
            .then_some(Self {
                bytes,
                group: PhantomData,
            })
    }

    /// Encodes `points`.
    pub fn encode(points: &[G::Affine]) -> Self {
        let mut bytes = Vec::with_capacity(points.len() * G::UNCOMPRESSED_BYTES);
        for point in points {
            G::write_uncompressed(point, &mut bytes);
        }
        Self {
            bytes: bytes.into(),
            group: PhantomData,
        }
    }

    /// The points of several lists, one list after the other.
    pub fn concat(lists: &[Self]) -> Self {
        let parts: Vec<&[u8]> = lists.iter().map(|list| &list.bytes[..]).collect();
        Self {
            bytes: parts.concat().into(),
            group: PhantomData,
        }
    }

    /// Number of points.
    pub fn len(&self) -> usize {
        self.bytes.len() / G::UNCOMPRESSED_BYTES
    }

    /// Whether there are no points.
    pub fn is_empty(&self) -> bool {
        self.bytes.is_empty()
    }

    /// The encoding of all points, one after the other.
    pub fn bytes(&self) -> &Bytes {
        &self.bytes
    }

    /// The points `range`, or `None` where it reaches past the end.
    pub fn slice(&self, range: Range<usize>) -> Option<Self> {
        let start = range.start.checked_mul(G::UNCOMPRESSED_BYTES)?;
        let end = range.end.checked_mul(G::UNCOMPRESSED_BYTES)?;
        Some(Self {
            bytes: self.bytes.slice(start..end)?,
            group: PhantomData,
        })
    }
}
