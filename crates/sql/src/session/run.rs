//! Running statements: alone, in an implicit transaction, or in a block.
//!
//! Invariants:
//! - A statement alone is run again after a conflict, as long as nothing of its result was shown.
//! - A statement that fails in a block makes it fail: nothing of it is committed. Where no savepoint can bring it back it is
//!   rolled back at once, so that nobody waits for it.
//! - An error that tells of rows is told when what was seen is durable: `observed` holds the receipt.

use std::sync::Arc;

use osier::{Durability, Error, Receipt, Transaction, TransactionOptions};
use sqlparser::ast;

use super::environment::{Environment, now_us};
use super::open::OpenTransaction;
use super::statement::Task;
use super::{Block, Core, Done, Mode, NamedSavepoint, Output, Parsed, Prepared, Session, State, gone};
use crate::catalog::name::Name;
use crate::catalog::system::Seen;
use crate::datum::Datum;
use crate::ddl;
use crate::error::{Result, SqlError, SqlState};
use crate::plan::{Change, Plan, Query};
use crate::run::context::Limits;
use crate::run::{Context, foreign, open, set, write};

/// How often a statement alone is run again after conflicts.
pub(super) const ATTEMPTS_MAX: u32 = 100;

impl Done {
    pub(super) fn tagged(tag: impl Into<String>) -> Done {
        Done { tag: tag.into(), receipt: None, copy_in: None, copy_out: None }
    }
}

impl Session {
    /// Runs a statement.
    ///
    /// # Errors
    /// What the statement fails with. An open block has failed then.
    pub fn run(
        &mut self,
        prepared: &Arc<Prepared>,
        parameters: &[Datum],
        mode: Mode,
        output: &mut dyn Output,
    ) -> Result<Done> {
        self.core.canceller.begin(&self.core.settings);
        self.core.advisory.begin_attempt();
        if parameters.len() != prepared.parameters.len() {
            let (given, needed) = (parameters.len(), prepared.parameters.len());
            if given == 0 {
                let message = "there is no parameter $1";
                return Err(SqlError::new(SqlState::UndefinedParameter, message)
                    .with_hint("Send the statement by the extended protocol, with a value for each parameter."));
            }
            let message = format!("bind message supplies {given} parameters, but the statement requires {needed}");
            return Err(SqlError::new(SqlState::ProtocolViolation, message));
        }
        let result = match self.control(prepared) {
            Some(controlled) => controlled,
            None => self.run_statement(prepared, parameters, mode, output),
        };
        self.core.notices.append(self.core.warnings.get_mut());
        result.map_err(|error| {
            let error = self.fail(error);
            self.core.canceller.explain(error)
        })
    }

    fn run_statement(
        &mut self,
        prepared: &Arc<Prepared>,
        parameters: &[Datum],
        mode: Mode,
        output: &mut dyn Output,
    ) -> Result<Done> {
        if let State::Open(Block { has_failed: true, .. }) | State::Failed(_) = self.state {
            return Err(has_failed());
        }
        let is_copy_in = super::copy::is_copy_in(prepared);
        if let State::Idle(_) = self.state
            && (mode == Mode::Implicit || is_copy_in)
        {
            self.begin(false, TransactionOptions::default())?;
        }
        let Session { core, state } = self;
        match state {
            State::Idle(session) => {
                let planned = prepared.known();
                Session::refuse_alone(&planned)?;
                if planned.direct_call().is_some() && core.may_call_all(session) {
                    return core.call_alone(session, (prepared, planned), parameters, output);
                }
                core.run_alone(session, (prepared, &planned), parameters, output)
            }
            State::Open(block) => {
                block.has_begun = true;
                core.depth = block.savepoints.len();
                let mut done = block.transaction.with(|tx| core.execute(tx, prepared, parameters, output))?;
                if let Some(copy) = &mut core.copy {
                    copy.ends_transaction = !block.is_explicit && mode == Mode::Alone;
                    done.copy_in = Some(copy.shape());
                }
                Ok(done)
            }
            State::Failed(_) | State::Between => Err(gone()),
        }
    }

