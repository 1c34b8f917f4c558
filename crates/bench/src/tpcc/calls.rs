//! The five transactions as calls of the procedures in `tpcc.osier`: arguments, and what results prove.

use osier::call::Output;
use osier::table::{Argument, Datum, Value};

use super::input::{CustomerBy, Line, Request};
use super::{DISTRICTS, Evidence, int};
use crate::calls::{Call, REFUSED, Refusal, int as int_result};

/// The procedures.
pub(super) const PROCEDURES: &str = include_str!("../procedures/tpcc.osier");

/// A request as a call. A payment gets `number` in HISTORY.
pub(super) fn call(request: &Request, number: i64) -> Call<'_> {
    match request {
        Request::NewOrder(input) => {
            let each = |of: fn(&Line) -> u32| Argument::Array(input.lines().iter().map(|line| int(of(line))).collect());
            let lines = [each(|line| line.i_id), each(|line| line.supply_w_id), each(|line| line.quantity)];
            let [items, suppliers, quantities] = lines;
            let (w, d, c) = (int(input.w_id), int(input.d_id), int(input.c_id));
            let entered = Value::Timestamp(input.entry_d).into();
            Call::new("new_order", [w.into(), d.into(), c.into(), items, suppliers, quantities, entered])
        }
        Request::Payment(input) => {
            let (w, d, c_w, c_d) = (int(input.w_id), int(input.d_id), int(input.c_w_id), int(input.c_d_id));
            let [c, last] = customer(input.customer);
            let (amount, paid) = (Value::Numeric(input.amount).into(), Value::Timestamp(input.date).into());
            let customer = [c_w.into(), c_d.into(), c, last];
            let [c_w, c_d, c, last] = customer;
            Call::new("payment", [w.into(), d.into(), c_w, c_d, c, last, amount, number.into(), paid])
        }
        Request::OrderStatus(input) => {
            let [c, last] = customer(input.customer);
            Call::new("order_status", [int(input.w_id).into(), int(input.d_id).into(), c, last])
        }
        Request::Delivery(input) => {
            let date = Value::Timestamp(input.date).into();
            Call::new("delivery", [int(input.w_id).into(), int(input.carrier_id).into(), date])
        }
        Request::StockLevel(input) => {
            let (w, d, threshold) = (int(input.w_id), int(input.d_id), int(input.threshold));
            Call::new("stock_level", [w.into(), d.into(), threshold.into()])
        }
    }
}

/// The number of a customer and the last name; one of them is NULL.
fn customer(by: CustomerBy) -> [Argument<'static>; 2] {
    match by {
        CustomerBy::Id(c_id) => [int(c_id).into(), Value::Null.into()],
        CustomerBy::LastName(name) => [Value::Null.into(), name.into()],
    }
}

/// What the results prove.
pub(super) fn returned(request: &Request, number: i64, output: &Output) -> Option<Evidence> {
    match request {
        Request::NewOrder(input) => {
            let o_id = u32::try_from(int_result(output, "o_id")?).ok()?;
            let line_count = input.lines().len() as u32;
            Some(Evidence::Order { w_id: input.w_id, d_id: input.d_id, o_id, c_id: input.c_id, line_count })
        }
        Request::Payment(input) => Some(Evidence::Payment { w_id: input.w_id, h_id: number, amount: input.amount }),
        Request::OrderStatus(input) => match output.value("o_id") {
            Datum::Null => Some(Evidence::Nothing),
            o_id => {
                let o_id = u32::try_from(o_id.int()?).ok()?;
                Some(Evidence::Observed { w_id: input.w_id, d_id: input.d_id, o_id })
            }
        },
        Request::Delivery(input) => {
            let mut o_ids = [0; DISTRICTS as usize];
            for row in output.rows() {
                let [d_id, o_id] = row.as_slice() else { return None };
                let at = usize::try_from(d_id.int()? - 1).ok()?;
                *o_ids.get_mut(at)? = u32::try_from(o_id.int()?).ok()?;
            }
            Some(Evidence::Delivered { w_id: input.w_id, carrier_id: input.carrier_id, o_ids })
        }
        Request::StockLevel(input) => {
            let next_o_id = int_result(output, "next_o_id")?;
            Some(Evidence::observed_before(input.w_id, input.d_id, next_o_id))
        }
    }
}

/// What it proves that an order was refused: whoever saw its number has seen all smaller ones.
pub(super) fn refused(request: &Request, refusal: &Refusal<'_>) -> Option<Evidence> {
    match request {
        Request::NewOrder(input) if refusal.sqlstate == REFUSED => {
            Some(Evidence::observed_before(input.w_id, input.d_id, refusal.last_number()?))
        }
        _ => None,
    }
}
