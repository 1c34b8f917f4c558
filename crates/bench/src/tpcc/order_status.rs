//! The Order-Status transaction, clause 2.6: a customer's last order, read only.

use osier::Transaction;
use osier::table::{KeyRange, Value};

use super::input::OrderStatus;
use super::schema::{customer, order_line, orders};
use super::{Decision, Evidence, Failure, Tables, customer_row, id, int};

/// Reads the customer, the newest order and its lines.
pub fn run(tx: &Transaction<'_>, tables: &Tables, input: &OrderStatus) -> Result<Decision<Evidence>, Failure> {
    let (w, d) = (int(input.w_id), int(input.d_id));
    let asking = customer_row(tx, tables, input.w_id, input.d_id, (input.customer, false))?;
    std::hint::black_box((asking.numeric(customer::C_BALANCE), asking.text(customer::C_FIRST)));
    let c = Value::Int(asking.int(customer::C_ID));
    let newest_first = [w, d, c];
    let newest = tx.scan_index(&tables.orders, "orders_by_customer", KeyRange::prefix(&newest_first).reverse())?.next();
    let Some(order) = newest.transpose()? else {
        return Ok(Decision::Commit(Evidence::Nothing));
    };
    let o_id = order.int(orders::O_ID);
    for line in tx.scan(&tables.order_line, KeyRange::prefix(&[w, d, Value::Int(o_id)]))? {
        let line = line?;
        std::hint::black_box((line.int(order_line::OL_I_ID), line.numeric(order_line::OL_AMOUNT)));
    }
    Ok(Decision::Commit(Evidence::Observed { w_id: input.w_id, d_id: input.d_id, o_id: id(o_id) }))
}
