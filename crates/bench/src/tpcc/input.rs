//! The inputs of the five transactions, clauses 2.4.1, 2.5.1, 2.6.1, 2.7.1 and 2.8.1, and the mix of clause 5.2.3.

use std::time::{SystemTime, UNIX_EPOCH};

use fastrand::Rng;

use super::random;
use super::{DISTRICTS, Mix, Scale, dollars};
use crate::random::worker_rng;

/// The most lines of an order.
pub const LINES_MAX: usize = 15;

/// One transaction's input.
#[derive(Clone, Debug)]
pub enum Request {
    /// Clause 2.4.
    NewOrder(NewOrder),
    /// Clause 2.5.
    Payment(Payment),
    /// Clause 2.6.
    OrderStatus(OrderStatus),
    /// Clause 2.7, its ten districts as one transaction.
    Delivery(Delivery),
    /// Clause 2.8.
    StockLevel(StockLevel),
}

/// The names of the transactions, in the order of [`Request::kind`].
pub const KINDS: [&str; 5] = ["new_order", "payment", "order_status", "delivery", "stock_level"];

/// A customer enters an order.
#[derive(Clone, Debug)]
pub struct NewOrder {
    /// The home warehouse.
    pub w_id: u32,
    /// Of the home warehouse.
    pub d_id: u32,
    /// Of that district.
    pub c_id: u32,
    /// Microseconds since 1970.
    pub entry_d: i64,
    lines: [Line; LINES_MAX],
    line_count: usize,
}

/// One item of an order.
#[derive(Clone, Copy, Debug, Default)]
pub struct Line {
    /// The item; one in a hundred orders ends with an item that does not exist and is rolled back.
    pub i_id: u32,
    /// The warehouse that supplies it: one in a hundred is not the home warehouse.
    pub supply_w_id: u32,
    /// 1 to 10.
    pub quantity: u32,
}

impl NewOrder {
    /// The items, 5 to 15.
    pub fn lines(&self) -> &[Line] {
        &self.lines[..self.line_count]
    }
}

/// How a customer is named.
#[derive(Clone, Copy, Debug)]
pub enum CustomerBy {
    /// In 40 of 100 cases.
    Id(u32),
    /// In 60 of 100 cases.
    LastName(&'static str),
}

/// A customer pays.
#[derive(Clone, Debug)]
pub struct Payment {
    /// The home warehouse.
    pub w_id: u32,
    /// Where it is paid.
    pub d_id: u32,
    /// The customer's warehouse: in 15 of 100 cases not the home warehouse.
    pub c_w_id: u32,
    /// The customer's district.
    pub c_d_id: u32,
    /// The customer.
    pub customer: CustomerBy,
    /// In cents: 1.00 to 5000.00.
    pub amount: i64,
    /// Microseconds since 1970.
    pub date: i64,
}

/// A customer asks after the last order.
#[derive(Clone, Debug)]
pub struct OrderStatus {
    /// The home warehouse.
    pub w_id: u32,
    /// The customer's district.
    pub d_id: u32,
    /// The customer.
    pub customer: CustomerBy,
}

/// The oldest new order of each district is delivered.
#[derive(Clone, Debug)]
pub struct Delivery {
    /// The home warehouse.
    pub w_id: u32,
    /// 1 to 10.
    pub carrier_id: u32,
    /// Microseconds since 1970.
    pub date: i64,
}

/// How many items of the last twenty orders are short.
#[derive(Clone, Debug)]
pub struct StockLevel {
    /// The home warehouse.
    pub w_id: u32,
    /// Fixed for the terminal.
    pub d_id: u32,
    /// 10 to 20.
    pub threshold: u32,
}

impl Request {
    /// An index into [`KINDS`].
    pub fn kind(&self) -> usize {
        match self {
            Request::NewOrder(_) => 0,
            Request::Payment(_) => 1,
            Request::OrderStatus(_) => 2,
            Request::Delivery(_) => 3,
            Request::StockLevel(_) => 4,
        }
    }
}

/// Draws the requests of one worker without end.
pub(super) struct Requests {
    rng: Rng,
    scale: Scale,
    mix: Mix,
    /// The worker's home warehouses are `first`, `first + step`, ... : no two workers share one unless there are more
    /// workers than warehouses.
    first: u32,
    step: u32,
    /// Stock levels are asked for one district, as at a terminal.
    d_id: u32,
}

impl Requests {
    pub(super) fn new(scale: Scale, mix: Mix, worker: u32, workers: u32, seed: u64) -> Requests {
        let step = workers.min(scale.warehouses);
        let d_id = worker % DISTRICTS + 1;
        Requests { rng: worker_rng(seed, worker), scale, mix, first: worker % step + 1, step, d_id }
    }

