//! Looks at the server and its database once a second, and keeps what it has seen for whoever asks.
//!
//! Invariant: answers are copies of what was made here: a question costs the database nothing, however many there are.

use std::io;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use osier::recovery::Progress;
use osier::{Database, Metrics, Status};
use osier_bench::engine::recovery_figures;
use osier_bench::progress::phase_name;
use osier_bench::report::RecoveryFigures;

use super::figures;
use super::history::{History, Totals};
use super::prometheus;
use super::request::Response;
use crate::serve::server::Server;

/// How often the database is looked at.
const INTERVAL: Duration = Duration::from_secs(1);

/// What a server is doing, in a word.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Doing {
    /// It opens the database.
    Opening,
    /// It serves.
    Serving,
    /// Its log has failed: nothing can be written any more.
    Failed,
    /// It ends.
    Ending,
}

impl Doing {
    /// Returns the word.
    pub fn word(self) -> &'static str {
        match self {
            Doing::Opening => "opening",
            Doing::Serving => "serving",
            Doing::Failed => "failed",
            Doing::Ending => "ending",
        }
    }
}

/// What is known of the database.
pub struct Known {
    /// What it counts.
    pub metrics: Metrics,
    /// What its files are for, and what it does; `None` where they cannot be listed.
    pub status: Option<Status>,
    /// What it was recovered from, if it was.
    pub recovery: Option<RecoveryFigures>,
    /// Why its log failed, if it did.
    pub failure: Option<String>,
}

impl Known {
    fn of(db: &Database) -> Known {
        Known {
            metrics: db.metrics(),
            status: db.status().ok(),
            recovery: db.recovery().map(recovery_figures),
            failure: db.failure().map(|failure| failure.to_string()),
        }
    }
}

/// What was seen last, as it is sent.
#[derive(Default)]
struct Seen {
    figures: String,
    prometheus: String,
}

/// What looks.
pub struct Sampler {
    server: Arc<Server>,
    seen: Mutex<Seen>,
}

impl Sampler {
    /// Begins to look, on a thread of its own that lasts as long as the process.
    ///
    /// # Errors
    /// Of the operating system.
    pub fn start(server: &Arc<Server>) -> io::Result<Arc<Sampler>> {
        let sampler = Arc::new(Sampler { server: server.clone(), seen: Mutex::default() });
        let looking = sampler.clone();
        let begun = Instant::now();
        let (mut history, mut before) = (History::default(), Totals::default());
        looking.look(begun, &mut history, &mut before);
        let work = move || {
            loop {
                std::thread::sleep(INTERVAL);
                looking.look(begun, &mut history, &mut before);
            }
        };
        std::thread::Builder::new().name("status sampler".to_owned()).spawn(work)?;
        Ok(sampler)
    }

    fn look(&self, begun: Instant, history: &mut History, before: &mut Totals) {
        let server = &self.server;
        let known = server.sql.get().map(|sql| Known::of(sql.database()));
        let totals = totals(server, known.as_ref(), begun.elapsed());
        if known.is_some() {
            // The first point is of a second that was served.
            if before.at > 0.0 {
                history.add(before, &totals, server.registry.taken());
            }
            *before = totals.clone();
        }
        let seen = Seen {
            figures: figures::of(server, self.doing(), known.as_ref(), &totals, history),
            prometheus: prometheus::of(server, self.doing(), known.as_ref(), &totals),
        };
        *self.seen.lock().unwrap_or_else(PoisonError::into_inner) = seen;
    }

    /// What the server is doing now.
    fn doing(&self) -> Doing {
        match self.server.sql.get() {
            _ if self.server.is_ending() => Doing::Ending,
            None => Doing::Opening,
            Some(sql) if sql.database().failure().is_some() => Doing::Failed,
            Some(_) => Doing::Serving,
        }
    }

    fn failure(&self) -> Option<String> {
        Some(self.server.sql.get()?.database().failure()?.to_string())
    }

    /// Answers whether the process can serve, or will be able to without help.
    pub fn health(&self) -> Response {
        match self.failure() {
            Some(failure) => Response::text(503, &format!("the log has failed: {failure}")),
            None => Response::text(200, self.doing().word()),
        }
    }

    /// Answers whether clients can connect.
    pub fn ready(&self) -> Response {
        match self.doing() {
            Doing::Serving => Response::text(200, "ready"),
            Doing::Failed => self.health(),
            Doing::Ending => Response::text(503, "ending"),
            Doing::Opening => match self.server.recovering() {
                None => Response::text(503, "opening"),
                Some(Progress { phase, done, total, .. }) => {
                    Response::text(503, &format!("opening: {}, {done} of {total}", phase_name(phase)))
                }
            },
        }
    }

    /// Returns what `/metrics` shows.
    pub fn prometheus(&self) -> String {
        self.seen.lock().unwrap_or_else(PoisonError::into_inner).prometheus.clone()
    }

    /// Returns what the page draws, as JSON.
    pub fn figures(&self) -> String {
        self.seen.lock().unwrap_or_else(PoisonError::into_inner).figures.clone()
    }
}

fn totals(server: &Server, known: Option<&Known>, since: Duration) -> Totals {
    let (at, counted) = (since.as_secs_f64(), server.statistics.counted());
    let errors = server.statistics.errors().values().sum();
    let Some(Known { metrics, .. }) = known else {
        return Totals { at, counted, errors, ..Totals::default() };
    };
    let log = metrics.log.total();
    let (committed, conflicts) = (metrics.committed, metrics.conflicts);
    Totals { at, committed, conflicts, errors, log_bytes: log.bytes, syncs: log.syncs, counted }
}
