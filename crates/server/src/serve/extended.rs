//! Extended queries: statements are prepared, bound to parameters as portals, and these executed, in whole or by pieces.
//!
//! Invariants:
//! - A portal is run once. What is not handed out at once is kept in it, encoded.
//! - Portals end with their transaction.
//! - An execution that is all there is between two `Sync` is a transaction by itself, which the engine may run again after a
//!   conflict; others are parts of one transaction that `Sync` ends.

use std::sync::Arc;
use std::time::Instant;

use bytes::Bytes;
use osier_sql::session::{Kind, Mode, Prepared};
use osier_sql::settings::Settings;
use osier_sql::value::{parse, parse_binary};
use osier_sql::{Datum, Session, SqlError, SqlState, Type};
use pgwire::messages::data::ParameterDescription;

use super::connection::{Connection, act, guarded};
use super::errors::{Failure, violation};
use super::formats::Formats;
use super::message::{Bind, Target, check_text};
use super::rows::Rows;

/// How far a portal is.
enum Progress {
    /// Not run.
    Fresh,
    /// Run; these rows are not handed out.
    Suspended {
        /// Messages with a row each.
        rows: Vec<u8>,
        /// Where the next one begins.
        next: usize,
        /// What the client is told at the end.
        tag: String,
    },
    /// Over.
    Over {
        /// What the client is told then, where the portal has rows: it gives none any more.
        tag: Option<String>,
    },
}

/// A statement with its parameters, ready to run.
pub struct Portal {
    prepared: Arc<Prepared>,
    parameters: Vec<Datum>,
    formats: Formats,
    progress: Progress,
}

impl Connection {
    /// Prepares a statement.
    ///
    /// # Errors
    /// A name that is taken, a type that is unknown, what is wrong with the text.
    pub fn parse(&mut self, name: String, text: &str, types: &[u32]) -> Result<(), Failure> {
        if name.is_empty() {
            self.session.forget("");
        }
        self.session.refuse_kept(&name)?;
        let prepared = self.guard(|session| {
            let types = types.iter().map(|oid| parameter_type(session, *oid)).collect::<Result<Vec<_>, _>>()?;
            session.prepare(text, &types)
        })??;
        self.session.keep(&name, text, prepared)?;
        self.wire.output.push_empty(b'1');
        Ok(())
    }

    /// Makes a portal.
    ///
    /// # Errors
    /// Names that are unknown or taken, parameters that do not fit.
    pub fn bind(&mut self, bind: Bind) -> Result<(), Failure> {
        let prepared = self.session.kept(&bind.statement)?.clone();
        let is_cursor = self.session.cursor_columns(&bind.portal).is_some();
        if !bind.portal.is_empty() && (is_cursor || self.portals.get(&bind.portal).is_some()) {
            let message = format!("portal \"{}\" already exists", bind.portal);
            return Err(SqlError::new(SqlState::DuplicateCursor, message).into());
        }
        let (given, needed) = (bind.parameters.len(), prepared.parameters().len());
        if given != needed {
            let statement = &bind.statement;
            let message = format!(
                "bind message supplies {given} parameters, but prepared statement \"{statement}\" requires {needed}"
            );
            return Err(violation(message).into());
        }
        let formats = Formats::of_codes(&bind.parameter_formats, given, "parameter")?;
        let columns = prepared.columns().map_or(0, <[_]>::len);
        let result = match prepared.is_binary() {
            true => Formats::All { is_binary: true },
            false => Formats::of_codes(&bind.result_formats, columns, "result")?,
        };
        let types = self.guard(|session| session.parameter_types(&prepared))?;
        let settings = self.session.settings();
        let parameters = bind.parameters.iter().zip(&*types).enumerate();
        let read = |(number, (bytes, ty)): (usize, (&Option<Bytes>, &Type))| match bytes {
            None => Ok(Datum::Null),
            Some(bytes) => parameter(number, bytes, *ty, formats.is_binary(number), settings),
        };
        let parameters = guarded(|| parameters.map(read).collect::<Result<Vec<_>, _>>())??;
        let portal = Portal { prepared, parameters, formats: result, progress: Progress::Fresh };
        self.portals.insert(&bind.portal, portal);
        self.wire.output.push_empty(b'2');
        Ok(())
    }

