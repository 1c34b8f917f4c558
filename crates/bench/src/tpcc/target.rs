//! TPC-C on Osier in process.

use osier::{Database, Durability, Receipt};

use super::input::Request;
use super::{Evidence, Tables, Tpcc, delivery, new_order, order_status, payment, stock_level};
use crate::attempt::{execute, options};
use crate::{Client, Counters, Executed, Target, TargetError};

/// A database with the tables of TPC-C.
pub struct TpccTarget {
    db: Database,
    tables: Tables,
    durability: Durability,
    incarnation: u32,
}

impl TpccTarget {
    /// `incarnation` differs for each time that a process uses the database: payments are numbered with it.
    pub fn new(db: Database, durability: Durability, incarnation: u32) -> Result<TpccTarget, TargetError> {
        let tables = Tables::open(&db).map_err(TargetError::new)?;
        assert!((1..1 << 19).contains(&incarnation), "incarnation {incarnation} does not fit in a payment's number");
        Ok(TpccTarget { db, tables, durability, incarnation })
    }

    /// The tables.
    pub fn tables(&self) -> &Tables {
        &self.tables
    }
}

impl Target<Tpcc> for TpccTarget {
    type Client = TpccSession;

    fn client(&self, worker: u32) -> Result<TpccSession, TargetError> {
        let session = self.db.session().map_err(TargetError::new)?;
        assert!(worker < 1 << 12, "worker {worker} does not fit in a payment's number");
        let next_h_id = i64::from(self.incarnation) << 44 | i64::from(worker) << 32;
        Ok(TpccSession { session, tables: self.tables.clone(), durability: self.durability, next_h_id })
    }

    fn counters(&self) -> Counters {
        crate::engine::counters(&self.db)
    }
}

/// One worker's session.
pub struct TpccSession {
    session: osier::Session,
    tables: Tables,
    durability: Durability,
    next_h_id: i64,
}

impl Client<Tpcc> for TpccSession {
    type Receipt = Receipt;

    fn execute(&mut self, request: &Request) -> Result<Executed<Receipt, Evidence>, TargetError> {
        let TpccSession { session, tables, durability, next_h_id } = self;
        let is_read_only = matches!(request, Request::OrderStatus(_) | Request::StockLevel(_));
        *next_h_id += i64::from(matches!(request, Request::Payment(_)));
        execute(session, options(is_read_only, *durability), |tx| match request {
            Request::NewOrder(input) => new_order::run(tx, tables, input),
            Request::Payment(input) => payment::run(tx, tables, input, *next_h_id),
            Request::OrderStatus(input) => order_status::run(tx, tables, input),
            Request::Delivery(input) => delivery::run(tx, tables, input),
            Request::StockLevel(input) => stock_level::run(tx, tables, input),
        })
    }
}
