//! Several calls on one thread, which take turns while the memory of their rows is on its way (CoroBase).
//!
//! A call of a declared procedure is a future that stops wherever it has asked for a line of memory. Each *lane* is a session
//! of its own that runs one call after the other; the thread goes through the lanes in turn.
//!
//! Invariants:
//! - Each call is a transaction of its own, serializable as any other.
//! - A lane stops before an access, never within one, and never within a commit: so no lock is held while others go on, and calls
//!   of one batch wait for each other no longer than for calls of other threads. Of two that conflict one runs again.
//! - Where rows are locked there is one lane: one that waited for another one would stop both.
//! - How many lanes there are changes no result but the order.
//!
//! Absent: interleaving of functions of the program ([`opaque`](super::opaque)), which run to their end.

use std::cell::{Cell, RefCell};
use std::future::Future;
use std::pin::Pin;
use std::task::{Context, Waker};

use super::compiled::{Caller, KeptProcedures, Workspace};
use super::output::Output;
use super::session::told;
use super::turns::{stop, whole};
use crate::error::{Error, TransactionError};
use crate::log::acknowledge::Receipt;
use crate::table::Argument;
use crate::transaction::{Session, TransactionOptions};

/// After so many conflicts in a row it is another thread that a call meets: none of this one goes on meanwhile.
const PAUSE_FROM: u32 = 16;

/// A call of a batch.
#[derive(Clone, Copy, Debug)]
pub struct Call<'a> {
    /// The procedure.
    pub procedure: &'a str,
    /// Its arguments.
    pub arguments: &'a [Argument<'a>],
}

/// A call of a batch that has ended.
#[derive(Debug)]
pub struct Ended {
    /// What the procedure returned, or why it gave up. May be told to others once the receipt is acknowledged.
    pub result: Result<Output, Error>,
    /// The receipt of the commit, or of what the procedure saw when it gave up.
    pub receipt: Receipt,
    /// How often it met a conflict and ran again.
    pub conflicts: u32,
}

impl Session {
    /// Calls procedures as transactions of their own, several at a time on this thread, and returns what became of each, in their
    /// order. They commit in any order. Pays where calls wait for memory: with many more rows than the processor's caches hold.
    ///
    /// It takes up to 16 more sessions; where `sessions_max` does not leave so many, it interleaves fewer calls. Where
    /// rows are locked it interleaves none.
    pub fn call_all(
        &mut self,
        options: TransactionOptions,
        calls: &[Call<'_>],
    ) -> Vec<Result<(Output, Receipt), Error>> {
        let ended = self.try_call_all(options, calls).into_iter();
        // Only now: nobody waits for a device while others could go on.
        ended.map(|ended| ended.and_then(|Ended { result, receipt, .. }| told((result, receipt))).flatten()).collect()
    }

    /// [`Session::call_all`] that does not wait until what became of a call is durable. What a procedure returned, or why it gave
    /// up, may be told to others as soon as its receipt is acknowledged. A call whose rows are beyond `memory_limit`, and a log
    /// without room, are waited for all the same.
    ///
    /// # Errors
    /// For each call those of [`Session::call`] that are no outcome of the procedure.
    pub fn try_call_all(&mut self, options: TransactionOptions, calls: &[Call<'_>]) -> Vec<Result<Ended, Error>> {
        let mut workspace = self.take_workspace::<Workspace>();
        let mut lanes = std::mem::take(&mut workspace.lanes);
        let width = if self.config().locks_rows() { 1 } else { lanes.width.next().min(calls.len()) };
        while lanes.sessions.len() < width {
            let Ok(session) = self.beside() else { break };
            lanes.sessions.push(session);
        }
        let clock = self.config().environment.clock.clone();
        let begun = clock.now();
        let beside = width.min(lanes.sessions.len());
        let ended = match &mut lanes.sessions[..beside] {
            sessions if beside > 1 => {
                // Now: a lane that waited for memory later would wait for the others, too.
                self.make_room();
                interleaved(&workspace.procedures, sessions, options, calls)
            }
            _ => {
                let mut caller = workspace.caller();
                calls.iter().map(|call| alone(&mut caller, self, options, call)).collect()
            }
        };
        lanes.width.learn(calls.len(), clock.now() - begun);
        workspace.lanes = lanes;
        self.keep_workspace(workspace);
        ended
    }
}

/// Runs calls on as many lanes as there are sessions.
fn interleaved(
    procedures: &KeptProcedures,
    sessions: &mut [Session],
    options: TransactionOptions,
    calls: &[Call<'_>],
) -> Vec<Result<Ended, Error>> {
    let next = Cell::new(0);
    let ended = RefCell::new(calls.iter().map(|_| None).collect::<Vec<_>>());
    let lane = async |session: &mut Session| {
        let mut workspace = session.take_workspace::<Workspace>();
        let mut caller = Caller { procedures, memory: &mut workspace.memory };
        while let Some(call) = calls.get(next.replace(next.get() + 1)) {
            let at = next.get() - 1;
            let result = one(&mut caller, session, options, call).await;
            ended.borrow_mut()[at] = Some(result);
        }
        session.keep_workspace(workspace);
    };
    let mut lanes: Vec<Pin<Box<dyn Future<Output = ()> + '_>>> = Vec::new();
    for session in sessions {
        lanes.push(Box::pin(lane(session)));
    }
    let mut context = Context::from_waker(Waker::noop());
    while !lanes.is_empty() {
        lanes.retain_mut(|lane| lane.as_mut().poll(&mut context).is_pending());
    }
    drop(lanes);
    ended.into_inner().into_iter().map(|ended| ended.expect("each call has ended")).collect()
}

/// Runs one call that is not interleaved.
fn alone(
    caller: &mut Caller<'_>,
    session: &mut Session,
    options: TransactionOptions,
    call: &Call<'_>,
) -> Result<Ended, Error> {
    let mut attempts = 0;
    let ended = session.attempts(options, |transaction| {
        attempts += 1;
        whole(caller.attempt::<false>(transaction, call.procedure, None, call.arguments)).map(Ok)
    });
    ended.map(|(result, receipt)| Ended { result, receipt, conflicts: attempts - 1 })
}

/// Runs one call, again after conflicts: others go on at first, instead of a pause.
async fn one(
    caller: &mut Caller<'_>,
    session: &mut Session,
    options: TransactionOptions,
    call: &Call<'_>,
) -> Result<Ended, Error> {
    let attempts = session.config().conflict_retries_max.saturating_add(1);
    for conflicts in 0..attempts {
        for _ in 0..conflicts.min(64) {
            stop().await;
        }
        if conflicts >= PAUSE_FROM {
            session.pause_at_random(conflicts);
        }
        match caller.attempt::<true>(session.begin_beside(options), call.procedure, None, call.arguments).await {
            Err(error) if error.is_conflict() => {}
            ended => return ended.map(|(result, receipt)| Ended { result, receipt, conflicts }),
        }
    }
    Err(TransactionError::RetriesExhausted { attempts }.into())
}