    /// Begins a transaction that stays open.
    pub(super) fn begin(&mut self, is_explicit: bool, options: TransactionOptions) -> Result<()> {
        match std::mem::replace(&mut self.state, State::Between) {
            State::Idle(session) => {
                self.core.begin();
                let mut options = self.core.options(options);
                // A block that reads only holds nobody up, and nobody ends it.
                options.snapshot = is_explicit && options.read_only;
                self.core.began_read_only = options.read_only;
                let transaction = OpenTransaction::begin(session, options);
                let (has_failed, has_begun, savepoints) = (false, false, Vec::new());
                self.state = State::Open(Block { transaction, is_explicit, has_failed, has_begun, savepoints });
                Ok(())
            }
            State::Between => Err(gone()),
            open => {
                self.state = open;
                Ok(())
            }
        }
    }

    /// Commits what is open.
    pub(super) fn commit(&mut self) -> Result<Option<Receipt>> {
        match std::mem::replace(&mut self.state, State::Between) {
            State::Open(block) => {
                if let Err(error) = block.transaction.with(|transaction| self.core.settle(transaction)) {
                    return Err(self.abort(block, error));
                }
                let settled = self.core.notifying.settle(self.core.sql.exchange());
                let (session, receipt) = block.transaction.commit();
                self.state = State::Idle(session);
                self.core.notifying.end(self.core.sql.exchange(), settled, receipt.as_ref().ok());
                self.core.advisory.end_transaction();
                self.core.deferred = Default::default();
                match receipt {
                    Ok(receipt) => {
                        self.core.settings = self.core.lasting.clone();
                        self.core.end_cursors(true);
                        self.core.tell_of_changes();
                        Ok(Some(receipt))
                    }
                    Err(error) => {
                        self.core.undo_settings();
                        self.core.end_cursors(false);
                        Err(error.into())
                    }
                }
            }
            other => {
                self.state = other;
                Ok(None)
            }
        }
    }

    /// Rolls back a transaction which cannot be committed, and returns the error that tells why: what was seen holds, or is a
    /// conflict.
    fn abort(&mut self, block: Block, error: SqlError) -> SqlError {
        let (session, receipt) = block.transaction.abort();
        self.state = State::Idle(session);
        self.core.advisory.end_transaction();
        self.core.deferred = Default::default();
        self.core.notifying.forget();
        self.core.undo_settings();
        self.core.end_cursors(false);
        match receipt {
            Ok(receipt) => {
                self.core.observed = Some(receipt);
                error
            }
            Err(void) => void.into(),
        }
    }

    /// Rolls back what is open.
    pub(super) fn roll_back(&mut self) {
        match std::mem::replace(&mut self.state, State::Between) {
            State::Open(block) => {
                self.state = State::Idle(block.transaction.roll_back());
                self.core.advisory.end_transaction();
                self.core.undo_settings();
                self.core.end_cursors(false);
            }
            State::Failed(session) => self.state = State::Idle(session),
            other => self.state = other,
        }
        self.core.copy = None;
        self.core.deferred = Default::default();
        self.core.notifying.forget();
    }

    /// Commits the implicit transaction, if there is one.
    ///
    /// # Errors
    /// A conflict, or a failure of the log; the transaction is over.
    pub fn end_implicit(&mut self) -> Result<Option<Receipt>> {
        match &self.state {
            State::Open(Block { is_explicit: false, .. }) => {
                self.commit().map_err(|error| self.core.canceller.explain(error))
            }
            _ => Ok(None),
        }
    }

    /// A request of the client has failed: an implicit transaction is rolled back, a block has failed. Returns the error to tell:
    /// a conflict, where what the transaction saw does not hold. Failing again changes nothing.
    pub fn fail(&mut self, error: SqlError) -> SqlError {
        self.core.copy = None;
        let State::Open(block) = &mut self.state else { return error };
        block.has_failed = true;
        let is_explicit = block.is_explicit;
        // After a conflict no savepoint brings the transaction back.
        let is_beaten = error.is_conflict();
        if is_explicit && !is_beaten && !block.savepoints.is_empty() {
            return error;
        }
        let told = match std::mem::replace(&mut self.state, State::Between) {
            State::Open(block) if !is_beaten => self.abort(block, error),
            open => {
                self.state = open;
                self.roll_back();
                error
            }
        };
        self.state = match std::mem::replace(&mut self.state, State::Between) {
            State::Idle(session) if is_explicit => State::Failed(session),
            other => other,
        };
        told
    }

