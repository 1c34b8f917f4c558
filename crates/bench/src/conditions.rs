//! Which states of a workload's tables are possible, and what an acknowledged transaction must have left in them.
//!
//! Conditions are checked by reading everything they speak of, in many transactions: nobody writes meanwhile, and the read set
//! of each stays small.

use std::fmt;

use osier::table::{ColumnId, KeyRange, Row, Table, Value};
use osier::{Durability, Session, Transaction};

use crate::TargetError;
use crate::attempt::{Decision, Failure, execute, options};
use crate::crash::{Evidence, Fact};
use crate::in_process::InProcess;

/// Rows that one transaction reads.
const ROWS_PER_TRANSACTION: usize = 10_000;
/// Violations of one condition that are told.
const VIOLATIONS_MAX: usize = 10;

/// A condition that does not hold.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Violation {
    /// Its number in the list of the workload.
    pub condition: u8,
    /// Where, and what was found.
    pub what: String,
}

/// What acknowledged transactions of a workload prove.
pub type FactOf<W> = <<W as crate::Workload>::Evidence as Evidence>::Fact;

/// A workload that knows which states of its tables are possible.
pub trait Conditions: InProcess<Evidence: Evidence<Fact: Fact + fmt::Debug + Sync>> {
    /// Whether the database still knows what an acknowledged transaction did or saw.
    fn is_found(&self, tx: &Transaction<'_>, tables: &Self::Tables, fact: &FactOf<Self>) -> Result<bool, Failure>;
    /// How often [`Conditions::check`] will call `observe`, about.
    fn check_steps(&self) -> u64;
    /// Checks all conditions; `observe` is called with the steps done since the last call. Nobody else writes meanwhile.
    fn check(
        &self,
        session: &mut Session,
        tables: &Self::Tables,
        observe: &mut dyn FnMut(u64),
    ) -> Result<Vec<Violation>, TargetError>;
}

/// What is wrong, the first few of each condition.
#[derive(Debug, Default)]
pub struct Violations {
    told: Vec<Violation>,
}

impl Violations {
    /// Notes where a condition does not hold.
    pub fn require(&mut self, holds: bool, condition: u8, what: impl FnOnce() -> String) {
        if !holds && self.told.iter().filter(|told| told.condition == condition).count() < VIOLATIONS_MAX {
            self.told.push(Violation { condition, what: what() });
        }
    }

    /// All of them.
    pub fn into_vec(self) -> Vec<Violation> {
        self.told
    }
}

/// Runs a body that reads.
pub fn read<T>(
    session: &mut Session,
    mut body: impl FnMut(&Transaction<'_>) -> Result<T, Failure>,
) -> Result<T, TargetError> {
    let executed = execute(session, options(true, Durability::Durable), |tx| body(tx).map(Decision::Commit))?;
    Ok(executed.evidence)
}

/// Calls `visit` with what `take` takes of each row of a table whose primary key is of integers, in the order of the key;
/// `observe` with the number of rows that were read since the last call.
pub fn visit_rows<T>(
    session: &mut Session,
    table: &Table,
    observe: &mut dyn FnMut(u64),
    take: impl Fn(&Row<'_>) -> T,
    mut visit: impl FnMut(T),
) -> Result<(), TargetError> {
    let key = table.schema().primary_key().to_vec();
    let mut last: Option<Vec<Value<'static>>> = None;
    loop {
        let from = last.as_deref();
        // A transaction may run again, so what it has read counts when it has ended.
        let (taken, read_to) = read(session, |tx| {
            let range = from.map_or(KeyRange::all(), |last| KeyRange::all().from_excluded(last));
            let (mut taken, mut read_to) = (Vec::new(), None);
            for row in tx.scan(table, range)?.take(ROWS_PER_TRANSACTION) {
                let row = row?;
                taken.push(take(&row));
                read_to = Some(integers(&row, &key));
            }
            Ok((taken, read_to))
        })?;
        let count = taken.len();
        taken.into_iter().for_each(&mut visit);
        observe(count as u64);
        if count < ROWS_PER_TRANSACTION {
            return Ok(());
        }
        last = read_to;
    }
}

/// What `take` takes of the rows of a table that are numbered from 1 to `last`, in their order; `None` where one is missing.
/// Missing rows and rows with other numbers violate `condition`.
pub fn rows_by_number<T: Clone>(
    session: &mut Session,
    table: &Table,
    last: i64,
    observe: &mut dyn FnMut(u64),
    (violations, condition): (&mut Violations, u8),
    take: impl Fn(&Row<'_>) -> T,
) -> Result<Vec<Option<T>>, TargetError> {
    let [key] = *table.schema().primary_key() else { panic!("{} has no number for a primary key", table.name()) };
    let mut rows = vec![None; usize::try_from(last).unwrap_or(0)];
    visit_rows(
        session,
        table,
        observe,
        |row| (row.int(key), take(row)),
        |(number, value)| {
            let known = usize::try_from(number - 1).ok().and_then(|at| rows.get_mut(at));
            violations.require(known.is_some(), condition, || format!("{} has a row {number}", table.name()));
            if let Some(known) = known {
                *known = Some(value);
            }
        },
    )?;
    for (number, _) in (1..).zip(&rows).filter(|(_, row)| row.is_none()) {
        violations.require(false, condition, || format!("{} has no row {number}", table.name()));
    }
    Ok(rows)
}

fn integers(row: &Row<'_>, columns: &[ColumnId]) -> Vec<Value<'static>> {
    columns.iter().map(|column| Value::Int(row.int(*column))).collect()
}
