//! Advisory locks: named by numbers, of whatever their users agree on, held by sessions or by their transactions.
//!
//! A session holds each of them in the strongest mode in which it was asked for and not given back, and counts how often: for
//! itself and for its transaction, shared and alone. They are words of the same [`Locks`] that rows are locked in, taken in turn
//! by the owner that the transactions of the session have. So a circle of waits is found whatever it consists of.
//!
//! Invariants:
//! - What a session holds is what its counts say, and a lock that nobody counts is not held.
//! - A session that is gone holds nothing.
//! - A name has a word while somebody holds it or waits for it, and there is one word for each.
//! - They are in memory only: no log, no checkpoint and no snapshot knows of them.
//!
//! Absent: when a transaction ends, and how long a wait may take. Whoever runs the transactions says so.

use std::cell::{Cell, RefCell};
use std::collections::{BTreeMap, HashMap};
use std::fmt;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use osier_memory::sync::{Arc, Mutex, lock};
use osier_memory::{LockMode, LockWord, Locks, Lost, Owner};

use crate::error::TransactionError;

/// The name of a lock.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Key {
    /// The upper half of a number, or the first one of a pair.
    pub high: u32,
    /// The lower half of a number, or the second one of a pair.
    pub low: u32,
    /// What the numbers are: keys of different spaces have nothing in common.
    pub space: Space,
}

/// What an advisory lock is named by.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Space {
    /// A number of 64 bits.
    Number,
    /// Two numbers.
    Pair,
    /// The hash of a name, of what somebody is about to make: a front end's own use.
    Name,
}

/// How a lock is held.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Mode {
    /// Others may share it.
    Shared,
    /// By one session alone.
    Exclusive,
}

/// How long a lock is held.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Scope {
    /// Until it is given back as often as it was taken, or the session ends.
    Session,
    /// Until the transaction ends, or goes back behind where it took it.
    Transaction,
}

/// What a session holds, or waits for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Listed {
    /// The lock.
    pub key: Key,
    /// The number that the session was given.
    pub holder: i32,
    /// How.
    pub mode: Mode,
    /// Whether it holds the lock.
    pub is_granted: bool,
}

/// What sessions know of each other.
#[derive(Default)]
struct Known {
    words: HashMap<Key, Arc<LockWord>>,
    /// What each session holds and waits for: by lock and session.
    seen: BTreeMap<(Key, u64), Seen>,
}

/// What others see of a session at a lock.
#[derive(Clone, Copy, Default, PartialEq, Eq)]
struct Seen {
    holder: i32,
    is_shared: bool,
    is_exclusive: bool,
    waits: Option<Mode>,
}

/// The advisory locks of a database.
pub(crate) struct AdvisoryLocks {
    locks: Arc<Locks>,
    known: Mutex<Known>,
    sessions: AtomicU64,
}

impl AdvisoryLocks {
    pub(crate) fn new(locks: &Arc<Locks>) -> Arc<AdvisoryLocks> {
        Arc::new(AdvisoryLocks { locks: locks.clone(), known: Mutex::default(), sessions: AtomicU64::new(0) })
    }

    fn word(&self, key: Key) -> Arc<LockWord> {
        lock(&self.known).words.entry(key).or_default().clone()
    }

    /// Nobody but the table has this word any more, perhaps.
    fn forget(&self, key: Key, word: Arc<LockWord>) {
        let mut known = lock(&self.known);
        drop(word);
        // Words are given out under the mutex.
        if known.words.get(&key).is_some_and(|word| Arc::strong_count(word) == 1) {
            let word = known.words.remove(&key);
            assert!(word.is_some_and(|word| word.is_free()), "who holds a lock has its word");
        }
    }

    fn show(&self, key: Key, session: u64, change: impl FnOnce(&mut Seen)) {
        let mut known = lock(&self.known);
        let seen = known.seen.entry((key, session)).or_default();
        change(seen);
        if !seen.is_shared && !seen.is_exclusive && seen.waits.is_none() {
            known.seen.remove(&(key, session));
        }
    }
}

/// How often a lock was taken and not given back.
#[derive(Clone, Copy, Default)]
struct Counts {
    shared: u32,
    exclusive: u32,
}

impl Counts {
    fn of(&mut self, mode: Mode) -> &mut u32 {
        match mode {
            Mode::Shared => &mut self.shared,
            Mode::Exclusive => &mut self.exclusive,
        }
    }
}

/// A lock that a session holds.
struct Held {
    word: Arc<LockWord>,
    /// As the word says.
    mode: Mode,
    session: Counts,
    transaction: Counts,
}

impl Held {
    fn counts(&mut self, scope: Scope) -> &mut Counts {
        match scope {
            Scope::Session => &mut self.session,
            Scope::Transaction => &mut self.transaction,
        }
    }

    fn is_shared(&self) -> bool {
        self.session.shared > 0 || self.transaction.shared > 0
    }

    fn is_exclusive(&self) -> bool {
        self.session.exclusive > 0 || self.transaction.exclusive > 0
    }
}

