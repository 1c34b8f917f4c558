//! The Payment transaction, clause 2.5: a customer's balance, the sums of warehouse and district, and the history.

use osier::Transaction;
use osier::table::Value;

use super::input::Payment;
use super::schema::{customer, district, warehouse};
use super::{Decision, Evidence, Failure, Tables, changed, customer_row, int};

/// The longest `C_DATA`.
const C_DATA_MAX: usize = 500;

/// Books the payment under the number `h_id`.
pub fn run(tx: &Transaction<'_>, tables: &Tables, input: &Payment, h_id: i64) -> Result<Decision<Evidence>, Failure> {
    let (w, d, amount) = (int(input.w_id), int(input.d_id), input.amount);
    let mut h_data = String::with_capacity(24);
    let is_there = tx.update_with(&tables.warehouse, &[w], |row, changes| {
        changes.set(warehouse::W_YTD, Value::Numeric(row.numeric(warehouse::W_YTD) + amount));
        h_data.push_str(row.text(warehouse::W_NAME));
        Ok::<_, Failure>(())
    })?;
    changed(is_there, "warehouse", &[w])?;
    h_data.push_str("    ");
    let is_there = tx.update_with(&tables.district, &[w, d], |row, changes| {
        changes.set(district::D_YTD, Value::Numeric(row.numeric(district::D_YTD) + amount));
        h_data.push_str(row.text(district::D_NAME));
        Ok::<_, Failure>(())
    })?;
    changed(is_there, "district", &[w, d])?;

    let payer = customer_row(tx, tables, input.c_w_id, input.c_d_id, (input.customer, true))?;
    let c_id = payer.int(customer::C_ID);
    let (c_w, c_d, c) = (int(input.c_w_id), int(input.c_d_id), Value::Int(c_id));
    let data;
    let paid = [
        (customer::C_BALANCE, Value::Numeric(payer.numeric(customer::C_BALANCE) - amount)),
        (customer::C_YTD_PAYMENT, Value::Numeric(payer.numeric(customer::C_YTD_PAYMENT) + amount)),
        (customer::C_PAYMENT_CNT, Value::Int(payer.int(customer::C_PAYMENT_CNT) + 1)),
    ];
    if payer.text(customer::C_CREDIT) == "BC" {
        data = bad_credit_data(input, c_id, payer.text(customer::C_DATA));
        let [balance, ytd, count] = paid;
        let changes = [balance, ytd, count, (customer::C_DATA, Value::Text(&data))];
        tx.update(&tables.customer, &[c_w, c_d, c], &changes)?;
    } else {
        tx.update(&tables.customer, &[c_w, c_d, c], &paid)?;
    }

    let date = Value::Timestamp(input.date);
    let row = [Value::Int(h_id), c, c_d, c_w, d, w, date, Value::Numeric(amount), Value::Text(&h_data)];
    tx.insert(&tables.history, &row)?;
    Ok(Decision::Commit(Evidence::Payment { w_id: input.w_id, h_id, amount }))
}

/// The payment before what is known of a customer with bad credit, cut to the column's length.
fn bad_credit_data(input: &Payment, c_id: i64, old: &str) -> String {
    let Payment { w_id, d_id, c_w_id, c_d_id, amount, .. } = input;
    let mut data = format!("{c_id} {c_d_id} {c_w_id} {d_id} {w_id} {}.{:02}|{old}", amount / 100, amount % 100);
    data.truncate(C_DATA_MAX);
    data
}
