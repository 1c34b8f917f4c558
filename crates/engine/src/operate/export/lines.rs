//! The other lines of an export: the schema that a file of rows begins with, sequences and procedures.
//!
//! Invariants:
//! - A schema comes back with its columns, keys and indexes. Numbers of indexes, and of tables, are the database's own and do not
//!   leave it.
//! - What is read here can be created: names and bounds are checked before anything is.

use serde::{Deserialize, Serialize};

use crate::catalog::sequence::SequenceRow;
use crate::procedure::program::Program;
use crate::table::{ColumnId, Schema, Type};
use crate::transaction::SequenceOptions;

/// The first line of a table's file.
#[derive(Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct TableLine {
    pub(super) table: String,
    columns: Vec<ColumnLine>,
    primary_key: Vec<String>,
    indexes: Vec<IndexLine>,
    #[serde(default, skip_serializing_if = "String::is_empty")]
    notes: String,
}

#[derive(Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct ColumnLine {
    name: String,
    #[serde(rename = "type")]
    ty: String,
    nullable: bool,
}

#[derive(Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct IndexLine {
    name: String,
    columns: Vec<String>,
    unique: bool,
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    partial: bool,
}

impl TableLine {
    pub(super) fn of(schema: &Schema) -> TableLine {
        let names = |columns: &[ColumnId]| columns.iter().map(|id| schema.column(*id).name().to_owned()).collect();
        let columns = schema.columns().iter().map(|column| ColumnLine {
            name: column.name().to_owned(),
            ty: column.ty().to_string(),
            nullable: column.is_nullable(),
        });
        let indexes = schema.indexes().iter().map(|index| IndexLine {
            name: index.name().to_owned(),
            columns: names(index.columns()),
            unique: index.is_unique(),
            partial: index.is_partial(),
        });
        TableLine {
            table: schema.name().to_owned(),
            columns: columns.collect(),
            primary_key: names(schema.primary_key()),
            indexes: indexes.collect(),
            notes: schema.notes().to_owned(),
        }
    }

    /// The schema; the error says what is wrong with it.
    pub(super) fn schema(&self) -> Result<Schema, String> {
        let mut schema = Schema::builder(&self.table).primary_key(&self.primary_key);
        for ColumnLine { name, ty, nullable } in &self.columns {
            let ty = type_named(ty).ok_or_else(|| format!("column {name} has the unknown type `{ty}`"))?;
            schema = if *nullable { schema.nullable_column(name, ty) } else { schema.column(name, ty) };
        }
        for IndexLine { name, columns, unique, partial } in &self.indexes {
            schema = match (*unique, *partial) {
                (unique, true) => schema.partial_index(name, columns, unique),
                (true, false) => schema.unique_index(name, columns),
                (false, false) => schema.index(name, columns),
            };
        }
        let schema =
            schema.build().and_then(|schema| schema.with_notes(&self.notes)).map_err(|error| error.to_string())?;
        assert_eq!(TableLine::of(&schema), *self, "a schema is what its line says");
        Ok(schema)
    }
}

fn type_named(name: &str) -> Option<Type> {
    let plain =
        [Type::Bool, Type::Int16, Type::Int32, Type::Int64, Type::Float64, Type::Text, Type::Bytes, Type::Timestamp];
    plain.into_iter().find(|ty| ty.to_string() == name).or_else(|| {
        let (precision, scale) = name.strip_prefix("numeric(")?.strip_suffix(')')?.split_once(',')?;
        let ty = Type::Numeric { precision: precision.parse().ok()?, scale: scale.parse().ok()? };
        (ty.to_string() == name).then_some(ty)
    })
}

/// A sequence, and what it has left.
#[derive(Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct SequenceLine {
    pub(super) sequence: String,
    increment: i64,
    minimum: i64,
    maximum: i64,
    start: i64,
    cycle: bool,
    cache: i64,
    pub(super) next: Option<i64>,
}

impl SequenceLine {
    pub(super) fn of(name: &str, row: &SequenceRow) -> SequenceLine {
        let SequenceRow { increment, minimum, maximum, start, cycle, cache, next, .. } = *row;
        SequenceLine { sequence: name.to_owned(), increment, minimum, maximum, start, cycle, cache, next }
    }

    pub(super) fn options(&self) -> SequenceOptions {
        let options = SequenceOptions::new(&self.sequence).increment(self.increment).cycle(self.cycle);
        options.minimum(self.minimum).maximum(self.maximum).start(self.start).cache(self.cache)
    }

    /// The last value in its direction: who draws that has drawn all.
    pub(super) fn last(&self) -> i64 {
        if self.increment > 0 { self.maximum } else { self.minimum }
    }

    /// What is wrong with it, if anything is.
    pub(super) fn flaw(&self) -> Option<String> {
        let SequenceLine { increment, minimum, maximum, start, cycle, cache, next, .. } = *self;
        let row = SequenceRow { id: 1, increment, minimum, maximum, start, cycle, cache, next };
        let has_name = !self.sequence.is_empty() && !self.sequence.contains('\0');
        let is_sound = has_name && row.is_sound() && minimum < maximum && (next.is_some() || !cycle);
        (!is_sound).then(|| format!("there is no sequence like `{}`", self.sequence))
    }
}

/// A declared procedure.
#[derive(Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct ProcedureLine {
    pub(super) procedure: String,
    text: String,
}

impl ProcedureLine {
    pub(super) fn of(program: &Program) -> ProcedureLine {
        ProcedureLine { procedure: program.name.clone(), text: program.to_string() }
    }

    /// The program; the error says what is wrong with it.
    pub(super) fn program(&self) -> Result<Program, String> {
        let program = Program::parse(&self.text).map_err(|error| error.to_string())?;
        match program.name == self.procedure {
            true => Ok(program),
            false => Err(format!("the text is that of procedure `{}`", program.name)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_schema_comes_back() {
        let schema = Schema::builder("odd \"name\"/..").column("id", Type::Int32).nullable_column("a", Type::Text);
        let schema = schema.column("n", Type::Numeric { precision: 12, scale: 2 }).primary_key(["n", "id"]);
        let schema = schema.index("by_a", ["a", "id"]).unique_index("by_id", ["id"]).build().unwrap();
        // A gap in the numbers of indexes is of this database only.
        let schema = schema.without_index("by_a").unwrap().with_index("by_n", ["n"], false).unwrap().0;
        let schema = schema.with_partial_index("some", ["a", "n"], true).unwrap().0;
        let schema = schema.with_notes("{\"a\": \"é\"}").unwrap();
        let line = serde_json::to_string(&TableLine::of(&schema)).unwrap();
        let back = serde_json::from_str::<TableLine>(&line).unwrap().schema().unwrap();
        assert_eq!(TableLine::of(&back), TableLine::of(&schema));
        let indexes = back.indexes().iter().map(|index| (index.name(), index.is_unique(), index.is_partial()));
        assert_eq!(indexes.collect::<Vec<_>>(), [("by_id", true, false), ("by_n", false, false), ("some", true, true)]);
    }

    #[test]
    fn types_are_read_as_they_are_written() {
        for ty in [Type::Bool, Type::Bytes, Type::Float64, Type::Numeric { precision: 18, scale: 0 }] {
            assert_eq!(type_named(&ty.to_string()), Some(ty));
        }
        for name in ["int", "numeric", "numeric(5)", "numeric(05,2)", "numeric(300,2)", "numeric(-1,2)", ""] {
            assert_eq!(type_named(name), None, "{name}");
        }
    }
}
