//! TPC-C, after revision 5.11 of its specification: the order entry of a wholesale supplier.
//!
//! Each transaction is a file of its own and reads as the specification does; together they are the longest example of
//! how Osier's API is used. [`input`] draws what the terminals would enter, [`loader`] fills the tables, [`consistency`]
//! checks conditions 1 to 4 of clause 3.3.2.
//!
//! Departures, beside those of [`schema`]: no terminals, so no keying and thinking times; workers have home warehouses
//! of their own; a delivery is one transaction over ten districts and not deferred.

mod calls;
pub mod consistency;
pub mod delivery;
pub mod input;
pub mod ledger;
pub mod loader;
pub mod new_order;
pub mod order_status;
pub mod payment;
pub mod random;
pub mod schema;
pub mod stock_level;
mod tables;
#[cfg(test)]
mod tests;

use osier::call::Output;
use osier::{Database, Session, Transaction};
use serde::{Deserialize, Serialize};

use crate::attempt::{Decision, Failure, changed, found};
use crate::calls::{Call, Refusal};
use crate::conditions::{Conditions, Violation};
use crate::in_process::InProcess;
use crate::{TargetError, Workload};
use input::{Request, Requests};
pub use ledger::{Evidence, TpccFact};
pub use tables::Tables;
use tables::{customer_row, dollars, id, int};

/// Districts of a warehouse.
pub const DISTRICTS: u32 = 10;

/// How much is loaded.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Scale {
    /// Warehouses; everything but the items grows with it.
    pub warehouses: u32,
    /// Items: 100,000 in TPC-C.
    pub items: u32,
    /// Customers, and orders in the beginning, of a district: 3,000 in TPC-C.
    pub customers: u32,
}

impl Scale {
    /// What the specification asks for.
    pub fn standard(warehouses: u32) -> Scale {
        Scale { warehouses, items: 100_000, customers: 3000 }
    }

    /// Whether this is TPC-C's, whatever the number of warehouses.
    pub fn is_standard(&self) -> bool {
        *self == Scale::standard(self.warehouses)
    }
}

/// Which transactions run.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Mix {
    /// 45 % New-Order, 43 % Payment, 4 % each of the others.
    Standard,
    /// Half New-Order, half Payment.
    PaymentNewOrder,
}

/// The workload.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Tpcc {
    /// How much is loaded.
    pub scale: Scale,
    /// Which transactions run.
    pub mix: Mix,
}

impl Tpcc {
    /// Which transactions run, as reports say it.
    pub fn mix(&self) -> String {
        match self.mix {
            Mix::Standard => "standard mix".to_owned(),
            Mix::PaymentNewOrder => "half payment, half new order".to_owned(),
        }
    }
}

impl Workload for Tpcc {
    type Request = Request;
    type Evidence = Evidence;

    fn name(&self) -> &'static str {
        "tpcc"
    }

    fn kinds(&self) -> &'static [&'static str] {
        &input::KINDS
    }

    fn kind(&self, request: &Request) -> usize {
        request.kind()
    }

    fn requests(&self, worker: u32, workers: u32, seed: u64) -> impl Iterator<Item = Request> + Send {
        Requests::new(self.scale, self.mix, worker, workers, seed)
    }
}

impl InProcess for Tpcc {
    type Tables = Tables;

    fn create(&self, db: &Database) -> Result<Tables, osier::Error> {
        Tables::create(db)
    }

    fn open(&self, db: &Database) -> Result<Tables, osier::Error> {
        Tables::open(db)
    }

    fn load(
        &self,
        db: &Database,
        tables: &Tables,
        threads: u32,
        seed: u64,
        observe: &(impl Fn(u64) + Sync),
    ) -> Result<u64, TargetError> {
        loader::load(db, tables, self.scale, threads, seed, observe)
    }

    fn rows_expected(&self) -> u64 {
        loader::rows_expected(self.scale)
    }

    fn is_read_only(&self, request: &Request) -> bool {
        matches!(request, Request::OrderStatus(_) | Request::StockLevel(_))
    }

    fn transact(
        &self,
        tx: &Transaction<'_>,
        tables: &Tables,
        request: &Request,
        number: i64,
    ) -> Result<Decision<Evidence>, Failure> {
        match request {
            Request::NewOrder(input) => new_order::run(tx, tables, input),
            Request::Payment(input) => payment::run(tx, tables, input, number),
            Request::OrderStatus(input) => order_status::run(tx, tables, input),
            Request::Delivery(input) => delivery::run(tx, tables, input),
            Request::StockLevel(input) => stock_level::run(tx, tables, input),
        }
    }

    fn procedures(&self) -> Vec<&'static str> {
        vec![calls::PROCEDURES]
    }

    fn call<'r>(&self, request: &'r Request, number: i64) -> Call<'r> {
        calls::call(request, number)
    }

    fn returned(&self, request: &Request, number: i64, output: &Output) -> Option<Evidence> {
        calls::returned(request, number, output)
    }

    fn refused(&self, request: &Request, refusal: &Refusal<'_>) -> Option<Evidence> {
        calls::refused(request, refusal)
    }
}

impl Conditions for Tpcc {
    fn is_found(&self, tx: &Transaction<'_>, tables: &Tables, fact: &TpccFact) -> Result<bool, Failure> {
        fact.is_found(tx, tables)
    }

    fn check_steps(&self) -> u64 {
        u64::from(self.scale.warehouses * DISTRICTS)
    }

    fn check(
        &self,
        session: &mut Session,
        tables: &Tables,
        observe: &mut dyn FnMut(u64),
    ) -> Result<Vec<Violation>, TargetError> {
        consistency::check(session, tables, self.scale, || observe(1))
    }
}
