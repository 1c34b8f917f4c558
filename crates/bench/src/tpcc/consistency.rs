//! The consistency conditions 1 to 4 of clause 3.3.2, checked by reading everything they speak of.
//!
//! One transaction per warehouse and per district.

use osier::table::KeyRange;
#[cfg(test)]
use osier::table::Value;
use osier::{Session, Transaction};

use super::schema::{district, new_order, orders, warehouse};
use super::{DISTRICTS, Failure, Scale, Tables, found, int};
use crate::TargetError;
use crate::conditions::{Violation, read};

/// How many conditions are checked.
pub const CONDITIONS: usize = 4;

/// Checks all conditions in all warehouses. `observe` is called after each district.
pub fn check(
    session: &mut Session,
    tables: &Tables,
    scale: Scale,
    mut observe: impl FnMut(),
) -> Result<Vec<Violation>, TargetError> {
    let mut violations = Vec::new();
    for w_id in 1..=scale.warehouses {
        violations.extend(read(session, |tx| check_warehouse(tx, tables, w_id))?);
        for d_id in 1..=DISTRICTS {
            violations.extend(read(session, |tx| check_district(tx, tables, w_id, d_id))?);
            observe();
        }
    }
    Ok(violations)
}

/// Condition 1: `W_YTD = sum(D_YTD)`.
fn check_warehouse(tx: &Transaction<'_>, tables: &Tables, w_id: u32) -> Result<Option<Violation>, Failure> {
    let key = [int(w_id)];
    let w_ytd = found(tx.get(&tables.warehouse, &key)?, "warehouse", &key)?.numeric(warehouse::W_YTD);
    let mut d_ytd = 0;
    for row in tx.scan(&tables.district, KeyRange::prefix(&key))? {
        d_ytd += row?.numeric(district::D_YTD);
    }
    let what = format!("warehouse {w_id}: W_YTD is {w_ytd} cents, its districts' D_YTD sum to {d_ytd}");
    Ok((w_ytd != d_ytd).then_some(Violation { condition: 1, what }))
}

fn check_district(tx: &Transaction<'_>, tables: &Tables, w_id: u32, d_id: u32) -> Result<Vec<Violation>, Failure> {
    let key = [int(w_id), int(d_id)];
    let next_o_id = found(tx.get(&tables.district, &key)?, "district", &key)?.int(district::D_NEXT_O_ID);
    let (mut last_order, mut promised_lines) = (0, 0);
    for order in tx.scan(&tables.orders, KeyRange::prefix(&key))? {
        let order = order?;
        last_order = order.int(orders::O_ID);
        promised_lines += order.int(orders::O_OL_CNT);
    }
    let mut waiting: Option<(i64, i64)> = None;
    let mut waiting_count = 0;
    for row in tx.scan(&tables.new_order, KeyRange::prefix(&key))? {
        let o_id = row?.int(new_order::NO_O_ID);
        waiting = Some((waiting.map_or(o_id, |(first, _)| first), o_id));
        waiting_count += 1;
    }
    let mut lines = 0;
    for line in tx.scan(&tables.order_line, KeyRange::prefix(&key))? {
        line?;
        lines += 1;
    }

    let place = format!("warehouse {w_id}, district {d_id}");
    let mut violations = Vec::new();
    let mut check = |condition, holds: bool, what: String| {
        if !holds {
            violations.push(Violation { condition, what: format!("{place}: {what}") });
        }
    };
    // Condition 2: D_NEXT_O_ID - 1 = max(O_ID) = max(NO_O_ID), the latter where an order waits.
    let last_waiting = waiting.map_or(last_order, |(_, last)| last);
    let holds = next_o_id - 1 == last_order && last_order == last_waiting;
    check(2, holds, format!("D_NEXT_O_ID {next_o_id}, max(O_ID) {last_order}, max(NO_O_ID) {last_waiting}"));
    // Condition 3: max(NO_O_ID) - min(NO_O_ID) + 1 = count(NEW_ORDER).
    let span = waiting.map_or(0, |(first, last)| last - first + 1);
    check(3, span == waiting_count, format!("{waiting_count} new orders span {span} numbers"));
    // Condition 4: sum(O_OL_CNT) = count(ORDER_LINE).
    check(4, promised_lines == lines, format!("orders have {promised_lines} lines, there are {lines}"));
    Ok(violations)
}

/// Changes one value so that a condition breaks: for the test of the checks.
#[cfg(test)]
pub(super) fn break_condition(session: &mut Session, tables: &Tables, condition: u8) {
    let (w, d) = (int(1), int(3));
    let breaks = |tx: &Transaction<'_>| -> Result<(), Failure> {
        match condition {
            1 => drop(tx.update(&tables.warehouse, &[w], &[(warehouse::W_YTD, Value::Numeric(1))])?),
            2 => drop(tx.update(&tables.district, &[w, d], &[(district::D_NEXT_O_ID, Value::Int(1))])?),
            3 => {
                let mut waiting = tx.scan(&tables.new_order, KeyRange::prefix(&[w, d]))?;
                waiting.next().transpose()?;
                let second = waiting.next().transpose()?.unwrap().int(new_order::NO_O_ID);
                tx.delete(&tables.new_order, &[w, d, Value::Int(second)])?;
            }
            _ => drop(tx.delete(&tables.order_line, &[w, d, int(1), int(1)])?),
        }
        Ok(())
    };
    in_transaction_writing(session, breaks);
}

#[cfg(test)]
fn in_transaction_writing(session: &mut Session, body: impl Fn(&Transaction<'_>) -> Result<(), Failure>) {
    use crate::attempt::{Decision, execute, options};

    execute(session, options(false, osier::Durability::Relaxed), |tx| body(tx).map(Decision::Commit)).unwrap();
}
