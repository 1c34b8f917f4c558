//! The threads on which connections live.
//!
//! Invariants:
//! - A connection stays on its thread: its session is never moved. A new one goes to the thread that has the fewest.
//! - What goes wrong in one connection ends that one alone: a panic ends its task, and its session rolls back as it goes.

use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use osier::task::STACK_BYTES;
use tokio::sync::mpsc;
use tokio::task::LocalSet;

use super::connection;
use super::doorman::Arrival;
use super::server::Server;
use super::statistics::Slot;

struct Worker {
    arrivals: mpsc::UnboundedSender<(Arrival, Load)>,
    connections: Arc<AtomicUsize>,
}

/// Counts a connection of a thread while it lasts.
struct Load(Arc<AtomicUsize>);

impl Load {
    fn new(connections: &Arc<AtomicUsize>) -> Load {
        connections.fetch_add(1, Ordering::Relaxed);
        Load(connections.clone())
    }
}

impl Drop for Load {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::Relaxed);
    }
}

/// The threads.
pub struct Workers(Vec<Worker>);

impl Workers {
    /// Starts so many threads.
    ///
    /// # Errors
    /// Of the operating system.
    pub fn start(count: usize, server: &Arc<Server>) -> io::Result<Workers> {
        let start = |number: usize| {
            let (arrivals, coming) = mpsc::unbounded_channel();
            let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
            let (server, slot) = (server.clone(), server.statistics.begin());
            let work = move || runtime.block_on(LocalSet::new().run_until(deal(server, slot, coming)));
            std::thread::Builder::new().name(format!("worker {number}")).stack_size(STACK_BYTES).spawn(work)?;
            Ok(Worker { arrivals, connections: Arc::default() })
        };
        Ok(Workers((0..count.max(1)).map(start).collect::<io::Result<_>>()?))
    }

    /// Gives a connection to the thread that has the fewest.
    pub fn take(&self, arrival: Arrival) {
        let least = self.0.iter().min_by_key(|worker| worker.connections.load(Ordering::Relaxed));
        let Some(worker) = least else { return };
        // A thread that has ended takes nothing; the connection is closed then.
        drop(worker.arrivals.send((arrival, Load::new(&worker.connections))));
    }
}

async fn deal(server: Arc<Server>, slot: Arc<Slot>, mut coming: mpsc::UnboundedReceiver<(Arrival, Load)>) {
    while let Some((arrival, load)) = coming.recv().await {
        let (server, slot) = (server.clone(), slot.clone());
        tokio::task::spawn_local(async move {
            connection::serve(server, slot, arrival).await;
            drop(load);
        });
    }
}
