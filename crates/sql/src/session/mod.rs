//! What a client does: it prepares statements, runs them in transactions, and ends these.
//!
//! This is all that the server knows of SQL.

mod advisory;
mod alone;
mod analyze;
mod authority;
mod cache;
mod call;
mod cancel;
mod chance;
mod copy;
mod cursor;
mod deferred;
mod environment;
mod explain;
mod materialized;
mod notify;
mod open;
mod prepared;
mod run;
mod setting;
mod signal;
mod statement;
mod temporary;
mod transaction;

use std::cell::RefCell;
use std::collections::HashMap;
use std::sync::{Arc, Mutex};

use osier::{Receipt, Savepoint};
use sqlparser::ast;

use crate::backends::Backend;
use crate::catalog::objects::Objects;
use crate::datum::Datum;
use crate::error::{Result, SqlError, SqlState};
use crate::settings::Settings;
use crate::sql::Sql;
use crate::types::{Declared, Type};
pub(crate) use cache::Cache;
use environment::Values;
pub(crate) use environment::{DATABASE, now_us};
use open::OpenTransaction;
use statement::Planned;

/// What a client's connection is in the middle of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Status {
    /// No transaction is open.
    Idle,
    /// A transaction block is open.
    Open,
    /// A transaction block is open in which a statement failed: it can only be rolled back.
    Failed,
}

/// A column of a result.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Column {
    /// Its name.
    pub name: String,
    /// Its type.
    pub declared: Declared,
    /// The number of the table that it is a column of, as `pg_class` has it, and its number there; zeros where it is none.
    pub origin: (u32, i16),
}

/// What a statement is to its client.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// No statement at all.
    Empty,
    /// It may begin, end or change a transaction block.
    Transaction,
    /// Anything else.
    Other,
}

/// A statement that was parsed, bound and planned.
#[derive(Debug)]
pub struct Prepared {
    kind: Kind,
    parameters: Vec<Type>,
    columns: Option<Vec<Column>>,
    parsed: Parsed,
    /// The types of parameters that the client said.
    types: Vec<Option<Type>>,
    planned: Mutex<Arc<Planned>>,
}

impl Prepared {
    /// Returns what the statement is.
    pub fn kind(&self) -> Kind {
        self.kind
    }

    /// Returns its text, as the parser understood it.
    pub fn text(&self) -> String {
        self.parsed.text()
    }

    /// Returns the types of its parameters, the first one being `$1`.
    pub fn parameters(&self) -> &[Type] {
        &self.parameters
    }

    /// Returns the columns of its result; `None` where it returns no rows.
    pub fn columns(&self) -> Option<&[Column]> {
        self.columns.as_deref()
    }

    /// Whether its rows are sent in the binary format, also where the client does not ask for that.
    pub fn is_binary(&self) -> bool {
        self.known().is_binary
    }
}

/// Where the result of a statement goes.
pub trait Output {
    /// Takes a row.
    ///
    /// # Errors
    /// Where it cannot be taken: the statement ends.
    fn row(&mut self, row: &[Datum]) -> Result<()>;

    /// Says that `COPY ... TO STDOUT` begins: once before the first piece, and again after a restart.
    ///
    /// # Errors
    /// As those of [`Output::row`].
    fn copy_begin(&mut self, shape: CopyShape) -> Result<()>;

    /// Takes a piece of what `COPY ... TO STDOUT` writes.
    ///
    /// # Errors
    /// As those of [`Output::row`].
    fn copy_data(&mut self, bytes: &[u8]) -> Result<()>;

    /// Begins anew, because the transaction ran into a conflict and is run again. Returns whether it can: what was shown to the
    /// client cannot be taken back.
    fn restart(&mut self) -> bool;
}

/// How a statement takes part in transactions.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Mode {
    /// Outside of a block it is a transaction by itself, run again after conflicts.
    Alone,
    /// Outside of a block it is a part of the implicit transaction, which it begins if it is not there.
    /// [`Session::end_implicit`] ends it.
    Implicit,
}

/// How the columns of `COPY` look.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CopyShape {
    /// How many there are.
    pub columns: u16,
    /// Whether they are in the binary format.
    pub is_binary: bool,
}

/// What a statement has done.
#[derive(Debug)]
pub struct Done {
    /// The command tag, as `INSERT 0 1`.
    pub tag: String,
    /// Of the transaction that it ended. The client is told of the end when the receipt is acknowledged.
    pub receipt: Option<Receipt>,
    /// It waits for the data of the client: [`Session::copy_data`].
    pub copy_in: Option<CopyShape>,
    /// It has written data through [`Output::copy_data`].
    pub copy_out: Option<CopyShape>,
}

pub use cancel::Canceller;

/// A statement that was parsed and not yet bound; `None` where the text had none.
#[derive(Clone, Debug)]
pub struct Parsed(Option<Arc<ast::Statement>>);

