//! The Stock-Level transaction, clause 2.8: how many different items of a district's last twenty orders are short;
//! a join of ORDER-LINE and STOCK, read only.

use osier::Transaction;
use osier::table::{KeyRange, Value};

use super::input::StockLevel;
use super::schema::{district, order_line, stock};
use super::{Decision, Evidence, Failure, Tables, found, int};

/// Orders that are looked at.
const ORDERS: i64 = 20;

/// Counts the items.
pub fn run(tx: &Transaction<'_>, tables: &Tables, input: &StockLevel) -> Result<Decision<Evidence>, Failure> {
    let (w, d) = (int(input.w_id), int(input.d_id));
    let next_o_id = found(tx.get(&tables.district, &[w, d])?, "district", &[w, d])?.int(district::D_NEXT_O_ID);
    let mut items = Vec::with_capacity(256);
    let (from, to) = ([Value::Int(next_o_id - ORDERS)], [Value::Int(next_o_id)]);
    let last_orders = [w, d];
    let last_orders = KeyRange::prefix(&last_orders).from_included(&from).to_excluded(&to);
    for line in tx.scan(&tables.order_line, last_orders)? {
        items.push(line?.int(order_line::OL_I_ID));
    }
    items.sort_unstable();
    items.dedup();
    let mut short = 0;
    let keys: Vec<_> = items.iter().map(|i| [w, Value::Int(*i)]).collect();
    for (supply, key) in tx.get_many(&tables.stock, &keys)?.into_iter().zip(&keys) {
        let supply = found(supply, "stock", key)?;
        short += u32::from(supply.int(stock::S_QUANTITY) < i64::from(input.threshold));
    }
    std::hint::black_box(short);
    Ok(Decision::Commit(Evidence::observed_before(input.w_id, input.d_id, next_o_id)))
}
