//! Judges a crash by four promises, over any number of generations.
//!
//! - (a) What was acknowledged is recovered, acknowledged reads and aborts included: what they saw stays explained.
//! - (b) The recovered transactions, executed one after another in their true order, see again what they saw.
//! - (c) They leave the state that the database recovered.
//! - (d) What was dead once stays dead, and what survived an open survives every later one.
//!
//! And of the epochs: those up to any one are closed under all dependencies, so that they can be executed before the rest;
//! a checkpoint of one holds what they leave behind, exactly, and so does a database that was taken back to it.
//!
//! And of a protocol whose stamps are a serialization order: the transactions that have one, executed in the order of their
//! stamps, see again what they saw and leave what they left.
//!
//! The true order is that of the serialization points, which the engine tells: all locks held, no read validated yet. Whoever saw
//! the state of one moment and wrote nothing has its place there.

use std::collections::BTreeSet;
use std::fmt;
use std::time::Duration;

use super::model::Model;
use super::operation::{Operation, Outcome, TransactionId};

/// How a transaction ended, as its session saw it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum End {
    /// Commit returned a receipt.
    Committed,
    /// A validated abort returned a receipt.
    Aborted,
}

/// The epoch of a call that gave up: nobody is told. It is left out where transactions are taken by their epochs.
pub const NO_EPOCH: u64 = u64::MAX;

/// A transaction that ended with a receipt.
#[derive(Clone, Debug)]
pub struct Finished {
    /// Its marker.
    pub id: TransactionId,
    /// Which session's it was.
    pub session: usize,
    /// What it did and saw, in order.
    pub steps: Vec<(Operation, Outcome)>,
    /// How it ended.
    pub end: End,
    /// Whether it wrote a marker; without one nobody can tell whether it was recovered, and nobody needs to.
    pub marked: bool,
    /// Whether it read the snapshot of `epoch`: its place is between that one and the next.
    pub at_snapshot: bool,
    /// Its place in the serial order, unless it read a snapshot.
    pub order: u64,
    /// The epoch that its receipt names, or [`NO_EPOCH`].
    pub epoch: u64,
    /// Its place in the log, by which those of all streams are ordered: its stamp, zero where it wrote nothing, and its stream.
    pub stamp: (u64, u32),
    /// Whether its receipt was acknowledged before the crash.
    pub acknowledged: bool,
    /// When its commit was called.
    pub since: Duration,
    /// When it was acknowledged, at the latest.
    pub by: Duration,
}

/// What an open found.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Recovered {
    /// The markers.
    pub transactions: BTreeSet<TransactionId>,
    /// The rows.
    pub model: Model,
    /// How an index differs from the rows, if one does.
    pub index: Option<Box<IndexDifference>>,
}

/// An index that does not say what the rows say.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct IndexDifference {
    /// What was asked of it.
    pub operation: Operation,
    /// What it says.
    pub found: Outcome,
    /// What the rows say.
    pub expected: Outcome,
}

impl Recovered {
    /// Judges whether every index has the rows that it should have.
    pub fn check_indexes(&self) -> Result<(), Violation> {
        self.index.as_ref().map_or(Ok(()), |difference| Err(Violation::Index(difference.clone())))
    }
}

/// A broken promise.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Violation {
    /// (a) An acknowledged transaction is gone.
    AcknowledgedLost(TransactionId),
    /// (d) A transaction that an earlier open recovered is gone.
    RecoveredLost(TransactionId),
    /// (d) A transaction that an earlier open did not recover is back.
    Resurrected(TransactionId),
    /// There is a marker that nobody committed.
    Unknown(TransactionId),
    /// (a, b) Executed serially, an operation sees something else.
    Observation {
        /// Before the crash this is a broken isolation; after it, a transaction survived that one it read from did not.
        during: Phase,
        /// Whose.
        id: TransactionId,
        /// Which.
        operation: Box<Operation>,
        /// In the database.
        seen: Box<Outcome>,
        /// In the model.
        expected: Box<Outcome>,
    },
    /// The transactions up to an epoch were kept, but for this one.
    NotOfTheEpoch {
        /// The epoch.
        epoch: u64,
        /// Which is missing.
        id: TransactionId,
    },
    /// What was opened alone is not what the transactions up to its epoch leave.
    Slice {
        /// What was opened.
        slice: &'static str,
        /// The epoch.
        epoch: u64,
        /// In the database.
        found: Box<Recovered>,
        /// In the model.
        expected: Box<Recovered>,
    },
    /// Going back to a time kept a transaction that was committed later, or gave up an epoch that was durable by then.
    Untimely {
        /// What the time was taken for.
        epoch: u64,
        /// Which.
        id: TransactionId,
    },
    /// Executed in the order of their stamps, transactions leave another state than they did.
    Unordered {
        /// In the true order.
        left: Box<Model>,
        /// In that of their stamps.
        expected: Box<Model>,
    },
    /// An index has other rows than it should have.
    Index(Box<IndexDifference>),
    /// A backup that was whole is not, any more.
    Unrestorable {
        /// What is wrong with it.
        what: String,
    },
    /// (c) The state differs from what the recovered transactions leave.
    State {
        /// In the database.
        found: Box<Model>,
        /// In the model.
        expected: Box<Model>,
    },
}