    /// Runs what begins, ends or divides a transaction; `None` where the statement is no such.
    fn control(&mut self, prepared: &Prepared) -> Option<Result<Done>> {
        let statement = prepared.parsed.0.clone()?;
        Some(match &*statement {
            ast::Statement::StartTransaction { modes, begin, .. } => {
                self.start(modes, if *begin { "BEGIN" } else { "START TRANSACTION" })
            }
            ast::Statement::Commit { chain, .. } => self.end_block(true, *chain),
            ast::Statement::Rollback { chain, savepoint: None } => self.end_block(false, *chain),
            ast::Statement::Set(ast::Set::SetTransaction { modes, snapshot: None, session: false }) => {
                self.set_transaction(modes)
            }
            ast::Statement::Flush { .. } => self.checkpoint(),
            ast::Statement::Savepoint { name } => self.savepoint(&crate::parse::name(name)),
            ast::Statement::ReleaseSavepoint { name } => self.release(&crate::parse::name(name)),
            ast::Statement::Rollback { savepoint: Some(name), .. } => self.roll_back_to(&crate::parse::name(name)),
            ast::Statement::Discard { object_type: ast::DiscardObject::ALL } if self.is_in_block() => {
                let message = "DISCARD ALL cannot run inside a transaction block";
                Err(SqlError::new(SqlState::ActiveSqlTransaction, message))
            }
            _ => return None,
        })
    }

    /// Whether there is a block that has not failed.
    fn is_in_block(&self) -> bool {
        matches!(&self.state, State::Open(block) if block.is_explicit && !block.has_failed)
    }

    fn start(&mut self, modes: &[ast::TransactionMode], tag: &str) -> Result<Done> {
        if let State::Failed(_) = self.state {
            return Err(has_failed());
        }
        let is_read_only = super::transaction::read_only(modes);
        if let State::Open(block) = &mut self.state {
            if block.is_explicit {
                let warning = "there is already a transaction in progress";
                self.core.notices.push(SqlError::new(SqlState::ActiveSqlTransaction, warning));
            }
            block.is_explicit = true;
            return Ok(Done::tagged(tag));
        }
        self.begin_as(true, is_read_only)?;
        Ok(Done::tagged(tag))
    }

    fn end_block(&mut self, commits: bool, chains: bool) -> Result<Done> {
        let (is_explicit, has_failed) = match &self.state {
            State::Open(block) => (block.is_explicit, block.has_failed),
            State::Failed(_) => (true, true),
            _ => (false, false),
        };
        if !is_explicit && chains {
            let what = if commits { "COMMIT" } else { "ROLLBACK" };
            let message = format!("{what} AND CHAIN can only be used in transaction blocks");
            return Err(SqlError::new(SqlState::NoActiveSqlTransaction, message));
        }
        // The settings are back already where the block has failed.
        let is_read_only = self.core.began_read_only || self.core.settings.is_read_only;
        if !is_explicit {
            let warning = "there is no transaction in progress";
            self.core.notices.push(SqlError::new(SqlState::NoActiveSqlTransaction, warning));
        }
        let done = if !commits || has_failed {
            self.roll_back();
            Done::tagged("ROLLBACK")
        } else {
            Done { receipt: self.commit()?, ..Done::tagged("COMMIT") }
        };
        if chains {
            self.begin_as(true, Some(is_read_only))?;
        }
        Ok(done)
    }

    fn block(&mut self, what: &str) -> Result<&mut Block> {
        match &mut self.state {
            State::Open(block) if block.is_explicit => Ok(block),
            State::Failed(_) => Err(has_failed()),
            _ => {
                let message = format!("{what} can only be used in transaction blocks");
                Err(SqlError::new(SqlState::NoActiveSqlTransaction, message))
            }
        }
    }

