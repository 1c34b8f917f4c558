//! A simulated session: transactions one after the other, each operation a step of its own, so that the transactions of
//! several sessions overlap in every way that the seed draws.

use std::cell::{Cell, RefCell};
use std::time::Duration;

use fastrand::Rng;
use osier::io::Clock;
use osier::{
    Database, Durability, Error, Protocol, Receipt, Savepoint, Session, Snapshot, Transaction, TransactionError,
    TransactionOptions,
};

use super::checkpoints::Watch;
use super::executor::pause;
use super::operation::{Operation, Outcome, TransactionId};
use super::oracle::{End, Finished, NO_EPOCH, Oracle};
use super::plan::Plan;
use super::procedures::{self, Called};
use super::run::{Failure, Trace};
use super::tables::{self, Tables};
use crate::clock::ManualClock;
use crate::disk::SimDisk;
use crate::fiber;
use crate::spawn::SimSpawn;

/// What the sessions of one generation share.
pub(super) struct World<'w> {
    pub(super) database: &'w Database,
    pub(super) tables: Tables,
    pub(super) plan: &'w Plan,
    pub(super) oracle: &'w RefCell<Oracle>,
    pub(super) rng: &'w RefCell<Rng>,
    pub(super) ids: &'w Cell<u64>,
    pub(super) spawn: SimSpawn,
    pub(super) clock: &'w ManualClock,
    pub(super) disk: &'w SimDisk,
    pub(super) trace: &'w Trace,
    /// A procedure that was called and is not there, or makes no sense.
    pub(super) wanted: Cell<Option<u8>>,
    /// Receipts that nobody awaits, with the number under which the oracle knows the transaction.
    pub(super) receipts: RefCell<Vec<(usize, Receipt)>>,
    /// Some that are held for long.
    pub(super) snapshots: RefCell<Vec<Snapshot>>,
    pub(super) checkpoints: Watch,
}

/// A transaction that is being drawn.
struct Draft {
    id: TransactionId,
    session: usize,
    /// Of its session.
    stream: u32,
    options: TransactionOptions,
    /// The one that it reads, unless it takes its own.
    snapshot: Option<Snapshot>,
    steps: Vec<(Operation, Outcome)>,
    savepoints: Vec<Savepoint>,
    writes: bool,
}

/// Whether a transaction goes on.
enum Attempt {
    Goes,
    /// A conflict, or the log has failed: there is nothing that anybody was told.
    GaveUp,
}

impl World<'_> {
    pub(super) fn chance(&self, share: f64) -> bool {
        self.rng.borrow_mut().f64() < share
    }

    /// A receipt was answered. Without a log that promises nothing: checkpoints do.
    pub(super) fn acknowledge(&self, number: usize) {
        if self.plan.protocol != Protocol::None {
            self.trace.line(|| format!("acknowledged {}", self.oracle.borrow().finished()[number].id));
            self.oracle.borrow_mut().acknowledge(number, self.clock.now());
        }
    }
}

/// Runs a session until it is drawn to end.
pub(super) async fn run(world: &World<'_>, number: usize) -> Result<(), Failure> {
    let mut session = world.database.session().map_err(|error| Failure::engine("a session", &error))?;
    loop {
        pause().await;
        let lag = world.plan.lag_of(session.stream().0);
        if lag > 0.0 && world.chance(lag) {
            continue;
        }
        if world.chance(if lag > 0.0 { 0.01 } else { 0.04 }) {
            return Ok(());
        }
        transaction(world, number, &mut session).await?;
    }
}

async fn transaction(world: &World<'_>, number: usize, session: &mut Session) -> Result<(), Failure> {
    if world.wanted.get().is_none() && world.chance(world.plan.call_share_of(session.stream().0)) {
        let Some((at, receipt)) = call(world, number, session)? else { return Ok(()) };
        return await_some(world, number, at, receipt).await;
    }
    let draft = draft(world, number, session.stream().0);
    let Some(mut draft) = at_snapshot(world, draft)? else { return Ok(()) };
    world.trace.line(|| format!("session {number} {} begins {:?} {:?}", draft.id, draft.options, draft.snapshot));
    let transaction = match &draft.snapshot {
        Some(snapshot) => {
            session.begin_at(snapshot).map_err(|error| Failure::engine("a transaction at a snapshot", &error))?
        }
        None => session.begin_with(draft.options),
    };
    let operations = world.plan.operations(&mut world.rng.borrow_mut());
    for _ in 0..operations {
        pause().await;
        match step(world, &transaction, &mut draft) {
            Ok(Attempt::Goes) => {}
            Ok(Attempt::GaveUp) => return Ok(()),
            // What a transaction is told that conflicts with others is void.
            Err(failure) => return if transaction.abort().is_err() { Ok(()) } else { Err(failure) },
        }
    }
    pause().await;
    let Some((at, receipt)) = end(world, transaction, draft)? else { return Ok(()) };
    await_some(world, number, at, receipt).await
}