/// The advisory locks of one session, from [`Session::advisory`](crate::Session::advisory).
pub struct Advisory {
    all: Arc<AdvisoryLocks>,
    owner: Arc<Owner>,
    session: u64,
    holder: Cell<i32>,
    held: RefCell<HashMap<Key, Held>>,
    /// What the transaction has taken, in this order.
    of_transaction: RefCell<Vec<(Key, Mode)>>,
    /// What was taken for the session since [`Advisory::begin_attempt`].
    of_attempt: RefCell<Vec<(Key, Mode)>>,
    /// Whether the attempt has given back what it did not take.
    is_final: Cell<bool>,
}

impl Advisory {
    /// `owner`: what the transactions of the session lock rows by, if they do.
    pub(crate) fn new(all: &Arc<AdvisoryLocks>, owner: Option<Arc<Owner>>) -> Advisory {
        let register = || Arc::new(all.locks.register().expect("there are fewer sessions than owners"));
        Advisory {
            owner: owner.unwrap_or_else(register),
            session: all.sessions.fetch_add(1, Ordering::Relaxed),
            all: all.clone(),
            holder: Cell::new(0),
            held: RefCell::default(),
            of_transaction: RefCell::default(),
            of_attempt: RefCell::default(),
            is_final: Cell::new(false),
        }
    }

    /// Gives the session a number by which [`Advisory::list`] names it.
    pub fn set_holder(&self, holder: i32) {
        self.holder.set(holder);
    }

    /// Takes a lock, and waits for it so long.
    ///
    /// # Errors
    /// [`TransactionError::LockTimeout`]; [`TransactionError::Deadlock`] where this wait closed a circle and was chosen to end;
    /// [`TransactionError::Conflict`] where transactions are ordered by age, and an older one wants a row that this one has
    /// locked.
    pub fn lock(&self, key: Key, mode: Mode, scope: Scope, limit: Duration) -> Result<(), TransactionError> {
        if self.count(key, mode, scope) {
            return Ok(());
        }
        let word = self.word(key);
        if self.owner.try_lock_in_turn(&word, lock_mode(mode)).is_none() {
            self.show(key, |seen| seen.waits = Some(mode));
            let waited = self.owner.lock_in_turn(&word, lock_mode(mode), limit);
            self.show(key, |seen| seen.waits = None);
            if let Err(lost) = waited {
                self.forget(key, word);
                return Err(self.error(lost, limit));
            }
        }
        self.hold(key, word, mode, scope);
        Ok(())
    }

    /// Takes a lock if nobody has to be waited for; returns whether it did.
    pub fn try_lock(&self, key: Key, mode: Mode, scope: Scope) -> bool {
        if self.count(key, mode, scope) {
            return true;
        }
        let word = self.word(key);
        let is_taken = self.owner.try_lock_in_turn(&word, lock_mode(mode)).is_some();
        match is_taken {
            true => self.hold(key, word, mode, scope),
            false => self.forget(key, word),
        }
        is_taken
    }

    /// Gives a lock back, once, that the session has taken for itself; `false`: it has not.
    pub fn unlock(&self, key: Key, mode: Mode) -> bool {
        let is_held = self.held.borrow_mut().get_mut(&key).is_some_and(|held| *held.session.of(mode) > 0);
        if is_held {
            let mut of_attempt = self.of_attempt.borrow_mut();
            match of_attempt.iter().rposition(|taken| *taken == (key, mode)) {
                Some(at) => drop(of_attempt.remove(at)),
                None => self.is_final.set(true),
            }
            drop(of_attempt);
            self.give_back(key, mode, Scope::Session);
        }
        is_held
    }

    /// Gives all locks back that the session has taken for itself.
    pub fn unlock_all(&self) {
        let is_of_session = |held: &Held| held.session.shared > 0 || held.session.exclusive > 0;
        let keys: Vec<Key> =
            self.held.borrow().iter().filter(|(_, held)| is_of_session(held)).map(|(key, _)| *key).collect();
        self.is_final.set(self.is_final.get() || !keys.is_empty());
        self.of_attempt.borrow_mut().clear();
        keys.into_iter().for_each(|key| self.change(key, |held| held.session = Counts::default()));
    }

    /// Returns how many locks the transaction has taken, for [`Advisory::roll_back_to`].
    pub fn mark(&self) -> usize {
        self.of_transaction.borrow().len()
    }

    /// Gives back what the transaction has taken since.
    pub fn roll_back_to(&self, mark: usize) {
        loop {
            let mut of_transaction = self.of_transaction.borrow_mut();
            if of_transaction.len() <= mark {
                return;
            }
            let taken = of_transaction.pop();
            drop(of_transaction);
            taken.into_iter().for_each(|(key, mode)| self.give_back(key, mode, Scope::Transaction));
        }
    }

    /// The transaction is over.
    pub fn end_transaction(&self) {
        self.roll_back_to(0);
    }

