//! What a table is: its columns, its primary key, its indexes.
//!
//! Invariants of every [`Schema`] that exists, whether built or decoded:
//! - Names are not empty, at most [`NAME_BYTES_MAX`] bytes, and unique among the columns and among the indexes.
//! - There is a primary key, of distinct columns that are not nullable.
//! - Every column lies somewhere in rows, those of the primary key in the first group.
//! - Index ids grow and are never used again, so that an id means one index for the life of the table.
//!
//! Deliberately absent: defaults, checks and foreign keys (statements of SQL), and the table's id (the catalog's).

use super::bounds::{COLUMNS_MAX, INDEXES_MAX, KEY_COLUMNS_MAX, NAME_BYTES_MAX, NOTES_BYTES_MAX};
use super::error::SchemaError;
use super::value::{Refusal, Type, Value};
pub use crate::ids::{ColumnId, IndexId};

/// How messages call the primary key.
pub(super) const PRIMARY_KEY: &str = "the primary key";

/// A column.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Column {
    pub(super) name: String,
    pub(super) ty: Type,
    pub(super) is_nullable: bool,
}

impl Column {
    /// How the names of columns begin that SQL computes of the others, for indexes on expressions and with conditions. Whoever
    /// else writes such a row has to give them their values: one that does not follow from the others hides the row from its
    /// index.
    pub const COMPUTED_PREFIX: &str = "osier_computed_";

    /// Returns the name.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Returns the type.
    pub fn ty(&self) -> Type {
        self.ty
    }

    /// Whether it takes NULL.
    pub fn is_nullable(&self) -> bool {
        self.is_nullable
    }
}

/// A secondary index.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Index {
    pub(super) id: IndexId,
    pub(super) name: String,
    pub(super) columns: Vec<ColumnId>,
    pub(super) is_unique: bool,
    pub(super) is_partial: bool,
}

impl Index {
    /// Returns the number that tells it from every other index the table ever had.
    pub fn id(&self) -> IndexId {
        self.id
    }

    /// Returns the name.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Returns the columns, in key order.
    pub fn columns(&self) -> &[ColumnId] {
        &self.columns
    }

    /// Whether two rows must differ in these columns. Rows with a NULL in one of them always count as different.
    pub fn is_unique(&self) -> bool {
        self.is_unique
    }

    /// Whether it has no entries of rows in which its first column is NULL.
    pub fn is_partial(&self) -> bool {
        self.is_partial
    }
}

/// What lies somewhere in rows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Place {
    /// A column.
    Column {
        /// Its number.
        column: ColumnId,
        /// Whether the group has a bit for its NULL.
        has_null_bit: bool,
    },
    /// The bit for the NULL of a column of an earlier group, which has none.
    Null(ColumnId),
    /// What is left of a column that is gone: its type, and whether the group has a bit for its NULL; or that bit alone.
    Gone(Option<(Type, bool)>),
}

/// What lies together in rows.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Group {
    /// In the order of the group's null bits, fixed columns and variable ones.
    pub(super) places: Vec<Place>,
    /// What rows hold that end before the group, as it is encoded. Every row has the first group.
    pub(super) missing: Vec<u8>,
}

/// The definition of a table.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Schema {
    pub(super) name: String,
    pub(super) columns: Vec<Column>,
    /// How rows are laid out; empty: all columns in one group, one after the other.
    pub(super) layout: Vec<Group>,
    pub(super) primary_key: Vec<ColumnId>,
    pub(super) indexes: Vec<Index>,
    /// The id of the next index.
    pub(super) next_index: u16,
    /// Empty where there are none.
    pub(super) notes: String,
}

impl Schema {
    /// Starts the definition of a table.
    pub fn builder(name: impl Into<String>) -> SchemaBuilder {
        SchemaBuilder { name: name.into(), columns: Vec::new(), primary_key: Vec::new(), indexes: Vec::new() }
    }

    /// Returns the table's name.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Returns the columns; a [`ColumnId`] is a position here.
    pub fn columns(&self) -> &[Column] {
        &self.columns
    }

    /// Returns the columns of the primary key, in key order.
    pub fn primary_key(&self) -> &[ColumnId] {
        &self.primary_key
    }

    /// Returns the secondary indexes.
    pub fn indexes(&self) -> &[Index] {
        &self.indexes
    }

    /// Returns what a program keeps with the table, as declarations that the engine does not know; empty by itself.
    pub fn notes(&self) -> &str {
        &self.notes
    }

