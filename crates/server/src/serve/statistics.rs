//! What a server counts of the statements of its clients.
//!
//! Invariants:
//! - A counter of a [`Slot`] is written by one thread only, that of the worker that it is of, and read by others: no locked
//!   instruction is needed, and no cache line goes from one processor to another.
//! - What is kept of slow statements is bounded ([`SLOW_MAX`], [`TEXT_CHARS_MAX`]) and has no value that a client gave: neither
//!   parameters nor literals.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, SystemTime};

use super::scrub::scrubbed;

/// How many slow statements are kept.
const SLOW_MAX: usize = 50;
/// How much of the text of one is kept.
const TEXT_CHARS_MAX: usize = 1000;
/// How many kinds of errors are counted apart; the rest is counted as [`OTHER_ERRORS`].
const ERRORS_MAX: usize = 200;
/// What the errors are called that are not counted apart.
const OTHER_ERRORS: &str = "other";

/// The shortest time that is told from zero is 2 to this power, in nanoseconds: about a microsecond.
const LEAST_POWER: u32 = 10;
/// The longest one: about 69 seconds.
const GREATEST_POWER: u32 = 36;
/// Buckets for each power of two.
const PARTS: u64 = 4;
/// One for what is shorter, and one for what is longer.
const BUCKETS: usize = ((GREATEST_POWER - LEAST_POWER) as u64 * PARTS) as usize + 2;

/// Times, counted in buckets whose bounds grow by a quarter or less.
pub struct Times {
    buckets: [AtomicU64; BUCKETS],
    total_ns: AtomicU64,
}

impl Default for Times {
    fn default() -> Times {
        Times { buckets: [const { AtomicU64::new(0) }; BUCKETS], total_ns: AtomicU64::new(0) }
    }
}

fn bucket(ns: u64) -> usize {
    let power = ns.max(1).ilog2();
    if power < LEAST_POWER {
        return 0;
    }
    if power >= GREATEST_POWER {
        return BUCKETS - 1;
    }
    let part = (ns >> (power - 2)) & (PARTS - 1);
    1 + (u64::from(power - LEAST_POWER) * PARTS + part) as usize
}

/// The upper bound of a bucket; `None` for the last one.
fn bound_ns(bucket: usize) -> Option<u64> {
    if bucket + 1 >= BUCKETS {
        return None;
    }
    let (power, part) = (bucket as u64 / PARTS, bucket as u64 % PARTS);
    Some((PARTS + part) << (u64::from(LEAST_POWER) + power - 2))
}

impl Times {
    /// Counts one, on the only thread that does.
    fn add(&self, time: Duration) {
        let ns = u64::try_from(time.as_nanos()).unwrap_or(u64::MAX);
        increase(&self.buckets[bucket(ns)], 1);
        increase(&self.total_ns, ns);
    }
}

/// By the only thread that writes to it.
fn increase(count: &AtomicU64, by: u64) {
    count.store(count.load(Ordering::Relaxed).wrapping_add(by), Ordering::Relaxed);
}

/// The sums of [`Times`] at one moment.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TimesRead {
    buckets: [u64; BUCKETS],
    /// All times together, in nanoseconds.
    pub total_ns: u64,
}

impl Default for TimesRead {
    fn default() -> TimesRead {
        TimesRead { buckets: [0; BUCKETS], total_ns: 0 }
    }
}

impl TimesRead {
    fn add(&mut self, times: &Times) {
        for (sum, bucket) in self.buckets.iter_mut().zip(&times.buckets) {
            *sum += bucket.load(Ordering::Relaxed);
        }
        self.total_ns = self.total_ns.wrapping_add(times.total_ns.load(Ordering::Relaxed));
    }

    /// Returns how many there are.
    pub fn count(&self) -> u64 {
        self.buckets.iter().sum()
    }

    /// Returns what came since `before`.
    pub fn since(&self, before: &TimesRead) -> TimesRead {
        let mut since = TimesRead { total_ns: self.total_ns.wrapping_sub(before.total_ns), ..TimesRead::default() };
        for (at, bucket) in since.buckets.iter_mut().enumerate() {
            *bucket = self.buckets[at].saturating_sub(before.buckets[at]);
        }
        since
    }

