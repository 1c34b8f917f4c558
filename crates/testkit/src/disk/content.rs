//! The bytes of one simulated file: what the page cache shows, and what the medium holds.
//!
//! Invariants:
//! - A sector of the medium holds one of the values it had since the last sync, never a mixture: sectors are atomic,
//!   everything larger tears, and a later write may reach the medium before an earlier one.
//! - Disks that are copied share the bytes of a file until one of them changes it.
//! - A file never shows bytes that were never written to it: what the length covers and no write reached reads as zero.

use std::sync::Arc;

use fastrand::Rng;

/// The unit that a device writes atomically.
pub const SECTOR_BYTES: usize = 512;

/// The unit in which a file system extends a file as it writes back.
const PAGE_BYTES: usize = 4096;

#[derive(Clone, Debug)]
enum Change {
    Write { offset: usize, bytes: Arc<[u8]> },
    Extend { length: usize },
}

/// A change that the page cache shows already.
#[derive(Clone, Debug)]
struct Pending {
    change: Change,
    /// The change itself was synchronous: it is on the medium, and listed only because earlier ones may yet follow it.
    certain: bool,
}

/// How much of what was not synced reaches the medium.
#[derive(Clone, Copy)]
enum Survival {
    Nothing,
    Everything,
    SomeSectors,
    SomeChanges,
}

impl Survival {
    fn draw(rng: &mut Rng) -> Survival {
        match rng.u8(0..8) {
            0 => Survival::Nothing,
            1 => Survival::Everything,
            2..5 => Survival::SomeSectors,
            _ => Survival::SomeChanges,
        }
    }

    fn keeps_change(self, rng: &mut Rng) -> bool {
        match self {
            Survival::Nothing => false,
            Survival::Everything | Survival::SomeSectors => true,
            Survival::SomeChanges => rng.bool(),
        }
    }

    fn keeps_sector(self, rng: &mut Rng) -> bool {
        !matches!(self, Survival::SomeSectors) || rng.bool()
    }
}

/// The content of one file.
#[derive(Clone, Debug, Default)]
pub(super) struct Content {
    cached: Arc<Vec<u8>>,
    medium: Arc<Vec<u8>>,
    pending: Vec<Pending>,
}

impl Content {
    pub(super) fn len(&self) -> usize {
        self.cached.len()
    }

    pub(super) fn read(&self, buffer: &mut [u8], offset: usize) -> usize {
        let Some(rest) = self.cached.get(offset..) else { return 0 };
        let count = rest.len().min(buffer.len());
        buffer[..count].copy_from_slice(&rest[..count]);
        count
    }

    /// Writes; a `synchronous` write is on the medium at once, any other after [`Content::sync`].
    pub(super) fn write(&mut self, bytes: &[u8], offset: usize, synchronous: bool) {
        put(&mut self.cached, bytes, offset);
        if synchronous && self.pending.is_empty() {
            put(&mut self.medium, bytes, offset);
        } else {
            let change = Change::Write { offset, bytes: bytes.into() };
            self.pending.push(Pending { change, certain: synchronous });
        }
    }

    /// A synchronous write that failed midway: some of its sectors are on the medium, and visible.
    pub(super) fn write_torn(&mut self, bytes: &[u8], offset: usize, rng: &mut Rng) {
        for (start, end) in sectors(offset, bytes.len()) {
            if rng.bool() {
                self.write(&bytes[start - offset..end - offset], start, true);
            }
        }
    }

    /// Extends the file with zeroes; durable after [`Content::sync`].
    pub(super) fn extend(&mut self, length: usize) {
        if length > self.cached.len() {
            Arc::make_mut(&mut self.cached).resize(length, 0);
            self.pending.push(Pending { change: Change::Extend { length }, certain: false });
        }
    }

    pub(super) fn sync(&mut self) {
        for pending in self.pending.drain(..) {
            apply(&mut self.medium, &pending.change);
        }
    }

    /// A sync that failed: some changes reached the medium, and the rest is forgotten although the page cache goes on
    /// showing it. A second sync reports success, as Linux does.
    pub(super) fn sync_failed(&mut self, rng: &mut Rng) {
        self.settle(rng);
    }

    /// A durable file with what a reader sees of this one, which after a failed sync is more than the medium holds.
    pub(super) fn copy(&self) -> Content {
        Content { cached: self.cached.clone(), medium: self.cached.clone(), pending: Vec::new() }
    }

    /// Changes what a reader sees of the file behind everybody's back, durably.
    pub(super) fn replace(&mut self, change: impl FnOnce(&mut Vec<u8>)) {
        change(Arc::make_mut(&mut self.cached));
        *self = self.copy();
    }

    /// Lets the power fail: what is left is what reached the medium.
    pub(super) fn power_loss(&mut self, rng: &mut Rng) {
        self.settle(rng);
        self.cached = self.medium.clone();
    }

    fn settle(&mut self, rng: &mut Rng) {
        let survival = Survival::draw(rng);
        let mut length = self.medium.len();
        for Pending { change, certain } in std::mem::take(&mut self.pending) {
            if certain {
                apply(&mut self.medium, &change);
                length = length.max(end(&change));
            } else if survival.keeps_change(rng) {
                length = length.max(extended_to(&change, length, rng));
                self.apply_some(&change, survival, rng);
            }
        }
        assert!(length <= self.cached.len(), "a crash never lengthens a file");
        if length != self.medium.len() {
            Arc::make_mut(&mut self.medium).resize(length, 0);
        }
    }

    fn apply_some(&mut self, change: &Change, survival: Survival, rng: &mut Rng) {
        match change {
            Change::Extend { .. } => apply(&mut self.medium, change),
            Change::Write { offset, bytes } => {
                for (start, end) in sectors(*offset, bytes.len()) {
                    if survival.keeps_sector(rng) {
                        put(&mut self.medium, &bytes[start - offset..end - offset], start);
                    }
                }
            }
        }
    }
}

/// How far `change` moved the end of the file on the medium, which need not be all the way.
fn extended_to(change: &Change, length: usize, rng: &mut Rng) -> usize {
    let end = end(change);
    match change {
        Change::Write { .. } if end > length && rng.bool() => {
            let pages = (end - length).div_ceil(PAGE_BYTES);
            (length.next_multiple_of(PAGE_BYTES) + rng.usize(0..pages) * PAGE_BYTES).min(end)
        }
        _ => end,
    }
}

fn end(change: &Change) -> usize {
    match change {
        Change::Write { offset, bytes } => offset + bytes.len(),
        Change::Extend { length } => *length,
    }
}

fn apply(image: &mut Arc<Vec<u8>>, change: &Change) {
    match change {
        Change::Write { offset, bytes } => put(image, bytes, *offset),
        Change::Extend { length } if *length > image.len() => Arc::make_mut(image).resize(*length, 0),
        Change::Extend { .. } => {}
    }
}

fn put(image: &mut Arc<Vec<u8>>, bytes: &[u8], offset: usize) {
    let (image, end) = (Arc::make_mut(image), offset + bytes.len());
    if image.len() < end {
        image.resize(end, 0);
    }
    image[offset..end].copy_from_slice(bytes);
}

/// The pieces of `[offset, offset + length)` between sector boundaries, as `(start, end)`.
fn sectors(offset: usize, length: usize) -> impl Iterator<Item = (usize, usize)> {
    let end = offset + length;
    let mut start = offset;
    std::iter::from_fn(move || {
        let piece = (start, (start / SECTOR_BYTES + 1).saturating_mul(SECTOR_BYTES).min(end));
        start = piece.1;
        (piece.0 < end).then_some(piece)
    })
}
