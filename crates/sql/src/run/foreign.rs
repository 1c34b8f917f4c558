//! Foreign keys while statements run: what is written is noted, and looked at when the statement is over.
//!
//! Invariants:
//! - What is checked are values, not rows: a value that a row had in between violates nothing. So to check twice does no harm.
//! - Both sides are read by the transaction that writes: the row that is referred to by its key, the rows that refer by a range
//!   of an index, or all of them. So of two transactions, one that takes a row away and one that refers to it, one gives way.
//! - Rows that refer are gathered before any of them is written.

use std::collections::HashMap;
use std::sync::Arc;

use osier::Value;
use osier::table::KeyRange;

use super::scan::{all_fit, loaded, with_encoded};
use super::write::{check_row, delete_row, generate, replace_rows};
use super::{Context, Row, row_bytes};
use crate::catalog::notes::Action;
use crate::catalog::relation::Relation;
use crate::datum::Datum;
use crate::error::{Result, SqlError, SqlState};
use crate::plan::foreign::{ForeignKey, Keys};
use crate::value;

/// What is to be looked at, in the order in which it came.
#[derive(Debug, Default)]
pub(crate) struct Pending {
    batches: Vec<Batch>,
    /// How often rows were written that are noted together.
    step: usize,
}

/// Values of one foreign key.
#[derive(Debug)]
pub(crate) struct Batch {
    keys: Arc<Keys>,
    key: usize,
    kind: Kind,
    step: usize,
    values: HashMap<Row, Noted>,
}

/// What the values of a batch are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    /// Rows that refer have them.
    Referring,
    /// Rows that had them were deleted from the table that is referred to.
    Deleted,
    /// Rows that had them have others.
    Changed,
}

#[derive(Debug)]
struct Noted {
    order: usize,
    /// What the row has that had the values.
    new: Option<Row>,
}

/// Where what need not be looked at before the end of the transaction waits for it.
pub(crate) trait Waiting {
    /// Takes a batch, or gives it back where its key does not wait.
    fn take(&self, batch: Batch) -> Option<Batch>;
}

impl Pending {
    /// Rows that are written from now on are written after those from before.
    pub(crate) fn begin_step(&mut self) {
        self.step += 1;
    }

    fn note(&mut self, keys: &Arc<Keys>, key: usize, kind: Kind, (old, new): (Row, Option<Row>)) -> bool {
        let step = if kind == Kind::Referring { 0 } else { self.step };
        let is_it =
            |batch: &Batch| Arc::ptr_eq(&batch.keys, keys) && (batch.key, batch.kind, batch.step) == (key, kind, step);
        let at = self.batches.iter().rposition(is_it).unwrap_or_else(|| {
            self.batches.push(Batch { keys: keys.clone(), key, kind, step, values: HashMap::new() });
            self.batches.len() - 1
        });
        self.batches[at].add(old, new)
    }
}

/// Notes a row that was added to a table.
pub(crate) fn inserted(keys: &Arc<Keys>, table: usize, row: &[Datum], context: &Context<'_>) -> Result<()> {
    for key in &keys.tables[table].own {
        let values = values_of(&keys.keys[*key].columns, row);
        if must_be_checked(&keys.keys[*key], &values) {
            note(keys, *key, Kind::Referring, (values, None), context)?;
        }
    }
    Ok(())
}

/// Notes a row that was deleted.
pub(crate) fn deleted(keys: &Arc<Keys>, table: usize, old: &[Datum], context: &Context<'_>) -> Result<()> {
    for key in &keys.tables[table].referring {
        let values = values_of(&keys.keys[*key].referenced, old);
        // Nothing refers to NULL.
        if !values.iter().any(Datum::is_null) {
            note(keys, *key, Kind::Deleted, (values, None), context)?;
        }
    }
    Ok(())
}

/// Notes a row that has other values.
pub(crate) fn changed(
    keys: &Arc<Keys>,
    table: usize,
    (old, new): (&[Datum], &[Datum]),
    context: &Context<'_>,
) -> Result<()> {
    for key in &keys.tables[table].own {
        let foreign = &keys.keys[*key];
        let values = values_of(&foreign.columns, new);
        if values != values_of(&foreign.columns, old) && must_be_checked(foreign, &values) {
            note(keys, *key, Kind::Referring, (values, None), context)?;
        }
    }
    for key in &keys.tables[table].referring {
        let foreign = &keys.keys[*key];
        let (old, new) = (values_of(&foreign.referenced, old), values_of(&foreign.referenced, new));
        if old != new && !old.iter().any(Datum::is_null) {
            note(keys, *key, Kind::Changed, (old, Some(new)), context)?;
        }
    }
    Ok(())
}