/// Which set of transactions was executed serially.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Phase {
    /// All that ended before the crash.
    Run,
    /// The same, in the order of their epochs.
    Epochs,
    /// Those that wrote, in the order of their stamps.
    Stamps,
    /// Those that were recovered, and acknowledged reads and aborts.
    Recovery,
}

/// The history of a database over all its generations.
#[derive(Clone, Debug, Default)]
pub struct Oracle {
    /// The state that the last successful open found.
    base: Model,
    alive: BTreeSet<TransactionId>,
    /// What they did.
    past: Vec<Finished>,
    dead: BTreeSet<TransactionId>,
    /// Ended since the last successful open.
    finished: Vec<Finished>,
}

impl Oracle {
    /// A database that is empty.
    pub fn new() -> Oracle {
        Oracle::default()
    }

    /// Adds a transaction that ended just now, and returns the number by which it can be acknowledged.
    pub fn finish(&mut self, finished: Finished) -> usize {
        self.finished.push(finished);
        self.finished.len() - 1
    }

    /// The receipt of transaction `number` since the last open was acknowledged.
    pub fn acknowledge(&mut self, number: usize, now: Duration) {
        let finished = &mut self.finished[number];
        (finished.acknowledged, finished.by) = (true, finished.by.min(now));
    }

    /// Of the transactions since the last open those are promised to be durable that `is_promised` says this of, and no others.
    pub fn promise(&mut self, is_promised: impl Fn(usize, &Finished) -> bool) {
        let numbered = self.finished.iter_mut().enumerate();
        numbered.for_each(|(number, finished)| finished.acknowledged = is_promised(number, finished));
    }

    /// The epochs of what is alive, ascending.
    pub fn epochs(&self) -> BTreeSet<u64> {
        self.past.iter().map(|finished| finished.epoch).collect()
    }

    /// The transactions that ended since the last open.
    pub fn finished(&self) -> &[Finished] {
        &self.finished
    }

    /// Those that read no snapshot, in the serial order.
    fn in_order(&self) -> Vec<&Finished> {
        let mut ordered: Vec<_> = self.finished.iter().filter(|finished| !finished.at_snapshot).collect();
        ordered.sort_by_key(|finished| finished.order);
        ordered
    }

    /// Those whose epoch is known, in the order of epochs: what read a snapshot comes behind all of its epoch.
    fn by_epoch(&self) -> Vec<&Finished> {
        let mut ordered: Vec<_> = self.finished.iter().filter(|finished| finished.epoch != NO_EPOCH).collect();
        ordered.sort_by_key(|finished| (finished.epoch, finished.at_snapshot, finished.order));
        ordered
    }

    /// The database is taken back to the end of `epoch`: what came later is dead, whatever was promised.
    pub fn go_back(&mut self, epoch: u64) -> Result<(), Violation> {
        let is_later = |finished: &mut Finished| finished.epoch > epoch;
        let later = self.past.extract_if(.., is_later).chain(self.finished.extract_if(.., is_later));
        self.dead.extend(later.filter(|finished| finished.marked).map(|finished| finished.id));
        self.alive = self.past.iter().map(|finished| finished.id).collect();
        self.past.sort_by_key(|finished| finished.order);
        self.base = Model::default();
        self.past.iter().try_for_each(|finished| execute(&mut self.base, finished, Phase::Epochs))
    }

    /// Judges that `time` was taken for `epoch`: every transaction up to it that was recovered was in a batch that was closed
    /// by then, and not all of the next epoch were. Of that one nobody knows all where there is a sequence: its values are
    /// reserved in epochs of their own.
    pub fn check_time(&self, time: Duration, epoch: u64, recovered: &Recovered) -> Result<(), Violation> {
        let all = || self.past.iter().chain(&self.finished);
        let is_creation = |(operation, _): &(Operation, _)| matches!(operation, Operation::CreateSequence(_));
        let reserves = all().any(|finished| finished.steps.iter().any(is_creation));
        let all = || all().filter(|finished| finished.marked);
        let is_late = |finished: &&Finished| finished.since > time && recovered.transactions.contains(&finished.id);
        let next: Vec<_> = all().filter(|finished| finished.epoch == epoch + 1).collect();
        let is_given_up = |_: &&&Finished| !reserves && next.iter().all(|finished| finished.by <= time);
        let given_up = next.first().filter(is_given_up).copied();
        match all().find(is_late).or(given_up) {
            Some(finished) => Err(Violation::Untimely { epoch, id: finished.id }),
            None => Ok(()),
        }
    }

