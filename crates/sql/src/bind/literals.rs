//! Literals whose meaning depends on who reads them, or when: times without a zone, `now`, `today` and the like.
//!
//! Invariants:
//! - The text of an expression or a query that the catalog keeps has none of them: when it is made, each becomes one that says
//!   all of it ([`Binder::record_literals`]). Whenever such a text is bound, literals are read with the settings from the start.
//! - Conversions of anything else follow the settings of whoever runs the statement, when it runs.

use std::cell::RefCell;
use std::sync::Arc;

use sqlparser::tokenizer::Span;

use super::Binder;
use super::places::bounds;
use crate::datum::Datum;
use crate::error::{Result, SqlError, SqlState};
use crate::settings::Settings;
use crate::types::{Declared, Type};
use crate::value::{self, text};

/// A literal, and what it was found to mean.
#[derive(Debug)]
struct Literal {
    start: usize,
    end: usize,
    /// It is known by its place in memory.
    text: Arc<str>,
    /// As what it was read, and a literal of that type that means the same by itself; `None`: nothing has read it yet.
    meant: Option<(Type, String)>,
}

/// The literals of a text that is bound, if they are wanted.
#[derive(Debug, Default)]
pub(super) struct Literals(RefCell<Option<Recorded>>);

#[derive(Debug, Default)]
struct Recorded {
    literals: Vec<Literal>,
    /// One that means several things.
    ambiguous: Option<Arc<str>>,
    /// What a text becomes that only a subquery knew to be a literal: it is read whenever the query runs.
    late: Option<Type>,
}

/// Whether literals of a type depend on settings, or on the moment.
fn is_of_time(ty: Type) -> bool {
    matches!(ty.element().unwrap_or(ty), Type::Date | Type::Time | Type::Timestamp | Type::Timestamptz)
}

impl Binder<'_> {
    /// Says that literals are wanted.
    pub(crate) fn record_literals(&self) {
        self.literals.0.replace(Some(Recorded::default()));
    }

    /// The literals of `what` to be written in another way, so that they mean for ever what they mean now: where, and how.
    ///
    /// # Errors
    /// One that cannot be written so.
    pub(crate) fn literals(&self, what: &str) -> Result<Vec<(usize, usize, String)>> {
        let recorded = self.literals.0.take().unwrap_or_default();
        if let Some(text) = recorded.ambiguous {
            let message = format!("the literal '{text}' in {what} means several moments");
            return Err(SqlError::new(SqlState::FeatureNotSupported, message)
                .with_hint("Write its type, and its time zone: timestamptz '2020-01-31 12:00+00'."));
        }
        if let Some(ty) = recorded.late {
            let message = format!("a literal in {what} becomes {ty} outside of its query");
            let hint = format!("Write its type there: {ty} '...'.");
            return Err(SqlError::new(SqlState::FeatureNotSupported, message).with_hint(hint));
        }
        let mut edits: Vec<(usize, usize, String)> = Vec::new();
        for literal in recorded.literals {
            let meant = literal.meant.map(|(_, meant)| meant);
            let Some(meant) = meant.filter(|meant| **meant != *literal.text) else { continue };
            // One that is bound twice is written once.
            if !edits.iter().any(|(start, ..)| *start == literal.start) {
                edits.push((literal.start, literal.end, crate::parse::quote::literal(&meant)));
            }
        }
        Ok(edits)
    }

    /// A literal is read: `text` stands there for it.
    pub(super) fn place_literal(&self, span: Span, text: &Arc<str>) {
        if self.is_within_view() {
            return;
        }
        if let (Some(recorded), Some((start, end))) = (self.literals.0.borrow_mut().as_mut(), bounds(span, span)) {
            recorded.literals.push(Literal { start, end, text: text.clone(), meant: None });
        }
    }

    /// Reads a literal as a value of a type.
    pub(super) fn read_literal(&self, text: &Arc<str>, to: Declared) -> Result<Datum> {
        if !is_of_time(to.ty) {
            let value = value::parse(text, to, self.settings)?;
            self.literal_means(text, to.ty, || text.to_string());
            return Ok(value);
        }
        if self.is_kept() {
            return value::parse(text, to, &Settings::default());
        }
        let value = value::parse(text, to, self.settings)?;
        self.literal_means(text, to.ty, || {
            let mut shown = Vec::new();
            text::push_text(&value, to, &Settings::default(), &mut shown);
            String::from_utf8_lossy(&shown).into_owned()
        });
        Ok(value)
    }

    /// Notes what a literal was found to mean, if that is wanted.
    pub(super) fn literal_means(&self, text: &Arc<str>, ty: Type, shown: impl Fn() -> String) {
        let mut recorded = self.literals.0.borrow_mut();
        let Some(Recorded { literals, ambiguous, .. }) = recorded.as_mut() else { return };
        let Some(literal) = literals.iter_mut().find(|literal| Arc::ptr_eq(&literal.text, text)) else { return };
        match &literal.meant {
            // `now` is another moment when it is read again.
            Some((known, _)) if *known == ty => {}
            Some((_, meant)) if *meant != shown() => *ambiguous = Some(text.clone()),
            Some(_) => {}
            None => literal.meant = Some((ty, shown())),
        }
    }

    /// A text is read whenever the query runs, which a literal in its place would not be.
    pub(super) fn reads_late(&self, to: Type) {
        let mut recorded = self.literals.0.borrow_mut();
        if let Some(recorded) = recorded.as_mut().filter(|_| is_of_time(to) && !self.is_within_view()) {
            recorded.late = Some(to);
        }
    }

    /// Binds an expression that the catalog keeps.
    pub(super) fn keeping<T>(&self, bind: impl FnOnce() -> Result<T>) -> Result<T> {
        let outside = self.binds_kept.replace(true);
        let bound = bind();
        self.binds_kept.set(outside);
        bound
    }

    /// Whether what is bound now is of the catalog.
    pub(super) fn is_kept(&self) -> bool {
        self.binds_kept.get() || self.is_within_view()
    }
}