/// Waits for a receipt, or leaves it to those that nobody awaits.
async fn await_some(world: &World<'_>, number: usize, at: usize, mut receipt: Receipt) -> Result<(), Failure> {
    if world.chance(world.plan.shares.awaited) {
        let leads = world.chance(world.plan.shares.leads);
        let acknowledged = if leads { receipt.wait_in_steps(pause).await } else { (&mut receipt).await };
        world.trace.line(|| format!("session {number} waited: {acknowledged:?}"));
        if acknowledged.is_ok() {
            world.acknowledge(at);
        }
    } else {
        world.receipts.borrow_mut().push((at, receipt));
    }
    Ok(())
}

/// Calls a procedure as a transaction of its own. The receipt comes with the number under which the oracle knows it.
fn call(world: &World<'_>, number: usize, session: &mut Session) -> Result<Option<(usize, Receipt)>, Failure> {
    let draft = draft(world, number, session.stream().0);
    let options = TransactionOptions { read_only: false, ..draft.options };
    let invocation = world.plan.generator().invocation(&mut world.rng.borrow_mut(), draft.id);
    world.trace.line(|| format!("session {number} {} calls {invocation:?} {options:?}", draft.id));
    let (id, since, slot) = (draft.id, world.clock.now(), invocation.slot);
    fiber::take_draws();
    let result = session.call_with(options, &procedures::name(slot), &invocation.arguments());
    let called = Called::of(result.as_ref().map(|(output, _)| output), tables::drawn());
    let (called, receipt) = match (called, result) {
        (Some(called), result) => (called, result.ok().map(|(_, receipt)| receipt)),
        (None, Err(error)) => return gave_up(world, id, &error, &"its call").map(|_| None),
        (None, Ok(_)) => unreachable!("a call that returned is called"),
    };
    if !called.has_begun() {
        world.wanted.set(Some(slot));
    }
    let stamp = receipt.as_ref().map_or(0, |receipt| receipt.stamp().0);
    let epoch = receipt.as_ref().map_or(NO_EPOCH, |receipt| receipt.epoch().0);
    world.trace.line(|| format!("  {id} -> {called:?} stamp {stamp} epoch {epoch}"));
    let end = if receipt.is_some() { End::Committed } else { End::Aborted };
    let is_durable = options.durability == Durability::Durable;
    let finished = Finished {
        id,
        session: number,
        steps: vec![(Operation::Call(invocation), Outcome::Called(called))],
        end,
        marked: end == End::Committed && procedures::writes(slot),
        at_snapshot: false,
        order: fiber::order(),
        epoch,
        stamp: (stamp, draft.stream),
        acknowledged: false,
        since,
        by: Duration::MAX,
    };
    let at = world.oracle.borrow_mut().finish(finished);
    // An error is told when it is durable what it rests on.
    if end == End::Aborted && is_durable {
        world.acknowledge(at);
    }
    Ok(receipt.filter(|_| is_durable).map(|receipt| (at, receipt)))
}

fn draft(world: &World<'_>, session: usize, stream: u32) -> Draft {
    let id = world.plan.transaction(world.ids.get(), stream);
    world.ids.set(world.ids.get() + 1);
    let relaxed = world.chance(world.plan.shares.relaxed);
    let options = TransactionOptions {
        read_only: world.chance(world.plan.shares.read_only),
        snapshot: false,
        durability: if relaxed { Durability::Relaxed } else { Durability::Durable },
    };
    Draft { id, session, stream, options, snapshot: None, steps: Vec::new(), savepoints: Vec::new(), writes: false }
}

/// How many snapshots are held for long, at most.
const SNAPSHOTS_HELD: usize = 4;