fn note(keys: &Arc<Keys>, key: usize, kind: Kind, change: (Row, Option<Row>), context: &Context<'_>) -> Result<()> {
    let bytes = row_bytes(&change.0) + change.1.as_deref().map_or(0, row_bytes) + size_of::<Noted>();
    let is_new = context.pending.borrow_mut().note(keys, key, kind, change);
    if is_new { context.keep(bytes) } else { Ok(()) }
}

fn values_of(columns: &[usize], row: &[Datum]) -> Row {
    columns.iter().map(|at| row[*at].clone()).collect()
}

/// Whether a row with these values has to refer to another one.
fn must_be_checked(key: &ForeignKey, values: &[Datum]) -> bool {
    match values.iter().filter(|value| value.is_null()).count() {
        0 => true,
        nulls => key.note.is_full && nulls < values.len(),
    }
}

/// Looks at what was noted, and at what that makes rows of other tables do in turn.
pub(crate) fn settle(context: &Context<'_>, waiting: &dyn Waiting) -> Result<()> {
    loop {
        let batches = std::mem::take(&mut context.pending.borrow_mut().batches);
        if batches.is_empty() {
            return Ok(());
        }
        for batch in batches {
            match batch.is_check() {
                true => waiting.take(batch).map_or(Ok(()), |batch| batch.check(context))?,
                false => batch.act(context)?,
            }
        }
    }
}

impl Batch {
    /// Begins with no values of a key, to check rows that are there already.
    pub(crate) fn referring(key: ForeignKey) -> Batch {
        let keys = Arc::new(Keys { tables: Vec::new(), keys: vec![key] });
        Batch { keys, key: 0, kind: Kind::Referring, step: 0, values: HashMap::new() }
    }

    pub(crate) fn key(&self) -> &ForeignKey {
        &self.keys.keys[self.key]
    }

    /// Puts a key in place of the one that it has: the same one, of tables that were changed since.
    pub(crate) fn set_key(&mut self, key: ForeignKey) {
        (self.keys, self.key) = (Arc::new(Keys { tables: Vec::new(), keys: vec![key] }), 0);
    }

    /// Adds the values of a row that refers.
    pub(crate) fn add_row(&mut self, row: &[Datum], context: &Context<'_>) -> Result<()> {
        let values = values_of(&self.key().columns, row);
        if !must_be_checked(self.key(), &values) || self.values.contains_key(&values) {
            return Ok(());
        }
        context.keep(row_bytes(&values) + size_of::<Noted>())?;
        self.add(values, None);
        Ok(())
    }

    fn add(&mut self, old: Row, new: Option<Row>) -> bool {
        let order = self.values.len();
        let mut is_new = false;
        self.values.entry(old).or_insert_with(|| {
            is_new = true;
            Noted { order, new }
        });
        is_new
    }

    /// Takes the values of another batch, if that is of the same key and asks for the same check.
    pub(crate) fn absorb(&mut self, other: Batch) -> Option<Batch> {
        let is_same = |a: &Relation, b: &Relation| Arc::ptr_eq(a.table.schema(), b.table.schema());
        let (own, its) = (self.key(), other.key());
        let is_same_key = own.note == its.note && is_same(&own.child, &its.child) && is_same(&own.parent, &its.parent);
        if self.kind != other.kind || !is_same_key {
            return Some(other);
        }
        let mut values: Vec<_> = other.values.into_iter().collect();
        values.sort_unstable_by_key(|(_, noted)| noted.order);
        for (values, noted) in values {
            self.add(values, noted.new);
        }
        None
    }

    /// Whether it only reads.
    fn is_check(&self) -> bool {
        match self.kind {
            Kind::Referring => true,
            kind => !self.key().action(kind == Kind::Deleted).writes(),
        }
    }

    /// Whether the check may be put off to the end of the transaction.
    pub(crate) fn can_wait(&self) -> bool {
        let key = self.key();
        let is_put_off = self.kind == Kind::Referring || key.action(self.kind == Kind::Deleted) == Action::None;
        key.note.is_deferrable && is_put_off
    }

    /// The values in the order in which they came.
    fn ordered(&self) -> Vec<(&Row, &Noted)> {
        let mut values: Vec<_> = self.values.iter().collect();
        values.sort_unstable_by_key(|(_, noted)| noted.order);
        values
    }

