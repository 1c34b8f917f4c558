//! What SQL keeps beside tables: schemas, views, the queries of materialized ones, owners of sequences, roles' attributes and
//! memberships, and rights.
//!
//! They are rows of one table of the engine, `osier.objects`: a kind, a name and a definition as JSON. So they are logged,
//! recovered and backed up like any other row, and change with the transaction that changes them.
//!
//! Invariants:
//! - Whoever writes a row changes the notes of the table, too. What was read of one handle of the table holds as long as the
//!   handle does, and a transaction that has looked at it conflicts with one that changes it.
//! - A number is given once, also where the transaction that asked for it is rolled back: this process remembers the last one
//!   that it gave, and whoever writes a row writes that into the notes.
//! - The notes have the sum of the hashes of all rows. Rows that do not add up to it are those of a transaction that is being
//!   committed right now: who reads them is run again.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};

use osier::table::{KeyRange, Schema, Type as Column};
use osier::{Database, Error, Table, Transaction, TransactionError, Value};
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};

use super::name::{Name, PUBLIC};
use super::notes::read_type;
use super::rights::Grant;
use crate::bind::places::edited;
use crate::enumeration::{Definition, EnumType};
use crate::error::{Result, SqlError, SqlState};
use crate::parse::quote::quoted;
use crate::sql::Sql;
use crate::types::{Declared, Type};

/// The table, with columns `kind`, `name` and `definition`.
pub(crate) const TABLE: &str = "osier.objects";

/// What a row is about.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    Schema,
    View,
    /// The query of a materialized view, whose rows are those of a table.
    Materialized,
    Sequence,
    Role,
    Type,
    Extension,
    /// The list of rights of an object.
    Rights,
}

impl Kind {
    /// The word that a row has for it. Of views it is that of messages, too.
    pub(crate) fn text(self) -> &'static str {
        match self {
            Kind::Schema => "schema",
            Kind::View => "view",
            Kind::Materialized => "materialized view",
            Kind::Sequence => "sequence",
            Kind::Role => "role",
            Kind::Type => "type",
            Kind::Extension => "extension",
            Kind::Rights => "rights",
        }
    }
}

/// All of it, as some transactions see it.
#[derive(Clone, Debug, Default)]
pub(crate) struct Objects {
    pub(crate) schemas: BTreeMap<String, SchemaEntry>,
    pub(crate) views: BTreeMap<Name, Arc<ViewEntry>>,
    /// The queries of materialized views.
    pub(crate) materialized: BTreeMap<Name, Arc<ViewEntry>>,
    /// Sequences that are temporary, or that somebody else than the first role owns.
    pub(crate) sequences: BTreeMap<Name, SequenceEntry>,
    pub(crate) roles: BTreeMap<String, RoleEntry>,
    pub(crate) types: BTreeMap<Name, UserType>,
    pub(crate) extensions: BTreeMap<String, ExtensionEntry>,
    /// Rights, by [`Object::key`](super::rights::Object::key).
    pub(crate) lists: BTreeMap<String, Vec<Grant>>,
}

/// A schema.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct SchemaEntry {
    pub(crate) number: u32,
    pub(crate) owner: String,
}

/// A sequence.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct SequenceEntry {
    pub(crate) number: u32,
    pub(crate) owner: String,
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub(crate) is_temporary: bool,
}

/// A role.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct RoleEntry {
    pub(crate) number: u32,
    pub(crate) is_superuser: bool,
    pub(crate) can_login: bool,
    pub(crate) create_db: bool,
    pub(crate) create_role: bool,
    pub(crate) inherits: bool,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) valid_until: Option<String>,
    /// Roles that it is a member of, and whether it may make others members of them.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub(crate) member_of: BTreeMap<String, bool>,
}

/// An extension that was created. Its functions are there in any case.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct ExtensionEntry {
    pub(crate) number: u32,
    pub(crate) owner: String,
    pub(crate) schema: String,
}

/// A type that users have made, as it is kept.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct TypeEntry {
    pub(crate) owner: String,
    #[serde(rename = "enum")]
    pub(crate) definition: Definition,
}

/// A type that users have made.
#[derive(Clone, Debug)]
pub(crate) struct UserType {
    pub(crate) owner: String,
    pub(crate) ty: EnumType,
}

