//! Handles on definitions, as sessions hold them, and the current one of each name.
//!
//! Invariant: the handle of a committed definition is published shortly after its row is visible; a handle is good only together
//! with the row that it was made from.

use std::collections::HashMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{PoisonError, RwLock, RwLockReadGuard};

use crate::ids::Stamp;
use crate::table::Table;

/// A handle on a definition, cheap to clone.
pub(crate) trait Handle: Clone {
    /// The name that it is published under.
    fn name(&self) -> &str;

    /// Whether it is the same handle.
    fn is_same(&self, other: &Self) -> bool;

    /// Whether it is a handle on the same object, perhaps from another time.
    fn is_of_same_object(&self, other: &Self) -> bool;
}

impl Handle for Table {
    fn name(&self) -> &str {
        Table::name(self)
    }

    fn is_same(&self, other: &Table) -> bool {
        Table::is_same(self, other)
    }

    fn is_of_same_object(&self, other: &Table) -> bool {
        self.id == other.id
    }
}

/// The current handle of each name.
pub(crate) struct Published<H>(RwLock<HashMap<String, H>>);

impl<H> Default for Published<H> {
    fn default() -> Published<H> {
        Published(RwLock::default())
    }
}

impl<H: Handle> Clone for Published<H> {
    fn clone(&self) -> Published<H> {
        Published(RwLock::new(self.read().clone()))
    }
}

impl<H: Handle> Published<H> {
    fn read(&self) -> RwLockReadGuard<'_, HashMap<String, H>> {
        self.0.read().unwrap_or_else(PoisonError::into_inner)
    }

    /// Returns the handle of that name, where it is one that the caller looks for.
    pub(crate) fn find(&self, name: &str, is_sought: impl FnOnce(&H) -> bool) -> Option<H> {
        self.read().get(name).filter(|handle| is_sought(handle)).cloned()
    }

    /// Returns a handle that the caller looks for, whatever its name.
    pub(crate) fn find_by(&self, is_sought: impl Fn(&H) -> bool) -> Option<H> {
        self.read().values().find(|handle| is_sought(handle)).cloned()
    }

    /// Forgets all handles, while nobody uses any.
    pub(crate) fn clear(&self) {
        self.0.write().unwrap_or_else(PoisonError::into_inner).clear();
    }

    /// Whether `handle` is the current one of its name.
    pub(crate) fn holds(&self, handle: &H) -> bool {
        self.read().get(handle.name()).is_some_and(|held| held.is_same(handle))
    }

    /// A definition has committed. Returns the handle whose place it takes.
    pub(crate) fn publish(&self, handle: H) -> Option<H> {
        self.0.write().unwrap_or_else(PoisonError::into_inner).insert(handle.name().to_owned(), handle)
    }

    /// As [`Published::publish`], of an object that had the names of `before`. Returns the handles under those, too.
    pub(crate) fn publish_renamed(&self, handle: H, before: &[H]) -> Vec<H> {
        let mut handles = self.0.write().unwrap_or_else(PoisonError::into_inner);
        let mut past: Vec<H> = before.iter().filter_map(|before| take(&mut handles, before)).collect();
        past.extend(handles.insert(handle.name().to_owned(), handle));
        past
    }

    /// An object has been dropped. Its name may be another one's by now. Returns the handle on it that was published.
    pub(crate) fn withdraw(&self, handle: &H) -> Option<H> {
        take(&mut self.0.write().unwrap_or_else(PoisonError::into_inner), handle)
    }
}

/// Removes an object, if it is what has its name.
fn take<H: Handle>(handles: &mut HashMap<String, H>, object: &H) -> Option<H> {
    handles.get(object.name()).filter(|held| held.is_of_same_object(object))?;
    handles.remove(object.name())
}

/// The stamp of the row that a handle was made from; none while the transaction that writes the row goes on.
pub(super) struct RowStamp(AtomicU64);

impl RowStamp {
    const UNCOMMITTED: u64 = u64::MAX;

    pub(super) fn new(stamp: Option<Stamp>) -> RowStamp {
        RowStamp(AtomicU64::new(stamp.map_or(RowStamp::UNCOMMITTED, |stamp| stamp.0)))
    }

    pub(super) fn get(&self) -> Option<Stamp> {
        let stamp = self.0.load(Ordering::Acquire);
        (stamp != RowStamp::UNCOMMITTED).then_some(Stamp(stamp))
    }

    /// The transaction that wrote the row has committed with `stamp`.
    pub(super) fn commit(&self, stamp: Stamp) {
        let before = self.0.swap(stamp.0, Ordering::Release);
        assert_eq!(before, RowStamp::UNCOMMITTED, "a definition is committed once");
    }
}
