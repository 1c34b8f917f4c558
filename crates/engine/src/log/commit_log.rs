//! The commit log of an open database: its protocol and, unless nothing is logged, the streams that run under it.
//!
//! What depends on the protocol is [`LogProtocol`](super::protocol::LogProtocol); all else is here, the same for every one.

use std::path::PathBuf;
use std::sync::Arc;

use crate::config::{Config, Protocol};
use crate::directory::manifest::{StreamBegin, StreamEnd};
use crate::error::{LogError, LogFailure};
use crate::ids::{LogOffset, Stamp, StreamId};
use crate::log::acknowledge::ReceiptSource;
use crate::log::persist::parts::PartsHold;
use crate::log::persist::{LogLayout, LogMetrics, RunningLog};
use crate::log::protocol::faults::{Built, BuiltFrontier, build};
use crate::log::protocol::gsn::{Gsn, GsnFrontier};
use crate::log::protocol::none::Unlogged;
use crate::log::protocol::plover::{Plover, PloverFrontier};
use crate::log::protocol::poplar::{Poplar, PoplarFrontier};
use crate::log::protocol::replayed::{Replayed, ReplayedStamp};
use crate::log::protocol::serial::{Serial, SerialFrontier};
use crate::log::protocol::silo::{Silo, SiloFrontier};
use crate::log::protocol::taurus::{Taurus, TaurusFrontier};

/// The protocol of an open database, erased; `with_pair` (concurrency/scheme.rs) gives it its type again.
pub(crate) enum ActiveProtocol {
    None(Built<Unlogged>),
    Serial(Built<Serial>),
    Poplar(Built<Poplar>),
    Gsn(Built<Gsn>),
    Plover(Built<Plover>),
    Silo(Built<Silo>),
    Taurus(Built<Taurus>),
    /// Of a recovery that runs transactions again.
    Replayed(Built<Replayed>),
}

/// Evaluates `$body` with `$protocol` bound to whichever [`LogProtocol`](super::protocol::LogProtocol) there is: for tests of the
/// log alone, whose transactions depend on scalar stamps.
#[cfg(test)]
macro_rules! with_protocol {
    ($log:expr, $protocol:ident => $body:expr) => {
        match $log.protocol() {
            $crate::log::ActiveProtocol::None($protocol) => $body,
            $crate::log::ActiveProtocol::Serial($protocol) => $body,
            $crate::log::ActiveProtocol::Poplar($protocol) => $body,
            $crate::log::ActiveProtocol::Gsn($protocol) => $body,
            $crate::log::ActiveProtocol::Plover($protocol) => $body,
            $crate::log::ActiveProtocol::Silo($protocol) => $body,
            $crate::log::ActiveProtocol::Taurus(_) => panic!("its transactions depend on vectors"),
            $crate::log::ActiveProtocol::Replayed($protocol) => $body,
        }
    };
}
#[cfg(test)]
pub(crate) use with_protocol;

/// The commit log of an open database.
pub(crate) struct CommitLog {
    protocol: ActiveProtocol,
    /// `None` where nothing is logged.
    running: Option<RunningLog>,
    /// Of a recovery that runs transactions again: the stamp of the one that is run.
    replayed: Option<Arc<ReplayedStamp>>,
}

impl CommitLog {
    /// Returns the log of a database that logs nothing.
    pub(crate) fn unlogged() -> CommitLog {
        CommitLog { protocol: ActiveProtocol::None(build(Unlogged)), running: None, replayed: None }
    }

    /// Returns the log of a recovery that runs transactions again, each under the stamp that is set.
    pub(crate) fn replaying(stamp: &Arc<ReplayedStamp>) -> CommitLog {
        let protocol = ActiveProtocol::Replayed(build(Replayed::new(stamp.clone())));
        CommitLog { protocol, running: None, replayed: Some(stamp.clone()) }
    }

    /// Starts a generation with the protocol of `config`.
    pub(crate) fn start(config: &Config, layout: LogLayout) -> Result<CommitLog, LogError> {
        let floor = layout.floor;
        let running = match config.protocol {
            Protocol::None => return Ok(CommitLog::unlogged()),
            Protocol::Serial => RunningLog::start::<BuiltFrontier<SerialFrontier>>(config, layout)?,
            Protocol::Poplar => RunningLog::start::<BuiltFrontier<PoplarFrontier>>(config, layout)?,
            Protocol::Gsn => RunningLog::start::<BuiltFrontier<GsnFrontier>>(config, layout)?,
            Protocol::Plover => RunningLog::start::<BuiltFrontier<PloverFrontier>>(config, layout)?,
            Protocol::Silo => RunningLog::start::<BuiltFrontier<SiloFrontier>>(config, layout)?,
            Protocol::Taurus => RunningLog::start::<BuiltFrontier<TaurusFrontier>>(config, layout)?,
        };
        let log = Arc::clone(running.log());
        let protocol = match config.protocol {
            Protocol::None => unreachable!("it has no log"),
            Protocol::Serial => ActiveProtocol::Serial(build(Serial::new(log, floor, config.logged))),
            Protocol::Poplar => ActiveProtocol::Poplar(build(Poplar::new(log))),
            Protocol::Gsn => ActiveProtocol::Gsn(build(Gsn::new(log))),
            Protocol::Plover => ActiveProtocol::Plover(build(Plover::new(log))),
            Protocol::Silo => ActiveProtocol::Silo(build(Silo::new(log))),
            Protocol::Taurus => ActiveProtocol::Taurus(build(Taurus::new(log, config.logged))),
        };
        Ok(CommitLog { protocol, running: Some(running), replayed: None })
    }

