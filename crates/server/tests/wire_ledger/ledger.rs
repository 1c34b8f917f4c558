//! What the test was told, and what may therefore be in the database.
//!
//! Invariants:
//! - A transaction that was acknowledged with `synchronous_commit` on has one state in which a crash may leave it.
//! - One that was not reported as failed, or was acknowledged with `synchronous_commit` off, has those before and after it.
//! - Whoever changes a parent has read it. So what the same worker did to that parent before is as durable as the change.

use std::collections::{BTreeMap, BTreeSet};

/// What a client knows of a transaction.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Outcome {
    /// It was acknowledged.
    Acknowledged,
    /// It was reported as failed, or its commit was never asked for.
    Failed,
    /// Its commit was asked for, and the connection broke.
    InDoubt,
}

/// The version of a transaction's rows; `None` where there are none.
pub type State = Option<i32>;

/// What is known of the rows of one transaction.
#[derive(Clone, Debug)]
pub struct Fate {
    /// How many rows it has.
    pub size: usize,
    /// The parent of all of them.
    pub parent: usize,
    /// Whether it makes a table, too.
    pub has_table: bool,
    /// The state that the client sees while the server runs.
    pub current: State,
    /// The states in which a crash may leave it.
    allowed: BTreeSet<State>,
    /// Whether the change of which a crash may or may not leave something changed the parent.
    is_of_parent: bool,
}

/// What one worker knows.
#[derive(Clone, Debug, Default)]
pub struct Ledger {
    /// Each transaction that made rows, by its number.
    pub fates: BTreeMap<u64, Fate>,
    /// What a parent has counted at least.
    pub floors: BTreeMap<usize, i64>,
    /// How many transactions were acknowledged, failed, and are in doubt.
    pub outcomes: [u64; 3],
}

impl Ledger {
    /// Notes a transaction that made rows.
    pub fn made(
        &mut self,
        number: u64,
        outcome: Outcome,
        is_durable: bool,
        [size, parent]: [usize; 2],
        has_table: bool,
    ) {
        let fate = Fate { size, parent, has_table, current: None, allowed: [None].into(), is_of_parent: true };
        assert!(self.fates.insert(number, fate).is_none(), "{number} is used twice");
        self.changed(number, outcome, is_durable, Some(0), true);
    }

    /// Notes a transaction that changed the rows of another one.
    pub fn changed(&mut self, number: u64, outcome: Outcome, is_durable: bool, new: State, is_of_parent: bool) {
        self.outcomes[outcome as usize] += 1;
        let fate = self.fates.get_mut(&number).expect("it is noted before it changes");
        match outcome {
            Outcome::Failed => return,
            Outcome::Acknowledged if is_durable => fate.allowed = [new].into(),
            Outcome::Acknowledged | Outcome::InDoubt => {
                // What a crash may leave of an earlier change of its version stays possible.
                fate.is_of_parent = is_of_parent && fate.allowed.len() == 1;
                fate.allowed.insert(new);
            }
        }
        fate.current = new;
        if outcome == Outcome::Acknowledged && is_durable && is_of_parent {
            let parent = fate.parent;
            for fate in self.fates.values_mut().filter(|fate| fate.parent == parent && fate.is_of_parent) {
                fate.allowed = [fate.current].into();
            }
        }
    }

    /// Notes what a parent had counted in a state that is durable.
    pub fn observed(&mut self, parent: usize, count: i64) {
        let floor = self.floors.entry(parent).or_default();
        *floor = count.max(*floor);
    }

    /// Compares with what a crash has left, and takes that for what is there. Returns what is wrong.
    pub fn compare(&mut self, found: &mut BTreeMap<u64, State>) -> Vec<String> {
        let mut wrong = Vec::new();
        for (number, fate) in &mut self.fates {
            let state = found.remove(number).flatten();
            if !fate.allowed.contains(&state) {
                wrong.push(format!("transaction {number} is in state {state:?}: {fate:?}"));
            }
            (fate.current, fate.allowed) = (state, [state].into());
        }
        wrong
    }
}