    fn home(&mut self) -> u32 {
        let count = (self.scale.warehouses - self.first) / self.step + 1;
        self.first + self.rng.u32(0..count) * self.step
    }

    /// A warehouse other than `home`, where there is one.
    fn remote(&mut self, home: u32) -> u32 {
        if self.scale.warehouses == 1 {
            return home;
        }
        let other = self.rng.u32(1..self.scale.warehouses);
        if other < home { other } else { other + 1 }
    }

    fn district(&mut self) -> u32 {
        self.rng.u32(1..=DISTRICTS)
    }

    fn customer(&mut self) -> CustomerBy {
        let customers = self.scale.customers;
        match self.rng.u8(0..100) {
            0..60 => CustomerBy::LastName(random::last_name(random::last_name_number_run(&mut self.rng, customers))),
            _ => CustomerBy::Id(random::customer_id(&mut self.rng, customers)),
        }
    }

    fn new_order(&mut self) -> NewOrder {
        let w_id = self.home();
        let line_count = self.rng.usize(5..=LINES_MAX);
        let mut lines = [Line::default(); LINES_MAX];
        for line in &mut lines[..line_count] {
            let is_remote = self.rng.u8(0..100) == 0;
            *line = Line {
                i_id: random::item_id(&mut self.rng, self.scale.items),
                supply_w_id: if is_remote { self.remote(w_id) } else { w_id },
                quantity: self.rng.u32(1..=10),
            };
        }
        if self.rng.u8(0..100) == 0 {
            lines[line_count - 1].i_id = self.scale.items + 1;
        }
        let c_id = random::customer_id(&mut self.rng, self.scale.customers);
        NewOrder { w_id, d_id: self.district(), c_id, entry_d: now_us(), lines, line_count }
    }

    fn payment(&mut self) -> Payment {
        let (w_id, d_id) = (self.home(), self.district());
        let is_remote = self.rng.u8(0..100) < 15;
        let (c_w_id, c_d_id) = if is_remote { (self.remote(w_id), self.district()) } else { (w_id, d_id) };
        let amount = self.rng.i64(dollars(1)..=dollars(5000));
        Payment { w_id, d_id, c_w_id, c_d_id, customer: self.customer(), amount, date: now_us() }
    }

    fn draw(&mut self) -> Request {
        let share = self.rng.u8(0..100);
        match (self.mix, share) {
            (Mix::Standard, 0..45) | (Mix::PaymentNewOrder, 0..50) => Request::NewOrder(self.new_order()),
            (Mix::Standard, 45..88) | (Mix::PaymentNewOrder, _) => Request::Payment(self.payment()),
            (Mix::Standard, 88..92) => {
                let (w_id, d_id) = (self.home(), self.district());
                Request::OrderStatus(OrderStatus { w_id, d_id, customer: self.customer() })
            }
            (Mix::Standard, 92..96) => {
                let (w_id, carrier_id) = (self.home(), self.rng.u32(1..=10));
                Request::Delivery(Delivery { w_id, carrier_id, date: now_us() })
            }
            (Mix::Standard, _) => {
                let (w_id, threshold) = (self.home(), self.rng.u32(10..=20));
                Request::StockLevel(StockLevel { w_id, d_id: self.d_id, threshold })
            }
        }
    }
}

impl Iterator for Requests {
    type Item = Request;

