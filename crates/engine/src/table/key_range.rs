//! Ranges of keys: what a scan asks for, and the bytes between which it looks.
//!
//! Invariants:
//! - A range is a prefix, shared by all its keys, and bounds on the columns that follow the prefix.
//! - A bound speaks of all keys that begin with it: `from_excluded(&[x])` starts after the last key with `x` in that
//!   column, whatever follows, and `to_included(&[x])` ends there.
//! - NULL is a value here, the smallest. A condition of SQL that NULL does not satisfy bounds the range from below by
//!   `from_excluded(&[Value::Null])`.

use std::ops::Bound;

use super::error::SchemaError;
use super::key::KeyCodec;
use super::key_buffer::KeyBuf;
use super::value::Value;

/// The keys that a scan visits, and from which end.
#[derive(Clone, Copy, Debug)]
pub struct KeyRange<'v> {
    prefix: &'v [Value<'v>],
    low: Bound<&'v [Value<'v>]>,
    high: Bound<&'v [Value<'v>]>,
    is_reversed: bool,
}

impl<'v> KeyRange<'v> {
    /// Returns the range of all keys.
    pub const fn all() -> KeyRange<'v> {
        KeyRange::prefix(&[])
    }

    /// Returns the range of the keys whose first columns have these values.
    pub const fn prefix(values: &'v [Value<'v>]) -> KeyRange<'v> {
        KeyRange { prefix: values, low: Bound::Unbounded, high: Bound::Unbounded, is_reversed: false }
    }

    /// Starts with the first key whose columns after the prefix are at least these.
    pub const fn from_included(self, values: &'v [Value<'v>]) -> KeyRange<'v> {
        KeyRange { low: Bound::Included(values), ..self }
    }

    /// Starts after the last key whose columns after the prefix begin with these.
    pub const fn from_excluded(self, values: &'v [Value<'v>]) -> KeyRange<'v> {
        KeyRange { low: Bound::Excluded(values), ..self }
    }

    /// Ends with the last key whose columns after the prefix begin with these.
    pub const fn to_included(self, values: &'v [Value<'v>]) -> KeyRange<'v> {
        KeyRange { high: Bound::Included(values), ..self }
    }

    /// Ends before the first key whose columns after the prefix are at least these.
    pub const fn to_excluded(self, values: &'v [Value<'v>]) -> KeyRange<'v> {
        KeyRange { high: Bound::Excluded(values), ..self }
    }

    /// Visits the same keys from the other end.
    pub const fn reverse(self) -> KeyRange<'v> {
        KeyRange { is_reversed: !self.is_reversed, ..self }
    }

    /// Returns the values that its keys begin with, if nothing else is asked of them.
    pub(crate) fn whole_prefix(&self) -> Option<&'v [Value<'v>]> {
        matches!((self.low, self.high), (Bound::Unbounded, Bound::Unbounded)).then_some(self.prefix)
    }

    /// Returns the bytes between which the keys of `codec` lie.
    pub fn encode(&self, codec: &KeyCodec) -> Result<KeyBounds, SchemaError> {
        let prefix = codec.prefix(self.prefix)?;
        let extended = |values: &[Value<'_>]| -> Result<KeyBuf, SchemaError> {
            let mut key = prefix.clone();
            codec.extend_prefix(&mut key, self.prefix.len(), values)?;
            Ok(key)
        };
        let low = match self.low {
            Bound::Unbounded => Some(prefix.clone()),
            Bound::Included(values) => Some(extended(values)?),
            Bound::Excluded(values) => extended(values)?.successor(),
        };
        let high = match self.high {
            Bound::Unbounded => prefix.successor(),
            Bound::Included(values) => extended(values)?.successor(),
            Bound::Excluded(values) => Some(extended(values)?),
        };
        // Nothing follows the last prefix of all: an empty range, not an unbounded one.
        let Some(low) = low else {
            return Ok(KeyBounds { low: KeyBuf::new(), high: Some(KeyBuf::new()), is_reversed: self.is_reversed });
        };
        Ok(KeyBounds { low, high, is_reversed: self.is_reversed })
    }
}

/// A range of key bytes: from `low` on, before `high`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct KeyBounds {
    /// The first byte string of the range.
    pub low: KeyBuf,
    /// The first byte string after the range; `None`: the range has no end.
    pub high: Option<KeyBuf>,
    /// Whether the range is visited from its high end.
    pub is_reversed: bool,
}

impl KeyBounds {
    /// Whether no key lies in the range.
    pub fn is_empty(&self) -> bool {
        self.high.as_ref().is_some_and(|high| *high <= self.low)
    }

    /// Whether all keys in the range begin with a prefix, which `low` begins with.
    pub(crate) fn begin_with(&self, prefix: &[u8]) -> bool {
        debug_assert!(self.low.as_bytes().starts_with(prefix), "a range begins with its low end");
        KeyBuf::from(prefix).successor().is_none_or(|behind| self.high.as_ref().is_some_and(|high| *high <= behind))
    }

    /// Whether a key lies in the range.
    pub fn contains(&self, key: &[u8]) -> bool {
        self.low.as_bytes() <= key && self.high.as_ref().is_none_or(|high| key < high.as_bytes())
    }
}
