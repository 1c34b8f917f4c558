//! Fills the tables as clause 4.3.3.1 asks, from several threads.
//!
//! The work is cut into tasks of one transaction each. A task draws from a generator seeded with its number, so what is
//! loaded depends on the seed and not on the threads. All of it is durable when [`load`] returns.

use std::ops::RangeInclusive;

use fastrand::Rng;
use osier::table::Value;
use osier::{Database, Transaction};

use super::input::now_us;
use super::random::{self, a_string, n_string, zip};
use super::schema::{district, stock};
use super::{DISTRICTS, Failure, Scale, Tables, dollars, int};
use crate::TargetError;
use crate::loading;
use crate::random::worker_rng;

/// Items, stocks or customers of one task; their log record must stay well below the limit.
const TASK_ROWS: u32 = 250;
/// Orders of one task, each with its lines.
const TASK_ORDERS: u32 = 30;
/// The fraction of orders that are delivered, in tenths.
const DELIVERED_TENTHS: u32 = 7;
/// What every customer has paid in the beginning.
const H_AMOUNT: i64 = dollars(10);

/// One transaction of loading.
#[derive(Clone, Debug)]
enum Task {
    Items(RangeInclusive<u32>),
    /// The warehouse and its districts.
    Warehouse(u32),
    Stock(u32, RangeInclusive<u32>),
    /// Customers of a district and their HISTORY.
    Customers(u32, u32, RangeInclusive<u32>),
    Orders(u32, u32, RangeInclusive<u32>),
}

/// Loads everything with `threads` threads and returns the number of rows; `observe` is told of the rows so far.
pub fn load(
    db: &Database,
    tables: &Tables,
    scale: Scale,
    threads: u32,
    seed: u64,
    observe: &(impl Fn(u64) + Sync),
) -> Result<u64, TargetError> {
    let date = Value::Timestamp(now_us());
    loading::run(db, threads, &tasks(scale), observe, |tx, number, task| {
        let mut loader = Loader { tx, tables, scale, seed, rng: worker_rng(seed, number), date, rows: 0 };
        loader.run(task)?;
        Ok(loader.rows)
    })
}

/// About how many rows will be loaded; the lines of orders are drawn.
pub fn rows_expected(scale: Scale) -> u64 {
    let (items, customers) = (u64::from(scale.items), u64::from(scale.customers));
    let district = 1 + customers * (3 + 10) + customers * 3 / 10;
    items + u64::from(scale.warehouses) * (1 + items + u64::from(DISTRICTS) * district)
}

fn tasks(scale: Scale) -> Vec<Task> {
    let mut tasks: Vec<_> = chunks(scale.items, TASK_ROWS).map(Task::Items).collect();
    for w_id in 1..=scale.warehouses {
        tasks.push(Task::Warehouse(w_id));
        tasks.extend(chunks(scale.items, TASK_ROWS).map(|items| Task::Stock(w_id, items)));
        for d_id in 1..=DISTRICTS {
            tasks.extend(chunks(scale.customers, TASK_ROWS).map(|ids| Task::Customers(w_id, d_id, ids)));
            tasks.extend(chunks(scale.customers, TASK_ORDERS).map(|ids| Task::Orders(w_id, d_id, ids)));
        }
    }
    tasks
}

/// `1..=last` in pieces of `size`.
fn chunks(last: u32, size: u32) -> impl Iterator<Item = RangeInclusive<u32>> {
    (1..=last).step_by(size as usize).map(move |first| first..=(first + size - 1).min(last))
}

struct Loader<'a, 't> {
    tx: &'a Transaction<'t>,
    tables: &'a Tables,
    scale: Scale,
    seed: u64,
    rng: Rng,
    date: Value<'static>,
    rows: u64,
}

impl Loader<'_, '_> {
    fn run(&mut self, task: &Task) -> Result<(), Failure> {
        match task {
            Task::Items(ids) => ids.clone().try_for_each(|i_id| self.item(i_id)),
            Task::Warehouse(w_id) => {
                self.warehouse(*w_id)?;
                (1..=DISTRICTS).try_for_each(|d_id| self.district(*w_id, d_id))
            }
            Task::Stock(w_id, ids) => ids.clone().try_for_each(|i_id| self.stock(*w_id, i_id)),
            Task::Customers(w_id, d_id, ids) => ids.clone().try_for_each(|c_id| self.customer(*w_id, *d_id, c_id)),
            Task::Orders(w_id, d_id, ids) => {
                let customers = self.permutation(*w_id, *d_id);
                ids.clone().try_for_each(|o_id| self.order(*w_id, *d_id, o_id, customers[o_id as usize - 1]))
            }
        }
    }

