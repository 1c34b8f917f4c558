//! Literals whose meaning depends on who reads them, or when: times without a zone, `now`, `today` and the like.
//!
//! Invariants:
//! - The text of an expression or a query that the catalog keeps has none of them: when it is made, each becomes one that says
//!   all of it ([`Binder::record_literals`]); one of an enumeration has its type beside it. Whenever such a text is bound,
//!   literals are read with the settings from the start.
//! - A literal of a statement that is bound again means the label that it meant first, whatever that is called now: the binder
//!   knows the definitions that the statement was read with ([`Binder::with_known_labels`]).
//! - Conversions of anything else follow the settings of whoever runs the statement, when it runs.

use std::cell::RefCell;
use std::sync::Arc;

use sqlparser::tokenizer::Span;

use super::Binder;
use super::places::bounds;
use crate::datum::Datum;
use crate::enumeration::EnumType;
use crate::error::{Result, SqlError, SqlState};
use crate::parse::quote;
use crate::settings::Settings;
use crate::types::{Declared, Type};
use crate::value::{self, Conversion, text};

/// A literal, and what it was found to mean.
#[derive(Debug)]
struct Literal {
    start: usize,
    end: usize,
    /// It is known by its place in memory.
    text: Arc<str>,
    /// `None`: nothing has read it yet.
    meant: Option<Meant>,
}

/// What a literal was read as.
#[derive(Debug)]
struct Meant {
    ty: Type,
    /// A literal of that type that means the same by itself.
    text: String,
    /// Whether its type stands beside it.
    is_typed: bool,
}

