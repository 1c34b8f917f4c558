//! `/metrics`, in the text format of Prometheus.
//!
//! Invariant: a name, once shown, keeps its meaning and its unit, which the name ends with.

use std::fmt::{Display, Write};

use super::history::Totals;
use super::sampler::{Doing, Known};
use crate::serve::server::Server;
use crate::serve::statistics::TimesRead;

/// Text that grows.
struct Exposition(String);

impl Exposition {
    /// Begins a metric.
    fn family(&mut self, name: &str, kind: &str, help: &str) {
        self.line(format_args!("# HELP osier_{name} {help}\n# TYPE osier_{name} {kind}"));
    }

    fn line(&mut self, text: impl Display) {
        writeln!(self.0, "{text}").expect("a string takes all text");
    }

    /// A metric without labels.
    fn single(&mut self, name: &str, kind: &str, help: &str, value: impl Display) {
        self.family(name, kind, help);
        self.line(format_args!("osier_{name} {value}"));
    }

    /// A metric with one label.
    fn labelled<L: Display, V: Display>(
        &mut self,
        (name, kind, help): (&str, &str, &str),
        label: &str,
        values: impl IntoIterator<Item = (L, V)>,
    ) {
        self.family(name, kind, help);
        for (which, value) in values {
            let which = which.to_string().replace('\\', "\\\\").replace('"', "\\\"").replace('\n', "\\n");
            self.line(format_args!("osier_{name}{{{label}=\"{which}\"}} {value}"));
        }
    }

    fn histogram(&mut self, name: &str, help: &str, times: &TimesRead) {
        self.family(name, "histogram", help);
        for (bound, count) in times.cumulated() {
            self.line(format_args!("osier_{name}_bucket{{le=\"{bound}\"}} {count}"));
        }
        let count = times.count();
        self.line(format_args!("osier_{name}_bucket{{le=\"+Inf\"}} {count}"));
        self.line(format_args!("osier_{name}_sum {}", times.total_ns as f64 / 1e9));
        self.line(format_args!("osier_{name}_count {count}"));
    }
}

/// Returns all metrics.
pub fn of(server: &Server, doing: Doing, known: Option<&Known>, totals: &Totals) -> String {
    let mut out = Exposition(String::with_capacity(8 << 10));
    let is = |doing_so: bool| u8::from(doing_so);
    out.single("up", "gauge", "1 unless the log has failed.", is(doing != Doing::Failed));
    out.single("ready", "gauge", "1 when clients can connect.", is(doing == Doing::Serving));
    out.single("uptime_seconds", "gauge", "Since the process began to open the database.", totals.at);
    of_clients(&mut out, server, totals);
    if let Some(known) = known {
        of_transactions(&mut out, known);
        of_log(&mut out, known);
        of_checkpoints(&mut out, known);
        of_recovery(&mut out, known);
    }
    out.0
}

fn of_clients(out: &mut Exposition, server: &Server, totals: &Totals) {
    let (connected, refused) = server.statistics.connections();
    out.single("connections", "gauge", "Clients that are connected.", server.registry.taken());
    out.single("connections_max", "gauge", "How many may be.", server.registry.seats());
    out.single("connections_total", "counter", "Clients that were let in.", connected);
    out.single("connections_refused_total", "counter", "Clients that were not.", refused);
    let statements = &totals.counted.statements;
    out.histogram("statement_seconds", "Statements, until all of the result is at hand.", statements);
    out.histogram("commit_wait_seconds", "Waits for commits to be durable.", &totals.counted.commits);
    out.single("slow_statements_total", "counter", "Statements beyond --slow-statement.", totals.counted.slow);
    let errors = ("errors_total", "counter", "Errors that clients were told, by SQLSTATE.");
    out.labelled(errors, "sqlstate", server.statistics.errors());
}