    fn next(&mut self) -> Option<Request> {
        Some(self.draw())
    }
}

/// The time of day in microseconds since 1970.
pub(crate) fn now_us() -> i64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    i64::try_from(since.as_micros()).unwrap_or(i64::MAX)
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    fn draw(scale: Scale, mix: Mix, worker: u32, workers: u32) -> Vec<Request> {
        Requests::new(scale, mix, worker, workers, 11).take(20_000).collect()
    }

    #[test]
    fn the_mix_is_that_of_the_specification() {
        let count = |mix| {
            let mut counts = [0; 5];
            draw(Scale::standard(4), mix, 0, 1).iter().for_each(|request| counts[request.kind()] += 1);
            counts.map(|n| (f64::from(n) / 200.0).round() as u32)
        };
        let standard = count(Mix::Standard);
        for (share, expected) in standard.iter().zip([45, 43, 4, 4, 4]) {
            assert!(share.abs_diff(expected) <= 1, "{standard:?}");
        }
        let half = count(Mix::PaymentNewOrder);
        assert!(half[0].abs_diff(50) <= 1 && half[1].abs_diff(50) <= 1 && half[2..] == [0, 0, 0], "{half:?}");
    }

    #[test]
    fn workers_have_their_own_warehouses() {
        let homes = |worker, workers, warehouses| -> BTreeSet<u32> {
            let requests = draw(Scale::standard(warehouses), Mix::Standard, worker, workers);
            let home = |request: &Request| match request {
                Request::NewOrder(input) => input.w_id,
                Request::Payment(input) => input.w_id,
                Request::OrderStatus(input) => input.w_id,
                Request::Delivery(input) => input.w_id,
                Request::StockLevel(input) => input.w_id,
            };
            requests.iter().map(home).collect()
        };
        assert_eq!(homes(0, 2, 4), BTreeSet::from([1, 3]));
        assert_eq!(homes(1, 2, 4), BTreeSet::from([2, 4]));
        assert_eq!(homes(1, 2, 5), BTreeSet::from([2, 4]));
        assert_eq!(homes(2, 3, 2), BTreeSet::from([1]));
        assert_eq!(homes(0, 1, 3), BTreeSet::from([1, 2, 3]));
    }

    #[test]
    fn inputs_follow_the_specification() {
        let requests = draw(Scale::standard(4), Mix::Standard, 0, 1);
        let (mut orders, mut rollbacks, mut lines, mut remote) = (0, 0, 0, 0);
        let (mut payments, mut by_name, mut remote_customers) = (0, 0, 0);
        for request in &requests {
            match request {
                Request::NewOrder(input) => {
                    assert!((5..=15).contains(&input.lines().len()) && (1..=3000).contains(&input.c_id));
                    orders += 1;
                    rollbacks += i32::from(input.lines().iter().any(|line| line.i_id == 100_001));
                    lines += input.lines().len();
                    remote += input.lines().iter().filter(|line| line.supply_w_id != input.w_id).count();
                    assert!(input.lines().iter().all(|line| (1..=4).contains(&line.supply_w_id)));
                }
                Request::Payment(input) => {
                    payments += 1;
                    by_name += i32::from(matches!(input.customer, CustomerBy::LastName(_)));
                    remote_customers += i32::from(input.c_w_id != input.w_id);
                    assert!((100..=500_000).contains(&input.amount));
                }
                _ => {}
            }
        }
        let near = |part: f64, all: f64, share: f64| (part / all / share - 1.0).abs() < 0.25;
        assert!(near(rollbacks.into(), orders.into(), 0.01), "{rollbacks} of {orders}");
        assert!(near(remote as f64, lines as f64, 0.01), "{remote} of {lines}");
        assert!(near(by_name.into(), payments.into(), 0.6), "{by_name} of {payments}");
        assert!(near(remote_customers.into(), payments.into(), 0.15), "{remote_customers} of {payments}");
    }
}