impl Meant {
    /// The literal with its type.
    fn typed(&self) -> String {
        // The other name is that of one character.
        let ty = if self.ty == Type::Char { "bpchar".to_owned() } else { Declared::from(self.ty).qualified() };
        format!("{}::{ty}", quote::literal(&self.text))
    }
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
            let hint = format!("Write its type there: '...'::{ty}.");
            return Err(SqlError::new(SqlState::FeatureNotSupported, message).with_hint(hint));
        }
        let written = |meant: &Meant, text: &str| match meant.ty.enumeration() {
            // Labels, and what has them, are found by the name of their type.
            Some(_) if !meant.is_typed => Some(meant.typed()),
            _ => (meant.text != *text).then(|| quote::literal(&meant.text)),
        };
        Ok(edits(&recorded.literals, written))
    }

    /// The literals to which their types are to be written, so that they mean the same wherever they stand: where, and how.
    pub(crate) fn typed_literals(&self) -> Vec<(usize, usize, String)> {
        let recorded = self.literals.0.take().unwrap_or_default();
        let written = |meant: &Meant, _: &str| (!meant.is_typed).then(|| meant.typed());
        edits(&recorded.literals, written)
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

    /// Reads a literal as a value of a type, which stands beside it where the conversion is explicit.
    pub(super) fn read_literal(&self, text: &Arc<str>, to: Declared, place: Conversion) -> Result<Datum> {
        if !is_of_time(to.ty) {
            let value = match to.ty.enumeration() {
                Some(own) if !self.is_kept() => self.read_labels(text, to, own)?,
                _ => value::parse(text, to, self.settings)?,
            };
            self.literal_means(text, to.ty, place, || text.to_string());
            return Ok(value);
        }
        let plain = Settings::default();
        let value = value::parse(text, to, if self.is_kept() { &plain } else { self.settings })?;
        self.literal_means(text, to.ty, place, || {
            let mut shown = Vec::new();
            text::push_text(&value, to, &plain, &mut shown);
            String::from_utf8_lossy(&shown).into_owned()
        });
        Ok(value)
    }

    /// Begins with the definitions of enumerations that the statement was read with before.
    pub(crate) fn with_known_labels(self, known: &[EnumType]) -> Self {
        self.known_labels.replace(known.to_vec());
        self
    }

    /// The definitions of enumerations that literals of the statement were read with first.
    pub(crate) fn known_labels(&self) -> Vec<EnumType> {
        self.known_labels.borrow().clone()
    }

    /// Whether a literal means something else than it would if the statement was new.
    pub(crate) fn means_renamed(&self) -> bool {
        self.means_renamed.get()
    }

    /// Reads a literal with the labels that the statement was read with first, as those that there are now.
    fn read_labels(&self, text: &Arc<str>, to: Declared, now: EnumType) -> Result<Datum> {
        let first = self.known_labels.borrow().iter().find(|known| **known == now).copied();
        let Some(first) = first else {
            self.known_labels.borrow_mut().push(now);
            return value::parse(text, to, self.settings);
        };
        if first.is_same_definition(now) {
            return value::parse(text, to, self.settings);
        }
        let ty = if let Type::Array(_) = to.ty { first.array() } else { Type::Enum(first) };
        let meant = value::parse(text, ty.into(), self.settings).ok().and_then(|value| relabelled(&value, now));
        let Some(meant) = meant else { return value::parse(text, to, self.settings) };
        let is_same = value::parse(text, to, self.settings).is_ok_and(|anew| anew == meant);
        self.means_renamed.set(self.means_renamed.get() || !is_same);
        Ok(meant)
    }

    /// Notes what a literal was found to mean, if that is wanted.
    pub(super) fn literal_means(&self, text: &Arc<str>, ty: Type, place: Conversion, shown: impl Fn() -> String) {
        let mut recorded = self.literals.0.borrow_mut();
        let Some(Recorded { literals, ambiguous, .. }) = recorded.as_mut() else { return };
        let Some(literal) = literals.iter_mut().find(|literal| Arc::ptr_eq(&literal.text, text)) else { return };
        match &literal.meant {
            // `now` is another moment when it is read again.
            Some(meant) if meant.ty == ty => {}
            Some(meant) if meant.text != shown() => *ambiguous = Some(text.clone()),
            Some(_) => {}
            None => literal.meant = Some(Meant { ty, text: shown(), is_typed: place == Conversion::Explicit }),
        }
    }

    /// A text is read whenever the query runs, which a literal in its place would not be.
    pub(super) fn reads_late(&self, to: Type) {
        let mut recorded = self.literals.0.borrow_mut();
        let is_kept_otherwise = is_of_time(to) || to.enumeration().is_some();
        if let Some(recorded) = recorded.as_mut().filter(|_| is_kept_otherwise && !self.is_within_view()) {
            recorded.late = Some(to);
        }
    }

    /// Says that all that is bound is kept by the catalog.
    pub(crate) fn of_kept(self) -> Self {
        self.binds_kept.set(true);
        self
    }

    /// Binds an expression that the catalog keeps.
    pub(crate) fn keeping<T>(&self, bind: impl FnOnce() -> Result<T>) -> Result<T> {
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

/// A value with the labels that another definition of its type has for the same numbers; `None` where it has not all of them.
fn relabelled(value: &Datum, now: EnumType) -> Option<Datum> {
    match value {
        Datum::Enum(label) => now.numbered(label.order().1).map(Datum::Enum),
        Datum::Array(elements) => {
            let elements = elements.iter().map(|element| relabelled(element, now));
            Some(Datum::Array(elements.collect::<Option<Vec<_>>>()?.into()))
        }
        Datum::Null => Some(Datum::Null),
        _ => None,
    }
}

/// Where literals are, and what is to be there.
fn edits(literals: &[Literal], written: impl Fn(&Meant, &str) -> Option<String>) -> Vec<(usize, usize, String)> {
    let mut edits: Vec<(usize, usize, String)> = Vec::new();
    for literal in literals {
        let new = literal.meant.as_ref().and_then(|meant| written(meant, &literal.text));
        // One that is bound twice is written once.
        let is_new = edits.iter().all(|(start, ..)| *start != literal.start);
        edits.extend(new.filter(|_| is_new).map(|new| (literal.start, literal.end, new)));
    }
    edits
}
