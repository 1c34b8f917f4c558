//! The open tables, and the few things that all transactions do with them.

use osier::table::{KeyRange, Row, Table, Value};
use osier::{Database, Error, Transaction};

use super::input::CustomerBy;
use super::{Failure, found, schema};

/// Handles on the nine tables.
#[derive(Clone, Debug)]
#[expect(missing_docs, reason = "the tables of clause 1.3")]
pub struct Tables {
    pub warehouse: Table,
    pub district: Table,
    pub customer: Table,
    pub history: Table,
    pub new_order: Table,
    pub orders: Table,
    pub order_line: Table,
    pub item: Table,
    pub stock: Table,
}

impl Tables {
    /// The tables of a database that [`Tables::create`] made.
    pub fn open(db: &Database) -> Result<Tables, Error> {
        Ok(Tables {
            warehouse: db.table(schema::warehouse::TABLE)?,
            district: db.table(schema::district::TABLE)?,
            customer: db.table(schema::customer::TABLE)?,
            history: db.table(schema::history::TABLE)?,
            new_order: db.table(schema::new_order::TABLE)?,
            orders: db.table(schema::orders::TABLE)?,
            order_line: db.table(schema::order_line::TABLE)?,
            item: db.table(schema::item::TABLE)?,
            stock: db.table(schema::stock::TABLE)?,
        })
    }

    /// Creates the tables, empty.
    pub fn create(db: &Database) -> Result<Tables, Error> {
        for schema in schema::schemas()? {
            db.create_table(schema)?;
        }
        Tables::open(db)
    }
}

/// An amount of money as the database counts it: in cents.
pub(super) const fn dollars(dollars: i64) -> i64 {
    dollars * 100
}

/// A number as the database takes it.
pub(super) fn int(number: u32) -> Value<'static> {
    Value::Int(number.into())
}

/// A number as the database gave it.
pub(super) fn id(number: i64) -> u32 {
    u32::try_from(number).expect("an int column of TPC-C holds no negative number")
}

/// The customer with this number; or, of those with this last name ordered by first name, the one in the middle.
/// Perhaps to change it.
pub(super) fn customer_row<'t>(
    tx: &'t Transaction<'_>,
    tables: &'t Tables,
    w_id: u32,
    d_id: u32,
    (by, for_update): (CustomerBy, bool),
) -> Result<Row<'t>, Failure> {
    let (w, d) = (int(w_id), int(d_id));
    match by {
        CustomerBy::Id(c_id) => {
            let key = [w, d, int(c_id)];
            let row = match for_update {
                true => tx.get_for_update(&tables.customer, &key)?,
                false => tx.get(&tables.customer, &key)?,
            };
            found(row, "customer", &key)
        }
        CustomerBy::LastName(name) => {
            let key = [w, d, Value::Text(name)];
            let namesakes = tx.scan_index(&tables.customer, "customer_by_name", KeyRange::prefix(&key))?;
            let mut namesakes = namesakes.collect::<Result<Vec<_>, _>>()?;
            let middle = namesakes.len().div_ceil(2).checked_sub(1);
            found(middle.map(|middle| namesakes.swap_remove(middle)), "customer", &key)
        }
    }
}
