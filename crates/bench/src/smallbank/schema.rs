//! The three tables of SmallBank, with the columns of OLTP-Bench.
//!
//! Money is `numeric(12, 2)` where OLTP-Bench has `float`, so all sums are exact.

use osier::table::{ColumnId, Schema, SchemaError};

use crate::schema::{BIGINT, MONEY, TEXT, table};

/// The index that finds a customer by name.
pub const BY_NAME: &str = "accounts_by_name";

table! {
    /// The customers.
    accounts {
        CUSTID: BIGINT, NAME: TEXT,
    }
    key (CUSTID)
    unique accounts_by_name (NAME)
}

table! {
    /// The savings account of each customer.
    savings {
        CUSTID: BIGINT, BAL: MONEY,
    }
    key (CUSTID)
}

table! {
    /// The checking account of each customer.
    checking {
        CUSTID: BIGINT, BAL: MONEY,
    }
    key (CUSTID)
}