    /// Returns the schema with other notes.
    ///
    /// # Errors
    /// [`SchemaError::NotesTooLong`] beyond [`NOTES_BYTES_MAX`].
    pub fn with_notes(self, notes: impl Into<String>) -> Result<Schema, SchemaError> {
        let schema = Schema { notes: notes.into(), ..self };
        schema.check_notes()?;
        Ok(schema)
    }

    fn check_notes(&self) -> Result<(), SchemaError> {
        match self.notes.len() > NOTES_BYTES_MAX {
            true => Err(SchemaError::NotesTooLong { table: self.name.clone(), bytes: self.notes.len() }),
            false => Ok(()),
        }
    }

    /// Returns the column with that number.
    ///
    /// # Panics
    /// Where the number is not of this table.
    pub fn column(&self, column: ColumnId) -> &Column {
        match self.columns.get(usize::from(column.0)) {
            Some(found) => found,
            None => panic!("table {} has {} columns, not {}", self.name, self.columns.len(), column.0),
        }
    }

    /// Returns the number of a column.
    pub fn column_id(&self, name: &str) -> Result<ColumnId, SchemaError> {
        let position = self.columns.iter().position(|column| column.name == name);
        let position = position.ok_or_else(|| self.unknown_column(name.to_owned()))?;
        Ok(column_id_at(position))
    }

    /// Whether a column is part of the primary key.
    pub fn is_key_column(&self, column: ColumnId) -> bool {
        self.primary_key.contains(&column)
    }

    /// Returns the index of that name.
    pub fn index(&self, name: &str) -> Result<&Index, SchemaError> {
        self.indexes.iter().find(|index| index.name == name).ok_or_else(|| self.unknown_index(name.to_owned()))
    }

    /// Returns the index with that id.
    pub fn index_by_id(&self, id: IndexId) -> Result<&Index, SchemaError> {
        self.indexes.iter().find(|index| index.id == id).ok_or_else(|| self.unknown_index(format!("with id {id}")))
    }

    /// Returns the schema with one more index, whose id is returned too.
    pub fn with_index<S: AsRef<str>>(
        &self,
        name: impl Into<String>,
        columns: impl IntoIterator<Item = S>,
        is_unique: bool,
    ) -> Result<(Schema, IndexId), SchemaError> {
        self.with_any_index(name, columns, (is_unique, false))
    }

    /// As [`Schema::with_index`], of an index that has no entries of rows in which its first column is NULL.
    pub fn with_partial_index<S: AsRef<str>>(
        &self,
        name: impl Into<String>,
        columns: impl IntoIterator<Item = S>,
        is_unique: bool,
    ) -> Result<(Schema, IndexId), SchemaError> {
        self.with_any_index(name, columns, (is_unique, true))
    }

    fn with_any_index<S: AsRef<str>>(
        &self,
        name: impl Into<String>,
        columns: impl IntoIterator<Item = S>,
        (is_unique, is_partial): (bool, bool),
    ) -> Result<(Schema, IndexId), SchemaError> {
        let mut schema = self.clone();
        let id = IndexId(schema.next_index);
        let ids = columns.into_iter().map(|column| self.column_id(column.as_ref())).collect::<Result<_, _>>()?;
        schema.indexes.push(Index { id, name: name.into(), columns: ids, is_unique, is_partial });
        schema.next_index = id.0.checked_add(1).ok_or_else(|| self.too_many_indexes())?;
        schema.check()?;
        Ok((schema, id))
    }

    /// Returns the schema without the index of that name.
    pub fn without_index(&self, name: &str) -> Result<Schema, SchemaError> {
        let gone = self.index(name)?.id;
        let mut schema = self.clone();
        schema.indexes.retain(|index| index.id != gone);
        Ok(schema)
    }

    /// Returns the schema of a table with another name.
    ///
    /// # Errors
    /// [`SchemaError::InvalidName`] or [`SchemaError::NameTooLong`].
    pub fn with_name(&self, name: impl Into<String>) -> Result<Schema, SchemaError> {
        let schema = Schema { name: name.into(), ..self.clone() };
        schema.check()?;
        Ok(schema)
    }

    /// Returns the schema with another name of a column.
    ///
    /// # Errors
    /// [`SchemaError::UnknownColumn`]; as [`Schema::with_name`], and [`SchemaError::DuplicateColumn`].
    pub fn with_column_name(&self, column: &str, name: impl Into<String>) -> Result<Schema, SchemaError> {
        let at = self.column_id(column)?;
        let mut schema = self.clone();
        schema.columns[usize::from(at.0)].name = name.into();
        schema.check()?;
        Ok(schema)
    }

