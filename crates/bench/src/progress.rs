//! Progress bars on the error stream, shown on terminals only.

use std::sync::{Arc, OnceLock};
use std::time::Duration;

use indicatif::{ProgressBar, ProgressStyle};
use osier::recovery::{Progress, RecoveryPhase};

/// From then on it is said how long a stage of recovery will still take: what its first moments took says little.
const FOREKNOWN_AFTER: Duration = Duration::from_secs(1);

/// What a bar counts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Unit {
    /// Anything that is counted.
    Count,
    /// Bytes.
    Bytes,
    /// Milliseconds of a run of known length.
    Time,
}

/// One bar; it vanishes when dropped.
#[derive(Clone, Debug)]
pub struct Bar(Arc<Inner>);

#[derive(Debug)]
struct Inner(ProgressBar);

impl Drop for Inner {
    fn drop(&mut self) {
        self.0.finish_and_clear();
    }
}

impl Bar {
    /// A bar over `total` units.
    pub fn new(what: &str, total: u64, unit: Unit) -> Bar {
        let bar = ProgressBar::new(total).with_style(style(unit)).with_prefix(what.to_owned());
        bar.enable_steady_tick(Duration::from_millis(200));
        Bar(Arc::new(Inner(bar)))
    }

    /// How far it has come.
    pub fn at(&self, position: u64) {
        self.0.0.set_position(position);
    }

    /// So many more units.
    pub fn advance(&self, units: u64) {
        self.0.0.inc(units);
    }

    /// What is written beside it.
    pub fn note(&self, text: String) {
        self.0.0.set_message(text);
    }
}

fn style(unit: Unit) -> ProgressStyle {
    style_of(match unit {
        Unit::Count => "{prefix:>12} [{bar:32}] {human_pos}/{human_len} {msg} {eta:.dim}",
        Unit::Bytes => "{prefix:>12} [{bar:32}] {bytes}/{total_bytes} {binary_bytes_per_sec} {msg} {eta:.dim}",
        Unit::Time => "{prefix:>12} [{bar:32}] {elapsed} {msg}",
    })
}

/// The style of a bar that says itself what is left.
fn recovery_style(unit: Unit) -> ProgressStyle {
    style_of(match unit {
        Unit::Bytes => "{prefix:>12} [{bar:32}] {bytes}/{total_bytes} {msg}",
        Unit::Count | Unit::Time => "{prefix:>12} [{bar:32}] {human_pos}/{human_len} {msg}",
    })
}

fn style_of(template: &str) -> ProgressStyle {
    ProgressStyle::with_template(template).expect("the templates are constant").progress_chars("=> ")
}

/// Says how long the present stage of a recovery will still take, about; `None` before a second has passed, and at the end.
pub fn time_left(progress: &Progress) -> Option<String> {
    let left = progress.remaining().filter(|left| progress.elapsed >= FOREKNOWN_AFTER && !left.is_zero())?;
    let seconds = left.as_secs_f64().ceil() as u64;
    let (number, unit) = match seconds {
        0..10 => (seconds, "s"),
        10..60 => (seconds.next_multiple_of(5), "s"),
        60..5400 => (seconds.div_ceil(60), "min"),
        _ => (seconds.div_ceil(3600), "h"),
    };
    Some(format!("about {number} {unit} left"))
}

/// A callback for [`osier::Config::progress`] that shows recovery.
pub fn recovery_callback() -> impl Fn(&Progress) + Send + Sync + 'static {
    let bar = OnceLock::new();
    move |progress: &Progress| {
        let bar = bar.get_or_init(|| Bar::new("recovering", progress.total, Unit::Count));
        let unit = match progress.phase {
            RecoveryPhase::Scan | RecoveryPhase::Replay | RecoveryPhase::Persist => Unit::Bytes,
            _ => Unit::Count,
        };
        let shown = &bar.0.0;
        if shown.message().split(',').next() != Some(phase_name(progress.phase)) {
            shown.set_style(recovery_style(unit));
        }
        let left = time_left(progress).map_or(String::new(), |left| format!(", {left}"));
        shown.set_message(format!("{}{left}", phase_name(progress.phase)));
        shown.set_length(progress.total);
        shown.set_position(progress.done);
    }
}

/// How reports call a stage of recovery.
pub fn phase_name(phase: RecoveryPhase) -> &'static str {
    match phase {
        RecoveryPhase::Manifest => "manifest",
        RecoveryPhase::Checkpoint => "checkpoint",
        RecoveryPhase::Scan => "scan",
        RecoveryPhase::Cut => "cut",
        RecoveryPhase::Persist => "persist",
        RecoveryPhase::Replay => "replay",
        RecoveryPhase::Index => "index",
        RecoveryPhase::Order => "order",
        RecoveryPhase::Check => "check",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_left_is_said_in_round_numbers_once_it_is_known() {
        let left = |done, total, elapsed_ms| {
            let elapsed = Duration::from_millis(elapsed_ms);
            time_left(&Progress { phase: RecoveryPhase::Order, done, total, elapsed }).unwrap_or_default()
        };
        assert_eq!(left(1, 4, 1000), "about 3 s left");
        assert_eq!(left(10, 42, 1010), "about 4 s left");
        assert_eq!(left(10, 32, 10_000), "about 25 s left");
        assert_eq!(left(1, 62, 1000), "about 2 min left");
        assert_eq!(left(1, 10_001, 1000), "about 3 h left");
        // Too early, at the end, nothing to go by, and more than there was.
        for (done, total, elapsed_ms) in [(1, 4, 999), (4, 4, 9000), (0, 4, 9000), (5, 4, 9000)] {
            assert_eq!(left(done, total, elapsed_ms), "", "{done} of {total} after {elapsed_ms} ms");
        }
    }
}