    /// Says what a statement or a portal is.
    ///
    /// # Errors
    /// A name that is unknown.
    pub fn describe(&mut self, target: Target, name: &str) -> Result<(), Failure> {
        match target {
            Target::Statement => {
                let prepared = self.session.kept(name)?.clone();
                let types = prepared.parameters().iter().map(|ty| ty.oid()).collect();
                self.wire.output.push(&ParameterDescription::new(types));
                self.wire.output.push_columns(prepared.columns(), &Formats::TEXT);
            }
            // A cursor is a portal, too.
            Target::Portal if self.portals.get(name).is_none() => {
                let columns = self.session.cursor_columns(name).ok_or_else(|| no_portal(name))?;
                self.wire.output.push_columns(Some(columns), &Formats::TEXT);
            }
            Target::Portal => {
                let portal = self.portals.get(name).ok_or_else(|| no_portal(name))?;
                self.wire.output.push_columns(portal.prepared.columns(), &portal.formats);
            }
        }
        Ok(())
    }

    /// Executes a portal, up to `rows_max` rows if that is not zero.
    ///
    /// # Errors
    /// A name that is unknown, a portal that is over, what the statement fails with.
    pub async fn execute(&mut self, name: &str, rows_max: usize) -> Result<(), Failure> {
        let mut portal = self.portals.remove(name).ok_or_else(|| no_portal(name))?;
        self.session.runs(&portal.prepared);
        match std::mem::replace(&mut portal.progress, Progress::Over { tag: None }) {
            Progress::Fresh if portal.prepared.kind() == Kind::Empty => {
                portal.progress = Progress::Fresh;
                self.wire.output.push_empty(b'I');
            }
            Progress::Fresh if rows_max > 0 && portal.prepared.columns().is_some() => {
                let mode = self.mode();
                self.keep_rows(&mut portal, mode).await?;
                self.hand_out(&mut portal, rows_max);
            }
            Progress::Fresh => {
                let (mode, mark) = (self.mode(), self.wire.output.bytes.len());
                let Portal { prepared, parameters, formats, .. } = &portal;
                let done = self.run_whole(prepared, parameters, mode, formats, mark).await?;
                portal.progress = Progress::Over { tag: prepared.columns().map(|_| counted(&done.tag, 0)) };
                self.complete(&portal.prepared, done);
            }
            suspended @ Progress::Suspended { .. } => {
                portal.progress = suspended;
                self.hand_out(&mut portal, rows_max);
            }
            Progress::Over { tag: Some(tag) } => {
                self.wire.output.push_complete(&tag);
                portal.progress = Progress::Over { tag: Some(tag) };
            }
            Progress::Over { tag: None } => {
                let message = format!("portal \"{name}\" cannot be run");
                self.portals.insert(name, portal);
                return Err(SqlError::new(SqlState::ObjectNotInPrerequisiteState, message).into());
            }
        }
        self.portals.insert(name, portal);
        Ok(())
    }

    /// How the execution that comes takes part in transactions.
    fn mode(&mut self) -> Mode {
        let is_alone = !std::mem::replace(&mut self.has_executed, true) && self.wire.input.is_next(b'S');
        if is_alone { Mode::Alone } else { Mode::Implicit }
    }