    fn savepoint(&mut self, name: &str) -> Result<Done> {
        let block = self.block("SAVEPOINT")?;
        if block.has_failed {
            return Err(has_failed());
        }
        let savepoint = block.transaction.with(|transaction| transaction.savepoint());
        let (name, waiting) = (name.to_owned(), self.core.deferred.mark());
        let (advisory, notifying) = (self.core.advisory.mark(), self.core.notifying.mark());
        let settings = [self.core.settings.clone(), self.core.lasting.clone()];
        let savepoint = NamedSavepoint { name, savepoint, waiting, advisory, notifying, settings };
        self.block("SAVEPOINT")?.savepoints.push(savepoint);
        Ok(Done::tagged("SAVEPOINT"))
    }

    fn release(&mut self, name: &str) -> Result<Done> {
        let block = self.block("RELEASE SAVEPOINT")?;
        let at = find_savepoint(block, name)?;
        block.savepoints.truncate(at);
        self.core.keep_cursors_behind(at);
        if let State::Open(block) = &self.state {
            self.core.deferred.release_to(block.savepoints.last().map(|last| &last.waiting));
        }
        Ok(Done::tagged("RELEASE"))
    }

    fn roll_back_to(&mut self, name: &str) -> Result<Done> {
        let block = self.block("ROLLBACK TO SAVEPOINT")?;
        let at = find_savepoint(block, name)?;
        let savepoint = block.savepoints[at].savepoint;
        block.transaction.with(|transaction| transaction.rollback_to(savepoint))?;
        // What is rolled back to can be rolled back to again.
        let again = block.transaction.with(|transaction| transaction.savepoint());
        block.savepoints.truncate(at + 1);
        block.savepoints[at].savepoint = again;
        block.has_failed = false;
        let NamedSavepoint { waiting, advisory, notifying, settings, .. } = &block.savepoints[at];
        let (waiting, advisory, notifying) = (waiting.clone(), *advisory, *notifying);
        let [settings, lasting] = settings.clone();
        self.core.notifying.roll_back_to(notifying);
        self.core.advisory.roll_back_to(advisory);
        (self.core.settings, self.core.lasting) = (settings, lasting);
        self.core.deferred.roll_back_to(&waiting);
        self.core.end_cursors_behind(at);
        self.core.is_stale = true;
        Ok(Done::tagged("ROLLBACK"))
    }
}

pub(super) fn has_failed() -> SqlError {
    let message = "current transaction is aborted, commands ignored until end of transaction block";
    SqlError::new(SqlState::InFailedSqlTransaction, message)
}

fn find_savepoint(block: &Block, name: &str) -> Result<usize> {
    block.savepoints.iter().rposition(|known| known.name == name).ok_or_else(|| {
        let message = format!("savepoint \"{name}\" does not exist");
        SqlError::new(SqlState::InvalidSavepointSpecification, message)
    })
}

impl Core {
    /// A transaction begins.
    pub(super) fn begin(&mut self) {
        self.transaction_start_us = now_us();
        self.before = self.lasting.clone();
        self.deferred = Default::default();
        self.notifying.forget();
        self.look_for_changes();
    }

    /// Does what is left to do before the transaction commits.
    pub(super) fn settle(&self, transaction: &Transaction<'_>) -> Result<()> {
        self.settle_deferred(transaction)?;
        self.settle_temporary(transaction)?;
        self.notifying.check(self.sql.exchange())
    }

    pub(super) fn undo_settings(&mut self) {
        self.is_stale = true;
        self.settings = self.before.clone();
        self.lasting = self.before.clone();
    }

    pub(super) fn options(&self, options: TransactionOptions) -> TransactionOptions {
        let durability = match self.settings.awaits_durability {
            true => Durability::Durable,
            false => Durability::Relaxed,
        };
        TransactionOptions { durability, read_only: options.read_only || self.settings.is_read_only, ..options }
    }