    /// Returns the time within which so large a part of all lie, as the upper bound of a bucket, in seconds; zero where there are
    /// none.
    pub fn quantile(&self, part: f64) -> f64 {
        let count = self.count();
        let wanted = (count as f64 * part).ceil() as u64;
        let mut sum = 0;
        for (at, bucket) in self.buckets.iter().enumerate() {
            sum += bucket;
            if count > 0 && sum >= wanted {
                let ns = bound_ns(at).unwrap_or(1 << GREATEST_POWER);
                return ns as f64 / 1e9;
            }
        }
        0.0
    }

    /// Returns, for bounds in seconds that powers of four make, how many times are below: the buckets of a histogram.
    pub fn cumulated(&self) -> Vec<(f64, u64)> {
        let mut sum = 0;
        let mut cumulated = Vec::new();
        for (at, bucket) in self.buckets.iter().enumerate() {
            sum += bucket;
            if let Some(ns) = bound_ns(at)
                && ns.is_power_of_two()
                && ns.ilog2().is_multiple_of(2)
            {
                cumulated.push((ns as f64 / 1e9, sum));
            }
        }
        cumulated
    }
}

/// What one worker counts.
#[derive(Default)]
pub struct Slot {
    statements: Times,
    commits: Times,
    slow: AtomicU64,
}

/// All counts at one moment.
#[derive(Clone, Debug, Default)]
pub struct Counted {
    /// Statements that ended, with how long they took.
    pub statements: TimesRead,
    /// Answers that waited for a commit to be durable, with how long.
    pub commits: TimesRead,
    /// Statements that took longer than the threshold.
    pub slow: u64,
}

/// A statement that was slow, or several with the same text.
#[derive(Clone, Debug)]
pub struct SlowStatement {
    /// Its text, with `?` for each literal.
    pub text: String,
    /// How often it was slow.
    pub count: u64,
    /// The longest time.
    pub longest: Duration,
    /// The last time.
    pub last: Duration,
    /// When that was.
    pub when: SystemTime,
}

/// What a server counts.
pub struct Statistics {
    slots: Mutex<Vec<Arc<Slot>>>,
    slow_min: Option<Duration>,
    slow: Mutex<Vec<SlowStatement>>,
    errors: Mutex<BTreeMap<String, u64>>,
    connected: AtomicU64,
    refused: AtomicU64,
}