    /// Runs a portal and keeps its rows in it.
    async fn keep_rows(&mut self, portal: &mut Portal, mode: Mode) -> Result<(), Failure> {
        let mut kept = Vec::new();
        let prepared = &portal.prepared;
        let session = &mut self.session;
        let mut rows = Rows::keep(&mut kept, prepared.columns(), &portal.formats, session.settings());
        let canceller = session.canceller();
        let begun = Instant::now();
        let done = act(&canceller, || session.run(prepared, &portal.parameters, mode, &mut rows)).await;
        drop(rows);
        self.server.statistics.statement(&self.slot, begun.elapsed(), || prepared.text());
        let done = done??;
        self.push_notices();
        self.keep(done.receipt);
        portal.progress = Progress::Suspended { rows: kept, next: 0, tag: done.tag };
        Ok(())
    }

    /// Hands out rows that are kept.
    fn hand_out(&mut self, portal: &mut Portal, rows_max: usize) {
        let Progress::Suspended { rows, next, tag } = &mut portal.progress else { return };
        let (begin, mut count) = (*next, 0);
        while *next < rows.len() && (rows_max == 0 || count < rows_max) {
            let length = rows[*next + 1..*next + 5].iter().fold(0, |length, byte| length << 8 | usize::from(*byte));
            *next += 1 + length;
            count += 1;
        }
        let output = &mut self.wire.output;
        output.bytes.extend_from_slice(&rows[begin..*next]);
        // As PostgreSQL: a portal that has given as many as it may is suspended, though none may be left.
        if rows_max > 0 && count == rows_max {
            output.push_empty(b's');
            return;
        }
        // The tag counts the rows of this piece.
        output.push_complete(&counted(tag, count));
        portal.progress = Progress::Over { tag: Some(counted(tag, 0)) };
    }

    /// Forgets a statement or a portal. There need not be one. As in PostgreSQL, portals outlive their statement.
    pub fn close(&mut self, target: Target, name: &str) {
        match target {
            Target::Portal => {
                if self.portals.remove(name).is_none() {
                    self.session.close_cursor(name);
                }
            }
            Target::Statement => {
                self.session.forget(name);
            }
        }
        self.wire.output.push_empty(b'3');
    }

    /// Ends a sequence of extended requests, and its transaction.
    ///
    /// # Errors
    /// Where the connection ends.
    pub async fn sync(&mut self) -> Result<(), Failure> {
        self.is_skipping = false;
        match self.act(Session::end_implicit).await? {
            Ok(receipt) => self.keep(receipt),
            Err(error) => self.fail(error).await?,
        }
        self.ready().await?;
        self.flush_late().await?;
        Ok(())
    }
}

/// Returns a tag with another count of rows, if it has one.
fn counted(tag: &str, rows: usize) -> String {
    match tag.rsplit_once(' ') {
        Some((command, count)) if count.bytes().all(|byte| byte.is_ascii_digit()) => format!("{command} {rows}"),
        _ => tag.to_owned(),
    }
}

/// Returns the type that a client gives a parameter; `None` where it leaves that to the server.
fn parameter_type(session: &mut Session, oid: u32) -> Result<Option<Type>, SqlError> {
    match session.type_of_oid(oid)? {
        _ if oid == 0 => Ok(None),
        Some(Type::Unknown) => Ok(None),
        Some(ty) => Ok(Some(ty)),
        None => {
            let message = format!("there is no type with number {oid}");
            Err(SqlError::new(SqlState::UndefinedObject, message))
        }
    }
}

/// Reads a parameter.
fn parameter(number: usize, bytes: &[u8], ty: Type, is_binary: bool, settings: &Settings) -> Result<Datum, SqlError> {
    let read = if is_binary {
        parse_binary(bytes, ty)
    } else {
        check_text(bytes).and_then(|text| parse(text, ty.into(), settings))
    };
    read.map_err(|error| match error.detail() {
        Some(_) => error,
        None => error.with_detail(format!("It is parameter ${}, of type {ty}.", number + 1)),
    })
}

fn no_portal(name: &str) -> SqlError {
    SqlError::new(SqlState::InvalidCursorName, format!("portal \"{name}\" does not exist"))
}
