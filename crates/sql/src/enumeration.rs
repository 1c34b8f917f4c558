//! Enumerations: types whose values are labels, in an order that is declared.
//!
//! A value is stored as the number of its label. Numbers grow in the order of the labels, with gaps between them: a label that is
//! added takes one of a gap, so rows that are there stay as they are.
//!
//! Invariants:
//! - A number belongs to one label as long as there is the type. The label may get another text. One that a transaction added
//!   which was rolled back is given to no other text while the process runs: prepared statements may still have it.
//! - Types are the same where their numbers in the catalog are. Two definitions of one type may be in use at once, by statements
//!   of before and behind a change.
//! - Whatever was defined stays in memory until the process ends, each definition and each label once: so a [`Type`] and a value
//!   are copied without a count.

use std::collections::{BTreeSet, HashMap, HashSet};
use std::fmt;
use std::hash::{Hash, Hasher};
use std::sync::{LazyLock, Mutex, OnceLock, PoisonError};

use serde::{Deserialize, Serialize};

use crate::error::{Result, SqlError, SqlState};
use crate::parse::quote::quoted;
use crate::types::Type;

/// The most labels of a type.
pub(crate) const LABELS_MAX: usize = 4096;
/// The most bytes of a label.
pub(crate) const LABEL_BYTES_MAX: usize = 63;
/// Between the numbers of two labels that are declared one behind the other.
const GAP: i64 = 1 << 40;
/// So many labels are compared one by one.
const FEW: usize = 16;

/// A label with its number.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Label {
    pub(crate) number: i64,
    pub(crate) text: String,
    /// The number of its type, once that is known.
    #[serde(skip)]
    of: u32,
}

impl Label {
    /// What values are told apart by, and ordered within their type.
    pub(crate) fn order(&self) -> (u32, i64) {
        (self.of, self.number)
    }
}

/// What the catalog keeps of an enumeration.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Definition {
    /// Its number in the catalog; that of its arrays is the next one.
    pub(crate) oid: u32,
    pub(crate) schema: String,
    pub(crate) name: String,
    /// In their order.
    pub(crate) labels: Vec<Label>,
}

/// An enumeration as it was defined at some time.
#[derive(Clone, Copy)]
pub struct EnumType(&'static Known);

struct Known {
    oid: u32,
    schema: String,
    name: String,
    labels: Vec<&'static Label>,
    /// The positions of labels by their texts, if there are many.
    positions: OnceLock<HashMap<&'static str, usize>>,
    ty: OnceLock<Type>,
}

/// Definitions by their numbers, and labels.
#[derive(Default)]
struct Interned {
    types: HashMap<u32, Vec<&'static Known>>,
    labels: HashSet<&'static Label>,
}

static INTERNED: LazyLock<Mutex<Interned>> = LazyLock::new(Mutex::default);

/// Shows its number and its name: it is a part of what it knows, as the element of its arrays.
impl fmt::Debug for EnumType {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {}", self.0.oid, self.qualified())
    }
}

impl PartialEq for EnumType {
    fn eq(&self, other: &EnumType) -> bool {
        self.0.oid == other.0.oid
    }
}

impl Eq for EnumType {}

impl Hash for EnumType {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.0.oid.hash(state);
    }
}

