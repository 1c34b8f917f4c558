//! What a connection watches while it waits for its client: how long the client is silent, and whether the server ends.
//!
//! Invariant: both are watched by what is kept from one wait to the next. To register it anew would take longer than a short
//! statement does.

use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use tokio::sync::Notify;
use tokio::time::{Instant, Sleep};

use super::server::Server;

/// Says that a connection is to end, though the server goes on.
#[derive(Default)]
pub struct Termination {
    is_due: AtomicBool,
    told: Notify,
}

impl Termination {
    /// Has the connection end, when it has ended the statement that it runs.
    pub fn demand(&self) {
        self.is_due.store(true, Ordering::Release);
        self.told.notify_one();
    }

    /// Waits until it is to end.
    pub async fn demanded(&self) {
        if !self.is_due() {
            self.told.notified().await;
        }
    }

    /// Whether it is to end.
    pub fn is_due(&self) -> bool {
        self.is_due.load(Ordering::Acquire)
    }
}

/// Why a connection waits no longer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Interruption {
    /// The server ends, or the connection is to.
    Ending,
    /// The client was silent for too long.
    Silence,
}

/// What is watched.
pub struct Watch {
    /// Over when the server ends, or the connection is to.
    ending: Pin<Box<dyn Future<Output = ()>>>,
    /// Rings at the end of the silence, or before it: who asks again sets it anew only when it has rung.
    timer: Pin<Box<Sleep>>,
}

impl Watch {
    /// Begins to watch.
    pub fn new(server: &Arc<Server>, termination: &Arc<Termination>) -> Watch {
        let (server, termination) = (server.clone(), termination.clone());
        let ending = Box::pin(async move {
            tokio::select! {
                () = server.until_ending() => {}
                () = termination.demanded() => {}
            }
        });
        Watch { ending, timer: Box::pin(tokio::time::sleep(Duration::ZERO)) }
    }

    /// Waits for what interrupts a wait that begins now and may last so long. When the server has ended it is not called again.
    pub async fn interruption(&mut self, silence_max: Option<Duration>) -> Interruption {
        let Watch { ending, timer } = self;
        tokio::select! {
            biased;
            () = ending.as_mut() => Interruption::Ending,
            () = silence(timer, silence_max) => Interruption::Silence,
        }
    }
}

async fn silence(timer: &mut Pin<Box<Sleep>>, limit: Option<Duration>) {
    let Some(limit) = limit else { return std::future::pending().await };
    let end = Instant::now() + limit;
    loop {
        if timer.is_elapsed() || timer.deadline() > end {
            timer.as_mut().reset(end);
        }
        timer.as_mut().await;
        if Instant::now() >= end {
            return;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SECOND: Duration = Duration::from_secs(1);

    #[tokio::test(start_paused = true)]
    async fn a_silence_ends_when_it_should_whatever_was_waited_for_before() {
        let mut timer = Box::pin(tokio::time::sleep(Duration::ZERO));
        for (limit, waited) in [(3, 1), (3, 1), (5, 4), (2, 1), (9, 8)] {
            let waiting = tokio::time::timeout(waited * SECOND, silence(&mut timer, Some(limit * SECOND)));
            assert!(waiting.await.is_err(), "{limit}: it is not over");
        }
        for limit in [4, 1, 10] {
            let begun = Instant::now();
            silence(&mut timer, Some(limit * SECOND)).await;
            assert_eq!(begun.elapsed().as_secs(), u64::from(limit), "{limit}");
        }
    }
}