fn locked<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Statistics {
    /// Begins to count. Statements that take longer than `slow_min` are kept; `None`: none are.
    pub fn new(slow_min: Option<Duration>) -> Statistics {
        Statistics {
            slots: Mutex::default(),
            slow_min,
            slow: Mutex::default(),
            errors: Mutex::default(),
            connected: AtomicU64::new(0),
            refused: AtomicU64::new(0),
        }
    }

    /// Returns the counters of a worker that begins.
    pub fn begin(&self) -> Arc<Slot> {
        let slot = Arc::<Slot>::default();
        locked(&self.slots).push(slot.clone());
        slot
    }

    /// Counts a statement that ended. Its text is asked for only if it was slow.
    pub fn statement(&self, slot: &Slot, time: Duration, text: impl FnOnce() -> String) {
        slot.statements.add(time);
        if self.slow_min.is_some_and(|slow_min| time >= slow_min) {
            increase(&slot.slow, 1);
            self.keep_slow(scrubbed(&text(), TEXT_CHARS_MAX), time);
        }
    }

    /// Counts a wait for commits to be durable.
    pub fn commit(&self, slot: &Slot, time: Duration) {
        slot.commits.add(time);
    }

    /// Counts an error that a client was told.
    pub fn error(&self, code: &str) {
        let mut errors = locked(&self.errors);
        let code = if errors.contains_key(code) || errors.len() < ERRORS_MAX { code } else { OTHER_ERRORS };
        *errors.entry(code.to_owned()).or_default() += 1;
    }

    /// Counts a client that was let in.
    pub fn connected(&self) {
        self.connected.fetch_add(1, Ordering::Relaxed);
    }

    /// Counts a client that was not.
    pub fn refused(&self) {
        self.refused.fetch_add(1, Ordering::Relaxed);
    }

    fn keep_slow(&self, text: String, time: Duration) {
        let when = SystemTime::now();
        let mut slow = locked(&self.slow);
        if let Some(known) = slow.iter_mut().find(|known| known.text == text) {
            known.count += 1;
            known.longest = known.longest.max(time);
            (known.last, known.when) = (time, when);
            return;
        }
        if slow.len() == SLOW_MAX {
            let least = (0..slow.len()).min_by_key(|at| slow[*at].longest);
            let Some(least) = least.filter(|least| slow[*least].longest <= time) else { return };
            slow.swap_remove(least);
        }
        slow.push(SlowStatement { text, count: 1, longest: time, last: time, when });
    }

    /// Returns what was counted so far.
    pub fn counted(&self) -> Counted {
        let mut counted = Counted::default();
        for slot in &*locked(&self.slots) {
            counted.statements.add(&slot.statements);
            counted.commits.add(&slot.commits);
            counted.slow += slot.slow.load(Ordering::Relaxed);
        }
        counted
    }

    /// Returns the slow statements, the slowest one first.
    pub fn slow(&self) -> Vec<SlowStatement> {
        let mut slow = locked(&self.slow).clone();
        slow.sort_by_key(|statement| std::cmp::Reverse(statement.longest));
        slow
    }

    /// Returns from which time on statements are kept.
    pub fn slow_min(&self) -> Option<Duration> {
        self.slow_min
    }

    /// Returns how many errors clients were told, by SQLSTATE.
    pub fn errors(&self) -> BTreeMap<String, u64> {
        locked(&self.errors).clone()
    }

    /// Returns how many clients were let in, and how many were not.
    pub fn connections(&self) -> (u64, u64) {
        (self.connected.load(Ordering::Relaxed), self.refused.load(Ordering::Relaxed))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_time_lies_within_its_bucket() {
        for ns in (0..60).flat_map(|power| [(1_u64 << power) - 1, 1 << power, (1 << power) + (1 << power) / 3]) {
            let at = bucket(ns);
            assert!(bound_ns(at).is_none_or(|bound| ns < bound), "{ns} in {at}");
            assert!(at == 0 || bound_ns(at - 1).is_some_and(|bound| bound <= ns), "{ns} in {at}");
        }
    }

    #[test]
    fn quantiles_and_sums_are_of_what_came_since() {
        let statistics = Statistics::new(None);
        let slot = statistics.begin();
        statistics.statement(&slot, Duration::from_secs(50), || unreachable!("none is kept"));
        let before = statistics.counted().statements;
        for ms in 1..=100 {
            statistics.statement(&slot, Duration::from_millis(ms), String::new);
        }
        let since = statistics.counted().statements.since(&before);
        assert_eq!((since.count(), since.total_ns), (100, 5_050_000_000));
        let (half, most) = (since.quantile(0.5), since.quantile(0.99));
        assert!((0.050..0.063).contains(&half) && (0.099..0.124).contains(&most), "{half} {most}");
        assert_eq!(TimesRead::default().quantile(0.5), 0.0);
        let cumulated = statistics.counted().statements.cumulated();
        assert!(cumulated.is_sorted() && cumulated.last().is_some_and(|(_, count)| *count == 101), "{cumulated:?}");
    }

    #[test]
    fn slow_statements_are_bounded_and_the_slowest_stay() {
        let statistics = Statistics::new(Some(Duration::from_millis(10)));
        let slot = statistics.begin();
        for ms in 0..200 {
            let text = format!("SELECT c{ms} FROM t WHERE a = '{ms}'");
            statistics.statement(&slot, Duration::from_millis(ms), || text.clone());
        }
        statistics.statement(&slot, Duration::from_millis(20), || "SELECT c199 FROM t WHERE a = 'x'".to_owned());
        let slow = statistics.slow();
        assert_eq!((slow.len(), statistics.counted().slow), (SLOW_MAX, 191));
        assert_eq!((slow[0].text.as_str(), slow[0].count), ("SELECT c199 FROM t WHERE a = ?", 2));
        assert_eq!((slow[0].longest.as_millis(), slow[0].last.as_millis()), (199, 20));
        assert!(slow.iter().all(|statement| statement.longest.as_millis() >= 150));
    }

    #[test]
    fn kinds_of_errors_are_bounded() {
        let statistics = Statistics::new(None);
        (0..2 * ERRORS_MAX).for_each(|code| statistics.error(&format!("{code:05}")));
        let errors = statistics.errors();
        assert_eq!((errors.len(), errors[OTHER_ERRORS]), (ERRORS_MAX + 1, ERRORS_MAX as u64));
    }
}
