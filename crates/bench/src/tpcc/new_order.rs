//! The New-Order transaction, clause 2.4: a customer orders 5 to 15 items.

use osier::Transaction;
use osier::table::{ColumnId, Value};

use super::input::{Line, NewOrder};
use super::schema::{customer, district, item, order_line, stock, warehouse};
use super::{Decision, Evidence, Failure, Tables, changed, found, id, int};

/// Enters the order. One item may not exist: then everything is rolled back (clause 2.4.1.4).
pub fn run(tx: &Transaction<'_>, tables: &Tables, input: &NewOrder) -> Result<Decision<Evidence>, Failure> {
    let (w, d, c) = (int(input.w_id), int(input.d_id), int(input.c_id));
    tx.expect(&tables.customer, [[w, d, c]])?;
    tx.expect(&tables.stock, input.lines().iter().map(|line| [int(line.supply_w_id), int(line.i_id)]))?;
    tx.expect(&tables.item, input.lines().iter().map(|line| [int(line.i_id)]))?;
    let w_tax = found(tx.get(&tables.warehouse, &[w])?, "warehouse", &[w])?.numeric(warehouse::W_TAX);
    let (mut d_tax, mut o_id) = (0, 0);
    let is_there = tx.update_with(&tables.district, &[w, d], |row, changes| {
        (d_tax, o_id) = (row.numeric(district::D_TAX), row.int(district::D_NEXT_O_ID));
        changes.set(district::D_NEXT_O_ID, Value::Int(o_id + 1));
        Ok::<_, Failure>(())
    })?;
    changed(is_there, "district", &[w, d])?;
    let buyer = found(tx.get(&tables.customer, &[w, d, c])?, "customer", &[w, d, c])?;
    let c_discount = buyer.numeric(customer::C_DISCOUNT);

    let o = Value::Int(o_id);
    let line_count = input.lines().len() as u32;
    let is_local = input.lines().iter().all(|line| line.supply_w_id == input.w_id);
    let entry_d = Value::Timestamp(input.entry_d);
    tx.insert(&tables.orders, &[o, d, w, c, entry_d, Value::Null, int(line_count), int(is_local.into())])?;
    tx.insert(&tables.new_order, &[o, d, w])?;

    let (mut total, mut dist_info) = (0, String::new());
    for (number, line) in (1..).zip(input.lines()) {
        let i = int(line.i_id);
        let Some(item) = tx.get(&tables.item, &[i])? else {
            return Ok(Decision::RollBack(Evidence::observed_before(input.w_id, input.d_id, o_id)));
        };
        take_from_stock(tx, tables, input, line, &mut dist_info)?;
        let amount = i64::from(line.quantity) * item.numeric(item::I_PRICE);
        total += amount;
        let mut row = [Value::Null; order_line::COLUMNS];
        row[..6].copy_from_slice(&[o, d, w, int(number), i, int(line.supply_w_id)]);
        row[7..].copy_from_slice(&[int(line.quantity), Value::Numeric(amount), Value::Text(&dist_info)]);
        tx.insert(&tables.order_line, &row)?;
    }
    // The terminal shows it; nothing stores it. Discount and taxes are in units of 1/10000.
    std::hint::black_box(total * (10_000 - c_discount) / 10_000 * (10_000 + w_tax + d_tax) / 10_000);
    let NewOrder { w_id, d_id, c_id, .. } = *input;
    Ok(Decision::Commit(Evidence::Order { w_id, d_id, o_id: id(o_id), c_id, line_count }))
}

/// Takes the line's quantity from the supplying warehouse, refilling its stock where it runs short, and notes the
/// district's information that goes into the order line.
fn take_from_stock(
    tx: &Transaction<'_>,
    tables: &Tables,
    input: &NewOrder,
    line: &Line,
    dist_info: &mut String,
) -> Result<(), Failure> {
    let key = [int(line.supply_w_id), int(line.i_id)];
    let is_there = tx.update_with(&tables.stock, &key, |row, changes| {
        let quantity = i64::from(line.quantity);
        let left = row.int(stock::S_QUANTITY) - quantity;
        let is_remote = i64::from(line.supply_w_id != input.w_id);
        changes.set(stock::S_QUANTITY, Value::Int(if left >= 10 { left } else { left + 91 }));
        changes.set(stock::S_YTD, Value::Int(row.int(stock::S_YTD) + quantity));
        changes.set(stock::S_ORDER_CNT, Value::Int(row.int(stock::S_ORDER_CNT) + 1));
        changes.set(stock::S_REMOTE_CNT, Value::Int(row.int(stock::S_REMOTE_CNT) + is_remote));
        dist_info.clear();
        dist_info.push_str(row.text(s_dist(input.d_id)));
        Ok::<_, Failure>(())
    })?;
    changed(is_there, "stock", &key)
}

/// The column `S_DIST_xx` of a district.
fn s_dist(d_id: u32) -> ColumnId {
    assert!((1..=10).contains(&d_id), "there is no district {d_id}");
    ColumnId(stock::S_DIST_01.0 + d_id as u16 - 1)
}
