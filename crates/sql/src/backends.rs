//! The sessions of clients, as other ones see them: who they are, what they do, and how they are ended.
//!
//! Invariant: a session is listed from when its server has registered it until it is dropped.

use std::collections::BTreeMap;
use std::fmt;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use crate::session::{Canceller, Parsed, Status, now_us};
use crate::settings::Settings;

/// How many bytes of a text are kept, as PostgreSQL does by its `track_activity_query_size`.
const TEXT_BYTES_MAX: usize = 1023;

/// The sessions that a database has.
#[derive(Debug, Default)]
pub(crate) struct Backends(Mutex<BTreeMap<i32, Arc<Backend>>>);

impl Backends {
    fn all(&self) -> MutexGuard<'_, BTreeMap<i32, Arc<Backend>>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The session with a number.
    pub(crate) fn find(&self, pid: i32) -> Option<Arc<Backend>> {
        self.all().get(&pid).cloned()
    }

    /// All sessions, by their numbers.
    pub(crate) fn list(&self) -> Vec<Arc<Backend>> {
        self.all().values().cloned().collect()
    }

    pub(crate) fn add(&self, backend: Arc<Backend>) {
        self.all().insert(backend.pid, backend);
    }

    pub(crate) fn remove(&self, backend: &Arc<Backend>) {
        let mut all = self.all();
        if all.get(&backend.pid).is_some_and(|known| Arc::ptr_eq(known, backend)) {
            all.remove(&backend.pid);
        }
    }
}

/// A session of a client.
pub(crate) struct Backend {
    pub(crate) pid: i32,
    /// The role that has connected.
    pub(crate) user: String,
    pub(crate) started_us: i64,
    canceller: Canceller,
    /// Has the server end the connection.
    end: Box<dyn Fn() + Send + Sync>,
    activity: Mutex<Activity>,
}

impl fmt::Debug for Backend {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Backend").field("pid", &self.pid).field("user", &self.user).finish_non_exhaustive()
    }
}

/// What a session does, or did last.
#[derive(Clone)]
pub(crate) struct Activity {
    pub(crate) settings: Arc<Settings>,
    /// `None` while it runs a statement.
    pub(crate) resting: Option<Status>,
    statement: Statement,
    pub(crate) statement_us: Option<i64>,
    pub(crate) transaction_us: Option<i64>,
    pub(crate) changed_us: i64,
}

#[derive(Clone)]
enum Statement {
    Text(String),
    Parsed(Parsed),
}

impl Activity {
    /// The text of the statement, cut off where it is long.
    pub(crate) fn text(&self) -> String {
        match &self.statement {
            Statement::Text(text) => text.clone(),
            Statement::Parsed(parsed) => beginning(&parsed.text()).to_owned(),
        }
    }

    /// A statement begins, and a transaction, where none is open.
    fn begin(&mut self) {
        let now = now_us();
        self.resting = None;
        self.statement_us = Some(now);
        self.transaction_us = self.transaction_us.or(Some(now));
        self.changed_us = now;
    }
}

fn beginning(text: &str) -> &str {
    &text[..text.floor_char_boundary(TEXT_BYTES_MAX)]
}

impl Backend {
    pub(crate) fn new(
        pid: i32,
        settings: Arc<Settings>,
        canceller: Canceller,
        end: impl Fn() + Send + Sync + 'static,
    ) -> Backend {
        let (user, started_us) = (settings.session_user().to_owned(), now_us());
        let activity = Activity {
            settings,
            resting: Some(Status::Idle),
            statement: Statement::Text(String::new()),
            statement_us: None,
            transaction_us: None,
            changed_us: started_us,
        };
        Backend { pid, user, started_us, canceller, end: Box::new(end), activity: Mutex::new(activity) }
    }

    fn doing(&self) -> MutexGuard<'_, Activity> {
        self.activity.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(crate) fn activity(&self) -> Activity {
        self.doing().clone()
    }

    /// It runs the statements of a text.
    pub(crate) fn runs_text(&self, text: &str) {
        let mut activity = self.doing();
        activity.begin();
        match &mut activity.statement {
            Statement::Text(known) => {
                known.clear();
                known.push_str(beginning(text));
            }
            other => *other = Statement::Text(beginning(text).to_owned()),
        }
    }

    /// It runs a statement that was prepared.
    pub(crate) fn runs(&self, parsed: &Parsed) {
        let mut activity = self.doing();
        activity.begin();
        activity.statement = Statement::Parsed(parsed.clone());
    }

    /// It waits for its client.
    pub(crate) fn rests(&self, status: Status, settings: &Arc<Settings>) {
        let mut activity = self.doing();
        activity.resting = Some(status);
        activity.changed_us = now_us();
        if status == Status::Idle {
            activity.transaction_us = None;
        }
        if !Arc::ptr_eq(&activity.settings, settings) {
            activity.settings = settings.clone();
        }
    }

    /// Ends the statement that it runs.
    pub(crate) fn cancel(&self) {
        self.canceller.cancel();
    }

    /// Ends the session.
    pub(crate) fn terminate(&self) {
        (self.end)();
        self.canceller.cancel();
    }
}