/// Makes a transaction, perhaps, one at a snapshot: of its own, or of one that is held. `None`: there is none to be had.
fn at_snapshot(world: &World<'_>, draft: Draft) -> Result<Option<Draft>, Failure> {
    let share = world.plan.snapshot_share();
    if share == 0.0 || !world.chance(share) {
        return Ok(Some(draft));
    }
    let options = TransactionOptions { read_only: true, snapshot: true, durability: Durability::Durable };
    let drawn = world.rng.borrow_mut().u8(0..8);
    if drawn < 3 {
        return Ok(Some(Draft { options, ..draft }));
    }
    if drawn < 5 {
        match world.database.snapshot() {
            Ok(snapshot) => {
                world.trace.line(|| format!("a snapshot of epoch {} is held", snapshot.epoch()));
                let mut held = world.snapshots.borrow_mut();
                if held.len() == SNAPSHOTS_HELD {
                    drop(held.swap_remove(world.rng.borrow_mut().usize(0..SNAPSHOTS_HELD)));
                }
                held.push(snapshot);
            }
            Err(error) => return gave_up(world, draft.id, &error, &"a snapshot").map(|_| None),
        }
    }
    let held = world.snapshots.borrow();
    let snapshot = world.rng.borrow_mut().choice(held.iter()).cloned();
    Ok(Some(Draft { options, snapshot, ..draft }))
}

/// Draws and does one operation.
fn step(world: &World<'_>, transaction: &Transaction<'_>, draft: &mut Draft) -> Result<Attempt, Failure> {
    let (id, savepoints) = (draft.id, draft.savepoints.len());
    let operation = match world.wanted.take().filter(|_| !draft.options.read_only) {
        Some(slot) => world.plan.declaration(&mut world.rng.borrow_mut(), slot),
        None => world.plan.operation(&mut world.rng.borrow_mut(), id, draft.options.read_only, savepoints),
    };
    match world.tables.execute(transaction, &operation, &mut draft.savepoints) {
        Ok(outcome) => {
            world.trace.line(|| format!("  {} {operation:?} -> {outcome:?}", draft.id));
            draft.writes |= !operation.is_read();
            draft.steps.push((operation, outcome));
            Ok(Attempt::Goes)
        }
        Err(error) if draft.options.snapshot && error.is_conflict() => Err(Failure::engine(draft.id, &error)),
        // It has done nothing, and the transaction goes on.
        Err(error) if has_timed_out(&error) => {
            world.trace.line(|| format!("  {} waits in vain for {operation:?}", draft.id));
            Ok(Attempt::Goes)
        }
        Err(error) => gave_up(world, draft.id, &error, &operation),
    }
}

/// Ends the transaction in a drawn way. The receipt comes with the number under which the oracle knows it.
fn end(world: &World<'_>, transaction: Transaction<'_>, draft: Draft) -> Result<Option<(usize, Receipt)>, Failure> {
    let id = draft.id;
    if world.chance(world.plan.shares.dropped) {
        world.trace.line(|| format!("  {id} is dropped"));
        return Ok(None);
    }
    let failed = draft.steps.iter().any(|(_, outcome)| *outcome == Outcome::Duplicate);
    let aborts = world.chance(if failed { 0.5 } else { world.plan.shares.abort });
    let marked = draft.writes && !aborts;
    if marked && let Err(error) = world.tables.mark(&transaction, id) {
        gave_up(world, id, &error, &"its marker")?;
        return Ok(None);
    }
    let since = world.clock.now();
    let (end, result) =
        if aborts { (End::Aborted, transaction.abort()) } else { (End::Committed, transaction.commit()) };
    match result {
        Ok(receipt) => {
            world.trace.line(|| format!("  {id} {end:?} stamp {} epoch {}", receipt.stamp(), receipt.epoch()));
            let (steps, order, epoch) = (draft.steps, fiber::order(), receipt.epoch().0);
            let (stamp, by, session) = ((receipt.stamp().0, draft.stream), Duration::MAX, draft.session);
            let (at_snapshot, acknowledged) = (draft.options.snapshot, false);
            let finished =
                Finished { id, session, steps, end, marked, at_snapshot, order, epoch, stamp, acknowledged, since, by };
            let at = world.oracle.borrow_mut().finish(finished);
            // Who does not ask for durability is told nothing about it.
            Ok((draft.options.durability == Durability::Durable).then_some((at, receipt)))
        }
        Err(error) => {
            gave_up(world, id, &error, &end)?;
            Ok(None)
        }
    }
}

/// Whether a lock was waited for in vain.
fn has_timed_out(error: &Error) -> bool {
    matches!(error, Error::Transaction(TransactionError::LockTimeout { .. }))
}

/// A conflict, a wait that took too long or a failed log ends a transaction quietly; anything else is not expected.
fn gave_up(world: &World<'_>, id: TransactionId, error: &Error, at: &dyn std::fmt::Debug) -> Result<Attempt, Failure> {
    world.trace.line(|| format!("  {id} gives up at {at:?}: {error}"));
    let is_beaten = error.is_conflict() || has_timed_out(error);
    if is_beaten || matches!(error, Error::Log(_)) && world.database.failure().is_some() {
        return Ok(Attempt::GaveUp);
    }
    Err(Failure::engine(format!("{id} at {at:?}"), error))
}