    /// Runs a statement in a transaction.
    pub(super) fn execute(
        &mut self,
        transaction: &Transaction<'_>,
        prepared: &Prepared,
        parameters: &[Datum],
        output: &mut dyn Output,
    ) -> Result<Done> {
        self.refresh_authority(transaction)?;
        let planned = prepared.planned(&self.sql, transaction, &self.settings)?;
        self.check_rights(transaction, &planned)?;
        if self.settings.is_read_only && planned.writes() {
            let message = "the transaction is read-only: it cannot write or define";
            return Err(SqlError::new(SqlState::ReadOnlySqlTransaction, message));
        }
        match &planned.task {
            Task::Empty => Ok(Done::tagged("")),
            Task::Query(query) => {
                if query.waits_not {
                    self.canceller.wait_not();
                }
                self.execute_query(transaction, query, parameters, output)
            }
            Task::Call(call) => self.call_within(transaction, call, parameters, output),
            Task::Execute(execute) => {
                let (target, values) = self.execution(transaction, execute, parameters)?;
                self.execute(transaction, &target, &values, output)
            }
            Task::Explain(explain) => self.explain(transaction, explain, parameters, output),
            Task::Declare(new) => self.declare(transaction, new, parameters),
            Task::Utility(statement) => match &**statement {
                ast::Statement::Fetch { name, direction, into, .. } => {
                    let is_move = crate::parse::own::is_move(into.as_ref());
                    self.fetch(name, direction, is_move, prepared.columns(), output)
                }
                statement => self.execute_utility(transaction, statement, output),
            },
        }
    }