impl EnumType {
    /// The type of a definition.
    pub(crate) fn of(definition: &Definition) -> EnumType {
        let mut interned = INTERNED.lock().unwrap_or_else(PoisonError::into_inner);
        let Interned { types, labels } = &mut *interned;
        let of_number = types.entry(definition.oid).or_default();
        let is_it = |known: &&&Known| {
            let pairs = || known.labels.iter().zip(&definition.labels);
            known.labels.len() == definition.labels.len()
                && (&known.schema, &known.name) == (&definition.schema, &definition.name)
                && pairs().all(|(known, label)| (known.number, &known.text) == (label.number, &label.text))
        };
        // The newest one is asked for most.
        if let Some(known) = of_number.iter().rev().find(is_it) {
            return EnumType(known);
        }
        let mut intern = |label: &Label| {
            let label = Label { of: definition.oid, ..label.clone() };
            labels.get(&label).copied().unwrap_or_else(|| {
                let known: &'static Label = Box::leak(Box::new(label));
                labels.insert(known);
                known
            })
        };
        let known: &'static Known = Box::leak(Box::new(Known {
            oid: definition.oid,
            schema: definition.schema.clone(),
            name: definition.name.clone(),
            labels: definition.labels.iter().map(&mut intern).collect(),
            positions: OnceLock::new(),
            ty: OnceLock::new(),
        }));
        of_number.push(known);
        EnumType(known)
    }

    /// The numbers that labels with another text have, or had in transactions that were rolled back, in their order.
    pub(crate) fn numbers_beside(self, text: &str) -> Vec<i64> {
        let interned = INTERNED.lock().unwrap_or_else(PoisonError::into_inner);
        let definitions = interned.types.get(&self.0.oid).into_iter().flatten();
        let labels = definitions.flat_map(|known| &known.labels).filter(|label| label.text != text);
        labels.map(|label| label.number).collect::<BTreeSet<i64>>().into_iter().collect()
    }

    /// Whether it is the same type with the same labels, and has the same name.
    pub(crate) fn is_same_definition(self, other: EnumType) -> bool {
        std::ptr::eq(self.0, other.0)
    }

    /// What the catalog keeps of it.
    pub(crate) fn definition(self) -> Definition {
        Definition {
            oid: self.0.oid,
            schema: self.0.schema.clone(),
            name: self.0.name.clone(),
            labels: self.0.labels.iter().copied().cloned().collect(),
        }
    }

    /// Returns its number in the catalog.
    pub fn oid(self) -> u32 {
        self.0.oid
    }

    /// Returns the number of its arrays in the catalog.
    pub fn array_oid(self) -> u32 {
        self.0.oid + 1
    }

    pub(crate) fn schema(self) -> &'static str {
        &self.0.schema
    }

    /// Returns its name.
    pub fn name(self) -> &'static str {
        &self.0.name
    }

    /// Returns its labels in their order.
    pub fn labels(self) -> &'static [&'static Label] {
        &self.0.labels
    }

    /// The type of its arrays.
    pub(crate) fn array(self) -> Type {
        Type::Array(self.0.ty.get_or_init(|| Type::Enum(self)))
    }

    /// Its name with its schema, as the texts that the catalog keeps have it.
    pub(crate) fn qualified(self) -> String {
        format!("{}.{}", quoted(&self.0.schema), quoted(&self.0.name))
    }

    fn position(self, text: &str) -> Option<usize> {
        let labels = self.labels();
        if labels.len() <= FEW {
            return labels.iter().position(|label| label.text == text);
        }
        let all = || labels.iter().enumerate().map(|(at, label)| (label.text.as_str(), at)).collect();
        self.0.positions.get_or_init(all).get(text).copied()
    }

    /// The label with a text.
    pub(crate) fn find(self, text: &str) -> Option<&'static Label> {
        self.position(text).map(|at| self.labels()[at])
    }

    /// The label with a text, which must be there.
    ///
    /// # Errors
    /// 22P02.
    pub(crate) fn label(self, text: &str) -> Result<&'static Label> {
        self.find(text).ok_or_else(|| {
            let message = format!("invalid input value for enum {}: \"{text}\"", Type::Enum(self));
            SqlError::new(SqlState::InvalidTextRepresentation, message)
        })
    }

    /// The label with a number.
    pub(crate) fn numbered(self, number: i64) -> Option<&'static Label> {
        let at = self.labels().binary_search_by_key(&number, |label| label.number).ok()?;
        Some(self.labels()[at])
    }
}

