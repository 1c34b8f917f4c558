//! Where columns lie in rows, once a table with rows has got columns, lost some, or changed which take NULL.
//!
//! Invariants:
//! - A row of a schema is a row of each that is made of it here: it holds in its columns what it held before, and in added ones
//!   what was given for them.
//! - A layout that is the same as that of a new table is left out.
//!
//! Deliberately absent: values that differ from row to row, which have to be written to each.

use std::sync::Arc;

use super::bounds::{COLUMNS_MAX, GROUPS_MAX, MISSING_BYTES_MAX};
use super::error::SchemaError;
use super::row_codec::RowCodec;
use super::schema::{Column, Group, PRIMARY_KEY, Place, Schema, column_id_at};
use super::value::{Type, Value};
use crate::ids::ColumnId;

/// A column that a table with rows is to get.
#[derive(Clone, Copy, Debug)]
pub struct NewColumn<'v> {
    /// Its name.
    pub name: &'v str,
    /// Its type.
    pub ty: Type,
    /// Whether it takes NULL.
    pub is_nullable: bool,
    /// What the rows hold in it that are there.
    pub value: Value<'v>,
}

impl Place {
    /// The column that it is of; `None`: of one that is gone.
    pub(super) fn column(&self) -> Option<ColumnId> {
        match self {
            Place::Column { column, .. } | Place::Null(column) => Some(*column),
            Place::Gone(_) => None,
        }
    }

    /// The type of the value that lies there, and whether the group has a bit for its NULL; `None`: there is no value, but a bit.
    pub(super) fn value(&self, schema: &Schema) -> Option<(Type, bool)> {
        match self {
            Place::Column { column, has_null_bit } => {
                schema.columns.get(usize::from(column.0)).map(|column| (column.ty, *has_null_bit))
            }
            Place::Gone(gone) => *gone,
            Place::Null(_) => None,
        }
    }

    fn column_mut(&mut self) -> Option<&mut ColumnId> {
        match self {
            Place::Column { column, .. } | Place::Null(column) => Some(column),
            Place::Gone(_) => None,
        }
    }
}

impl Schema {
    /// Where the columns lie.
    pub(super) fn groups(&self) -> Vec<Group> {
        if self.layout.is_empty() { vec![self.plain_group()] } else { self.layout.clone() }
    }

    /// The group that rows of a new table have.
    fn plain_group(&self) -> Group {
        let columns = (0..self.columns.len()).map(column_id_at);
        let place = |column| Place::Column { column, has_null_bit: self.column(column).is_nullable() };
        Group { places: columns.map(place).collect(), missing: Vec::new() }
    }

    /// The schema, checked, with this layout.
    fn with_layout(mut self, layout: Vec<Group>) -> Result<Schema, SchemaError> {
        let is_plain = layout.len() == 1 && layout[0] == self.plain_group();
        self.layout = if is_plain { Vec::new() } else { layout };
        self.check()?;
        Ok(self)
    }

    /// Gives every column the number that `number` has for it; the layout is left to the caller.
    fn renumber(&mut self, layout: &mut [Group], number: impl Fn(ColumnId) -> ColumnId) {
        let change = |column: &mut ColumnId| *column = number(*column);
        self.primary_key.iter_mut().for_each(change);
        self.indexes.iter_mut().flat_map(|index| &mut index.columns).for_each(change);
        layout.iter_mut().flat_map(|group| &mut group.places).filter_map(Place::column_mut).for_each(change);
    }

