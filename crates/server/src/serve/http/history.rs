//! What the last minutes were like: one point for each second.

use std::collections::VecDeque;

use serde::Serialize;

use crate::serve::statistics::Counted;

/// How many points are kept.
pub const POINTS_MAX: usize = 300;

/// The totals at one moment, of which two make a point.
#[derive(Clone, Debug, Default)]
pub struct Totals {
    /// Since the server began, in seconds.
    pub at: f64,
    /// Transactions that committed.
    pub committed: u64,
    /// Conflicts that transactions met.
    pub conflicts: u64,
    /// Errors that clients were told.
    pub errors: u64,
    /// Bytes that the log wrote.
    pub log_bytes: u64,
    /// Syncs of its devices.
    pub syncs: u64,
    /// What the server counts.
    pub counted: Counted,
}

/// The last minutes, the oldest point first. Rates are for each second, times in milliseconds.
#[derive(Clone, Debug, Default, Serialize)]
pub struct History {
    /// Since the server began, in seconds.
    pub at: VecDeque<f64>,
    /// Transactions that committed.
    pub committed: VecDeque<f64>,
    /// Statements that ended.
    pub statements: VecDeque<f64>,
    /// Conflicts that transactions met.
    pub conflicts: VecDeque<f64>,
    /// Errors that clients were told.
    pub errors: VecDeque<f64>,
    /// Half of the statements took no longer.
    pub statement_p50: VecDeque<f64>,
    /// 99 of 100 took no longer.
    pub statement_p99: VecDeque<f64>,
    /// Half of the waits for durable commits took no longer.
    pub commit_p50: VecDeque<f64>,
    /// 99 of 100 took no longer.
    pub commit_p99: VecDeque<f64>,
    /// Bytes of log.
    pub log_bytes: VecDeque<f64>,
    /// Syncs.
    pub syncs: VecDeque<f64>,
    /// Clients that are connected.
    pub connections: VecDeque<f64>,
}

fn push(series: &mut VecDeque<f64>, value: f64) {
    if series.len() >= POINTS_MAX {
        series.pop_front();
    }
    // Thousandths are more than a picture shows.
    series.push_back((value * 1000.0).round() / 1000.0);
}

impl History {
    /// Adds the point between two moments.
    pub fn add(&mut self, before: &Totals, now: &Totals, connections: usize) {
        let seconds = now.at - before.at;
        let rate =
            |now: u64, before: u64| if seconds > 0.0 { now.saturating_sub(before) as f64 / seconds } else { 0.0 };
        let statements = now.counted.statements.since(&before.counted.statements);
        let commits = now.counted.commits.since(&before.counted.commits);
        push(&mut self.at, now.at);
        push(&mut self.committed, rate(now.committed, before.committed));
        push(&mut self.statements, if seconds > 0.0 { statements.count() as f64 / seconds } else { 0.0 });
        push(&mut self.conflicts, rate(now.conflicts, before.conflicts));
        push(&mut self.errors, rate(now.errors, before.errors));
        push(&mut self.statement_p50, statements.quantile(0.5) * 1e3);
        push(&mut self.statement_p99, statements.quantile(0.99) * 1e3);
        push(&mut self.commit_p50, commits.quantile(0.5) * 1e3);
        push(&mut self.commit_p99, commits.quantile(0.99) * 1e3);
        push(&mut self.log_bytes, rate(now.log_bytes, before.log_bytes));
        push(&mut self.syncs, rate(now.syncs, before.syncs));
        push(&mut self.connections, connections as f64);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_oldest_points_go() {
        let mut history = History::default();
        for at in 0..POINTS_MAX as u64 + 10 {
            let totals = |at: u64| Totals { at: at as f64 / 2.0, committed: at * 3, ..Totals::default() };
            history.add(&totals(at), &totals(at + 1), 7);
        }
        assert_eq!((history.at.len(), history.at[0], history.connections[0]), (POINTS_MAX, 5.5, 7.0));
        assert!(history.committed.iter().all(|rate| *rate == 6.0));
        let stopped = Totals::default();
        history.add(&stopped, &stopped, 0);
        assert_eq!(history.committed.back(), Some(&0.0));
    }
}