    fn insert(&mut self, table: &osier::Table, row: &[Value<'_>]) -> Result<(), Failure> {
        self.rows += 1;
        Ok(self.tx.insert(table, row)?)
    }

    fn item(&mut self, i_id: u32) -> Result<(), Failure> {
        let rng = &mut self.rng;
        let (image, price) = (int(rng.u32(1..=10_000)), Value::Numeric(rng.i64(dollars(1)..=dollars(100))));
        let (name, data) = (a_string(rng, 14, 24), random::data(rng));
        self.insert(&self.tables.item, &[int(i_id), image, Value::Text(&name), price, Value::Text(&data)])
    }

    fn warehouse(&mut self, w_id: u32) -> Result<(), Failure> {
        let address = Address::draw(&mut self.rng);
        let (name, tax) = (a_string(&mut self.rng, 6, 10), Value::Numeric(self.rng.i64(0..=2000)));
        let [street_1, street_2, city, state, zip] = address.values();
        let ytd = Value::Numeric(H_AMOUNT * i64::from(DISTRICTS * self.scale.customers));
        let row = [int(w_id), Value::Text(&name), street_1, street_2, city, state, zip, tax, ytd];
        self.insert(&self.tables.warehouse, &row)
    }

    fn district(&mut self, w_id: u32, d_id: u32) -> Result<(), Failure> {
        let address = Address::draw(&mut self.rng);
        let (name, tax) = (a_string(&mut self.rng, 6, 10), Value::Numeric(self.rng.i64(0..=2000)));
        let [street_1, street_2, city, state, zip] = address.values();
        let ytd = Value::Numeric(H_AMOUNT * i64::from(self.scale.customers));
        let (d, w, next_o_id) = (int(d_id), int(w_id), int(self.scale.customers + 1));
        let row: [_; district::COLUMNS] =
            [d, w, Value::Text(&name), street_1, street_2, city, state, zip, tax, ytd, next_o_id];
        self.insert(&self.tables.district, &row)
    }

    fn stock(&mut self, w_id: u32, i_id: u32) -> Result<(), Failure> {
        let rng = &mut self.rng;
        let quantity = int(rng.u32(10..=100));
        let dists: [String; DISTRICTS as usize] = std::array::from_fn(|_| a_string(rng, 24, 24));
        let data = random::data(rng);
        let mut row = [int(0); stock::COLUMNS];
        row[..3].copy_from_slice(&[int(i_id), int(w_id), quantity]);
        row[3..13].iter_mut().zip(&dists).for_each(|(value, dist)| *value = Value::Text(dist));
        row[16] = Value::Text(&data);
        self.insert(&self.tables.stock, &row)
    }

    fn customer(&mut self, w_id: u32, d_id: u32, c_id: u32) -> Result<(), Failure> {
        let rng = &mut self.rng;
        let last = if c_id <= random::LAST_NAMES { c_id - 1 } else { random::last_name_number_load(rng) };
        let (first, phone, data) = (a_string(rng, 8, 16), n_string(rng, 16, 16), a_string(rng, 300, 500));
        let credit = if rng.u8(0..10) == 0 { "BC" } else { "GC" };
        let discount = Value::Numeric(rng.i64(0..=5000));
        let address = Address::draw(rng);
        let [street_1, street_2, city, state, zip] = address.values();
        let (c, d, w) = (int(c_id), int(d_id), int(w_id));
        let name = [Value::Text(&first), Value::Text("OE"), Value::Text(random::last_name(last))];
        let account = [
            Value::Numeric(dollars(50_000)),
            discount,
            Value::Numeric(-H_AMOUNT),
            Value::Numeric(H_AMOUNT),
            int(1),
            int(0),
        ];
        let [first, middle, last] = name;
        let [limit, discount, balance, paid, payments, deliveries] = account;
        let (since, phone, credit, data) = (self.date, Value::Text(&phone), Value::Text(credit), Value::Text(&data));
        self.insert(
            &self.tables.customer,
            &[
                c, d, w, first, middle, last, street_1, street_2, city, state, zip, phone, since, credit, limit,
                discount, balance, paid, payments, deliveries, data,
            ],
        )?;
        // Numbered within the warehouse from 1; the numbers of payments are far beyond.
        let h_id = Value::Int(i64::from((d_id - 1) * self.scale.customers + c_id));
        let h_data = a_string(&mut self.rng, 12, 24);
        let row = [h_id, c, d, w, d, w, self.date, Value::Numeric(H_AMOUNT), Value::Text(&h_data)];
        self.insert(&self.tables.history, &row)
    }

    /// In which order the customers of a district have ordered; the same for all its tasks.
    fn permutation(&self, w_id: u32, d_id: u32) -> Vec<u32> {
        let mut customers: Vec<_> = (1..=self.scale.customers).collect();
        worker_rng(!self.seed, w_id * DISTRICTS + d_id).shuffle(&mut customers);
        customers
    }

    fn order(&mut self, w_id: u32, d_id: u32, o_id: u32, c_id: u32) -> Result<(), Failure> {
        let (o, d, w, line_count) = (int(o_id), int(d_id), int(w_id), self.rng.u32(5..=15));
        let is_delivered = o_id <= self.scale.customers * DELIVERED_TENTHS / 10;
        let carrier = if is_delivered { int(self.rng.u32(1..=10)) } else { Value::Null };
        self.insert(&self.tables.orders, &[o, d, w, int(c_id), self.date, carrier, int(line_count), int(1)])?;
        if !is_delivered {
            self.insert(&self.tables.new_order, &[o, d, w])?;
        }
        for number in 1..=line_count {
            let i = int(self.rng.u32(1..=self.scale.items));
            let (delivery_d, amount) =
                if is_delivered { (self.date, 0) } else { (Value::Null, self.rng.i64(1..dollars(10_000))) };
            let info = a_string(&mut self.rng, 24, 24);
            let (amount, info) = (Value::Numeric(amount), Value::Text(&info));
            let row = [o, d, w, int(number), i, w, delivery_d, int(5), amount, info];
            self.insert(&self.tables.order_line, &row)?;
        }
        Ok(())
    }
}

/// Two streets, city, state and zip code.
struct Address([String; 5]);

impl Address {
    fn draw(rng: &mut Rng) -> Address {
        let (street_1, street_2, city) = (a_string(rng, 10, 20), a_string(rng, 10, 20), a_string(rng, 10, 20));
        Address([street_1, street_2, city, a_string(rng, 2, 2), zip(rng)])
    }

    fn values(&self) -> [Value<'_>; 5] {
        self.0.each_ref().map(|text| Value::Text(text))
    }
}