    /// Returns the schema with more columns, before the one at position `at` or behind the last one.
    ///
    /// # Errors
    /// [`SchemaError::TooManyGroups`], [`MissingTooLong`](SchemaError::MissingTooLong),
    /// [`TooManyColumns`](SchemaError::TooManyColumns); what is wrong with a name; as [`RowCodec::encode`] for the values.
    ///
    /// # Panics
    /// Where there are fewer than `at` columns, or none is added.
    pub fn with_columns(&self, at: usize, columns: &[NewColumn<'_>]) -> Result<Schema, SchemaError> {
        assert!(!columns.is_empty(), "no columns were given for table {}", self.name);
        let count = self.columns.len() + columns.len();
        if count > COLUMNS_MAX {
            return Err(SchemaError::TooManyColumns { table: self.name.clone(), count });
        }
        let (mut schema, mut layout) = (self.clone(), self.groups());
        schema.renumber(&mut layout, |column| {
            let position = usize::from(column.0);
            column_id_at(position + if position < at { 0 } else { columns.len() })
        });
        let new = |column: &NewColumn<'_>| {
            let (name, ty, is_nullable) = (column.name.to_owned(), column.ty, column.is_nullable);
            Column { name, ty, is_nullable }
        };
        schema.columns.splice(at..at, columns.iter().map(new));
        let ids = (at..at + columns.len()).map(column_id_at);
        let places = ids.zip(columns).map(|(id, new)| Place::Column { column: id, has_null_bit: new.is_nullable });
        layout.push(Group { places: places.collect(), missing: Vec::new() });
        let mut schema = schema.with_layout(layout)?;
        let values: Vec<Value<'_>> = columns.iter().map(|column| column.value).collect();
        let missing = RowCodec::new(Arc::new(schema.clone())).encode_last_group(&values)?;
        if let Some(group) = schema.layout.last_mut() {
            group.missing = missing;
        }
        schema.check()?;
        Ok(schema)
    }

    /// Returns the schema without a column, whose values stay in the rows that are there.
    ///
    /// # Errors
    /// [`SchemaError::UnknownColumn`]; [`SchemaError::ColumnOfKey`] where the primary key or an index has it.
    pub fn without_column(&self, name: &str) -> Result<Schema, SchemaError> {
        let gone = self.column_id(name)?;
        self.refuse_key_column(gone, self.is_key_column(gone))?;
        let (mut schema, mut layout) = (self.clone(), self.groups());
        for place in layout.iter_mut().flat_map(|group| &mut group.places) {
            *place = match *place {
                Place::Column { column, has_null_bit } if column == gone => {
                    Place::Gone(Some((self.column(gone).ty(), has_null_bit)))
                }
                Place::Null(column) if column == gone => Place::Gone(None),
                place => place,
            };
        }
        schema.renumber(&mut layout, |column| ColumnId(column.0 - u16::from(column > gone)));
        schema.columns.remove(usize::from(gone.0));
        schema.with_layout(layout)
    }

    /// Returns the schema with a column that takes NULL, or that takes it no more: then no row may hold NULL in it.
    ///
    /// # Errors
    /// [`SchemaError::UnknownColumn`], [`SchemaError::NullableKey`]; [`SchemaError::ColumnOfKey`] where an index has it, whose
    /// entries would be others; [`SchemaError::TooManyGroups`].
    pub fn with_nullable(&self, name: &str, is_nullable: bool) -> Result<Schema, SchemaError> {
        let changed = self.column_id(name)?;
        self.refuse_key_column(changed, false)?;
        let (mut schema, mut layout) = (self.clone(), self.groups());
        schema.columns[usize::from(changed.0)].is_nullable = is_nullable;
        let is_bit = |place: &Place| match place {
            Place::Column { column, has_null_bit } => *column == changed && *has_null_bit,
            Place::Null(column) => *column == changed,
            Place::Gone(_) => false,
        };
        if is_nullable && !layout.iter().flat_map(|group| &group.places).any(is_bit) {
            layout.push(Group { places: vec![Place::Null(changed)], missing: vec![0] });
        }
        schema.with_layout(layout)
    }

    fn refuse_key_column(&self, column: ColumnId, is_of_primary_key: bool) -> Result<(), SchemaError> {
        let index = self.indexes.iter().find(|index| index.columns.contains(&column));
        let key = match (is_of_primary_key, index) {
            (true, _) => PRIMARY_KEY.to_owned(),
            (false, Some(index)) => format!("index {}", index.name),
            (false, None) => return Ok(()),
        };
        let (table, column) = (self.name.clone(), self.column(column).name.clone());
        Err(SchemaError::ColumnOfKey { table, column, key })
    }