    /// Fails where the key is violated.
    pub(crate) fn check(&self, context: &Context<'_>) -> Result<()> {
        match self.kind {
            Kind::Referring => self.check_referring(context),
            kind => self.check_left(
                kind == Kind::Deleted && self.key().note.on_delete == Action::Restrict
                    || kind == Kind::Changed && self.key().note.on_update == Action::Restrict,
                context,
            ),
        }
    }

    /// Each value must be there in the table that is referred to, or be gone from the one that refers.
    fn check_referring(&self, context: &Context<'_>) -> Result<()> {
        let key = self.key();
        for (values, _) in self.ordered() {
            context.tick()?;
            let is_mixed = values.iter().any(Datum::is_null);
            if !is_mixed && has_parent(key, values, context)? {
                continue;
            }
            let mut is_there = false;
            let one = [values];
            children(key, &one, false, context, &mut |_, _| {
                is_there = true;
                Ok(false)
            })?;
            if is_there {
                return Err(missing(key, values, is_mixed, context));
            }
        }
        Ok(())
    }

    /// No row may refer to what is gone. Where it is there again, all is well, unless the key says `RESTRICT`.
    fn check_left(&self, is_restricted: bool, context: &Context<'_>) -> Result<()> {
        let key = self.key();
        let mut gone = Vec::with_capacity(self.values.len());
        for (values, _) in self.ordered() {
            context.tick()?;
            if is_restricted || !has_parent(key, values, context)? {
                gone.push(values);
            }
        }
        let mut referred = None;
        children(key, &gone, false, context, &mut |_, at| {
            referred = Some(at);
            Ok(false)
        })?;
        referred.map_or(Ok(()), |at| Err(still_referenced(key, gone[at], context)))
    }

    /// Does to the rows that refer what the key says.
    fn act(&self, context: &Context<'_>) -> Result<()> {
        let key = self.key();
        let table = key.child_table.expect("a key that writes knows which table");
        let ordered = self.ordered();
        let values: Vec<&Row> = ordered.iter().map(|(values, _)| *values).collect();
        let mut found = Vec::new();
        children(key, &values, true, context, &mut |row, at| {
            context.keep(row_bytes(&row))?;
            found.push((row, at));
            Ok(true)
        })?;
        context.pending.borrow_mut().begin_step();
        let action = key.action(self.kind == Kind::Deleted);
        if self.kind == Kind::Deleted && action == Action::Cascade {
            for (row, _) in found {
                context.tick()?;
                delete_row(&key.child, &row, context)?;
                deleted(&self.keys, table, &row, context)?;
            }
            return Ok(());
        }
        let mut changes = Vec::with_capacity(found.len());
        for (row, at) in found {
            let mut new = self.acted_on(action, &row, ordered[at].1, context)?;
            generate(&self.keys.tables[table].generated, &mut new, context)?;
            check_row(&key.child, &self.keys.tables[table].checks, &new, context)?;
            context.keep(row_bytes(&new))?;
            changes.push((row, new));
        }
        replace_rows(&key.child, &changes, context)?;
        for (old, new) in &changes {
            changed(&self.keys, table, (old, new), context)?;
        }
        // Who refers by its defaults to what is gone does so still.
        if action == Action::SetDefault { self.check_left(false, context) } else { Ok(()) }
    }

    /// What a row becomes that refers to one which was deleted or changed.
    fn acted_on(&self, action: Action, row: &[Datum], noted: &Noted, context: &Context<'_>) -> Result<Row> {
        let key = self.key();
        let mut new = row.to_vec();
        let all: Vec<usize> = (0..key.columns.len()).collect();
        let set = if self.kind == Kind::Deleted { &key.set_on_delete } else { &all };
        for at in set {
            let column = key.columns[*at];
            new[column] = match (action, &noted.new) {
                (Action::SetDefault, _) => key.defaults[*at].evaluate(&[], context)?,
                (Action::Cascade, Some(values)) => {
                    let from = key.parent.columns[key.referenced[*at]].declared.ty;
                    let to = key.child.columns[column].declared;
                    value::cast(values[*at].clone(), from, to, false, context.settings())?
                }
                _ => Datum::Null,
            };
        }
        Ok(new)
    }
}

