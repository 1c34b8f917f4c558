//! Statements that a session keeps although no client has given them a name: who sends a text again, or the same text with other
//! literals, gets the plan that is there.
//!
//! Invariants:
//! - A statement is kept by its text and the types that the client said, or by its shape ([`Shape`]), whose literals are
//!   parameters. A shape is kept only if neither statistics nor expressions of indexes had a part in its plan: it is the same for
//!   all literals then.
//! - All is forgotten when a definition, a right or a setting changes; nothing is looked up while the transaction itself defines
//!   something. So a statement means what it would mean if it were read anew.
//! - No plan is kept that has a moment in it, such as that of `'now'`.
//! - Those who define forget for all sessions: what is kept here keeps no table that is dropped.

use std::borrow::Cow;
use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use osier::{Transaction, TransactionOptions};

use super::statement::Task;
use super::{Core, Kind, Parsed, Prepared, Session, State, Status};
use crate::datum::Datum;
use crate::error::{Result, SqlError, SqlState};
use crate::parse::shape::{self, Literal, Shape};
use crate::settings::Settings;
use crate::types::Type;

/// So many statements are kept for each session; the one that was not used for the longest time makes room.
const STATEMENTS_MAX: usize = 100;

/// What is kept.
#[derive(Debug, Default)]
pub(crate) struct Cache {
    /// The settings that all of it was made with.
    settings: Option<Arc<Settings>>,
    statements: HashMap<String, Vec<Entry>>,
    count: usize,
    /// How often something was looked up.
    clock: u64,
}

#[derive(Debug)]
struct Entry {
    types: Vec<Option<Type>>,
    found: Found,
    /// When it was looked up last.
    used: u64,
}

#[derive(Clone, Debug)]
enum Found {
    /// A shape that was seen once. Most are never seen again, so it is not parsed.
    Once,
    Kept(Arc<Prepared>),
    /// A shape that does not mean what its text means.
    Refused,
}

pub(super) type Shared = Arc<Mutex<Cache>>;

fn locked(cache: &Shared) -> MutexGuard<'_, Cache> {
    cache.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Cache {
    pub(crate) fn clear(&mut self) {
        (self.statements, self.count) = (HashMap::new(), 0);
    }

    /// Forgets what was made with other settings.
    fn follow(&mut self, settings: &Arc<Settings>) {
        if !self.settings.as_ref().is_some_and(|known| Arc::ptr_eq(known, settings)) {
            self.clear();
            self.settings = Some(settings.clone());
        }
    }

    fn find(&mut self, text: &str, types: &[Option<Type>]) -> Option<&mut Found> {
        self.clock += 1;
        let entry = self.statements.get_mut(text)?.iter_mut().find(|entry| entry.types == types)?;
        entry.used = self.clock;
        Some(&mut entry.found)
    }

    fn insert(&mut self, text: &str, types: &[Option<Type>], found: Found) {
        if let Some(known) = self.find(text, types) {
            *known = found;
            return;
        }
        if self.count >= STATEMENTS_MAX {
            self.evict();
        }
        let entry = Entry { types: types.to_vec(), found, used: self.clock };
        self.statements.entry(text.to_owned()).or_default().push(entry);
        self.count += 1;
    }

    fn evict(&mut self) {
        let used = |entries: &Vec<Entry>| entries.iter().map(|entry| entry.used).max();
        let oldest = self.statements.iter().min_by_key(|(_, entries)| used(entries)).map(|(text, _)| text.clone());
        self.count -= oldest.and_then(|text| self.statements.remove(&text)).map_or(0, |entries| entries.len());
    }
}

fn is_of_number(last: char) -> bool {
    last.is_ascii_digit() || last == '.'
}

impl Prepared {
    /// Whether it is the same statement when it is asked for again.
    fn is_lasting(&self) -> bool {
        matches!(self.known().task, Task::Query(_) | Task::Call(_)) || self.kind == Kind::Transaction
    }
}

impl Core {
    /// What is kept, for the settings in force.
    fn cached(&self) -> MutexGuard<'_, Cache> {
        let mut cache = locked(&self.cache);
        cache.follow(&self.settings);
        cache
    }

    pub(super) fn forget_cached(&self) {
        locked(&self.cache).clear();
    }

    /// Keeps a statement, unless something has changed since there were so many changes.
    fn keep_cached(&self, text: &str, types: &[Option<Type>], found: Found, changes: u64) {
        let mut cache = self.cached();
        // Who changes something counts it first, and then forgets what is kept.
        if self.sql.changes() == changes {
            cache.insert(text, types, found);
        }
    }
}

impl Session {
    /// Whether a statement may be one that is kept.
    fn may_recall(&self, text: &str) -> bool {
        let has_failed = match &self.state {
            State::Open(block) => block.has_failed,
            State::Failed(_) | State::Between => true,
            State::Idle(_) => false,
        };
        text.len() <= shape::BYTES_MAX && !has_failed && !self.core.defines
    }

    /// Prepares the only statement of `text`; types that are `None` are inferred.
    ///
    /// # Errors
    /// Of syntax, of names and types.
    pub fn prepare(&mut self, text: &str, types: &[Option<Type>]) -> Result<Arc<Prepared>> {
        let may_recall = self.may_recall(text);
        let found = if may_recall { self.core.cached().find(text, types).cloned() } else { None };
        if let Some(Found::Kept(prepared)) = found
            && self.is_current(&prepared)
        {
            return Ok(prepared);
        }
        let changes = self.core.sql.changes();
        let prepared = self.prepare_text(text, types)?;
        if may_recall && prepared.is_lasting() && !shape::may_name_moment(text) {
            self.core.keep_cached(text, types, Found::Kept(prepared.clone()), changes);
        }
        Ok(prepared)
    }

