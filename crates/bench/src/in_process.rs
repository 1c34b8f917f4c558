//! Osier in process as a target: the transactions of a workload as Rust code, or as calls of procedures.
//!
//! A workload that can be run this way says what its tables are, how they are filled, and what each request does in a
//! transaction; the target around that is the same for all of them.
//!
//! Invariants:
//! - A transaction gets all of its input from the request and the number of the execution: it reads no clock and draws nothing
//!   at random, so a stored procedure with the same parameters does the same.
//! - Numbers of requests are never used twice, whatever a crash has undone: they are made of the incarnation, the worker and a
//!   counter. All are greater than [`LOADED_MAX`].

use osier::call::Output;
use osier::{Database, Durability, Receipt, Session, Transaction};

use crate::attempt::{Decision, Failure, execute, execute_call, execute_calls, options};
use crate::calls::{Call, Issue, Refusal, conclude};
use crate::{Client, Counters, Executed, ExecutedAll, Target, TargetError, Workload};

/// The largest number that loading may give to a row that requests number otherwise.
pub const LOADED_MAX: i64 = (1 << INCARNATION_SHIFT) - 1;

const INCARNATION_SHIFT: u32 = 44;
const WORKER_SHIFT: u32 = 32;
/// Incarnations and workers that fit in a number.
const INCARNATIONS_MAX: u32 = 1 << 19;
const WORKERS_MAX: u32 = 1 << 12;

/// A workload whose transactions are Rust code over the API of Osier.
pub trait InProcess: Workload + Clone {
    /// Handles on its tables.
    type Tables: Clone + Send + Sync;

    /// Creates the tables, empty.
    fn create(&self, db: &Database) -> Result<Self::Tables, osier::Error>;
    /// Opens the tables that [`InProcess::create`] made.
    fn open(&self, db: &Database) -> Result<Self::Tables, osier::Error>;
    /// Fills the tables from `threads` threads and returns the number of rows; `observe` is told of the rows so far. All of
    /// it is durable on return.
    fn load(
        &self,
        db: &Database,
        tables: &Self::Tables,
        threads: u32,
        seed: u64,
        observe: &(impl Fn(u64) + Sync),
    ) -> Result<u64, TargetError>;
    /// About how many rows will be loaded.
    fn rows_expected(&self) -> u64;

    /// Whether a request writes nothing, whatever it finds.
    fn is_read_only(&self, request: &Self::Request) -> bool;
    /// Does in `tx` what the request asks for. `number` differs for each request that any process has executed.
    fn transact(
        &self,
        tx: &Transaction<'_>,
        tables: &Self::Tables,
        request: &Self::Request,
        number: i64,
    ) -> Result<Decision<Self::Evidence>, Failure>;

    /// The texts of the procedures that do what [`InProcess::transact`] does, who is called before who calls.
    fn procedures(&self) -> Vec<&'static str>;
    /// The same request as a call.
    fn call<'r>(&self, request: &'r Self::Request, number: i64) -> Call<'r>;
    /// What the results of its call prove; `None` where they are none that the procedure can have.
    fn returned(&self, request: &Self::Request, number: i64, output: &Output) -> Option<Self::Evidence>;
    /// What it proves that the call gave up; `None` where the request is no reason for that.
    fn refused(&self, request: &Self::Request, refusal: &Refusal<'_>) -> Option<Self::Evidence>;
}

/// A database with the tables of a workload.
pub struct InProcessTarget<W: InProcess> {
    db: Database,
    workload: W,
    tables: W::Tables,
    durability: Durability,
    incarnation: u32,
    issue: Issue,
}

impl<W: InProcess> InProcessTarget<W> {
    /// `incarnation` differs for each time that a process uses the database.
    pub fn new(
        db: Database,
        workload: W,
        durability: Durability,
        incarnation: u32,
    ) -> Result<InProcessTarget<W>, TargetError> {
        let tables = workload.open(&db).map_err(TargetError::new)?;
        assert!((1..INCARNATIONS_MAX).contains(&incarnation), "incarnation {incarnation} does not fit in a number");
        Ok(InProcessTarget { db, workload, tables, durability, incarnation, issue: Issue::Rust })
    }

    /// The target with requests issued in this way; [`Fixture::prepare`](crate::fixture::Fixture::prepare) has created the
    /// procedures.
    pub fn issuing(self, issue: Issue) -> InProcessTarget<W> {
        InProcessTarget { issue, ..self }
    }

    /// The tables.
    pub fn tables(&self) -> &W::Tables {
        &self.tables
    }
}

impl<W: InProcess> Target<W> for InProcessTarget<W> {
    type Client = InProcessClient<W>;

    fn client(&self, worker: u32) -> Result<InProcessClient<W>, TargetError> {
        let session = self.db.session().map_err(TargetError::new)?;
        assert!(worker < WORKERS_MAX, "worker {worker} does not fit in a number");
        let number = i64::from(self.incarnation) << INCARNATION_SHIFT | i64::from(worker) << WORKER_SHIFT;
        let (workload, tables) = (self.workload.clone(), self.tables.clone());
        Ok(InProcessClient { session, workload, tables, durability: self.durability, issue: self.issue, number })
    }

    fn counters(&self) -> Counters {
        crate::engine::counters(&self.db)
    }
}

/// One worker's session.
pub struct InProcessClient<W: InProcess> {
    session: Session,
    workload: W,
    tables: W::Tables,
    durability: Durability,
    issue: Issue,
    /// Of the last request.
    number: i64,
}

impl<W: InProcess> Client<W> for InProcessClient<W> {
    type Receipt = Receipt;

    fn execute(&mut self, request: &W::Request) -> Result<Executed<Receipt, W::Evidence>, TargetError> {
        let InProcessClient { session, workload, tables, durability, issue, number } = self;
        *number += 1;
        let options = options(workload.is_read_only(request), *durability);
        if !issue.is_call(*number) {
            return execute(session, options, |tx| workload.transact(tx, tables, request, *number));
        }
        let call = workload.call(request, *number);
        let executed = execute_call(session, options, &call)?;
        conclude(
            executed,
            |output| workload.returned(request, *number, output),
            |refusal| workload.refused(request, refusal),
        )
    }

    fn execute_all(&mut self, requests: &[W::Request]) -> ExecutedAll<Receipt, W::Evidence> {
        if self.issue.has_ad_hoc() {
            return requests.iter().map(|request| self.execute(request)).collect();
        }
        let InProcessClient { session, workload, durability, number, .. } = self;
        let numbers = *number + 1..;
        *number += requests.len() as i64;
        let calls: Vec<_> =
            requests.iter().zip(numbers.clone()).map(|(request, number)| workload.call(request, number)).collect();
        let executed = execute_calls(session, options(false, *durability), &calls)?.into_iter();
        let concluded = executed.zip(requests.iter().zip(numbers)).map(|(executed, (request, number))| {
            conclude(
                executed,
                |output| workload.returned(request, number, output),
                |refusal| workload.refused(request, refusal),
            )
        });
        concluded.collect()
    }
}