/// Whether the table that is referred to has a row with these values, of which none is NULL.
fn has_parent(key: &ForeignKey, values: &[Datum], context: &Context<'_>) -> Result<bool> {
    let lookup = &key.parent_lookup;
    let values = values_of(&lookup.order, values);
    if !all_fit(&key.parent, &lookup.columns, &values) {
        return Ok(false);
    }
    let table = &key.parent.table;
    let exists = |values: &[Value<'_>]| match lookup.index {
        None => context.store.exists(table, values),
        Some(at) => {
            let index = key.parent.indexes[at].name.as_str();
            let mut rows = context.store.scan(table, Some(index), KeyRange::prefix(values), false)?;
            Ok(rows.next().transpose()?.is_some())
        }
    };
    Ok(with_encoded(&key.parent, &lookup.columns, &values, exists)??)
}

/// Calls `visit` with each row that refers with one of these values, and the position of that, until it returns `false`.
fn children(
    key: &ForeignKey,
    wanted: &[&Row],
    for_update: bool,
    context: &Context<'_>,
    visit: &mut dyn FnMut(Row, usize) -> Result<bool>,
) -> Result<()> {
    if wanted.is_empty() {
        return Ok(());
    }
    let has_null = wanted.iter().any(|values| values.iter().any(Datum::is_null));
    let Some(lookup) = key.child_lookup.as_ref().filter(|_| !has_null) else {
        return all_children(key, wanted, context, visit);
    };
    let index = lookup.index.map(|at| key.child.indexes[at].name.as_str());
    for (at, values) in wanted.iter().enumerate() {
        let values = values_of(&lookup.order, values);
        if !all_fit(&key.child, &lookup.columns, &values) {
            continue;
        }
        let mut goes_on = true;
        with_encoded(&key.child, &lookup.columns, &values, |values| -> Result<()> {
            for row in context.store.scan(&key.child.table, index, KeyRange::prefix(values), for_update)? {
                context.tick()?;
                goes_on = visit(loaded(&row?, &key.child)?, at)?;
                if !goes_on {
                    break;
                }
            }
            Ok(())
        })??;
        if !goes_on {
            break;
        }
    }
    Ok(())
}

/// As [`children`], by one look at the whole table.
fn all_children(
    key: &ForeignKey,
    wanted: &[&Row],
    context: &Context<'_>,
    visit: &mut dyn FnMut(Row, usize) -> Result<bool>,
) -> Result<()> {
    let wanted: HashMap<&Row, usize> = wanted.iter().enumerate().map(|(at, values)| (*values, at)).collect();
    for row in context.store.scan(&key.child.table, None, KeyRange::all(), false)? {
        context.tick()?;
        let row = loaded(&row?, &key.child)?;
        if let Some(at) = wanted.get(&values_of(&key.columns, &row))
            && !visit(row, *at)?
        {
            break;
        }
    }
    Ok(())
}

/// Columns with their values, as PostgreSQL shows a key.
fn shown(relation: &Relation, columns: &[usize], values: &[Datum], context: &Context<'_>) -> String {
    let names: Vec<&str> = columns.iter().map(|at| relation.columns[*at].name.as_str()).collect();
    let texts = columns.iter().zip(values).map(|(at, value)| {
        let mut out = Vec::new();
        value::push_text(value, relation.columns[*at].declared, context.settings(), &mut out);
        String::from_utf8_lossy(&out).into_owned()
    });
    format!("({})=({})", names.join(", "), texts.collect::<Vec<_>>().join(", "))
}

fn violation(key: &ForeignKey, message: String) -> SqlError {
    SqlError::new(SqlState::ForeignKeyViolation, message)
        .with_schema(&key.child.name.schema)
        .with_table(&key.child.name.name)
        .with_constraint(&key.note.name)
}

fn missing(key: &ForeignKey, values: &[Datum], is_mixed: bool, context: &Context<'_>) -> SqlError {
    let (child, name) = (&key.child.name.name, &key.note.name);
    let message = format!("insert or update on table \"{child}\" violates foreign key constraint \"{name}\"");
    let detail = match is_mixed {
        true => "MATCH FULL does not allow mixing of null and nonnull key values.".to_owned(),
        false => {
            let (values, parent) = (shown(&key.child, &key.columns, values, context), &key.parent.name.name);
            format!("Key {values} is not present in table \"{parent}\".")
        }
    };
    violation(key, message).with_detail(detail)
}

fn still_referenced(key: &ForeignKey, values: &[Datum], context: &Context<'_>) -> SqlError {
    let (child, parent, name) = (&key.child.name.name, &key.parent.name.name, &key.note.name);
    let message = format!(
        "update or delete on table \"{parent}\" violates foreign key constraint \"{name}\" on table \"{child}\""
    );
    let values = shown(&key.parent, &key.referenced, values, context);
    violation(key, message).with_detail(format!("Key {values} is still referenced from table \"{child}\"."))
}