/// A view, or a materialized one.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct ViewEntry {
    pub(crate) number: u32,
    pub(crate) owner: String,
    /// As it was written, but that names of tables have their schemas, and `*` is the columns. What names mean is in `tables`.
    pub(crate) query: String,
    pub(crate) columns: Vec<ViewColumn>,
    pub(crate) tables: Vec<Reference>,
    /// Where the query names them.
    pub(crate) places: Vec<TablePlace>,
    /// Where the query names columns of them; `None`: they have the names that the query knows where it is shown.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) column_places: Option<Vec<ColumnPlace>>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) check: Option<CheckOption>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) comment: Option<String>,
}

/// Where a query names a table or view, in characters.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct TablePlace {
    pub(crate) start: usize,
    pub(crate) end: usize,
    /// The end of the alias behind it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) alias_end: Option<usize>,
    /// Whether the alias has columns.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub(crate) has_columns: bool,
    /// Its position in the list of tables.
    pub(crate) of: usize,
}

/// Where a query names a column of a table or view, in characters.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct ColumnPlace {
    pub(crate) start: usize,
    pub(crate) end: usize,
    /// The position of the table in the list of tables.
    pub(crate) of: usize,
    /// What the query calls the column.
    pub(crate) column: String,
    /// Whether it is in a list, and has no other name there.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub(crate) is_item: bool,
}

/// A column of a view.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct ViewColumn {
    pub(crate) name: String,
    /// As [`kept_type`](super::notes::kept_type) has it.
    #[serde(rename = "type")]
    pub(crate) ty: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) comment: Option<String>,
}

/// Which rows that are written through a view it must show.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum CheckOption {
    Local,
    Cascaded,
}

/// A table or view that the query of a view names.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Reference {
    /// The parts of the name in the query.
    pub(crate) text: Vec<String>,
    /// What that means: schema and name.
    pub(crate) schema: String,
    pub(crate) name: String,
    /// The columns that the query knows.
    pub(crate) columns: Vec<KnownColumn>,
}

/// A column that the query of a view knows.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct KnownColumn {
    /// What the query calls it.
    pub(crate) text: String,
    /// What it is called.
    pub(crate) name: String,
    pub(crate) is_used: bool,
}

impl ViewEntry {
    /// Writes other text in some places of the query that name neither tables nor columns.
    pub(crate) fn edit(&mut self, edits: Vec<(usize, usize, String)>) {
        let grown: Vec<(usize, isize)> = edits
            .iter()
            .map(|(start, end, text)| (*end, text.chars().count() as isize - (end - start) as isize))
            .collect();
        let moved = |at: &mut usize| {
            let by: isize = grown.iter().filter(|(end, _)| end <= at).map(|(_, by)| by).sum();
            *at = at.saturating_add_signed(by);
        };
        for place in &mut self.places {
            [&mut place.start, &mut place.end].into_iter().chain(&mut place.alias_end).for_each(moved);
        }
        for place in self.column_places.iter_mut().flatten() {
            [&mut place.start, &mut place.end].into_iter().for_each(moved);
        }
        self.query = edited(&self.query, edits);
    }

    /// The query with what tables and their columns are called now; `shown` shows a name.
    pub(crate) fn definition(&self, shown: &dyn Fn(&Name) -> String) -> String {
        let mut edits = Vec::new();
        for place in &self.places {
            let Some(reference) = self.tables.get(place.of) else { continue };
            let now = Name::new(&reference.schema, &reference.name);
            let mut text = shown(&now);
            let was = reference.text.last().map_or("", String::as_str);
            let is_renamed = self.column_places.is_none()
                && !place.has_columns
                && reference.columns.iter().any(|known| known.text != known.name);
            if place.alias_end.is_none() && (is_renamed || now.name != was) {
                text.push_str(&format!(" AS {}", quoted(was)));
            }
            let columns: Vec<String> = reference.columns.iter().map(|known| quoted(&known.text)).collect();
            let columns = format!(" ({})", columns.join(", "));
            match (is_renamed, place.alias_end) {
                (true, Some(end)) => edits.push((end, end, columns)),
                (true, None) => text.push_str(&columns),
                (false, _) => {}
            }
            edits.push((place.start, place.end, text));
        }
        edits.extend(self.column_places.iter().flatten().filter_map(|place| self.renamed(place)));
        edited(&self.query, edits)
    }

    /// What a column is called now, if that is another name.
    fn renamed(&self, place: &ColumnPlace) -> Option<(usize, usize, String)> {
        let known = self.tables.get(place.of)?.columns.iter().find(|known| known.text == place.column)?;
        let is_renamed = known.name != known.text;
        let now = quoted(&known.name);
        let text = if place.is_item { format!("{now} AS {}", quoted(&known.text)) } else { now };
        is_renamed.then_some((place.start, place.end, text))
    }
}

