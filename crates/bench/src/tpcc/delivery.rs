//! The Delivery transaction, clause 2.7: the oldest new order of each of the ten districts, in one transaction.

use osier::Transaction;
use osier::table::{KeyRange, Value};

use super::input::Delivery;
use super::schema::{customer, new_order, order_line, orders};
use super::{DISTRICTS, Decision, Evidence, Failure, Tables, changed, found, id, int};

/// Delivers; a district without a new order is skipped.
pub fn run(tx: &Transaction<'_>, tables: &Tables, input: &Delivery) -> Result<Decision<Evidence>, Failure> {
    let mut o_ids = [0; DISTRICTS as usize];
    for d_id in 1..=DISTRICTS {
        if let Some(o_id) = deliver(tx, tables, input, d_id)? {
            o_ids[d_id as usize - 1] = id(o_id);
        }
    }
    Ok(Decision::Commit(Evidence::Delivered { w_id: input.w_id, carrier_id: input.carrier_id, o_ids }))
}

fn deliver(tx: &Transaction<'_>, tables: &Tables, input: &Delivery, d_id: u32) -> Result<Option<i64>, Failure> {
    let (w, d) = (int(input.w_id), int(d_id));
    let Some(oldest) = tx.scan(&tables.new_order, KeyRange::prefix(&[w, d]))?.next().transpose()? else {
        return Ok(None);
    };
    let o_id = oldest.int(new_order::NO_O_ID);
    let key = [w, d, Value::Int(o_id)];
    tx.delete(&tables.new_order, &key)?;
    let order = found(tx.get(&tables.orders, &key)?, "orders", &key)?;
    tx.update(&tables.orders, &key, &[(orders::O_CARRIER_ID, int(input.carrier_id))])?;

    let mut total = 0;
    for number in 1..=order.int(orders::O_OL_CNT) {
        let key = [w, d, Value::Int(o_id), Value::Int(number)];
        let is_there = tx.update_with(&tables.order_line, &key, |row, changes| {
            total += row.numeric(order_line::OL_AMOUNT);
            changes.set(order_line::OL_DELIVERY_D, Value::Timestamp(input.date));
            Ok::<_, Failure>(())
        })?;
        changed(is_there, "order_line", &key)?;
    }

    let key = [w, d, Value::Int(order.int(orders::O_C_ID))];
    let is_there = tx.update_with(&tables.customer, &key, |row, changes| {
        changes.set(customer::C_BALANCE, Value::Numeric(row.numeric(customer::C_BALANCE) + total));
        changes.set(customer::C_DELIVERY_CNT, Value::Int(row.int(customer::C_DELIVERY_CNT) + 1));
        Ok::<_, Failure>(())
    })?;
    changed(is_there, "customer", &key)?;
    Ok(Some(o_id))
}
