//! A scheme that watches its callers: in the unit tests of the engine every scheme is wrapped in it.
//!
//! It asserts what the seam promises to schemes: transactions begin and end in turn, accesses and commits lie in between, and
//! what a commit locked is installed or unlocked before the end. It counts what the calling thread does, and lets it meet
//! conflicts.

use std::cell::Cell;

use osier_memory::sync::Arc;
use osier_memory::{Committer, Held, KeyStamps, LeafChange, LeafRead, LockWord, Owner, Pin, Record, RecordBox, Stamp};

use super::write_set::WriteSet;
use super::{ConcurrencyControl, Found, GatheringOf, Intent};
use crate::error::TransactionError;
use crate::ids::{Epoch, StreamId};
use crate::log::protocol::SourceOf;
use crate::table::store::RecordTree;

/// What the transactions of a thread have done.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Watch {
    pub(crate) begun: u32,
    pub(crate) ended: u32,
    pub(crate) locked: u32,
    pub(crate) unlocked: u32,
    pub(crate) installed: u32,
}

/// A step that is to meet a conflict.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Lost {
    Access,
    Lock,
}

thread_local! {
    static WATCH: Cell<Watch> = const { Cell::new(Watch { begun: 0, ended: 0, locked: 0, unlocked: 0, installed: 0 }) };
    static LOST: Cell<Option<Lost>> = const { Cell::new(None) };
}

/// Returns what the calling thread has done since it asked last.
pub(crate) fn watched() -> Watch {
    WATCH.take()
}

/// Lets the next such step of the calling thread meet a conflict of which its validation knows nothing.
pub(crate) fn lose_next(step: Lost) {
    LOST.set(Some(step));
}

fn count(count: impl FnOnce(&mut Watch)) {
    let mut watch = WATCH.get();
    count(&mut watch);
    WATCH.set(watch);
}

fn meet(step: Lost) -> Result<(), TransactionError> {
    match LOST.get() {
        Some(lost) if lost == step => {
            LOST.set(None);
            Err(TransactionError::ROW_CONFLICT)
        }
        _ => Ok(()),
    }
}

/// A scheme, and where its transaction stands.
pub(crate) struct Watched<C> {
    control: C,
    is_open: bool,
    is_locked: bool,
}

impl<C> From<C> for Watched<C> {
    fn from(control: C) -> Watched<C> {
        Watched { control, is_open: false, is_locked: false }
    }
}

impl<C> Watched<C> {
    fn access(&mut self) -> Result<&mut C, TransactionError> {
        assert!(self.is_open && !self.is_locked, "an access lies between the beginning and the commit");
        meet(Lost::Access)?;
        Ok(&mut self.control)
    }
}

impl<C: ConcurrencyControl> ConcurrencyControl for Watched<C> {
    type Dependency = C::Dependency;

    fn owner(&self) -> Option<&Arc<Owner>> {
        self.control.owner()
    }

    fn begin(&mut self, pin: &Pin<'_>, durable: impl FnOnce() -> Stamp) {
        assert!(!self.is_open, "the previous transaction has ended");
        self.is_open = true;
        count(|watch| watch.begun += 1);
        self.control.begin(pin, durable);
    }