impl Parsed {
    pub(crate) fn text(&self) -> String {
        self.0.as_deref().map_or_else(String::new, crate::parse::own::text)
    }
}

/// A client's connection to a database.
///
/// What is open is rolled back before the advisory locks are given back: fields are dropped in this order.
pub struct Session {
    state: State,
    core: Core,
}

/// All of a session but the transaction that it has open.
struct Core {
    sql: Arc<Sql>,
    cache: cache::Shared,
    user: String,
    backend_pid: i32,
    /// As other sessions see it.
    backend: Option<Arc<Backend>>,
    settings: Arc<Settings>,
    /// The settings without those of `SET LOCAL`.
    lasting: Arc<Settings>,
    /// The settings when the transaction began, which are back when it is rolled back.
    before: Arc<Settings>,
    canceller: Canceller,
    notices: Vec<SqlError>,
    /// What functions have warned of in the running statement.
    warnings: RefCell<Vec<SqlError>>,
    advisory: osier::advisory::Advisory,
    /// The settings as the client knows them.
    told: Arc<Settings>,
    /// What `PREPARE` has prepared.
    prepared: HashMap<String, prepared::Named>,
    /// What `DECLARE` has declared.
    cursors: HashMap<String, cursor::Cursor>,
    /// How many savepoints the block has in which a statement runs.
    depth: usize,
    /// Whether the block that was begun last may not write.
    began_read_only: bool,
    /// What random numbers come from.
    chance: RefCell<chance::Chance>,
    /// What sequences gave to this session.
    values: Values,
    /// Settings that a statement has changed by `set_config`, with their values, and whether for the transaction alone. They
    /// count when it is over.
    configured: RefCell<Vec<(String, String, bool)>>,
    /// Of what a statement has seen that failed: the error may be told when that is durable.
    observed: Option<Receipt>,
    transaction_start_us: i64,
    copy: Option<copy::CopyIn>,
    /// What waits for the end of the transaction.
    deferred: deferred::Deferred,
    /// What it listens to, and what the transaction sends.
    notifying: notify::Notifying,
    /// What there is beside tables, while a statement runs that needs rights.
    objects: Option<Arc<Objects>>,
    /// The number of changes of these after which was looked whether the user may do everything.
    changes: u64,
    /// Whether that has to be looked at again.
    is_stale: bool,
    /// Whether the transaction defines something.
    defines: bool,
    /// Whether it is something that other sessions may notice.
    defines_for_all: bool,
}

/// What is open.
enum State {
    Idle(Box<osier::Session>),
    Open(Block),
    /// A client's block in which a statement failed, and which is rolled back already: it holds nobody up.
    Failed(Box<osier::Session>),
    /// While one state becomes another one.
    Between,
}

/// An open transaction.
struct Block {
    transaction: OpenTransaction,
    /// Whether a client has begun it, and not a statement.
    is_explicit: bool,
    has_failed: bool,
    /// Whether a statement has run in it.
    has_begun: bool,
    savepoints: Vec<NamedSavepoint>,
}

/// What `ROLLBACK TO SAVEPOINT` goes back to.
struct NamedSavepoint {
    name: String,
    savepoint: Savepoint,
    waiting: deferred::Mark,
    /// How many advisory locks the transaction had taken.
    advisory: usize,
    notifying: notify::Mark,
    /// Those in force, and those that last.
    settings: [Arc<Settings>; 2],
}

impl Session {
    /// Begins a session of the role `user`.
    ///
    /// # Errors
    /// Where there is no such role, or it may not log in; too many sessions.
    pub fn new(sql: &Arc<Sql>, user: &str) -> Result<Session> {
        let unknown = || SqlError::new(SqlState::InvalidAuthorization, format!("role \"{user}\" does not exist"));
        let role = sql.role(user)?.ok_or_else(unknown)?;
        if !role.can_login {
            let message = format!("role \"{user}\" is not permitted to log in");
            return Err(SqlError::new(SqlState::InvalidAuthorization, message));
        }
        let session = sql.database().session()?;
        let mut settings = Settings::default();
        settings.set_user(user, role.is_superuser);
        let settings = Arc::new(settings);
        let core = Core {
            sql: sql.clone(),
            cache: sql.new_cache(),
            user: user.to_owned(),
            backend_pid: 0,
            backend: None,
            lasting: settings.clone(),
            before: settings.clone(),
            told: settings.clone(),
            settings,
            canceller: Canceller::default(),
            notices: Vec::new(),
            warnings: RefCell::default(),
            advisory: session.advisory(),
            prepared: HashMap::new(),
            cursors: HashMap::new(),
            depth: 0,
            began_read_only: false,
            chance: RefCell::new(chance::Chance::new(fastrand::u64(..))),
            values: Values::default(),
            configured: RefCell::default(),
            observed: None,
            transaction_start_us: 0,
            copy: None,
            deferred: deferred::Deferred::default(),
            notifying: notify::Notifying::default(),
            objects: None,
            changes: sql.changes(),
            is_stale: true,
            defines: false,
            defines_for_all: false,
        };
        Ok(Session { core, state: State::Idle(Box::new(session)) })
    }

