//! Progress bars on the error stream, shown on terminals only.

use std::sync::{Arc, OnceLock};
use std::time::Duration;

use indicatif::{ProgressBar, ProgressStyle};
use osier::recovery::{Progress, RecoveryPhase};

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
    let template = match unit {
        Unit::Count => "{prefix:>12} [{bar:32}] {human_pos}/{human_len} {msg} {eta:.dim}",
        Unit::Bytes => "{prefix:>12} [{bar:32}] {bytes}/{total_bytes} {binary_bytes_per_sec} {msg} {eta:.dim}",
        Unit::Time => "{prefix:>12} [{bar:32}] {elapsed} {msg}",
    };
    ProgressStyle::with_template(template).expect("the templates are constant").progress_chars("=> ")
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
        if shown.message() != phase_name(progress.phase) {
            shown.set_style(style(unit));
            shown.set_message(phase_name(progress.phase));
        }
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