    /// Returns a statement that a text with other literals was prepared as, and the values of its parameters. With `None` the
    /// text is to be split, and its statements prepared.
    pub fn recall(&mut self, text: &str) -> Option<(Arc<Prepared>, Vec<Datum>)> {
        if !self.may_recall(text) {
            return None;
        }
        let Shape { text, types, literals } = Shape::of(text)?;
        let found = self.core.cached().find(&text, &types).cloned();
        let prepared = match found {
            Some(Found::Kept(prepared)) if self.is_current(&prepared) => prepared,
            Some(Found::Kept(_) | Found::Refused) => return None,
            Some(Found::Once) => self.learn(&text, &types)?,
            None => {
                self.core.cached().insert(&text, &types, Found::Once);
                return None;
            }
        };
        let settings = &self.core.settings;
        let places = literals.into_iter().zip(prepared.parameters());
        let values = places.map(|(literal, ty)| match literal {
            Literal::Number(value) => Some(value),
            // A number without a unit is one of the fields that are declared.
            Literal::String(text) if *ty == Type::Interval && text.trim_end().ends_with(is_of_number) => None,
            // The error of one that does not fit has its place in the text.
            Literal::String(text) => crate::value::parse(text, (*ty).into(), settings).ok(),
        });
        let values = values.collect::<Option<Vec<_>>>()?;
        Some((prepared, values))
    }

    /// Whether a statement means what it would mean if it were new. Who has changed a definition may not have said so yet.
    fn is_current(&mut self, prepared: &Prepared) -> bool {
        let planned = prepared.known();
        if let Task::Utility(_) = planned.task {
            return true;
        }
        // Somebody has prepared it before a label got another name.
        if planned.means_renamed {
            return false;
        }
        let look =
            |core: &Core, transaction: &Transaction<'_>| planned.is_current(&core.sql, transaction, &core.settings);
        self.look(look).is_some_and(|is_current| is_current.unwrap_or(false))
    }

    /// Looks at the catalog, in the transaction that is open, if one is; `None` where it has failed.
    fn look<T>(&mut self, act: impl FnOnce(&Core, &Transaction<'_>) -> Result<T>) -> Option<Result<T>> {
        let Session { core, state } = self;
        match state {
            State::Idle(session) => {
                let options = TransactionOptions { read_only: true, ..Default::default() };
                Some(act(core, &session.begin_with(options)))
            }
            State::Open(block) => Some(block.transaction.with(|transaction| act(core, transaction))),
            State::Failed(_) | State::Between => None,
        }
    }

    /// Returns the type with a number in the catalog, one that users have made among them.
    ///
    /// # Errors
    /// Where the catalog cannot be read.
    pub fn type_of_oid(&mut self, oid: u32) -> Result<Option<Type>> {
        if let Some(system) = Type::of_oid(oid) {
            return Ok(Some(system));
        }
        loop {
            let look =
                |core: &Core, transaction: &Transaction<'_>| Ok(core.sql.objects(transaction)?.1.type_of_oid(oid));
            match self.look(look) {
                None => return Ok(None),
                // Somebody commits a definition right now.
                Some(Err(error)) if error.state == SqlState::SerializationFailure && self.status() == Status::Idle => {
                    osier::task::give_way();
                }
                Some(found) => return found,
            }
        }
    }

    /// Returns the types of the parameters of a statement, with the labels that they have now.
    pub fn parameter_types<'p>(&mut self, prepared: &'p Prepared) -> Cow<'p, [Type]> {
        let types = prepared.parameters();
        if types.iter().all(|ty| ty.enumeration().is_none()) {
            return Cow::Borrowed(types);
        }
        let now = |ty: &Type| self.type_of_oid(ty.oid()).ok().flatten().unwrap_or(*ty);
        Cow::Owned(types.iter().map(now).collect())
    }

    /// Prepares a shape.
    fn learn(&mut self, text: &str, types: &[Option<Type>]) -> Option<Arc<Prepared>> {
        let changes = self.core.sql.changes();
        let has_types = |prepared: &Arc<Prepared>| {
            let mut pairs = types.iter().zip(prepared.parameters());
            prepared.parameters().len() == types.len() && pairs.all(|(said, ty)| said.is_none_or(|said| said == *ty))
        };
        let prepared = self
            .prepare_text(text, types)
            .ok()
            .filter(|prepared| prepared.is_lasting() && prepared.known().is_of_all_literals() && has_types(prepared));
        let found = prepared.clone().map_or(Found::Refused, Found::Kept);
        self.core.keep_cached(text, types, found, changes);
        prepared
    }

    fn prepare_text(&mut self, text: &str, types: &[Option<Type>]) -> Result<Arc<Prepared>> {
        let mut parsed = self.split(text)?;
        if parsed.len() > 1 {
            let message = "cannot insert multiple commands into a prepared statement";
            return Err(SqlError::new(SqlState::SyntaxError, message));
        }
        self.prepare_as(&parsed.pop().unwrap_or(Parsed(None)), types)
    }
}
