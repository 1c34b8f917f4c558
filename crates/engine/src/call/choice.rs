//! Whether a call is logged as a command or as the rows that it wrote, where the database decides that (`logged = adaptive`).
//!
//! A command is shorter for the most part, and a recovery pays for it what its procedure takes. What is saved has a *price*:
//! so many nanoseconds of a recovery for each byte. It falls from unbounded where nothing is owed to zero where the debt has
//! reached the target ([`Debt`]). A call is a command where it is the shorter one and either a recovery is no slower for it,
//! or what it is slower by is no more than the price of what is saved. So procedures turn to values in the order of what a
//! saved byte costs a recovery, those that read much and write little first, and beyond the target no command adds to the
//! debt more than its rows would.
//!
//! A session decides anew at each call that it measures, one in [`SAMPLED_ONE_IN`], up to which length commands of a procedure
//! are worth it. For the calls in between that is a comparison with the length of their own: of two calls with the same procedure
//! the one with the longer arguments may be the one that is logged as rows.
//!
//! Invariants:
//! - The more is owed, the fewer commands there are: for each call there is one debt from which on it is logged as values.
//! - What is decided changes no result: either of the two brings back the same rows.
//!
//! Absent: what a procedure costs with these arguments. Time is known of calls that were measured, as a mean, so that a procedure
//! whose calls differ widely is judged as a whole.

use std::sync::atomic::{AtomicU64, Ordering};

use super::faults;
use crate::config::{Config, Logged};
use crate::log::format::payload::command::Command;
use crate::transaction::debt::{Debt, LogEntry};
use crate::transaction::figures::Sample;

/// Of so many calls of a procedure a session measures one, where the choice depends on it.
const SAMPLED_ONE_IN: u64 = 16;
/// And where only the metrics and the debt do.
const SHOWN_ONE_IN: u64 = 64;
/// What a byte is worth at half of the target, where a checkpoint is due: so much that what writes as TPC-C does is a command
/// until then. (Measured: Payment costs a recovery 28 ns for each byte that it saves, New-Order and Delivery 10 ns.)
const BYTE_NS: f64 = 40.0;

/// Whether the attempt behind so many others of its procedure and session is measured. The first one is not: it has compiled the
/// procedure, and finds no memory that it could use again.
#[inline]
pub(super) fn is_sampled(attempts: u64, logged: Logged) -> bool {
    let interval = if logged == Logged::Adaptive { SAMPLED_ONE_IN } else { SHOWN_ONE_IN };
    attempts % interval == 1
}

/// What a session has decided for a version of a procedure.
pub(super) struct Choice {
    /// A command is logged where it is shorter.
    command_bytes_below: AtomicU64,
    /// The mean time of a call.
    execution_ns: AtomicU64,
}

impl Choice {
    /// Of a procedure that nobody has measured: commands, until it is measured at its second call.
    pub(super) fn new() -> Choice {
        Choice { command_bytes_below: AtomicU64::new(u64::MAX), execution_ns: AtomicU64::new(0) }
    }

    /// Decides anew.
    pub(super) fn decide(&self, means: &Sample, debt: &Debt) {
        let below = command_bytes_below(means, debt.present_ns(), debt.target_ns());
        self.command_bytes_below.store(below, Ordering::Relaxed);
        self.execution_ns.store(means.execution_ns as u64, Ordering::Relaxed);
    }

    /// Whether a call is to be logged as this command.
    #[inline]
    pub(super) fn is_command(&self, config: &Config, command: &Command<'_>) -> bool {
        match config.logged {
            Logged::Values | Logged::Physiological => false,
            Logged::Commands => true,
            Logged::Adaptive => faults::is_command(|| {
                let below = self.command_bytes_below.load(Ordering::Relaxed);
                below == u64::MAX || below > 0 && (command.encoded_len() as u64) < below
            }),
        }
    }

    /// Returns the mean time of a call; zero where none was measured.
    #[inline]
    pub(super) fn execution_ns(&self) -> u64 {
        self.execution_ns.load(Ordering::Relaxed)
    }
}

/// Returns the length below which a command is worth what it costs a recovery.
fn command_bytes_below(means: &Sample, debt_ns: u64, target_ns: u64) -> u64 {
    let (rows, bytes) = (means.rows.round() as u64, means.value_bytes.round() as u64);
    let command_ns = LogEntry::Command { rows }.replay_ns(means.execution_ns as u64);
    let extra_ns = command_ns.saturating_sub(LogEntry::Values { rows, bytes }.replay_ns(0));
    if extra_ns == 0 || debt_ns == 0 {
        return bytes;
    }
    let price = BYTE_NS * target_ns.saturating_sub(debt_ns) as f64 / debt_ns as f64;
    if price == 0.0 {
        return 0;
    }
    // A cast saturates.
    let saved_min = (extra_ns as f64 / price).ceil() as u64;
    (bytes + 1).saturating_sub(saved_min.max(1))
}

#[cfg(test)]
mod tests {
    use super::*;

    const TARGET_NS: u64 = 10_000_000_000;