fn of_transactions(out: &mut Exposition, known: &Known) {
    let metrics = &known.metrics;
    out.single("transactions_committed_total", "counter", "Read-only ones included.", metrics.committed);
    out.single("transactions_aborted_total", "counter", "Given up at the commit.", metrics.aborted);
    let help = "Transactions that met a conflict; those that can be are run again.";
    out.single("transaction_conflicts_total", "counter", help, metrics.conflicts);
    let memory = &metrics.memory;
    let used = &memory.used;
    let kinds = [("rows", used.rows), ("keys", used.keys), ("nodes", used.nodes), ("retained", used.retained)];
    out.labelled(("memory_bytes", "gauge", "Memory that is held, by kind."), "kind", kinds);
    out.single("memory_peak_bytes", "gauge", "The most since the start.", memory.peak_bytes);
    out.single("memory_limit_bytes", "gauge", "memory_limit; 0: none.", memory.limit_bytes);
    out.single("memory_refused_total", "counter", "Transactions refused for want of memory.", memory.refused);
    out.single("snapshots_open", "gauge", "Snapshots that are open.", metrics.snapshots.open);
    out.single("snapshot_bytes", "gauge", "What is kept for them.", metrics.snapshots.bytes);
}

fn of_log(out: &mut Exposition, known: &Known) {
    let streams = &known.metrics.log.streams;
    let counted = |count: fn(&osier::StreamMetrics) -> u64| streams.iter().map(count).enumerate();
    let bytes = ("log_bytes_total", "counter", "Bytes written to a stream.");
    out.labelled(bytes, "stream", counted(|stream| stream.bytes));
    let syncs = ("log_syncs_total", "counter", "Syncs of the device of a stream.");
    out.labelled(syncs, "stream", counted(|stream| stream.syncs));
    let records = ("log_records_total", "counter", "Transactions logged in a stream.");
    out.labelled(records, "stream", counted(|stream| stream.records));
    let batches = ("log_batches_total", "counter", "Batches written to a stream.");
    out.labelled(batches, "stream", counted(|stream| stream.batches));
    let retained = known.metrics.log.retained_bytes;
    out.single("log_retained_bytes", "gauge", "Of segments that a recovery needs.", retained);
    let Some(live) = known.status.as_ref().and_then(|status| status.live.as_ref()) else { return };
    let durable = live.streams.iter().map(|stream| stream.durable).enumerate();
    out.labelled(("log_durable_stamp", "gauge", "A stream is durable up to this stamp."), "stream", durable);
    out.single("log_last_stamp", "gauge", "The greatest stamp drawn.", live.last_stamp);
    out.single("log_stable_stamp", "gauge", "All streams are durable up to it.", live.stable);
    let lag = live.last_stamp.saturating_sub(live.stable);
    out.single("log_lag_stamps", "gauge", "Stamps that were drawn and are not yet durable on all streams.", lag);
    out.single("epoch", "gauge", "The present epoch.", live.epoch);
}

fn of_checkpoints(out: &mut Exposition, known: &Known) {
    let checkpoints = &known.metrics.checkpoints;
    out.single("checkpoints_total", "counter", "Checkpoints that became valid.", checkpoints.taken);
    out.single("checkpoints_failed_total", "counter", "Checkpoints that failed.", checkpoints.failed);
    out.single("checkpoint_bytes_total", "counter", "Bytes of those that became valid.", checkpoints.bytes);
    let active = checkpoints.active_seconds;
    out.single("checkpoint_active_seconds_total", "counter", "How long checkpoints were being taken.", active);
    if let Some(newest) = known.status.as_ref().and_then(|status| status.checkpoints.last()) {
        out.single("checkpoint_age_seconds", "gauge", "Of the newest checkpoint.", newest.age_seconds);
        out.single("checkpoint_rows", "gauge", "Rows in the newest checkpoint.", newest.rows);
    }
}

fn of_recovery(out: &mut Exposition, known: &Known) {
    let Some(recovery) = &known.recovery else { return };
    out.single("recovery_seconds", "gauge", "How long the last start recovered.", recovery.seconds);
    let phases = ("recovery_phase_seconds", "gauge", "The stages of that.");
    out.labelled(phases, "phase", recovery.phases.iter().map(|(phase, seconds)| (phase.as_str(), *seconds)));
    out.single("recovery_log_bytes", "gauge", "Bytes of log that it read.", recovery.log_bytes);
    out.single("recovery_replayed", "gauge", "Transactions that it replayed.", recovery.replayed);
    out.single("recovery_left", "gauge", "Transactions that have still to run again.", known.metrics.backlog.left);
    out.single("recovery_discarded", "gauge", "Transactions that did not count as committed.", recovery.discarded);
}