    /// Executes serially everything that ended, acknowledged or not: serializability of the run itself. The order of the epochs
    /// must do too: then no epoch cuts a dependency, and what was read at a snapshot is what there was at the end of its epoch.
    pub fn check_run(&self) -> Result<(), Violation> {
        let (in_order, by_epoch) = (self.in_order(), self.by_epoch());
        self.execute_all(&in_order, Phase::Run)?;
        // Where the orders are the same, that was all.
        let in_order = in_order.iter().filter(|finished| finished.epoch != NO_EPOCH);
        if in_order.map(|finished| finished.id).eq(by_epoch.iter().map(|finished| finished.id)) {
            return Ok(());
        }
        self.execute_all(&by_epoch, Phase::Epochs).map(|_| ())
    }

    /// Executes serially everything that wrote, in the order of the log's streams together: stamps are a serialization order.
    /// Whoever only read has no place in it.
    pub fn check_stamps(&self) -> Result<(), Violation> {
        let left = self.execute_all(&self.in_order(), Phase::Run)?;
        let mut ordered: Vec<_> = self.finished.iter().filter(|finished| finished.stamp.0 > 0).collect();
        ordered.sort_by_key(|finished| finished.stamp);
        let expected = self.execute_all(&ordered, Phase::Stamps)?;
        match left == expected {
            true => Ok(()),
            false => Err(Violation::Unordered { left: Box::new(left), expected: Box::new(expected) }),
        }
    }

    /// Returns the state that is left.
    fn execute_all(&self, ordered: &[&Finished], during: Phase) -> Result<Model, Violation> {
        let mut model = self.base.clone();
        ordered.iter().try_for_each(|finished| execute(&mut model, finished, during))?;
        Ok(model)
    }

    /// Judges what was opened of a `slice` of the disk that holds exactly the transactions up to `epoch`.
    pub fn check_slice(&self, slice: &'static str, epoch: u64, found: Recovered) -> Result<(), Violation> {
        found.check_indexes()?;
        let mut expected = Recovered { transactions: self.alive.clone(), model: self.base.clone(), index: None };
        for finished in self.in_order().into_iter().filter(|finished| finished.epoch <= epoch) {
            execute(&mut expected.model, finished, Phase::Epochs)?;
            expected.transactions.extend(finished.marked.then_some(finished.id));
        }
        match found == expected {
            true => Ok(()),
            false => Err(Violation::Slice { slice, epoch, found: Box::new(found), expected: Box::new(expected) }),
        }
    }

    /// Judges what was opened of a part of the disk: any transactions of all generations, each with those that it read from.
    pub fn check_part(&self, found: &Recovered) -> Result<(), Violation> {
        let finished = self.past.iter().chain(&self.finished).cloned().collect();
        let mut all = Oracle { finished, dead: self.dead.clone(), ..Oracle::default() };
        all.promise(|_, _| false);
        all.check_recovery(found)
    }

    /// Without a log: everything up to `epoch` is durable, and nothing else is.
    pub fn acknowledge_up_to(&mut self, epoch: u64) {
        self.promise(|_, finished| finished.acknowledged || finished.epoch <= epoch);
    }

    /// Without a log: what was recovered since the last open are the transactions up to some epoch, all of them.
    pub fn check_epoch_cut(&self, recovered: &Recovered) -> Result<(), Violation> {
        let lives = |finished: &&Finished| recovered.transactions.contains(&finished.id);
        let marked = || self.finished.iter().filter(|finished| finished.marked);
        let Some(epoch) = marked().filter(lives).map(|finished| finished.epoch).max() else { return Ok(()) };
        match marked().find(|finished| finished.epoch <= epoch && !lives(finished)) {
            Some(Finished { id, .. }) => Err(Violation::NotOfTheEpoch { epoch, id: *id }),
            None => Ok(()),
        }
    }

