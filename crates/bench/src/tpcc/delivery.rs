//! The Delivery transaction, clause 2.7: the oldest new order of each of the ten districts, in one transaction.

use osier::Transaction;
use osier::table::{KeyRange, Value};

use super::input::Delivery;
use super::schema::{customer, new_order, order_line, orders};
use super::{DISTRICTS, Decision, Evidence, Failure, Tables, changed, found, id, int};

/// An order to be delivered.
struct Oldest {
    d_id: u32,
    o_id: i64,
}

/// Delivers; a district without a new order is skipped.
pub fn run(tx: &Transaction<'_>, tables: &Tables, input: &Delivery) -> Result<Decision<Evidence>, Failure> {
    let w = int(input.w_id);
    let mut o_ids = [0; DISTRICTS as usize];
    let mut oldest = Vec::with_capacity(o_ids.len());
    for d_id in 1..=DISTRICTS {
        if let Some(o_id) = take_oldest(tx, tables, [w, int(d_id)])? {
            o_ids[d_id as usize - 1] = id(o_id);
            oldest.push(Oldest { d_id, o_id });
        }
    }
    tx.expect(&tables.orders, oldest.iter().map(|order| order.key(w)))?;
    for order in &oldest {
        deliver(tx, tables, input, order)?;
    }
    Ok(Decision::Commit(Evidence::Delivered { w_id: input.w_id, carrier_id: input.carrier_id, o_ids }))
}

/// Takes the oldest new order of a district from the queue.
fn take_oldest(tx: &Transaction<'_>, tables: &Tables, district: [Value<'_>; 2]) -> Result<Option<i64>, Failure> {
    let mut waiting = tx.scan_for_update(&tables.new_order, KeyRange::prefix(&district))?;
    let Some(oldest) = waiting.next().transpose()? else { return Ok(None) };
    let o_id = oldest.int(new_order::NO_O_ID);
    let [w, d] = district;
    tx.delete(&tables.new_order, &[w, d, Value::Int(o_id)])?;
    Ok(Some(o_id))
}

fn deliver(tx: &Transaction<'_>, tables: &Tables, input: &Delivery, oldest: &Oldest) -> Result<(), Failure> {
    let w = int(input.w_id);
    let key = oldest.key(w);
    let [_, d, o] = key;
    let order = found(tx.get_for_update(&tables.orders, &key)?, "orders", &key)?;
    let buyer = [w, d, Value::Int(order.int(orders::O_C_ID))];
    let lines = 1..=order.int(orders::O_OL_CNT);
    tx.expect(&tables.customer, [buyer])?;
    tx.expect(&tables.order_line, lines.clone().map(|number| [w, d, o, Value::Int(number)]))?;
    tx.update(&tables.orders, &key, &[(orders::O_CARRIER_ID, int(input.carrier_id))])?;

    let mut total = 0;
    for number in lines {
        let key = [w, d, o, Value::Int(number)];
        let is_there = tx.update_with(&tables.order_line, &key, |row, changes| {
            total += row.numeric(order_line::OL_AMOUNT);
            changes.set(order_line::OL_DELIVERY_D, Value::Timestamp(input.date));
            Ok::<_, Failure>(())
        })?;
        changed(is_there, "order_line", &key)?;
    }

    let is_there = tx.update_with(&tables.customer, &buyer, |row, changes| {
        changes.set(customer::C_BALANCE, Value::Numeric(row.numeric(customer::C_BALANCE) + total));
        changes.set(customer::C_DELIVERY_CNT, Value::Int(row.int(customer::C_DELIVERY_CNT) + 1));
        Ok::<_, Failure>(())
    })?;
    changed(is_there, "customer", &buyer)
}

impl Oldest {
    fn key(&self, w: Value<'static>) -> [Value<'static>; 3] {
        [w, int(self.d_id), Value::Int(self.o_id)]
    }
}
