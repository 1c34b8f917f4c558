//! Several calls on one thread, which take turns while the memory of their rows is on its way (CoroBase).
//!
//! A call of a declared procedure is a future that stops wherever it has asked for a line of memory. Each *lane* is a session of its own
//! that runs one call after the other; the thread goes through the lanes in turn.
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
use std::task::{Context, Poll, Waker};
use std::time::Duration;

use super::compiled::Workspace;
use super::output::Output;
use crate::error::{Error, TransactionError};
use crate::log::acknowledge::Receipt;
use crate::table::Argument;
use crate::transaction::{Session, TransactionOptions};

/// The numbers of lanes that are tried.
const WIDTHS: [usize; 5] = [1, 4, 8, 12, 16];
/// Fewer calls tell nothing about a number of lanes.
const CALLS_MIN: usize = 32;
/// Of so many batches one tries another number of lanes than the best.
const TRIALS_ONE_IN: u32 = 16;

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
        let ended = match lanes.sessions.get_mut(..width) {
            Some(sessions) if width > 1 => interleaved(sessions, options, calls),
            _ => calls.iter().map(|call| workspace.call_whole(self, options, call.procedure, call.arguments)).collect(),
        };
        lanes.width.learn(width, calls.len(), clock.now() - begun);
        workspace.lanes = lanes;
        self.keep_workspace(workspace);
        ended
    }
}

/// What a session keeps for batches.
#[derive(Default)]
pub(super) struct Lanes {
    sessions: Vec<Session>,
    width: Width,
}

/// Runs calls on as many lanes as there are sessions.
fn interleaved(
    sessions: &mut [Session],
    options: TransactionOptions,
    calls: &[Call<'_>],
) -> Vec<Result<(Output, Receipt), Error>> {
    let next = Cell::new(0);
    let ended: RefCell<Vec<Option<Result<(Output, Receipt), Error>>>> =
        RefCell::new(calls.iter().map(|_| None).collect());
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
    ended.into_inner().into_iter().map(|ended| ended.expect("each call has ended")).collect()
}

/// Runs one call, again after conflicts: others go on instead of a pause.
async fn one(
    workspace: &mut Workspace,
    session: &mut Session,
    options: TransactionOptions,
    procedure: &str,
    arguments: &[Argument<'_>],
) -> Result<(Output, Receipt), Error> {
    let attempts = session.config().conflict_retries_max.saturating_add(1);
    for number in 0..attempts {
        for _ in 0..number.min(64) {
            stop().await;
        }
        match workspace.attempt::<true>(session.begin_with(options), procedure, arguments).await {
            Ok(result) => return result,
            Err(error) if error.is_conflict() => {}
            Err(error) => return Err(error),
        }
    }
    Err(TransactionError::RetriesExhausted { attempts }.into())
}

/// How many lanes are best, as far as batches have shown.
#[derive(Default)]
struct Width {
    /// The time of a call for each of [`WIDTHS`], smoothed; zero where it was not tried.
    call_ns: [u64; WIDTHS.len()],
    batches: u32,
}

impl Width {
    /// Returns the number of lanes of the next batch.
    fn next(&mut self) -> usize {
        self.batches = self.batches.wrapping_add(1);
        if let Some(untried) = self.call_ns.iter().position(|ns| *ns == 0) {
            return WIDTHS[untried];
        }
        let best = (0..WIDTHS.len()).min_by_key(|at| self.call_ns[*at]).expect("there is a number of lanes");
        if self.batches.is_multiple_of(TRIALS_ONE_IN) {
            let step = if (self.batches / TRIALS_ONE_IN).is_multiple_of(2) { 1 } else { WIDTHS.len() - 1 };
            return WIDTHS[(best + step) % WIDTHS.len()];
        }
        WIDTHS[best]
    }

    /// So many calls on so many lanes took so long.
    fn learn(&mut self, width: usize, calls: usize, took: Duration) {
        let Some(at) = WIDTHS.iter().position(|of| *of == width).filter(|_| calls >= CALLS_MIN) else { return };
        let ns = u64::try_from(took.as_nanos()).unwrap_or(u64::MAX) / calls as u64;
        let before = &mut self.call_ns[at];
        *before = if *before == 0 { ns.max(1) } else { (*before * 7 + ns).div_ceil(8) };
    }
}

/// Lets other calls of the thread go on, once.
pub(super) fn stop() -> Stop {
    Stop { has_stopped: false }
}

pub(super) struct Stop {
    has_stopped: bool,
}

impl Future for Stop {
    type Output = ();

    #[inline]
    fn poll(mut self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<()> {
        match std::mem::replace(&mut self.has_stopped, true) {
            true => Poll::Ready(()),
            false => Poll::Pending,
        }
    }
}

/// Runs a future that stops nowhere.
#[inline]
pub(super) fn whole<T>(future: impl Future<Output = T>) -> T {
    match std::pin::pin!(future).poll(&mut Context::from_waker(Waker::noop())) {
        Poll::Ready(value) => value,
        Poll::Pending => unreachable!("a call that is not interleaved stops nowhere"),
    }
}
