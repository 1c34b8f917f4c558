//! What operators ask of a transaction.
//!
//! The one implementation is [`Transaction`]. Behind the trait its lifetime is out of the way of everything that runs.

use std::sync::Arc;

use osier::call::ListedProcedure;
use osier::table::KeyRange;
use osier::{Error, Row, Sequence, Table, Transaction, TransactionError, Value};

use crate::catalog::objects::Objects;
use crate::sql::Sql;

/// Rows that are read one after the other.
pub(crate) type Scanned<'t> = Box<dyn Iterator<Item = Result<Row<'t>, Error>> + 't>;

/// Reads and writes rows.
pub(crate) trait Store {
    fn get<'t>(&'t self, table: &'t Table, key: &[Value<'_>], for_update: bool) -> Result<Option<Row<'t>>, Error>;

    /// The row with this primary key, to be locked with [`Store::get_if_free`].
    fn get_ahead<'t>(&'t self, table: &'t Table, key: &[Value<'_>]) -> Result<Option<Row<'t>>, Error>;

    /// The row with this primary key, locked for an update, if nobody else has it.
    fn get_if_free<'t>(&'t self, table: &'t Table, key: &[Value<'_>]) -> Result<Option<Row<'t>>, Error>;

    /// Whether there is a row with this primary key. What else is in it may change in the meantime.
    fn exists(&self, table: &Table, key: &[Value<'_>]) -> Result<bool, Error>;

    /// The rows in a range of the primary key, or of an index.
    fn scan<'t>(
        &'t self,
        table: &'t Table,
        index: Option<&str>,
        range: KeyRange<'_>,
        for_update: bool,
    ) -> Result<Scanned<'t>, Error>;

    /// All rows, of which others may change any until the transaction commits.
    fn scan_unvalidated<'t>(&'t self, table: &'t Table) -> Result<Scanned<'t>, Error>;

    /// About how many rows a table has.
    fn estimate_rows(&self, table: &Table) -> f64;

    /// As [`Store::scan`], of rows to be locked with [`Store::get_if_free`].
    fn scan_ahead<'t>(
        &'t self,
        table: &'t Table,
        index: Option<&str>,
        range: KeyRange<'_>,
    ) -> Result<Scanned<'t>, Error>;

    fn insert(&self, table: &Table, row: &[Value<'_>]) -> Result<(), Error>;

    /// Writes the row of a key that is there.
    fn replace(&self, table: &Table, row: &[Value<'_>]) -> Result<bool, Error>;

    fn delete(&self, table: &Table, key: &[Value<'_>]) -> Result<bool, Error>;

    fn has_sequence(&self, sequence: &str) -> bool;

    /// What there is beside tables.
    fn objects(&self, sql: &Sql) -> crate::Result<Arc<Objects>>;

    /// The sequence with a name, as the transaction sees it.
    fn sequence(&self, name: &str) -> Result<Sequence, Error>;

    fn next_value(&self, sequence: &Sequence) -> Result<i64, Error>;

    /// The table with a name, as the transaction sees it.
    fn table(&self, name: &str) -> Result<Table, Error>;

    /// As [`Store::table`], which others may change or drop until the transaction commits.
    fn table_unvalidated(&self, name: &str) -> Result<Table, Error>;

    /// The procedures that can be called.
    fn procedures(&self) -> Result<Vec<ListedProcedure>, Error>;

    /// The declaration of a procedure that the database holds; `None` of a function of the program.
    fn procedure_text(&self, name: &str) -> Result<Option<String>, Error>;

    /// Sets which value a sequence has given last, or gives next.
    fn set_sequence(&self, sequence: &str, value: i64, is_given: bool) -> Result<(), Error>;
}

impl Store for Transaction<'_> {
    fn get<'t>(&'t self, table: &'t Table, key: &[Value<'_>], for_update: bool) -> Result<Option<Row<'t>>, Error> {
        if for_update { self.get_for_update(table, key) } else { Transaction::get(self, table, key) }
    }

    fn get_ahead<'t>(&'t self, table: &'t Table, key: &[Value<'_>]) -> Result<Option<Row<'t>>, Error> {
        Transaction::get_ahead(self, table, key)
    }

    fn get_if_free<'t>(&'t self, table: &'t Table, key: &[Value<'_>]) -> Result<Option<Row<'t>>, Error> {
        Transaction::get_if_free(self, table, key)
    }

    fn exists(&self, table: &Table, key: &[Value<'_>]) -> Result<bool, Error> {
        Transaction::exists(self, table, key)
    }

    fn scan<'t>(
        &'t self,
        table: &'t Table,
        index: Option<&str>,
        range: KeyRange<'_>,
        for_update: bool,
    ) -> Result<Scanned<'t>, Error> {
        Ok(match (index, for_update) {
            (None, false) => Box::new(Transaction::scan(self, table, range)?),
            (None, true) => Box::new(self.scan_for_update(table, range)?),
            (Some(index), false) => Box::new(self.scan_index(table, index, range)?),
            (Some(index), true) => Box::new(self.scan_index_for_update(table, index, range)?),
        })
    }

    fn scan_unvalidated<'t>(&'t self, table: &'t Table) -> Result<Scanned<'t>, Error> {
        Ok(Box::new(Transaction::scan_unvalidated(self, table, KeyRange::all())?))
    }

    fn estimate_rows(&self, table: &Table) -> f64 {
        Transaction::estimate_rows(self, table)
    }

    fn scan_ahead<'t>(
        &'t self,
        table: &'t Table,
        index: Option<&str>,
        range: KeyRange<'_>,
    ) -> Result<Scanned<'t>, Error> {
        Ok(Box::new(Transaction::scan_ahead(self, table, index, range)?))
    }

    fn insert(&self, table: &Table, row: &[Value<'_>]) -> Result<(), Error> {
        Transaction::insert(self, table, row)
    }

    fn replace(&self, table: &Table, row: &[Value<'_>]) -> Result<bool, Error> {
        Transaction::replace(self, table, row)
    }

    fn delete(&self, table: &Table, key: &[Value<'_>]) -> Result<bool, Error> {
        Transaction::delete(self, table, key)
    }

    fn has_sequence(&self, sequence: &str) -> bool {
        match self.sequence(sequence) {
            // At a snapshot they are only seen.
            Err(Error::Transaction(TransactionError::NotAtSnapshot { .. })) => {
                let sequences = self.table("osier_sequences");
                sequences.is_ok_and(|table| self.exists(&table, &[Value::Text(sequence)]).unwrap_or(false))
            }
            found => found.is_ok(),
        }
    }

    fn objects(&self, sql: &Sql) -> crate::Result<Arc<Objects>> {
        Ok(sql.objects(self)?.1)
    }

    fn sequence(&self, name: &str) -> Result<Sequence, Error> {
        Transaction::sequence(self, name)
    }

    fn next_value(&self, sequence: &Sequence) -> Result<i64, Error> {
        Transaction::next_value(self, sequence)
    }

    fn table(&self, name: &str) -> Result<Table, Error> {
        Transaction::table(self, name)
    }

    fn table_unvalidated(&self, name: &str) -> Result<Table, Error> {
        Transaction::table_unvalidated(self, name)
    }

    fn procedures(&self) -> Result<Vec<ListedProcedure>, Error> {
        Transaction::procedures(self)
    }

    fn procedure_text(&self, name: &str) -> Result<Option<String>, Error> {
        let is_held = Transaction::procedures(self)?.iter().any(|listed| listed.name == name && !listed.is_opaque);
        if !is_held {
            return Ok(None);
        }
        Ok(Some(self.procedure(name)?.to_string()))
    }

    fn set_sequence(&self, sequence: &str, value: i64, is_given: bool) -> Result<(), Error> {
        let sequence = self.sequence(sequence)?;
        self.restart_sequence(&sequence, Some(value))?;
        if is_given {
            Transaction::next_value(self, &sequence)?;
        }
        Ok(())
    }
}
