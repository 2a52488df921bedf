//! Lists that refuse more items than they may ever hold.

use std::fmt;
use std::marker::PhantomData;

use cuzk_proof_api::ProofApiError;
use serde::de::{Deserialize, Deserializer, Error, SeqAccess, Visitor};

use crate::{Within, wrong};

/// A list of at most `MAX` items. Decoding stops at the first item too many, so a hostile length, or megabytes of
/// empty items, cost nothing.
#[derive(Clone, Debug)]
pub struct List<T, const MAX: usize>(pub Vec<T>);

impl<T, const MAX: usize> List<T, MAX> {
    /// Converts a list that must have `wanted` items, called `what` in the error.
    ///
    /// Errors: [`ProofApiError::Field`] for another number of items, or that of the first item that does not convert,
    /// its field relative to the list.
    pub fn exactly<U>(
        self,
        wanted: usize,
        what: &str,
        convert: impl Fn(T) -> Result<U, ProofApiError>,
    ) -> Result<Vec<U>, ProofApiError> {
        if self.0.len() != wanted {
            return Err(wrong(format_args!("{wanted} {what}"), self.0.len()));
        }
        let items = self.0.into_iter().enumerate();
        items
            .map(|(i, item)| convert(item).within_item(i))
            .collect()
    }
}

impl<'de, T: Deserialize<'de>, const MAX: usize> Deserialize<'de> for List<T, MAX> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_seq(Items(PhantomData))
    }
}

struct Items<T, const MAX: usize>(PhantomData<T>);

impl<'de, T: Deserialize<'de>, const MAX: usize> Visitor<'de> for Items<T, MAX> {
    type Value = List<T, MAX>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "a list of at most {MAX} items")
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut seq: A) -> Result<Self::Value, A::Error> {
        let announced = seq.size_hint().unwrap_or(0);
        if announced > MAX {
            return Err(A::Error::invalid_length(announced, &self));
        }
        let mut items = Vec::with_capacity(announced);
        while let Some(item) = seq.next_element()? {
            if items.len() == MAX {
                return Err(A::Error::invalid_length(MAX + 1, &self));
            }
            items.push(item);
        }
        Ok(List(items))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::decode_bincode;

    #[test]
    fn as_many_as_the_bound_and_no_more() {
        for count in [0, 1, 2, 3] {
            let json = format!("{:?}", vec![7u8; count]);
            let list: List<u8, 3> = serde_json::from_str(&json).unwrap();
            assert_eq!(list.0, vec![7; count]);
        }
        let error = serde_json::from_str::<List<u8, 3>>("[7,7,7,7]").unwrap_err();
        assert!(error.to_string().contains("at most 3 items"), "{error}");
    }

    #[test]
    fn a_hostile_bincode_length_is_refused_at_once() {
        for length in [4, 1 << 40, u64::MAX] {
            let mut bytes = length.to_le_bytes().to_vec();
            bytes.extend([0; 32]);
            assert!(
                decode_bincode::<List<[u8; 32], 3>>(&bytes, "a list").is_err(),
                "{length}"
            );
        }
    }
}
