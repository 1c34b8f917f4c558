//! Looks in a recovered database for what was acknowledged, and checks the workload's conditions.

use osier::table::KeyRange;
use osier::{Database, Durability};

use super::Fact;
use crate::TargetError;
use crate::conditions::{Conditions, FactOf, read};
use crate::error::BenchError;
use crate::machine::cores;
use crate::progress::{Bar, Unit};
use crate::ycsb::content::{key_value, read_version};
use crate::ycsb::ledger::{Finding, Versions};
use crate::ycsb::target::YcsbTarget;
use crate::ycsb::{YcsbConfig, YcsbFact};

/// Facts that one transaction looks for.
const FACTS_PER_TRANSACTION: usize = 64;
/// Rows that one transaction reads.
const ROWS_PER_TRANSACTION: u64 = 1000;
/// Complaints that are spelled out.
const COMPLAINTS_MAX: usize = 10;

/// What was found.
#[derive(Debug, Default)]
pub(super) struct Examination {
    /// Facts of all rounds.
    pub(super) looked_for: u64,
    /// Those that are missing.
    pub(super) lost: u64,
    /// Whether the conditions hold.
    pub(super) is_consistent: bool,
    /// What is wrong, the first few in words.
    pub(super) complaints: Vec<String>,
}

impl Examination {
    fn complain(&mut self, complaint: impl FnOnce() -> String) {
        if self.complaints.len() < COMPLAINTS_MAX {
            self.complaints.push(complaint());
        }
    }
}

/// Knows what one workload has acknowledged.
pub(super) trait Examiner {
    type Fact: Fact;

    /// Adds the facts of a round and looks for all there are.
    fn examine(&mut self, db: &Database, facts: Vec<Self::Fact>) -> Result<Examination, BenchError>;
}

/// Looks up every fact, then checks the workload's conditions.
pub(super) struct FactExaminer<W: Conditions> {
    workload: W,
    facts: Vec<FactOf<W>>,
}

impl<W: Conditions> FactExaminer<W> {
    pub(super) fn new(workload: W) -> FactExaminer<W> {
        FactExaminer { workload, facts: Vec::new() }
    }

    /// The facts that are missing.
    fn missing(&self, db: &Database, tables: &W::Tables) -> Result<Vec<FactOf<W>>, TargetError> {
        let bar = Bar::new("looking for", self.facts.len() as u64, Unit::Count);
        let share = self.facts.len().div_ceil(cores()).max(1);
        std::thread::scope(|scope| {
            let bar = &bar;
            let look = |facts| self.missing_among(db, tables, facts, bar);
            let threads: Vec<_> = self.facts.chunks(share).map(|facts| scope.spawn(move || look(facts))).collect();
            let mut missing = Vec::new();
            for thread in threads {
                missing.extend(thread.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic))?);
            }
            Ok(missing)
        })
    }

    /// One thread's share.
    fn missing_among(
        &self,
        db: &Database,
        tables: &W::Tables,
        facts: &[FactOf<W>],
        bar: &Bar,
    ) -> Result<Vec<FactOf<W>>, TargetError> {
        let mut session = db.session().map_err(TargetError::new)?;
        let mut missing = Vec::new();
        for some in facts.chunks(FACTS_PER_TRANSACTION) {
            let looked = read(&mut session, |tx| {
                let mut missing = Vec::new();
                for fact in some {
                    if !self.workload.is_found(tx, tables, fact)? {
                        missing.push(*fact);
                    }
                }
                Ok(missing)
            })?;
            missing.extend(looked);
            bar.advance(some.len() as u64);
        }
        Ok(missing)
    }
}

impl<W: Conditions> Examiner for FactExaminer<W> {
    type Fact = FactOf<W>;

    fn examine(&mut self, db: &Database, facts: Vec<FactOf<W>>) -> Result<Examination, BenchError> {
        self.facts.extend(facts);
        let tables = self.workload.open(db)?;
        let missing = self.missing(db, &tables)?;
        let bar = Bar::new("checking", self.workload.check_steps(), Unit::Count);
        let violations = self.workload.check(&mut db.session()?, &tables, &mut |steps| bar.advance(steps))?;
        let (looked_for, lost) = (self.facts.len() as u64, missing.len() as u64);
        let mut examination =
            Examination { looked_for, lost, is_consistent: violations.is_empty(), complaints: Vec::new() };
        missing.iter().for_each(|fact| examination.complain(|| format!("acknowledged but missing: {fact:?}")));
        violations.iter().for_each(|violation| {
            examination.complain(|| format!("condition {} is violated: {}", violation.condition, violation.what));
        });
        Ok(examination)
    }
}

/// YCSB on stamped rows: every row is read.
pub(super) struct YcsbExaminer {
    config: YcsbConfig,
    versions: Versions,
    looked_for: u64,
}

impl YcsbExaminer {
    pub(super) fn new(config: YcsbConfig) -> YcsbExaminer {
        assert!(config.is_stamped, "what is not stamped cannot be looked for");
        YcsbExaminer { versions: Versions::new(config.records), config, looked_for: 0 }
    }
}

impl Examiner for YcsbExaminer {
    type Fact = YcsbFact;

    fn examine(&mut self, db: &Database, facts: Vec<YcsbFact>) -> Result<Examination, BenchError> {
        self.looked_for += facts.len() as u64;
        let mut findings = self.versions.add(&facts);
        let target = YcsbTarget::new(db.clone(), self.config.clone(), Durability::Durable, 1)?;
        let bar = Bar::new("looking for", self.config.records, Unit::Count);
        let mut session = db.session()?;
        for first in (0..self.config.records).step_by(ROWS_PER_TRANSACTION as usize) {
            let last = (first + ROWS_PER_TRANSACTION).min(self.config.records);
            let versions = read(&mut session, |tx| {
                let mut versions = vec![None; (last - first) as usize];
                let (from, to) = ([key_value(first)], [key_value(last)]);
                for row in tx.scan(target.table(), KeyRange::all().from_included(&from).to_excluded(&to))? {
                    let row = row?;
                    let key = row.int(osier::table::ColumnId(0)) as u64;
                    versions[(key - first) as usize] = read_version(&self.config, key, &row);
                }
                Ok(versions)
            })?;
            for (key, version) in (first..).zip(versions) {
                findings.extend(self.versions.look(key, version));
            }
            bar.at(last);
        }
        let mut examination =
            Examination { looked_for: self.looked_for, is_consistent: true, ..Examination::default() };
        for finding in findings {
            match finding {
                Finding::Lost { .. } => examination.lost += 1,
                Finding::WrittenTwice { .. } => examination.is_consistent = false,
            }
            examination.complain(|| format!("{finding:?}"));
        }
        Ok(examination)
    }
}
