//! One write of a transaction, as it is logged.

use super::delta::Delta;
use crate::ids::TableId;
use crate::log::format::varint::varint_len;

// No write begins with a zero, so that padding is none.
pub(super) const KIND_PUT: u64 = 1;
pub(super) const KIND_DELETE: u64 = 2;
pub(super) const KIND_DELTA: u64 = 3;
pub(super) const KIND_BITS: u32 = 2;

/// One write of a transaction.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LoggedWrite<'a> {
    /// The table.
    pub table: TableId,
    /// The primary key.
    pub key: &'a [u8],
    /// What became of the row.
    pub change: Change<'a>,
}

/// What became of a row.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Change<'a> {
    /// Its full image.
    Put(&'a [u8]),
    /// It was deleted.
    Delete,
    /// What changed in it.
    Delta(Delta<'a>),
}

impl<'a> From<Option<&'a [u8]>> for Change<'a> {
    /// The full image; `None` where the row was deleted.
    fn from(row: Option<&'a [u8]>) -> Change<'a> {
        row.map_or(Change::Delete, Change::Put)
    }
}

impl LoggedWrite<'_> {
    pub(super) fn kind(&self) -> u64 {
        match self.change {
            Change::Put(_) => KIND_PUT,
            Change::Delete => KIND_DELETE,
            Change::Delta(_) => KIND_DELTA,
        }
    }

    pub(super) fn head(&self) -> u64 {
        u64::from(self.table.0) << KIND_BITS | self.kind()
    }

    /// Returns how many bytes it takes.
    #[inline]
    pub fn encoded_len(&self) -> usize {
        varint_len(self.head()) + self.content_len()
    }

    /// Returns how many bytes follow its head.
    #[inline]
    pub(super) fn content_len(&self) -> usize {
        let change = match self.change {
            Change::Put(row) => varint_len(row.len() as u64) + row.len(),
            Change::Delete => 0,
            Change::Delta(Delta { base, body }) => varint_len(base.0) + body.len(),
        };
        varint_len(self.key.len() as u64) + self.key.len() + change
    }
}