    /// What is taken for the session from now on is undone if this is tried again.
    pub fn begin_attempt(&self) {
        self.of_attempt.borrow_mut().clear();
        self.is_final.set(false);
    }

    /// Undoes what was taken for the session since [`Advisory::begin_attempt`]. `false`: something was given back that others may
    /// have by now, so that this cannot be tried again.
    pub fn undo_attempt(&self) -> bool {
        if self.is_final.get() {
            return false;
        }
        let of_attempt = std::mem::take(&mut *self.of_attempt.borrow_mut());
        of_attempt.into_iter().rev().for_each(|(key, mode)| self.give_back(key, mode, Scope::Session));
        true
    }

    /// Returns what all sessions hold and wait for.
    pub fn list(&self) -> Vec<Listed> {
        let known = lock(&self.all.known);
        let mut listed = Vec::new();
        for ((key, _), seen) in &known.seen {
            let shared = seen.is_shared.then_some((Mode::Shared, true));
            let exclusive = seen.is_exclusive.then_some((Mode::Exclusive, true));
            let waits = seen.waits.map(|mode| (mode, false));
            let of = |(mode, is_granted)| Listed { key: *key, holder: seen.holder, mode, is_granted };
            listed.extend([shared, exclusive, waits].into_iter().flatten().map(of));
        }
        listed
    }

    fn word(&self, key: Key) -> Arc<LockWord> {
        self.all.word(key)
    }

    fn forget(&self, key: Key, word: Arc<LockWord>) {
        self.all.forget(key, word);
    }

    fn show(&self, key: Key, change: impl FnOnce(&mut Seen)) {
        let holder = self.holder.get();
        self.all.show(key, self.session, |seen| {
            seen.holder = holder;
            change(seen);
        });
    }

    fn error(&self, lost: Lost, limit: Duration) -> TransactionError {
        match lost {
            Lost::TimedOut => TransactionError::LockTimeout { limit },
            Lost::Wounded | Lost::Refused if self.owner.recover() => TransactionError::Deadlock,
            Lost::Wounded | Lost::Refused => TransactionError::LOCK_CONFLICT,
        }
    }

    /// Counts a lock that the session holds already, at least so; `false`: it does not.
    fn count(&self, key: Key, mode: Mode, scope: Scope) -> bool {
        let is_held = self.held.borrow().get(&key).is_some_and(|held| held.mode >= mode);
        if is_held {
            self.note(key, mode, scope);
            self.change(key, |held| *held.counts(scope).of(mode) += 1);
        }
        is_held
    }

    /// A lock was taken.
    fn hold(&self, key: Key, word: Arc<LockWord>, mode: Mode, scope: Scope) {
        self.note(key, mode, scope);
        let (session, transaction) = (Counts::default(), Counts::default());
        let mut all_held = self.held.borrow_mut();
        let held = all_held.entry(key).or_insert(Held { word, mode, session, transaction });
        held.mode = mode;
        drop(all_held);
        self.change(key, |held| *held.counts(scope).of(mode) += 1);
    }

    fn note(&self, key: Key, mode: Mode, scope: Scope) {
        let taken = match scope {
            Scope::Session => &self.of_attempt,
            Scope::Transaction => &self.of_transaction,
        };
        taken.borrow_mut().push((key, mode));
    }

    fn give_back(&self, key: Key, mode: Mode, scope: Scope) {
        self.change(key, |held| {
            let count = held.counts(scope).of(mode);
            *count = count.checked_sub(1).expect("what is given back was counted");
        });
    }

    /// Changes how a lock is counted, and gives back what is counted no more.
    fn change(&self, key: Key, change: impl FnOnce(&mut Held)) {
        let mut all_held = self.held.borrow_mut();
        let held = all_held.get_mut(&key).expect("what is counted is held");
        change(held);
        let (is_shared, is_exclusive) = (held.is_shared(), held.is_exclusive());
        self.show(key, |seen| (seen.is_shared, seen.is_exclusive) = (is_shared, is_exclusive));
        match (is_exclusive, is_shared) {
            (true, _) => assert_eq!(held.mode, Mode::Exclusive, "it is held as it is counted"),
            (false, true) if held.mode == Mode::Exclusive => {
                held.mode = Mode::Shared;
                self.owner.share(&held.word);
            }
            (false, true) => {}
            (false, false) => {
                let Held { word, .. } = all_held.remove(&key).expect("it was there");
                self.owner.unlock(&word);
                self.forget(key, word);
            }
        }
    }
}

fn lock_mode(mode: Mode) -> LockMode {
    match mode {
        Mode::Shared => LockMode::Shared,
        Mode::Exclusive => LockMode::Exclusive,
    }
}

impl Drop for Advisory {
    fn drop(&mut self) {
        self.end_transaction();
        self.unlock_all();
        assert!(self.held.borrow().is_empty(), "a session that is gone holds nothing");
    }
}

impl fmt::Debug for Advisory {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Advisory").field("held", &self.held.borrow().len()).finish_non_exhaustive()
    }
}