    /// Returns the schema with another name of an index, which keeps its id.
    ///
    /// # Errors
    /// [`SchemaError::UnknownIndex`]; as [`Schema::with_name`], and [`SchemaError::DuplicateIndex`].
    pub fn with_index_name(&self, index: &str, name: impl Into<String>) -> Result<Schema, SchemaError> {
        let (id, mut schema) = (self.index(index)?.id, self.clone());
        if let Some(index) = schema.indexes.iter_mut().find(|index| index.id == id) {
            index.name = name.into();
        }
        schema.check()?;
        Ok(schema)
    }

    /// Whether the column takes the value; `column` is one of this schema's.
    #[inline]
    pub(super) fn check_value(&self, column: ColumnId, value: Value<'_>) -> Result<(), SchemaError> {
        let definition = &self.columns[usize::from(column.0)];
        if value.is_null() && definition.is_nullable {
            return Ok(());
        }
        definition.ty.admit(value).map_err(|refusal| self.refused(column, value, refusal))
    }

    #[cold]
    fn refused(&self, column: ColumnId, value: Value<'_>, refusal: Refusal) -> SchemaError {
        let definition = self.column(column);
        let (table, column, expected) = (self.name.clone(), definition.name.clone(), definition.ty);
        match (refusal, value) {
            (_, Value::Null) => SchemaError::NotNull { table, column },
            (Refusal::Range, Value::Int(value) | Value::Numeric(value)) => {
                SchemaError::OutOfRange { table, column, expected, value }
            }
            (_, value) => SchemaError::WrongType { table, column, expected, found: value.kind() },
        }
    }

    #[cold]
    pub(super) fn unknown_column(&self, column: String) -> SchemaError {
        let known = known(self.columns.iter().map(|column| column.name.as_str()));
        SchemaError::UnknownColumn { table: self.name.clone(), column, known }
    }

    #[cold]
    fn unknown_index(&self, index: String) -> SchemaError {
        let known = known(self.indexes.iter().map(|index| index.name.as_str()));
        SchemaError::UnknownIndex { table: self.name.clone(), index, known }
    }

    #[cold]
    fn too_many_indexes(&self) -> SchemaError {
        SchemaError::TooManyIndexes { table: self.name.clone() }
    }

    /// Checks everything that a schema must satisfy; the builder, the decoder and [`Schema::with_index`] all call it.
    pub(super) fn check(&self) -> Result<(), SchemaError> {
        check_name("table", &self.name)?;
        let count = self.columns.len();
        if count > COLUMNS_MAX {
            return Err(SchemaError::TooManyColumns { table: self.name.clone(), count });
        }
        self.check_notes()?;
        self.check_columns()?;
        self.check_key(PRIMARY_KEY, &self.primary_key)?;
        for column in &self.primary_key {
            let column = self.column(*column);
            if column.is_nullable {
                return Err(SchemaError::NullableKey { table: self.name.clone(), column: column.name.clone() });
            }
        }
        self.check_layout()?;
        self.check_indexes()
    }

    fn check_columns(&self) -> Result<(), SchemaError> {
        let mut names = std::collections::HashSet::with_capacity(self.columns.len());
        for column in &self.columns {
            check_name("column", &column.name)?;
            let table = || self.name.clone();
            if !names.insert(&column.name) {
                return Err(SchemaError::DuplicateColumn { table: table(), column: column.name.clone() });
            }
            if let Type::Numeric { precision, scale } = column.ty
                && !column.ty.is_sound()
            {
                let column = column.name.clone();
                return Err(SchemaError::InvalidNumeric { table: table(), column, precision, scale });
            }
        }
        Ok(())
    }

    fn check_indexes(&self) -> Result<(), SchemaError> {
        if self.indexes.len() > INDEXES_MAX {
            return Err(self.too_many_indexes());
        }
        for (position, index) in self.indexes.iter().enumerate() {
            check_name("index", &index.name)?;
            if self.indexes[..position].iter().any(|other| other.name == index.name) {
                return Err(SchemaError::DuplicateIndex { table: self.name.clone(), index: index.name.clone() });
            }
            self.check_key(&format!("index {}", index.name), &index.columns)?;
        }
        Ok(())
    }

    fn check_key(&self, key: &str, columns: &[ColumnId]) -> Result<(), SchemaError> {
        let (table, key) = (|| self.name.clone(), || key.to_owned());
        if columns.is_empty() {
            return Err(SchemaError::EmptyKey { table: table(), key: key() });
        }
        if columns.len() > KEY_COLUMNS_MAX {
            return Err(SchemaError::TooManyKeyColumns { table: table(), key: key(), count: columns.len() });
        }
        for (position, column) in columns.iter().enumerate() {
            if usize::from(column.0) >= self.columns.len() {
                return Err(self.unknown_column(format!("with number {column}")));
            }
            if columns[..position].contains(column) {
                let column = self.column(*column).name.clone();
                return Err(SchemaError::RepeatedKeyColumn { table: table(), key: key(), column });
            }
        }
        Ok(())
    }
}