/// The labels of a new type.
///
/// # Errors
/// Too many, a label that is too long, or one that is there twice.
pub(crate) fn declared(texts: &[String]) -> Result<Vec<Label>> {
    let mut labels: Vec<Label> = Vec::with_capacity(texts.len());
    let mut seen = HashSet::new();
    check_count(texts.len())?;
    for (text, number) in texts.iter().zip(1..) {
        check_text(text)?;
        if !seen.insert(text) {
            let message = format!("enum label \"{text}\" used more than once");
            return Err(SqlError::new(SqlState::DuplicateObject, message));
        }
        labels.push(Label { number: number * GAP, text: text.clone(), of: 0 });
    }
    Ok(labels)
}

/// Where a label is added.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) enum Position {
    Last,
    Before(String),
    After(String),
}

/// Adds a label, with none of the numbers that are `taken`.
///
/// # Errors
/// A label that cannot be, a neighbour that is not there, and no room between two labels.
pub(crate) fn add(labels: &mut Vec<Label>, text: &str, position: &Position, taken: &[i64]) -> Result<()> {
    check_text(text)?;
    check_count(labels.len() + 1)?;
    let at = match position {
        Position::Last => labels.len(),
        Position::Before(other) => need(labels, other)?,
        Position::After(other) => need(labels, other)? + 1,
    };
    let before = at.checked_sub(1).map(|at| labels[at].number);
    let Some(number) = free(before, labels.get(at).map(|behind| behind.number), taken) else {
        let message = format!("there is no room for another label beside \"{}\"", labels[at.saturating_sub(1)].text);
        return Err(SqlError::new(SqlState::ProgramLimitExceeded, message).with_hint(
            "Make another type with all labels, and give it to the columns: \
             ALTER TABLE ... ALTER COLUMN ... TYPE ... USING column::text::type.",
        ));
    };
    labels.insert(at, Label { number, text: text.to_owned(), of: 0 });
    Ok(())
}

/// A number between two others that is not taken.
fn free(before: Option<i64>, behind: Option<i64>, taken: &[i64]) -> Option<i64> {
    match (before, behind) {
        (None, None) => free(Some(0), None, taken),
        (Some(before), None) => before.max(taken.last().copied().unwrap_or(before)).checked_add(GAP),
        (None, Some(behind)) => behind.min(taken.first().copied().unwrap_or(behind)).checked_sub(GAP),
        (Some(before), Some(behind)) => {
            let next = taken.iter().copied().find(|number| *number > before).map_or(behind, |next| next.min(behind));
            // Both are far from the ends of what 64 bits hold.
            Some(before + (next - before) / 2).filter(|number| *number != before)
        }
    }
}

/// Gives a label another text.
///
/// # Errors
/// A label that is not there, and one that is there already.
pub(crate) fn rename(labels: &mut [Label], from: &str, to: &str) -> Result<()> {
    check_text(to)?;
    let at = need(labels, from)?;
    if labels.iter().any(|label| label.text == to) {
        return Err(SqlError::new(SqlState::DuplicateObject, format!("enum label \"{to}\" already exists")));
    }
    to.clone_into(&mut labels[at].text);
    Ok(())
}

fn need(labels: &[Label], text: &str) -> Result<usize> {
    labels.iter().position(|label| label.text == text).ok_or_else(|| {
        let message = format!("\"{text}\" is not an existing enum label");
        SqlError::new(SqlState::InvalidParameterValue, message)
    })
}

fn check_count(count: usize) -> Result<()> {
    if count <= LABELS_MAX {
        return Ok(());
    }
    let message = format!("a type has up to {LABELS_MAX} labels");
    Err(SqlError::new(SqlState::ProgramLimitExceeded, message)
        .with_hint("Keep them in a table, and refer to it with a foreign key."))
}