    /// Runs a plan with all that it needs at hand.
    pub(super) fn with_context<T>(
        &self,
        transaction: &Transaction<'_>,
        query: &Query,
        parameters: &[Datum],
        act: impl FnOnce(&Context<'_>) -> Result<T>,
    ) -> Result<T> {
        query.need_populated()?;
        let environment =
            Environment { core: self, store: transaction, statement_start_us: now_us(), seen: Seen::default() };
        let limits = Limits { canceller: &self.canceller, bytes_max: self.settings.work_bytes_max };
        let context = Context::new(transaction, &environment, query, parameters, limits);
        let done = act(&context)?;
        // Whatever was written, foreign keys are looked at before the statement is over.
        foreign::settle(&context, &self.deferred)?;
        Ok(done)
    }

    fn execute_query(
        &mut self,
        transaction: &Transaction<'_>,
        query: &Query,
        parameters: &[Datum],
        output: &mut dyn Output,
    ) -> Result<Done> {
        self.configured.take();
        let done = self.run_plan(transaction, query, parameters, output)?;
        for (name, value, is_local) in self.configured.take() {
            self.change(&name, Some(&value), is_local)?;
        }
        Ok(done)
    }

    fn run_plan(
        &self,
        transaction: &Transaction<'_>,
        query: &Query,
        parameters: &[Datum],
        output: &mut dyn Output,
    ) -> Result<Done> {
        self.with_context(transaction, query, parameters, |context| {
            run_first_writes(query, context)?;
            if let Plan::Write(write) = &query.plan {
                let written = write::run(write, context)?;
                run_writes(query, context)?;
                foreign::settle(context, &self.deferred)?;
                for row in &written.rows {
                    output.row(row)?;
                }
                return Ok(Done::tagged(match write.change {
                    Change::Insert { .. } => format!("INSERT 0 {}", written.count),
                    Change::Update { .. } => format!("UPDATE {}", written.count),
                    Change::Delete { .. } => format!("DELETE {}", written.count),
                    Change::Merge { .. } => format!("MERGE {}", written.count),
                }));
            }
            let mut cursor = open(&query.plan, context)?;
            let mut count = 0_u64;
            while let Some(row) = cursor.next()? {
                output.row(&row)?;
                count += 1;
            }
            run_writes(query, context)?;
            Ok(Done::tagged(format!("SELECT {count}")))
        })
    }

    fn execute_utility(
        &mut self,
        transaction: &Transaction<'_>,
        statement: &ast::Statement,
        output: &mut dyn Output,
    ) -> Result<Done> {
        match statement {
            ast::Statement::Copy { .. } => self.copy(transaction, statement, output),
            ast::Statement::Set(set) => match crate::parse::foreign::constraints_of(set) {
                Some(constraints) => self.set_constraints(transaction, &constraints),
                None => match self.set_authority(transaction, set)? {
                    Some(done) => Ok(done),
                    None => self.set_statement(set),
                },
            },
            ast::Statement::Reset(reset) => match self.reset_authority(transaction, reset)? {
                Some(done) => Ok(done),
                None => self.reset(reset),
            },
            ast::Statement::ShowVariable { variable } => self.show(transaction, variable, output),
            ast::Statement::Prepare { .. } => self.prepare_statement(transaction, statement),
            ast::Statement::Deallocate { name, .. } => self.deallocate(name),
            ast::Statement::Close { cursor } => self.close(cursor),
            ast::Statement::Lock(lock) => self.lock(transaction, lock),
            ast::Statement::LISTEN { channel } => self.listen(channel),
            ast::Statement::UNLISTEN { channel } => Ok(self.unlisten(channel)),
            ast::Statement::NOTIFY { channel, payload } => self.notify_statement(channel, payload.as_deref()),
            ast::Statement::Discard { object_type } => {
                self.forget_cached();
                if matches!(object_type, ast::DiscardObject::ALL | ast::DiscardObject::TEMP) {
                    self.discard_temporary(transaction)?;
                }
                if *object_type == ast::DiscardObject::ALL {
                    self.prepared.clear();
                    self.cursors.clear();
                    self.advisory.unlock_all();
                    self.unlisten_all();
                    self.reset_all(transaction)?;
                }
                Ok(Done::tagged(format!("DISCARD {object_type}")))
            }
            ast::Statement::Vacuum(_) => Ok(Done::tagged("VACUUM")),
            ast::Statement::Analyze(analyze) => self.analyze(transaction, analyze),
            other => self.define(transaction, other, output),
        }
    }
}

/// Runs the statements in `WITH` that the query reads from: no table is written while it is read.
pub(super) fn run_first_writes(query: &Query, context: &Context<'_>) -> Result<()> {
    let first = &query.writes[..query.writes_first];
    first.iter().try_for_each(|(at, table)| set::common(*at, table, context).map(|_| ()))
}

/// Runs the statements in `WITH` that nothing has read.
pub(super) fn run_writes(query: &Query, context: &Context<'_>) -> Result<()> {
    query.writes.iter().try_for_each(|(at, table)| set::common(*at, table, context).map(|_| ()))
}

impl Core {
    fn define(
        &mut self,
        transaction: &Transaction<'_>,
        statement: &ast::Statement,
        output: &mut dyn Output,
    ) -> Result<Done> {
        self.defines = true;
        self.need_temporary_schema(transaction, statement)?;
        let Core { sql, settings, .. } = &*self;
        let definer = ddl::Definer { sql, transaction, settings, user: settings.user(), runner: &*self };
        let defined = definer.define(statement)?;
        self.defines_for_all |= !defined.is_private;
        self.follow_definition(transaction, defined.tag)?;
        self.is_stale = true;
        self.notices.extend(defined.notices);
        if let Some(fill) = &defined.fill {
            let count = self.fill(transaction, fill)?;
            return Ok(Done::tagged(if fill.counts { format!("SELECT {count}") } else { defined.tag.to_owned() }));
        }
        let Some(then) = defined.then else { return Ok(Done::tagged(defined.tag)) };
        let parsed = Parsed(Some(Arc::new(then)));
        let prepared = Prepared::new(&self.sql, transaction, &parsed, &[], &self.settings)?;
        let done = self.execute(transaction, &prepared, &[], output)?;
        Ok(Done::tagged(format!("SELECT {}", done.tag.rsplit(' ').next().unwrap_or("0"))))
    }
}

impl ddl::Runner for Core {
    fn with_context(
        &self,
        transaction: &Transaction<'_>,
        query: &Query,
        act: &mut dyn FnMut(&Context<'_>) -> Result<Datum>,
    ) -> Result<Datum> {
        Core::with_context(self, transaction, query, &[], |context| act(context))
    }

    fn claim(&self, name: &Name) -> Result<()> {
        self.lock_name(name)
    }
}

/// An error of the engine in the words of SQL.
impl From<osier::SchemaError> for SqlError {
    fn from(error: osier::SchemaError) -> SqlError {
        Error::from(error).into()
    }
}