    /// Says by which number the client knows the session.
    pub fn set_backend_pid(&mut self, pid: i32) {
        self.core.backend_pid = pid;
        self.core.advisory.set_holder(pid);
    }

    /// Lists the session under its number for other ones, which `end` it by `pg_terminate_backend`: it tells the server, which
    /// drops the session soon.
    pub fn register(&mut self, end: impl Fn() + Send + Sync + 'static) {
        let Core { sql, backend_pid, settings, canceller, .. } = &self.core;
        let backend = Arc::new(Backend::new(*backend_pid, settings.clone(), canceller.clone(), end));
        sql.backends().add(backend.clone());
        self.core.backend = Some(backend);
    }

    /// Notes for other sessions that it runs the statements of a text.
    pub fn runs_text(&self, text: &str) {
        self.core.backend.iter().for_each(|backend| backend.runs_text(text));
    }

    /// Notes for other sessions that it runs a statement.
    pub fn runs(&self, prepared: &Prepared) {
        self.core.backend.iter().for_each(|backend| backend.runs(&prepared.parsed));
    }

    /// Notes for other sessions that it waits for its client.
    pub fn rests(&self) {
        self.core.backend.iter().for_each(|backend| backend.rests(self.status(), &self.core.settings));
    }

    /// Returns what ends its statements.
    pub fn canceller(&self) -> Canceller {
        self.core.canceller.clone()
    }

    /// Returns what it is in the middle of.
    pub fn status(&self) -> Status {
        match &self.state {
            State::Failed(_) => Status::Failed,
            State::Open(block) if block.has_failed => Status::Failed,
            State::Open(block) if block.is_explicit => Status::Open,
            _ => Status::Idle,
        }
    }

    /// Returns the settings.
    pub fn settings(&self) -> &Arc<Settings> {
        &self.core.settings
    }

    /// Changes a setting, as `SET` does and the options with which a client connects.
    ///
    /// # Errors
    /// An unknown setting, or a value that it does not take.
    pub fn set(&mut self, name: &str, value: &str) -> Result<()> {
        Arc::make_mut(&mut self.core.settings).set(name, Some(value))?;
        self.core.lasting = self.core.settings.clone();
        Ok(())
    }

    /// Returns the settings that clients are told of and that have changed since it was asked, with their values.
    pub fn take_reports(&mut self) -> Vec<(&'static str, String)> {
        let Core { settings, told, .. } = &mut self.core;
        if Arc::ptr_eq(settings, told) {
            return Vec::new();
        }
        let before = std::mem::replace(told, settings.clone());
        let changed = settings.reported().zip(before.reported()).filter(|(now, before)| now != before);
        changed.map(|(now, _)| now).collect()
    }

    /// Returns the notices and warnings of the statements that were run since it was asked.
    pub fn take_notices(&mut self) -> Vec<SqlError> {
        std::mem::take(&mut self.core.notices)
    }

    /// Returns the receipt of what a statement had seen that failed. The client is told of the failure when it is acknowledged:
    /// else an error could tell of what a crash undoes.
    pub fn take_observed(&mut self) -> Option<Receipt> {
        self.core.observed.take()
    }

    /// Splits a text into its statements and prepares none of them.
    ///
    /// # Errors
    /// Of syntax.
    pub fn split(&self, text: &str) -> Result<Vec<Parsed>> {
        let statements = crate::parse::of_client(text)?;
        Ok(statements.into_iter().map(|statement| Parsed(Some(Arc::new(statement)))).collect())
    }

    /// Prepares a statement of [`Session::split`].
    ///
    /// # Errors
    /// Of names and types.
    pub fn prepare_parsed(&mut self, parsed: &Parsed) -> Result<Arc<Prepared>> {
        self.prepare_as(parsed, &[])
    }

    fn prepare_as(&mut self, parsed: &Parsed, types: &[Option<Type>]) -> Result<Arc<Prepared>> {
        let core = &self.core;
        let prepared = match &mut self.state {
            State::Idle(session) | State::Failed(session) => {
                let options = osier::TransactionOptions { read_only: true, ..Default::default() };
                let transaction = session.begin_with(options);
                core.prepare(&transaction, parsed, types)?
            }
            State::Open(block) => {
                if block.has_failed && !statement::ends_block(parsed) {
                    return Err(run::has_failed());
                }
                block.transaction.with(|transaction| core.prepare(transaction, parsed, types))?
            }
            State::Between => return Err(gone()),
        };
        Ok(Arc::new(prepared))
    }
}

/// What a session says that lost its transaction in a panic.
fn gone() -> SqlError {
    SqlError::new(SqlState::InternalError, "the session ended in the middle of a statement").with_hint("Connect again.")
}