/// Returns the id of the column at `position` of a schema, which [`COLUMNS_MAX`] bounds.
pub(super) fn column_id_at(position: usize) -> ColumnId {
    match u16::try_from(position) {
        Ok(id) => ColumnId(id),
        Err(_) => panic!("column {position} is beyond the limit of {COLUMNS_MAX}"),
    }
}

/// The first names, for a message.
fn known<'n>(names: impl ExactSizeIterator<Item = &'n str>) -> String {
    const SHOWN_MAX: usize = 8;
    let more = names.len().saturating_sub(SHOWN_MAX);
    let shown = names.take(SHOWN_MAX).collect::<Vec<_>>().join(", ");
    match (shown.is_empty(), more) {
        (true, _) => "none".to_owned(),
        (false, 0) => shown,
        (false, more) => format!("{shown} and {more} more"),
    }
}

fn check_name(object: &'static str, name: &str) -> Result<(), SchemaError> {
    if name.is_empty() || name.contains('\0') {
        return Err(SchemaError::InvalidName { object, name: name.to_owned() });
    }
    if name.len() > NAME_BYTES_MAX {
        return Err(SchemaError::NameTooLong { object, name: name.to_owned() });
    }
    Ok(())
}

/// Collects the definition of a table; nothing is checked before [`SchemaBuilder::build`].
#[derive(Clone, Debug)]
pub struct SchemaBuilder {
    name: String,
    columns: Vec<Column>,
    primary_key: Vec<String>,
    /// Each with whether it is unique, and whether it is partial.
    indexes: Vec<(String, Vec<String>, (bool, bool))>,
}

impl SchemaBuilder {
    /// Adds a column that does not take NULL.
    pub fn column(self, name: impl Into<String>, ty: Type) -> Self {
        self.add_column(name.into(), ty, false)
    }

    /// Adds a column that takes NULL.
    pub fn nullable_column(self, name: impl Into<String>, ty: Type) -> Self {
        self.add_column(name.into(), ty, true)
    }

    fn add_column(mut self, name: String, ty: Type, is_nullable: bool) -> Self {
        self.columns.push(Column { name, ty, is_nullable });
        self
    }

    /// Sets the primary key.
    pub fn primary_key<S: Into<String>>(mut self, columns: impl IntoIterator<Item = S>) -> Self {
        self.primary_key = columns.into_iter().map(Into::into).collect();
        self
    }

    /// Adds an index that takes any number of rows per key.
    pub fn index<S: Into<String>>(self, name: impl Into<String>, columns: impl IntoIterator<Item = S>) -> Self {
        self.add_index(name.into(), columns.into_iter().map(Into::into).collect(), (false, false))
    }

    /// Adds an index that takes one row per key; rows with a NULL in the key excepted.
    pub fn unique_index<S: Into<String>>(self, name: impl Into<String>, columns: impl IntoIterator<Item = S>) -> Self {
        self.add_index(name.into(), columns.into_iter().map(Into::into).collect(), (true, false))
    }

    /// Adds an index that has no entries of rows in which its first column is NULL.
    pub fn partial_index<S: Into<String>>(
        self,
        name: impl Into<String>,
        columns: impl IntoIterator<Item = S>,
        is_unique: bool,
    ) -> Self {
        self.add_index(name.into(), columns.into_iter().map(Into::into).collect(), (is_unique, true))
    }

    fn add_index(mut self, name: String, columns: Vec<String>, kind: (bool, bool)) -> Self {
        self.indexes.push((name, columns, kind));
        self
    }

    /// Checks the definition.
    pub fn build(self) -> Result<Schema, SchemaError> {
        let SchemaBuilder { name, columns, primary_key, indexes } = self;
        let (notes, next_index) = (String::new(), 0);
        let layout = Vec::new();
        let mut schema =
            Schema { name, columns, layout, primary_key: Vec::new(), indexes: Vec::new(), next_index, notes };
        if schema.columns.len() > COLUMNS_MAX {
            return Err(SchemaError::TooManyColumns { table: schema.name, count: schema.columns.len() });
        }
        schema.primary_key = primary_key.iter().map(|name| schema.column_id(name)).collect::<Result<_, _>>()?;
        schema.check()?;
        for (name, columns, kind) in indexes {
            schema = schema.with_any_index(name, columns, kind)?.0;
        }
        Ok(schema)
    }
}