    /// Returns the protocol.
    #[inline]
    pub(crate) fn protocol(&self) -> &ActiveProtocol {
        &self.protocol
    }

    /// Blocks until there is room for a record of this size; when the caller comes to take it, another one may have. The
    /// caller holds no locks: the wait is for a device.
    pub(crate) fn wait_for_room(&self, stream: StreamId, record_bytes: usize) -> Result<(), LogError> {
        self.running.as_ref().map_or(Ok(()), |running| running.log().wait_for_room(stream, record_bytes))
    }

    /// Begins to write the parts of a large transaction; `None` where nothing is logged.
    pub(crate) fn hold_parts(&self, stream: StreamId) -> Option<PartsHold> {
        self.running.as_ref().map(|running| running.log().hold_parts(stream))
    }

    /// Blocks until no more than `bytes` are on their way to the device of a stream. The caller holds no locks.
    pub(crate) fn wait_until_calm(&self, stream: StreamId, bytes: u64) -> Result<(), LogError> {
        self.running.as_ref().map_or(Ok(()), |running| running.log().wait_until_calm(stream, bytes))
    }

    /// Returns CSN: everything up to this stamp is durable on every stream, and every later stamp is above it. Without a log it
    /// is the greatest stamp, because nothing waits for what is never durable. While transactions are run again everything before
    /// the present one is durable.
    pub(crate) fn csn(&self) -> Stamp {
        match (&self.running, &self.replayed) {
            (Some(running), _) => running.csn(),
            (None, Some(replayed)) => replayed.before(),
            (None, None) => Stamp::MAX,
        }
    }

    /// Returns the stamp up to which a key without a row may be purged: whoever comes later and finds the key absent has a
    /// greater one, or the stamp that the key leaves behind does not [count](CommitLog::counted).
    pub(crate) fn purgeable(&self) -> Stamp {
        if self.absences_count() { self.csn() } else { Stamp::MAX }
    }

    /// Returns what counts for a transaction of the stamp of those who saw that a key was not there.
    #[inline]
    pub(crate) fn counted(&self, absence: Stamp) -> Stamp {
        if self.absences_count() { absence } else { Stamp::ZERO }
    }

    /// Whether the stamps count that keys without a row have left behind.
    fn absences_count(&self) -> bool {
        self.replayed.as_ref().is_none_or(|replayed| replayed.absences_count())
    }

    /// Returns the greatest stamp drawn so far, at least that of every transaction that is known to have ended; zero without
    /// a log.
    pub(crate) fn last_stamp(&self) -> Stamp {
        self.running.as_ref().map_or(Stamp::ZERO, RunningLog::last_stamp)
    }

    /// Returns where in each stream there are all records above `floor`, or without one all that are stamped from now on.
    pub(crate) fn begins(&self, floor: Option<Stamp>) -> Vec<StreamBegin> {
        self.running.as_ref().map_or_else(Vec::new, |running| running.begins(floor))
    }

    /// Returns where what is durable ends in each stream.
    pub(crate) fn durable_ends(&self) -> Vec<LogOffset> {
        self.running.as_ref().map_or_else(Vec::new, RunningLog::durable_ends)
    }

    /// Takes back the segments before `begins`, and those of earlier generations, `others`: a durable manifest says that
    /// recovery does not need them.
    pub(crate) fn recycle(&self, begins: &[StreamBegin], others: &[PathBuf]) {
        if let Some(running) = &self.running {
            running.log().recycle(begins, others);
        }
    }

    /// Makes the receipts of one session.
    pub(crate) fn receipts(&self) -> ReceiptSource {
        self.running.as_ref().map_or_else(ReceiptSource::unlogged, RunningLog::receipts)
    }

    /// Wakes the loggers of streams with records whose receipts are only kept.
    pub(crate) fn nudge(&self) {
        if let Some(running) = &self.running {
            running.log().nudge();
        }
    }

    /// Returns what ended the log, if anything did.
    pub(crate) fn failure(&self) -> Option<LogError> {
        self.running.as_ref().and_then(RunningLog::failure)
    }

    /// Ends the log: nothing is acknowledged from now on.
    pub(crate) fn fail(&self, failure: LogFailure) {
        if let Some(running) = &self.running {
            running.log().fail(failure);
        }
    }

    /// Drains the streams, stops the background tasks and returns where each stream ends. New commits fail with
    /// [`LogError::Closed`]; those that were stamped are durable when this returns.
    pub(crate) fn close(&self) -> Result<Vec<StreamEnd>, LogError> {
        self.running.as_ref().map_or_else(|| Ok(Vec::new()), RunningLog::close)
    }

    /// Returns what was written so far.
    pub(crate) fn metrics(&self) -> LogMetrics {
        self.running.as_ref().map_or_else(LogMetrics::default, |running| running.log().metrics())
    }
}