    /// Reads thousands of rows and writes one.
    const READER: Sample = Sample { execution_ns: 500_000.0, command_bytes: 30.0, value_bytes: 60.0, rows: 1.0 };
    /// Writes many long rows by a short argument.
    const WRITER: Sample = Sample { execution_ns: 60_000.0, command_bytes: 30.0, value_bytes: 20_000.0, rows: 20.0 };
    /// Is run again in less time than its rows are put in their places.
    const CHEAP: Sample = Sample { execution_ns: 300.0, command_bytes: 30.0, value_bytes: 400.0, rows: 2.0 };

    fn is_command(means: &Sample, debt_ns: u64) -> bool {
        (means.command_bytes as u64) < command_bytes_below(means, debt_ns, TARGET_NS)
    }

    /// What a command costs a recovery more than rows do, and what it saves.
    fn extra_and_saved(means: &Sample) -> (i64, i64) {
        let (rows, bytes) = (means.rows as u64, means.value_bytes as u64);
        let values_ns = LogEntry::Values { rows, bytes }.replay_ns(0);
        let command_ns = LogEntry::Command { rows }.replay_ns(means.execution_ns as u64);
        (command_ns as i64 - values_ns as i64, bytes as i64 - means.command_bytes as i64)
    }

    fn random_means(random: &mut fastrand::Rng) -> Sample {
        Sample {
            execution_ns: 10_f64.powf(random.f64() * 7.0),
            command_bytes: (20 + random.u32(..200)).into(),
            value_bytes: random.u32(..3000).into(),
            rows: random.u32(1..30).into(),
        }
    }

    #[test]
    fn the_more_is_owed_the_fewer_calls_are_commands() {
        let mut random = fastrand::Rng::with_seed(3);
        let mut turned = 0;
        for _ in 0..2000 {
            let means = random_means(&mut random);
            let below: Vec<u64> =
                (0..=40).map(|step| command_bytes_below(&means, step * TARGET_NS / 32, TARGET_NS)).collect();
            assert!(below.is_sorted_by(|one, other| one >= other), "{means:?}: {below:?}");
            turned += u64::from(is_command(&means, 0) && !is_command(&means, TARGET_NS));
        }
        assert!(turned > 500, "the means are too tame: {turned}");
    }

    #[test]
    fn at_the_target_nothing_is_a_command_that_a_recovery_is_slower_for() {
        let mut random = fastrand::Rng::with_seed(4);
        let (mut commands, mut values) = (0, 0);
        for _ in 0..5000 {
            let means = random_means(&mut random);
            let (extra, saved) = extra_and_saved(&means);
            for debt in [TARGET_NS, TARGET_NS + 1, 3 * TARGET_NS, u64::MAX] {
                assert_eq!(is_command(&means, debt), extra <= 0 && saved > 0, "{means:?}");
            }
            assert_eq!(is_command(&means, 0), saved > 0, "where nothing is owed the shorter one is logged: {means:?}");
            if is_command(&means, TARGET_NS) { commands += 1 } else { values += 1 }
        }
        assert!(commands > 100 && values > 100, "the means are too tame: {commands} and {values}");
    }

    /// What is paid for a saved byte is never more than the price.
    #[test]
    fn a_saved_byte_costs_a_recovery_no_more_than_its_price() {
        let mut random = fastrand::Rng::with_seed(5);
        let mut commands = 0;
        for _ in 0..5000 {
            let (means, debt) = (random_means(&mut random), random.u64(1..TARGET_NS));
            let (extra, saved) = extra_and_saved(&means);
            let price = BYTE_NS * (TARGET_NS - debt) as f64 / debt as f64;
            let is_worth_it = saved > 0 && extra as f64 <= saved as f64 * price;
            assert_eq!(is_command(&means, debt), is_worth_it, "{means:?} with {debt}");
            commands += u64::from(is_worth_it);
        }
        assert!(commands > 500, "the means are too tame: {commands}");
    }

    #[test]
    fn readers_turn_to_values_first() {
        assert!([READER, WRITER, CHEAP].iter().all(|means| is_command(means, 0)));
        assert!(!is_command(&READER, TARGET_NS / 4) && is_command(&WRITER, TARGET_NS / 4));
        assert!(is_command(&WRITER, TARGET_NS / 2));
        assert!(is_command(&CHEAP, 2 * TARGET_NS), "it is no slower than its rows");
    }

    #[test]
    fn of_two_calls_the_longer_one_is_logged_as_rows() {
        let below = command_bytes_below(&WRITER, TARGET_NS / 2, TARGET_NS);
        assert!(below > 30 && below < WRITER.value_bytes as u64, "{below}");
    }

    #[test]
    fn the_second_call_of_a_session_is_measured_and_few_others() {
        let measured = |logged| (0..128).filter(|attempts| is_sampled(*attempts, logged)).collect::<Vec<_>>();
        assert_eq!(measured(Logged::Adaptive), [1, 17, 33, 49, 65, 81, 97, 113]);
        assert_eq!(measured(Logged::Values), [1, 65]);
        assert_eq!(measured(Logged::Commands), [1, 65]);
    }
}
