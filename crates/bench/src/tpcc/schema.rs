//! The nine tables of TPC-C, clause 1.3, with all their columns.
//!
//! A character column of any length is `TEXT`; the lengths of the specification are kept by what is loaded and written.
//! Money is `numeric(12, 2)`, so all sums are exact.
//!
//! Two departures: HISTORY has a primary key (`h_w_id`, `h_id`), because every table of Osier has one; and two
//! secondary indexes find a customer by last name and the orders of a customer.

use osier::table::{ColumnId, Schema, SchemaError, Type};

use crate::schema::{BIGINT, INT, MONEY, TEXT, TIMESTAMP, table};

/// Tax and discount: from 0.0000 to 1.0000.
const RATE: Type = Type::Numeric { precision: 4, scale: 4 };

table! {
    /// One row per warehouse.
    warehouse {
        W_ID: INT, W_NAME: TEXT, W_STREET_1: TEXT, W_STREET_2: TEXT, W_CITY: TEXT, W_STATE: TEXT, W_ZIP: TEXT,
        W_TAX: RATE, W_YTD: MONEY,
    }
    key (W_ID)
}

table! {
    /// Ten per warehouse.
    district {
        D_ID: INT, D_W_ID: INT, D_NAME: TEXT, D_STREET_1: TEXT, D_STREET_2: TEXT, D_CITY: TEXT, D_STATE: TEXT,
        D_ZIP: TEXT, D_TAX: RATE, D_YTD: MONEY, D_NEXT_O_ID: INT,
    }
    key (D_W_ID, D_ID)
}

table! {
    /// Three thousand per district.
    customer {
        C_ID: INT, C_D_ID: INT, C_W_ID: INT, C_FIRST: TEXT, C_MIDDLE: TEXT, C_LAST: TEXT, C_STREET_1: TEXT,
        C_STREET_2: TEXT, C_CITY: TEXT, C_STATE: TEXT, C_ZIP: TEXT, C_PHONE: TEXT, C_SINCE: TIMESTAMP,
        C_CREDIT: TEXT, C_CREDIT_LIM: MONEY, C_DISCOUNT: RATE, C_BALANCE: MONEY, C_YTD_PAYMENT: MONEY,
        C_PAYMENT_CNT: INT, C_DELIVERY_CNT: INT, C_DATA: TEXT,
    }
    key (C_W_ID, C_D_ID, C_ID)
    index customer_by_name (C_W_ID, C_D_ID, C_LAST, C_FIRST)
}

table! {
    /// One row per payment.
    history {
        H_ID: BIGINT, H_C_ID: INT, H_C_D_ID: INT, H_C_W_ID: INT, H_D_ID: INT, H_W_ID: INT, H_DATE: TIMESTAMP,
        H_AMOUNT: MONEY, H_DATA: TEXT,
    }
    key (H_W_ID, H_ID)
}

table! {
    /// The orders that are not yet delivered.
    new_order {
        NO_O_ID: INT, NO_D_ID: INT, NO_W_ID: INT,
    }
    key (NO_W_ID, NO_D_ID, NO_O_ID)
}

table! {
    /// All orders.
    orders {
        O_ID: INT, O_D_ID: INT, O_W_ID: INT, O_C_ID: INT, O_ENTRY_D: TIMESTAMP, O_CARRIER_ID: INT nullable,
        O_OL_CNT: INT, O_ALL_LOCAL: INT,
    }
    key (O_W_ID, O_D_ID, O_ID)
    index orders_by_customer (O_W_ID, O_D_ID, O_C_ID, O_ID)
}

table! {
    /// Five to fifteen per order.
    order_line {
        OL_O_ID: INT, OL_D_ID: INT, OL_W_ID: INT, OL_NUMBER: INT, OL_I_ID: INT, OL_SUPPLY_W_ID: INT,
        OL_DELIVERY_D: TIMESTAMP nullable, OL_QUANTITY: INT, OL_AMOUNT: MONEY, OL_DIST_INFO: TEXT,
    }
    key (OL_W_ID, OL_D_ID, OL_O_ID, OL_NUMBER)
}

table! {
    /// A hundred thousand, never changed.
    item {
        I_ID: INT, I_IM_ID: INT, I_NAME: TEXT, I_PRICE: MONEY, I_DATA: TEXT,
    }
    key (I_ID)
}

table! {
    /// One row per item and warehouse.
    stock {
        S_I_ID: INT, S_W_ID: INT, S_QUANTITY: INT, S_DIST_01: TEXT, S_DIST_02: TEXT, S_DIST_03: TEXT,
        S_DIST_04: TEXT, S_DIST_05: TEXT, S_DIST_06: TEXT, S_DIST_07: TEXT, S_DIST_08: TEXT, S_DIST_09: TEXT,
        S_DIST_10: TEXT, S_YTD: INT, S_ORDER_CNT: INT, S_REMOTE_CNT: INT, S_DATA: TEXT,
    }
    key (S_W_ID, S_I_ID)
}

/// The schemas of all tables.
pub fn schemas() -> Result<Vec<Schema>, SchemaError> {
    [
        warehouse::schema,
        district::schema,
        customer::schema,
        history::schema,
        new_order::schema,
        orders::schema,
        order_line::schema,
        item::schema,
        stock::schema,
    ]
    .map(|schema| schema())
    .into_iter()
    .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_tables_have_the_columns_of_clause_1_3() {
        let counts: Vec<_> = schemas().unwrap().iter().map(|s| (s.name().to_owned(), s.columns().len())).collect();
        let expected = [
            ("warehouse", 9),
            ("district", 11),
            ("customer", 21),
            ("history", 8 + 1),
            ("new_order", 3),
            ("orders", 8),
            ("order_line", 10),
            ("item", 5),
            ("stock", 17),
        ];
        assert_eq!(counts, expected.map(|(name, count)| (name.to_owned(), count)));
        assert_eq!(stock::COLUMNS, 17);
    }

    #[test]
    fn column_numbers_are_those_of_the_schema() {
        let schema = customer::schema().unwrap();
        assert_eq!(schema.column_id("c_balance").unwrap(), customer::C_BALANCE);
        assert_eq!(schema.column_id("c_data").unwrap(), customer::C_DATA);
        assert!(orders::schema().unwrap().column(orders::O_CARRIER_ID).is_nullable());
        assert!(!orders::schema().unwrap().column(orders::O_ENTRY_D).is_nullable());
    }
}
