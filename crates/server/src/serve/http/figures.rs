//! `/status.json`: what the page draws.

use std::time::UNIX_EPOCH;

use osier::recovery::Progress;
use osier_bench::progress::phase_name;
use serde_json::{Value, json};

use super::history::{History, Totals};
use super::sampler::{Doing, Known};
use crate::serve::server::Server;
use crate::serve::statistics::SlowStatement;

/// Returns all figures.
pub fn of(server: &Server, doing: Doing, known: Option<&Known>, totals: &Totals, history: &History) -> String {
    let (connected, refused) = server.statistics.connections();
    let mut figures = json!({
        "version": env!("CARGO_PKG_VERSION"),
        "pid": std::process::id(),
        "doing": doing.word(),
        "up_seconds": totals.at,
        "opening": server.recovering().filter(|_| doing == Doing::Opening).map(opening),
        "statements": totals.counted.statements.count(),
        "slow": totals.counted.slow,
        "slow_from_seconds": server.statistics.slow_min().map(|slow_min| slow_min.as_secs_f64()),
        "slow_statements": server.statistics.slow().iter().map(slow).collect::<Vec<_>>(),
        "errors": server.statistics.errors(),
        "connections": {
            "present": server.registry.taken(),
            "most": server.registry.seats(),
            "all": connected,
            "refused": refused,
        },
        "history": history,
    });
    if let (Some(known), Some(members)) = (known, figures.as_object_mut()) {
        members.insert("database".to_owned(), database(known));
    }
    figures.to_string()
}

fn opening(progress: Progress) -> Value {
    json!({
        "phase": phase_name(progress.phase),
        "done": progress.done,
        "total": progress.total,
        "elapsed_seconds": progress.elapsed.as_secs_f64(),
        "remaining_seconds": progress.remaining().map(|remaining| remaining.as_secs_f64()),
    })
}

fn slow(statement: &SlowStatement) -> Value {
    let SlowStatement { text, count, longest, last, when } = statement;
    json!({
        "text": text,
        "count": count,
        "longest_seconds": longest.as_secs_f64(),
        "last_seconds": last.as_secs_f64(),
        "when": when.duration_since(UNIX_EPOCH).map_or(0, |since| since.as_secs()),
    })
}

fn database(known: &Known) -> Value {
    let Known { metrics, status, recovery, failure } = known;
    let memory = &metrics.memory;
    let live = status.as_ref().and_then(|status| status.live.as_ref());
    let streams = live.map(|live| {
        let stream = |(stream, counted): (&osier::status::LiveStream, &osier::StreamMetrics)| {
            json!({
                "durable": stream.durable,
                "lag": live.last_stamp.saturating_sub(stream.durable),
                "bytes": stream.bytes,
                "records": stream.records,
                "batches": stream.batches,
                "syncs": stream.syncs,
                "segments": counted.segments,
            })
        };
        live.streams.iter().zip(&metrics.log.streams).map(stream).collect::<Vec<_>>()
    });
    json!({
        "home": status.as_ref().map(|status| status.home.display().to_string()),
        "protocol": status.as_ref().map(|status| status.protocol.to_string()),
        "generation": status.as_ref().map(|status| status.generation),
        "failure": failure,
        "committed": metrics.committed,
        "aborted": metrics.aborted,
        "conflicts": metrics.conflicts,
        "epoch": live.map(|live| live.epoch),
        "stable": live.map(|live| live.stable),
        "last_stamp": live.map(|live| live.last_stamp),
        "streams": streams,
        "retained_bytes": metrics.log.retained_bytes,
        "checkpoints": {
            "doing": metrics.checkpoints.state.to_string(),
            "taken": metrics.checkpoints.taken,
            "failed": metrics.checkpoints.failed,
            "failure": metrics.checkpoints.failure.as_ref().map(ToString::to_string),
            "bytes": metrics.checkpoints.bytes,
            "active_seconds": metrics.checkpoints.active_seconds,
            "valid": status.as_ref().map(|status| &status.checkpoints),
        },
        "recovery_needs": status.as_ref().map(|status| status.recovery),
        "recovery": recovery,
        "memory": {
            "rows": memory.used.rows,
            "keys": memory.used.keys,
            "nodes": memory.used.nodes,
            "retained": memory.used.retained,
            "all": memory.used.total(),
            "peak": memory.peak_bytes,
            "limit": memory.limit_bytes,
            "refused": memory.refused,
        },
        "snapshots": live.map(|live| &live.snapshots),
    })
}