    /// Judges what an open after a crash found, and takes it as the state from which the next generation starts.
    pub fn check_recovery(&mut self, recovered: &Recovered) -> Result<(), Violation> {
        recovered.check_indexes()?;
        self.check_sets(&recovered.transactions)?;
        let lives = |finished: &Finished| match finished.marked {
            true => recovered.transactions.contains(&finished.id),
            false => finished.acknowledged,
        };
        let execute_living = |ordered: Vec<&Finished>| {
            let mut model = self.base.clone();
            let mut living = ordered.into_iter().filter(|finished| lives(finished));
            living.try_for_each(|finished| execute(&mut model, finished, Phase::Recovery)).map(|()| model)
        };
        let model = execute_living(self.in_order())?;
        if self.finished.iter().any(|finished| finished.at_snapshot && finished.acknowledged) {
            execute_living(self.by_epoch())?;
        }
        if model != recovered.model {
            return Err(Violation::State { found: Box::new(recovered.model.clone()), expected: Box::new(model) });
        }
        let (past, dead) = std::mem::take(&mut self.finished)
            .into_iter()
            .filter(|finished| finished.marked)
            .partition::<Vec<_>, _>(|finished| recovered.transactions.contains(&finished.id));
        self.past.extend(past);
        self.dead.extend(dead.into_iter().map(|finished| finished.id));
        self.alive.clone_from(&recovered.transactions);
        self.base = model;
        Ok(())
    }

    fn check_sets(&self, recovered: &BTreeSet<TransactionId>) -> Result<(), Violation> {
        let lost = |id: &&TransactionId| !recovered.contains(*id);
        if let Some(&id) = self.alive.iter().find(lost) {
            return Err(Violation::RecoveredLost(id));
        }
        let mut acknowledged = self.finished.iter().filter(|finished| finished.marked && finished.acknowledged);
        if let Some(finished) = acknowledged.find(|finished| lost(&&finished.id)) {
            return Err(Violation::AcknowledgedLost(finished.id));
        }
        if let Some(&id) = recovered.intersection(&self.dead).next() {
            return Err(Violation::Resurrected(id));
        }
        let ended: BTreeSet<_> = self.finished.iter().filter(|finished| finished.marked).map(|f| f.id).collect();
        match recovered.iter().find(|id| !self.alive.contains(id) && !ended.contains(id)) {
            Some(&id) => Err(Violation::Unknown(id)),
            None => Ok(()),
        }
    }
}

/// Executes one transaction on the model and compares what it sees.
fn execute(model: &mut Model, finished: &Finished, during: Phase) -> Result<(), Violation> {
    let mut execution = model.begin();
    for (operation, seen) in &finished.steps {
        let expected = execution.follow(operation, seen, finished.session);
        if expected != *seen {
            return Err(Violation::Observation {
                during,
                id: finished.id,
                operation: Box::new(operation.clone()),
                seen: Box::new(seen.clone()),
                expected: Box::new(expected),
            });
        }
    }
    if finished.end == End::Committed {
        execution.commit();
    }
    Ok(())
}

impl fmt::Display for Violation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Violation::AcknowledgedLost(id) => write!(f, "{id} was acknowledged and is lost"),
            Violation::RecoveredLost(id) => write!(f, "{id} survived an earlier open and is lost"),
            Violation::Resurrected(id) => write!(f, "{id} was dead after an earlier open and is back"),
            Violation::Unknown(id) => write!(f, "{id} was recovered and never committed"),
            Violation::Observation { during, id, operation, seen, expected } => {
                let of = match during {
                    Phase::Run => "those that ended",
                    Phase::Epochs => "those that ended, by their epochs,",
                    Phase::Stamps => "those that wrote, by their stamps,",
                    Phase::Recovery => "those that were recovered",
                };
                write!(f, "{id} saw {seen:?} at {operation:?}; executing {of} serially it sees {expected:?}")
            }
            Violation::NotOfTheEpoch { epoch, id } => {
                write!(f, "{id} is lost, and others of epoch {epoch}, which its own does not exceed, were kept")
            }
            Violation::Slice { slice, epoch, found, expected } => write!(
                f,
                "{slice} is not what epoch {epoch} left behind\n  found    {found:?}\n  expected {expected:?}"
            ),
            Violation::Unordered { left, expected } => {
                write!(f, "stamps are no serialization order\n  left     {left:?}\n  expected {expected:?}")
            }
            Violation::Untimely { epoch, id } => {
                write!(f, "going back to a time meant epoch {epoch}, and {id} says no")
            }
            Violation::Index(difference) => {
                let IndexDifference { operation, found, expected } = &**difference;
                write!(f, "an index says {found:?} at {operation:?}; by the rows it is {expected:?}")
            }
            Violation::Unrestorable { what } => write!(f, "a backup that was whole cannot be restored: {what}"),
            Violation::State { found, expected } => {
                write!(
                    f,
                    "the recovered rows are not those of the recovered transactions\n  found    {found:?}\
                     \n  expected {expected:?}"
                )
            }
        }
    }
}

impl std::error::Error for Violation {}