fn check_text(text: &str) -> Result<()> {
    if text.len() <= LABEL_BYTES_MAX {
        return Ok(());
    }
    Err(SqlError::new(SqlState::InvalidName, format!("invalid enum label \"{text}\""))
        .with_detail(format!("Labels must be {LABEL_BYTES_MAX} bytes or less.")))
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;

    /// A type with these labels.
    pub(crate) fn sample(labels: &[&str]) -> Type {
        Type::Enum(EnumType::of(&definition(1 << 29, labels)))
    }

    fn texts(labels: &[Label]) -> Vec<&str> {
        labels.iter().map(|label| label.text.as_str()).collect()
    }

    fn definition(oid: u32, words: &[&str]) -> Definition {
        let words: Vec<String> = words.iter().map(|word| (*word).to_owned()).collect();
        let labels = declared(&words).expect("labels");
        Definition { oid, schema: "public".to_owned(), name: "mood".to_owned(), labels }
    }

    #[test]
    fn labels_are_added_where_they_are_asked_for_until_a_gap_is_full() {
        let mut labels = definition(1, &["b", "d"]).labels;
        add(&mut labels, "a", &Position::Before("b".to_owned()), &[]).expect("room");
        add(&mut labels, "c", &Position::After("b".to_owned()), &[]).expect("room");
        add(&mut labels, "e", &Position::Last, &[]).expect("room");
        assert_eq!(texts(&labels), ["a", "b", "c", "d", "e"]);
        assert!(labels.is_sorted_by_key(|label| label.number));
        let full =
            (0..100).find_map(|at| add(&mut labels, &format!("x{at}"), &Position::After("a".to_owned()), &[]).err());
        assert_eq!(full.expect("the gap has an end").code(), "54000");
        assert!(labels.len() > 40 && labels.windows(2).all(|pair| pair[0].number < pair[1].number));
        assert_eq!(add(&mut labels, "z", &Position::Before("nosuch".to_owned()), &[]).unwrap_err().code(), "22023");
        assert_eq!(rename(&mut labels, "a", "b").unwrap_err().code(), "42710");
        rename(&mut labels, "a", "A").expect("free");
        assert_eq!(labels[0].text, "A");
    }

    #[test]
    fn a_number_that_was_given_goes_to_no_other_label() {
        let first = definition(104, &["a", "d"]);
        let mut rolled_back = first.clone();
        for (text, position) in [("b", Position::After("a".to_owned())), ("e", Position::Last)] {
            add(&mut rolled_back.labels, text, &position, &EnumType::of(&first).numbers_beside(text)).expect("room");
        }
        EnumType::of(&rolled_back);
        let number = |labels: &[Label], text: &str| labels.iter().find(|label| label.text == text).expect("it").number;
        for (text, position) in [("b", Position::After("a".to_owned())), ("e", Position::Last)] {
            let mut again = first.clone();
            add(&mut again.labels, text, &position, &EnumType::of(&first).numbers_beside(text)).expect("room");
            assert_eq!(number(&again.labels, text), number(&rolled_back.labels, text), "the same label");
            let mut other = first.clone();
            add(&mut other.labels, "x", &position, &EnumType::of(&first).numbers_beside("x")).expect("room");
            assert!(rolled_back.labels.iter().all(|label| label.number != number(&other.labels, "x")), "{text}");
            assert!(other.labels.is_sorted_by_key(|label| label.number));
        }
    }

    #[test]
    fn a_definition_is_kept_once_and_a_changed_one_is_the_same_type() {
        let first = definition(100, &["x", "y"]);
        let (one, again) = (EnumType::of(&first), EnumType::of(&first));
        assert!(std::ptr::eq(one.0, again.0));
        let mut changed = first.clone();
        add(&mut changed.labels, "z", &Position::Last, &[]).expect("room");
        let changed = EnumType::of(&changed);
        assert!(changed == one && changed.label("z").is_ok() && one.label("z").is_err());
        assert!(std::ptr::eq(one.label("x").expect("x"), changed.label("x").expect("x")), "labels are kept once");
        assert_eq!(changed.numbered(one.labels()[1].number).expect("y").text, "y");
        assert_eq!(EnumType::of(&one.definition()), one);
        let words: Vec<String> = (0..100).map(|at| format!("w{at}")).collect();
        let words: Vec<&str> = words.iter().map(String::as_str).collect();
        let many = EnumType::of(&definition(102, &words));
        assert_eq!((many.label("w99").expect("w99").number, many.find("w100")), (100 * GAP, None));
    }
}
