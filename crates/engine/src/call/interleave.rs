//! Several calls on one thread, which take turns while the memory of their rows is on its way (CoroBase).
//!
//! A call of a declared procedure is a future that stops wherever it has asked for a line of memory. Each *lane* is a session
//! of its own that runs one call after the other; the thread goes through the lanes in turn.
//!
//! Invariants:
//! - Each call is a transaction of its own, serializable as any other.
//! - A lane stops before an access, never within one, and never within a commit: so no lock is held while others go on, and calls
//!   of one batch wait for each other no longer than for calls of other threads. Of two that conflict one runs again.
//! - How many lanes there are changes no result but the order.
//!
//! Absent: interleaving of functions of the program ([`opaque`](super::opaque)), which run to their end.

use std::cell::{Cell, RefCell};
use std::future::Future;
use std::pin::Pin;
use std::task::{Context, Waker};

use super::compiled::Workspace;
use super::output::Output;
use super::session::told;
use super::turns::stop;
use crate::error::{Error, TransactionError};
use crate::log::acknowledge::Receipt;
use crate::table::Argument;
use crate::transaction::{Session, TransactionOptions};

/// A call of a batch.
#[derive(Clone, Copy, Debug)]
pub struct Call<'a> {
    /// The procedure.
    pub procedure: &'a str,
    /// Its arguments.
    pub arguments: &'a [Argument<'a>],
}

impl Session {
    /// Calls procedures as transactions of their own, several at a time on this thread, and returns what became of each, in their
    /// order. They commit in any order. Pays where calls wait for memory: with many more rows than the processor's caches hold.
    ///
    /// It takes up to 16 more sessions; where `sessions_max` does not leave so many, it interleaves fewer calls.
    pub fn call_all(
        &mut self,
        options: TransactionOptions,
        calls: &[Call<'_>],
    ) -> Vec<Result<(Output, Receipt), Error>> {
        let mut workspace = self.take_workspace::<Workspace>();
        let mut lanes = std::mem::take(&mut workspace.lanes);
        let width = lanes.width.next().min(calls.len());
        while lanes.sessions.len() < width {
            let Ok(session) = self.beside() else { break };
            lanes.sessions.push(session);
        }
        let clock = self.config().environment.clock.clone();
        let begun = clock.now();
        let beside = width.min(lanes.sessions.len());
        let ended = match &mut lanes.sessions[..beside] {
            sessions if beside > 1 => interleaved(sessions, options, calls),
            _ => calls.iter().map(|call| workspace.call_whole(self, options, call.procedure, call.arguments)).collect(),
        };
        lanes.width.learn(width, calls.len(), clock.now() - begun);
        workspace.lanes = lanes;
        self.keep_workspace(workspace);
        ended
    }
}

/// Runs calls on as many lanes as there are sessions.
fn interleaved(
    sessions: &mut [Session],
    options: TransactionOptions,
    calls: &[Call<'_>],
) -> Vec<Result<(Output, Receipt), Error>> {
    let next = Cell::new(0);
    let ended = RefCell::new(calls.iter().map(|_| None).collect::<Vec<_>>());
    let lane = async |session: &mut Session| {
        let mut workspace = session.take_workspace::<Workspace>();
        while let Some(Call { procedure, arguments }) = calls.get(next.replace(next.get() + 1)) {
            let at = next.get() - 1;
            let result = one(&mut workspace, session, options, procedure, arguments).await;
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
    let ended = ended.into_inner().into_iter().map(|ended| ended.expect("each call has ended"));
    // Only now: nobody waits for a device while others could go on.
    ended.map(|ended| ended.and_then(told).flatten()).collect()
}

/// Runs one call, again after conflicts: others go on instead of a pause.
async fn one(
    workspace: &mut Workspace,
    session: &mut Session,
    options: TransactionOptions,
    procedure: &str,
    arguments: &[Argument<'_>],
) -> Result<(Result<Output, Error>, Receipt), Error> {
    let attempts = session.config().conflict_retries_max.saturating_add(1);
    for number in 0..attempts {
        for _ in 0..number.min(64) {
            stop().await;
        }
        match workspace.attempt::<true>(session.begin_with(options), procedure, arguments).await {
            Err(error) if error.is_conflict() => {}
            ended => return ended,
        }
    }
    Err(TransactionError::RetriesExhausted { attempts }.into())
}