impl Reference {
    pub(crate) fn is_to(&self, name: &Name) -> bool {
        self.schema == name.schema && self.name == name.name
    }
}

impl RoleEntry {
    /// What a role is that nothing is said of.
    pub(crate) fn new() -> RoleEntry {
        RoleEntry {
            number: 0,
            is_superuser: false,
            can_login: false,
            create_db: false,
            create_role: false,
            inherits: true,
            valid_until: None,
            member_of: BTreeMap::new(),
        }
    }
}

/// Makes the table, if there is none.
pub(crate) fn prepare(db: &Database) -> Result<()> {
    let ((), receipt) = db.run(|transaction| -> std::result::Result<(), Error> {
        match transaction.table(TABLE) {
            Ok(_) => return Ok(()),
            Err(Error::Transaction(TransactionError::UnknownTable { .. })) => {}
            Err(error) => return Err(error),
        }
        let schema = Schema::builder(TABLE)
            .column("kind", Column::Text)
            .column("name", Column::Text)
            .column("definition", Column::Text)
            .primary_key(["kind", "name"]);
        transaction.create_table(schema.build()?.with_notes(Mark::default().text())?)?;
        Ok(())
    })?;
    receipt.wait().map_err(Error::from)?;
    Ok(())
}

/// What the notes of the table say.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
struct Mark {
    /// The sum of the hashes of all rows.
    sum: u64,
    /// How often something has changed, and no less than any number that an object has had.
    changes: u32,
}

impl Mark {
    fn of(table: &Table) -> Result<Mark> {
        serde_json::from_str(table.schema().notes()).map_err(|error| damaged(&error.to_string()))
    }

    fn text(self) -> String {
        serde_json::to_string(&self).expect("two numbers")
    }
}

fn damaged(what: &str) -> SqlError {
    SqlError::new(SqlState::DataCorrupted, format!("the table {TABLE} cannot be read: {what}"))
}

/// FNV-1a of a row.
fn hash(kind: &str, name: &str, definition: &str) -> u64 {
    let bytes = kind.bytes().chain([0]).chain(name.bytes()).chain([0]).chain(definition.bytes());
    bytes.fold(0xcbf2_9ce4_8422_2325, |hash, byte| (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3))
}

fn text_of(value: Option<Value<'_>>) -> Result<String> {
    match value {
        Some(Value::Text(text)) => Ok(text.to_owned()),
        _ => Err(damaged("a row has other columns")),
    }
}

fn read<T: DeserializeOwned>(definition: &str) -> Result<T> {
    serde_json::from_str(definition).map_err(|error| damaged(&error.to_string()))
}

impl Objects {
    /// The owner of a sequence.
    pub(crate) fn sequence_owner(&self, sequence: &Name) -> &str {
        self.sequences.get(sequence).map_or(Sql::FIRST_ROLE, |entry| &entry.owner)
    }

    /// Reads all of it.
    pub(crate) fn of(transaction: &Transaction<'_>, table: &Table) -> Result<Objects> {
        let mut objects = Objects::default();
        let mut sum = 0_u64;
        for row in transaction.scan(table, KeyRange::all())? {
            let row = row?;
            let mut values = row.values();
            let (kind, name, definition) = (text_of(values.next())?, text_of(values.next())?, text_of(values.next())?);
            sum = sum.wrapping_add(hash(&kind, &name, &definition));
            match kind.as_str() {
                "schema" => drop(objects.schemas.insert(name, read(&definition)?)),
                "view" => drop(objects.views.insert(Name::of_engine(&name), Arc::new(read(&definition)?))),
                "materialized view" => {
                    drop(objects.materialized.insert(Name::of_engine(&name), Arc::new(read(&definition)?)));
                }
                "sequence" => drop(objects.sequences.insert(Name::of_engine(&name), read(&definition)?)),
                "role" => drop(objects.roles.insert(name, read(&definition)?)),
                "extension" => drop(objects.extensions.insert(name, read(&definition)?)),
                "type" => {
                    let TypeEntry { owner, definition } = read(&definition)?;
                    let user_type = UserType { owner, ty: EnumType::of(&definition) };
                    drop(objects.types.insert(Name::of_engine(&name), user_type));
                }
                "rights" => drop(objects.lists.insert(name, read(&definition)?)),
                other => return Err(damaged(&format!("it has objects of the kind {other}; use a later program"))),
            }
        }
        if sum != Mark::of(table)?.sum {
            return Err(SqlError::new(SqlState::SerializationFailure, "the catalog is being changed")
                .with_hint("The transaction might succeed if retried."));
        }
        for role in super::roles::all(transaction)? {
            objects.roles.entry(role.name).or_insert(RoleEntry {
                is_superuser: role.is_superuser,
                can_login: role.can_login,
                ..RoleEntry::new()
            });
        }
        Ok(objects)
    }

