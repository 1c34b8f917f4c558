//! Statements that read and write rows.

use super::scope::Variable;
use super::statements::UNKNOWN;
use super::{Compiled, Compiler, wrong};
use crate::procedure::code::{ConstantValue, Instruction, Kind, RangeEnd, RowRange, RowSlot, Scalar, TableSlot};
use crate::procedure::expression::Expression;
use crate::procedure::program::{Block, Bound, Field, Range, StatementKind};
use crate::table::{Column, ColumnId, Schema, Type};

impl Compiler<'_> {
    /// Compiles a statement that reads or writes rows.
    pub(super) fn access(&mut self, kind: &StatementKind) -> Compiled<()> {
        match kind {
            StatementKind::Get { table, key, row, otherwise } => self.get(table, key, row, otherwise.as_ref()),
            StatementKind::First { range, row, otherwise } => self.first(range, row, otherwise.as_ref()),
            StatementKind::Insert { table, values } => {
                let (table, values) = self.row_values(table, values)?;
                self.emit(Instruction::Insert { table, values }).map(|_| ())
            }
            StatementKind::Upsert { table, values } => {
                let (table, values) = self.row_values(table, values)?;
                self.emit(Instruction::Upsert { table, values }).map(|_| ())
            }
            StatementKind::Replace { table, values, otherwise } => {
                let (table, values) = self.row_values(table, values)?;
                self.expect_row(table, &values);
                let at = self.emit(Instruction::Replace { table, values, missing: UNKNOWN })?;
                self.otherwise(at, otherwise.as_ref())
            }
            StatementKind::Update { table, key, row, changes, otherwise } => {
                self.update(table, key, row.as_deref(), changes, otherwise.as_ref())
            }
            StatementKind::Delete { table, key, row, otherwise } => {
                self.delete(table, key, row.as_deref(), otherwise.as_ref())
            }
            StatementKind::DeleteAll { range, count } => self.delete_all(range, count.as_deref()),
            _ => unreachable!("all other statements are compiled elsewhere"),
        }
    }

    /// Compiles what is done where instruction `at` finds no row.
    fn otherwise(&mut self, at: usize, otherwise: Option<&Block>) -> Compiled<()> {
        let Some(block) = otherwise else {
            self.patch_here(at);
            return Ok(());
        };
        let found = self.emit(Instruction::Jump { to: UNKNOWN })?;
        self.patch_here(at);
        self.conditional(block)?;
        self.patch_here(found);
        Ok(())
    }

    /// Makes a row variable known from here on; without a name, one that nobody else uses.
    fn declare_row(&mut self, name: Option<&str>, table: TableSlot) -> Compiled<RowSlot> {
        let slot = self.row_slot()?;
        name.map_or(Ok(()), |name| self.scope.declare(name, Variable::Row { slot, table }))?;
        Ok(slot)
    }

    fn get(&mut self, table: &str, key: &[Expression], row: &str, otherwise: Option<&Block>) -> Compiled<()> {
        let (table, key) = self.key(table, key)?;
        let row = self.declare_row(Some(row), table)?;
        let at = self.emit(Instruction::Get { table, key, row, missing: UNKNOWN, for_update: false })?;
        self.otherwise(at, otherwise)
    }

    fn first(&mut self, range: &Range, row: &str, otherwise: Option<&Block>) -> Compiled<()> {
        if range.limit.is_some() {
            return wrong("`first` takes one row and no limit; remove it");
        }
        let range = self.range(range)?;
        let row = self.declare_row(Some(row), range.table)?;
        let at = self.emit(Instruction::First { range, row, missing: UNKNOWN })?;
        self.otherwise(at, otherwise)
    }

    fn update(
        &mut self,
        table: &str,
        key: &[Expression],
        row: Option<&str>,
        changes: &[(String, Expression)],
        otherwise: Option<&Block>,
    ) -> Compiled<()> {
        let (table, key) = self.key(table, key)?;
        let row = self.declare_row(row, table)?;
        let schema = self.schema(table);
        refuse_computed(&schema)?;
        let mut changed = Vec::new();
        for (name, value) in changes {
            let column = column(&schema, name)?;
            if schema.is_key_column(column) {
                return wrong(format!(
                    "column {name} is in the primary key of table {}, which cannot be changed; delete the row and insert \
                     another one",
                    schema.name()
                ));
            }
            changed.push((column, self.column_value(&schema, column, value)?));
        }
        let changes = changed.into();
        let at = self.emit(Instruction::Update { table, key, row, changes, missing: UNKNOWN })?;
        self.otherwise(at, otherwise)
    }

    fn delete(
        &mut self,
        table: &str,
        key: &[Expression],
        row: Option<&str>,
        otherwise: Option<&Block>,
    ) -> Compiled<()> {
        let (table, key) = self.key(table, key)?;
        let row = self.declare_row(row, table)?;
        let at = self.emit(Instruction::Delete { table, key, row, missing: UNKNOWN })?;
        self.otherwise(at, otherwise)
    }

    fn delete_all(&mut self, range: &Range, count: Option<&str>) -> Compiled<()> {
        let range = RowRange { for_update: true, ..self.range(range)? };
        let count = match count {
            None => self.slot()?,
            Some(name) => match self.declare(&Field { name: name.to_owned(), ty: Type::Int64.into() }, true)? {
                Variable::Scalar { slot, .. } => slot,
                _ => unreachable!("a number is a value"),
            },
        };
        self.emit(Instruction::DeleteAll { range, count }).map(|_| ())
    }

    /// Compiles a whole primary key.
    fn key(&mut self, table: &str, key: &[Expression]) -> Compiled<(TableSlot, Box<[Scalar]>)> {
        let table = self.table(table)?;
        let schema = self.schema(table);
        let columns = schema.primary_key();
        if key.len() != columns.len() {
            return wrong(format!(
                "the primary key of table {} is ({}); {} values are given for {} columns",
                schema.name(),
                names(&schema, columns),
                key.len(),
                columns.len()
            ));
        }
        let columns = columns.to_vec();
        let key: Box<[Scalar]> = self.key_values(&schema, &columns, key)?;
        self.expect_key(table, &key);
        Ok((table, key))
    }

    /// Compiles values of columns of a key.
    fn key_values(&mut self, schema: &Schema, columns: &[ColumnId], values: &[Expression]) -> Compiled<Box<[Scalar]>> {
        let pairs = columns.iter().zip(values);
        pairs.map(|(column, value)| self.column_value(schema, *column, value)).collect()
    }

    /// Compiles the value of a column. Whether the column takes it is checked when the row is written.
    fn column_value(&mut self, schema: &Schema, column: ColumnId, value: &Expression) -> Compiled<Scalar> {
        let definition = schema.column(column);
        let (scalar, kind) = self.scalar(value)?;
        if matches!(scalar, Scalar::Constant(ConstantValue::Null)) && !definition.is_nullable() {
            return wrong(format!("column {} of table {} does not take NULL", definition.name(), schema.name()));
        }
        self.converted(scalar, kind, Kind::of(definition.ty())).ok_or_else(|| {
            let (column, table, ty) = (definition.name(), schema.name(), definition.ty());
            format!("column {column} of table {table} is of type {ty}, the value is {kind}; cast it").into()
        })
    }

    /// Compiles a row: a value for each column of the table.
    fn row_values(&mut self, table: &str, values: &[(String, Expression)]) -> Compiled<(TableSlot, Box<[Scalar]>)> {
        let table = self.table(table)?;
        let schema = self.schema(table);
        refuse_computed(&schema)?;
        let mut row: Vec<Option<Scalar>> = schema.columns().iter().map(|_| None).collect();
        for (name, value) in values {
            let column = column(&schema, name)?;
            row[usize::from(column.0)] = Some(self.column_value(&schema, column, value)?);
        }
        let value = |(definition, value): (&crate::table::Column, Option<Scalar>)| match value {
            Some(value) => Ok(value),
            None if definition.is_nullable() => Ok(Scalar::Constant(ConstantValue::Null)),
            None => wrong(format!(
                "column {} of table {} does not take NULL; give it a value",
                definition.name(),
                schema.name()
            )),
        };
        let row = schema.columns().iter().zip(row).map(value).collect::<Compiled<_>>()?;
        Ok((table, row))
    }

    /// Compiles a range over the columns of a key: those of the primary key, or of an index, which the primary key follows where
    /// the index is not unique.
    pub(super) fn range(&mut self, range: &Range) -> Compiled<RowRange> {
        let table = self.table(&range.table)?;
        let schema = self.schema(table);
        let index =
            range.index.as_ref().map(|name| schema.index(name).map_err(|error| error.to_string())).transpose()?;
        let mut columns = index.map_or_else(Vec::new, |index| index.columns().to_vec());
        if index.is_none_or(|index| !index.is_unique()) {
            columns.extend_from_slice(schema.primary_key());
        }
        let longest =
            [&range.low, &range.high].into_iter().flatten().map(|bound| bound.values.len()).max().unwrap_or(0);
        let given = range.prefix.len() + longest;
        if given > columns.len() {
            let (key, name) = (names(&schema, &columns), schema.name());
            return wrong(format!("{given} values are given for the key ({key}) of table {name}"));
        }
        let (of_prefix, rest) = columns.split_at(range.prefix.len());
        let prefix = self.key_values(&schema, of_prefix, &range.prefix)?;
        let mut end = |bound: &Option<Bound>| -> Compiled<Option<RangeEnd>> {
            let Some(Bound { values, is_included }) = bound else { return Ok(None) };
            let values = self.key_values(&schema, rest, values)?;
            Ok(Some(RangeEnd { values, is_included: *is_included }))
        };
        let (low, high) = (end(&range.low)?, end(&range.high)?);
        let limit = range.limit.as_ref().map(|limit| self.of_kind(limit, Kind::Int, "a limit")).transpose()?;
        let index = range.index.clone().map(String::into_boxed_str);
        Ok(RowRange { table, index, prefix, low, high, is_descending: range.is_descending, limit, for_update: false })
    }

    pub(super) fn schema(&self, table: TableSlot) -> std::sync::Arc<Schema> {
        self.tables[usize::from(table.0)].schema().clone()
    }
}

/// Refuses to write rows with columns that only SQL computes.
fn refuse_computed(schema: &Schema) -> Compiled<()> {
    match schema.columns().iter().any(|column| column.name().starts_with(Column::COMPUTED_PREFIX)) {
        true => wrong(format!(
            "table {} has indexes on expressions or with conditions, which only SQL keeps; drop them, or write the row by a \
             statement of SQL",
            schema.name()
        )),
        false => Ok(()),
    }
}

/// Returns the column of this name.
pub(super) fn column(schema: &Schema, name: &str) -> Compiled<ColumnId> {
    Ok(schema.column_id(name).map_err(|error| error.to_string())?)
}

fn names(schema: &Schema, columns: &[ColumnId]) -> String {
    columns.iter().map(|column| schema.column(*column).name()).collect::<Vec<_>>().join(", ")
}