    fn read<'a>(
        &mut self,
        pin: &'a Pin<'_>,
        record: Held<Record>,
        intent: Intent,
    ) -> Result<Found<'a>, TransactionError> {
        self.access()?.read(pin, record, intent)
    }

    fn read_existence(
        &mut self,
        pin: &Pin<'_>,
        record: Held<Record>,
        intent: Intent,
        is_durable: impl FnOnce(Stamp) -> bool,
    ) -> Result<Option<Stamp>, TransactionError> {
        self.access()?.read_existence(pin, record, intent, is_durable)
    }

    fn scan(&mut self, pin: &Pin<'_>, leaf: LeafRead, intent: Intent) -> Result<bool, TransactionError> {
        self.access()?.scan(pin, leaf, intent)
    }

    fn name_absent(&mut self, pin: &Pin<'_>, tree: &Arc<RecordTree>, key: &[u8], leaf: LeafRead) {
        assert!(self.is_open && !self.is_locked, "an access lies between the beginning and the commit");
        self.control.name_absent(pin, tree, key, leaf);
    }

    fn depend(&mut self, stamp: Stamp) {
        assert!(self.is_open && !self.is_locked, "what is relied on is read before the commit");
        self.control.depend(stamp);
    }

    fn write(&mut self, pin: &Pin<'_>, record: Held<Record>, intent: Intent) -> Result<(), TransactionError> {
        self.access()?.write(pin, record, intent)
    }

    fn try_lock(&mut self, pin: &Pin<'_>, record: Held<Record>) -> Result<bool, TransactionError> {
        self.control.try_lock(pin, record)
    }

    fn may_insert(&self, gap: &LockWord, intent: Intent) -> bool {
        self.control.may_insert(gap, intent)
    }

    fn wait_to_insert(&mut self, pin: &Pin<'_>, leaf: LeafRead) -> Result<(), TransactionError> {
        self.access()?.wait_to_insert(pin, leaf)
    }

    fn placeholder(&self, key: &[u8], stamp: Stamp, intent: Intent) -> RecordBox {
        self.control.placeholder(key, stamp, intent)
    }

    fn inserted(
        &mut self,
        pin: &Pin<'_>,
        change: &LeafChange,
        placeholder: Held<Record>,
        stamp: Stamp,
        intent: Intent,
    ) -> Result<(), TransactionError> {
        self.access()?.inserted(pin, change, placeholder, stamp, intent)
    }

    fn discarded(&mut self, pin: &Pin<'_>, record: Held<Record>) {
        assert!(self.is_open && !self.is_locked, "writes are rolled back before the end");
        self.control.discarded(pin, record);
    }

    fn gathered(&self) -> &GatheringOf<C> {
        self.control.gathered()
    }

    fn close(&mut self, pin: &Pin<'_>, writes: &WriteSet, source: &SourceOf<C::Dependency>, own: StreamId) {
        assert!(self.is_open && self.is_locked != writes.is_empty(), "whoever writes has locked, and nobody else");
        self.control.close(pin, writes, source, own);
    }

    fn lock(&mut self, pin: &Pin<'_>, writes: &mut WriteSet) -> Result<(), TransactionError> {
        assert!(self.is_open && !self.is_locked, "a commit locks once");
        meet(Lost::Lock)?;
        self.control.lock(pin, writes)?;
        self.is_locked = true;
        count(|watch| watch.locked += 1);
        Ok(())
    }

    fn prevalidate(&self, pin: &Pin<'_>, writes: &mut WriteSet) -> Result<(), TransactionError> {
        assert!(self.is_open && !self.is_locked && !writes.is_empty(), "whoever writes looks before it locks");
        self.control.prevalidate(pin, writes)
    }

    fn validate(&self, pin: &Pin<'_>, writes: &WriteSet) -> Result<(), TransactionError> {
        assert!(self.is_open && self.is_locked != writes.is_empty(), "whoever writes has locked, and nobody else");
        self.control.validate(pin, writes)
    }

    fn base(&self, pin: &Pin<'_>, writes: &WriteSet, reads: Option<&KeyStamps>) -> Stamp {
        assert!(self.is_locked, "what is overwritten is locked");
        self.control.base(pin, writes, reads)
    }

    fn base_of_rows(&self, pin: &Pin<'_>, writes: &WriteSet) -> Stamp {
        self.control.base_of_rows(pin, writes)
    }

    fn raise_reads(&self, pin: &Pin<'_>, writes: &WriteSet, reads: &KeyStamps, at: (StreamId, Stamp)) {
        assert!(self.is_locked, "a stamp is drawn with locks held");
        self.control.raise_reads(pin, writes, reads, at);
    }

    fn unlock(&mut self, pin: &Pin<'_>, writes: &WriteSet) {
        assert!(self.is_locked, "what is unlocked was locked");
        self.is_locked = false;
        count(|watch| watch.unlocked += 1);
        self.control.unlock(pin, writes);
    }

    fn install(&mut self, pin: &Pin<'_>, writes: &mut WriteSet, stamp: Stamp, committer: &Committer<'_>) {
        assert!(self.is_locked, "what is installed is locked");
        self.is_locked = false;
        count(|watch| watch.installed += 1);
        self.control.install(pin, writes, stamp, committer);
    }

    fn observe_now(&mut self) -> Result<(), TransactionError> {
        self.control.observe_now()
    }

    fn order(&mut self) {
        assert!(self.is_locked, "a commit is ordered with its locks held");
        self.control.order();
    }

    fn order_observer(&self, pin: &Pin<'_>) -> Epoch {
        self.control.order_observer(pin)
    }

    fn read_until(&self, pin: &Pin<'_>) -> Epoch {
        self.control.read_until(pin)
    }

    fn await_met(&mut self) -> Result<bool, TransactionError> {
        assert!(!self.is_open, "nothing is held while what was met is waited for");
        self.control.await_met()
    }

    fn end(&mut self, pin: &Pin<'_>) {
        assert!(
            self.is_open && !self.is_locked,
            "a transaction that has begun ends once, without the locks of a commit"
        );
        self.is_open = false;
        count(|watch| watch.ended += 1);
        self.control.end(pin);
    }
}
