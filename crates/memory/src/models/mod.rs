//! Models of the crate's protocols: small scenarios of which loom runs every order of memory accesses (up to a bound on
//! preemptions), and shuttle many random schedules.
//!
//! The same scenario serves both: it takes atomics, locks and threads from [`crate::sync`]. Only loom reorders memory
//! accesses and watches [`crate::sync::RaceCell`]s; shuttle reaches longer scenarios. `scripts/check-memory` runs them, and
//! shows with `scripts/check-memory mutations` that they fail when an ordering they are about is taken away.
//!
//! Absent: long runs on real threads, which are the stress tests.

mod epochs;
mod hints;
mod locks;
mod reads;
mod records;
mod ring;

#[cfg(loom)]
/// Steps of one run of a scenario; a scenario that takes more does not end.
const BRANCHES_MAX: usize = 10_000;
mod snapshots;
mod timestamps;
mod tree;

/// Runs the scenario under all schedules with at most `preemptions` of them (`LOOM_MAX_PREEMPTIONS` takes precedence).
#[cfg(loom)]
fn explore(preemptions: usize, scenario: impl Fn() + Send + Sync + 'static) {
    let mut model = loom::model::Builder::new();
    model.max_branches = model.max_branches.max(BRANCHES_MAX);
    model.preemption_bound = model.preemption_bound.or(Some(preemptions));
    model.check(scenario);
}

/// Runs the scenario under random schedules, half of them with few preemptions (`SHUTTLE_SCHEDULES` each).
#[cfg(all(shuttle, not(loom)))]
fn explore(preemptions: usize, scenario: impl Fn() + Send + Sync + 'static) {
    let schedules = std::env::var("SHUTTLE_SCHEDULES").ok().and_then(|n| n.parse().ok()).unwrap_or(2_000);
    let scenario: &'static _ = Box::leak(Box::new(scenario));
    shuttle::check_random(scenario, schedules);
    shuttle::check_pct(scenario, schedules, preemptions);
}