    /// Whether columns can lie so.
    pub(super) fn check_layout(&self) -> Result<(), SchemaError> {
        let Some((first, later)) = self.layout.split_first() else { return Ok(()) };
        if self.layout.len() > GROUPS_MAX {
            return Err(SchemaError::TooManyGroups { table: self.name.clone() });
        }
        let count =
            self.layout.iter().flat_map(|group| &group.places).filter(|place| place.value(self).is_some()).count();
        if count > COLUMNS_MAX {
            return Err(SchemaError::TooManyColumns { table: self.name.clone(), count });
        }
        if let Some(group) = later.iter().find(|group| group.missing.len() > MISSING_BYTES_MAX) {
            return Err(SchemaError::MissingTooLong { table: self.name.clone(), bytes: group.missing.len() });
        }
        let is_sound = first.missing.is_empty()
            && !(later.is_empty() && *first == self.plain_group())
            && self.layout.iter().all(|group| !group.places.is_empty())
            && self.has_sound_places();
        match is_sound {
            true => Ok(()),
            false => {
                let reason = format!("the columns of table {} cannot lie as it says", self.name);
                Err(SchemaError::CorruptSchema { reason })
            }
        }
    }

    /// Whether every column has one place, of those in the primary key in the first group, and where it takes NULL one for that.
    fn has_sound_places(&self) -> bool {
        // Of each column: the group that it is in, and whether it has a bit for its NULL.
        let mut seen = vec![(None, false); self.columns.len()];
        for (number, group) in self.layout.iter().enumerate() {
            for place in &group.places {
                let known = place.column().map(|column| seen.get_mut(usize::from(column.0)));
                let is_sound = match (place, known) {
                    (Place::Column { has_null_bit, .. }, Some(Some(known @ (None, _)))) => {
                        *known = (Some(number), *has_null_bit);
                        true
                    }
                    (Place::Null(_), Some(Some((Some(group), has_null @ false)))) if *group < number => {
                        *has_null = true;
                        true
                    }
                    (Place::Gone(Some((ty, _))), _) => ty.is_sound(),
                    (Place::Gone(None), _) => number > 0,
                    _ => false,
                };
                if !is_sound {
                    return false;
                }
            }
        }
        let has_null = |(seen, column): (&(_, bool), &Column)| seen.1 || !column.is_nullable;
        seen.iter().all(|seen| seen.0.is_some())
            && seen.iter().zip(&self.columns).all(has_null)
            && self.primary_key.iter().all(|column| seen[usize::from(column.0)].0 == Some(0))
    }

    /// Where a column lies: the number of its group, and its place there. Whatever becomes of the columns of a table, no other
    /// one gets that place.
    pub fn place(&self, column: ColumnId) -> (usize, usize) {
        let is_it = |place: &Place| matches!(place, Place::Column { column: found, .. } if *found == column);
        let in_group = |(number, group): (usize, &Group)| Some((number, group.places.iter().position(is_it)?));
        self.layout.iter().enumerate().find_map(in_group).unwrap_or((0, usize::from(column.0)))
    }

    /// How many places there are: of two schemas of a table the later one has no fewer.
    pub(crate) fn places(&self) -> usize {
        match self.layout.is_empty() {
            true => self.columns.len(),
            false => self.layout.iter().map(|group| group.places.len()).sum(),
        }
    }

    /// The schema as if it had always had these columns, for the simulation.
    #[cfg(feature = "mutations")]
    pub(crate) fn without_layout(self) -> Schema {
        Schema { layout: Vec::new(), ..self }
    }

    /// The schema as if rows held zero where they hold NULL in columns that came after them, for the simulation.
    #[cfg(feature = "mutations")]
    pub(crate) fn without_missing_nulls(mut self) -> Schema {
        for group in self.layout.iter_mut().skip(1) {
            let has_bit = |place: &&Place| matches!(place, Place::Column { has_null_bit: true, .. });
            let bytes = group.places.iter().filter(has_bit).count().div_ceil(8);
            group.missing.iter_mut().take(bytes).for_each(|byte| *byte = 0);
        }
        self
    }

    /// Whether what rows hold in groups that they end before is what encoding some values gives.
    pub(super) fn check_missing(&self) -> Result<(), SchemaError> {
        match self.layout.len() {
            0 | 1 => Ok(()),
            _ => RowCodec::new(Arc::new(self.clone())).check_missing(),
        }
    }
}