    /// All queries that are kept, with whether they are those of views or of materialized ones.
    pub(crate) fn queries(&self) -> impl Iterator<Item = (Kind, &Name, &Arc<ViewEntry>)> {
        let views = self.views.iter().map(|(name, view)| (Kind::View, name, view));
        views.chain(self.materialized.iter().map(|(name, view)| (Kind::Materialized, name, view)))
    }

    /// The type of users with a number in the catalog, or the one of arrays.
    pub(crate) fn type_of_oid(&self, oid: u32) -> Option<Type> {
        let mut types = self.types.values().map(|known| known.ty);
        types.find_map(|ty| match oid {
            _ if oid == ty.oid() => Some(Type::Enum(ty)),
            _ if oid == ty.array_oid() => Some(ty.array()),
            _ => None,
        })
    }

    /// A type with the labels that it has now.
    pub(crate) fn renewed(&self, ty: Type) -> Type {
        if ty.enumeration().is_none() { ty } else { self.type_of_oid(ty.oid()).unwrap_or(ty) }
    }

    /// Reads a type that is kept of a column.
    pub(crate) fn read_type(&self, kept: &str) -> Result<Declared> {
        let known = |number| self.types.values().map(|known| known.ty).find(|ty| ty.oid() == number);
        read_type(kept, &known)
    }

    /// Whether there is such a schema.
    pub(crate) fn has_schema(&self, name: &str) -> bool {
        name == PUBLIC || self.schemas.contains_key(name)
    }

    /// Who owns a schema.
    pub(crate) fn schema_owner(&self, name: &str) -> &str {
        self.schemas.get(name).map_or(Sql::FIRST_ROLE, |schema| &schema.owner)
    }
}

/// Writes an object.
pub(crate) fn put<T: Serialize>(transaction: &Transaction<'_>, kind: Kind, name: &str, object: &T) -> Result<()> {
    let definition = serde_json::to_string(object).map_err(|error| damaged(&error.to_string()))?;
    change(transaction, kind, name, Some(&definition))
}

/// Removes an object.
pub(crate) fn remove(transaction: &Transaction<'_>, kind: Kind, name: &str) -> Result<()> {
    change(transaction, kind, name, None)
}

/// The last number that this process has given, in whatever database: a statement that was prepared in a transaction which was
/// rolled back may still know the object that had it.
static LAST_GIVEN: AtomicU32 = AtomicU32::new(0);

/// A number that no object has had.
pub(crate) fn new_number(transaction: &Transaction<'_>) -> Result<u32> {
    let written = Mark::of(&transaction.table(TABLE)?)?.changes;
    let next = |last: u32| last.max(written).checked_add(1);
    let before = LAST_GIVEN.fetch_update(Ordering::AcqRel, Ordering::Acquire, next);
    before.ok().and_then(next).ok_or_else(|| {
        SqlError::new(SqlState::ProgramLimitExceeded, "there are no numbers left for objects of the catalog")
    })
}

fn change(transaction: &Transaction<'_>, kind: Kind, name: &str, definition: Option<&str>) -> Result<()> {
    let table = transaction.table(TABLE)?;
    let mut mark = Mark::of(&table)?;
    let kind = kind.text();
    let key = [Value::Text(kind), Value::Text(name)];
    let before = match transaction.get(&table, &key)? {
        Some(row) => Some(text_of(row.values().nth(2))?),
        None => None,
    };
    if let Some(before) = &before {
        mark.sum = mark.sum.wrapping_sub(hash(kind, name, before));
    }
    mark.changes = mark.changes.saturating_add(1).max(LAST_GIVEN.load(Ordering::Acquire));
    match definition {
        Some(definition) => {
            mark.sum = mark.sum.wrapping_add(hash(kind, name, definition));
            transaction.upsert(&table, &[Value::Text(kind), Value::Text(name), Value::Text(definition)])?;
        }
        None if before.is_some() => {
            transaction.delete(&table, &key)?;
        }
        None => return Ok(()),
    }
    transaction.annotate_table(&table, mark.text())?;
    Ok(())
}
