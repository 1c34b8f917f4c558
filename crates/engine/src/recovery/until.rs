//! Point in time: the epoch that a database is taken back to.
//!
//! Invariants:
//! - `{T : epoch(T) <= E}` is closed under every dependency (docs/protocols.md), so a record counts or does not by its epoch
//!   alone. A checkpoint is a base for E only if everything in it is of an epoch up to E.
//! - A time means the greatest E such that every record of an epoch up to E is in a batch that was closed by then. Of those that
//!   only the checkpoint holds that is known of times after a batch was closed that knew all of them to be durable, or after
//!   the second in which the checkpoint was taken.
//! - What the log does not reach is refused, at either end: nobody gets another state than the one asked for.
//!
//! Absent: the decision itself, which is the manifest's (freeze.rs): until that is stored nothing has changed, and from then
//! on later epochs never count again.

use std::fmt;
use std::str::FromStr;

use super::base::Base;
use super::scan::Tally;
use super::{RecoveryError, find_generations, scan_all};
use crate::config::Config;
use crate::failpoint::{Mutation, has};
use crate::ids::{Epoch, NoTime, WallTime};
use crate::persist::manifest::{CheckpointEntry, Manifest, NEVER};

/// What to take a database back to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Until {
    /// The end of an epoch.
    Epoch(Epoch),
    /// The last epoch that was over, as far as the log knows, at a time.
    Time(WallTime),
}

impl FromStr for Until {
    type Err = NoTime;

    /// A whole number is an epoch, anything else a time.
    fn from_str(text: &str) -> Result<Until, NoTime> {
        match text.parse() {
            Ok(epoch) => Ok(Until::Epoch(Epoch(epoch))),
            Err(_) => Ok(Until::Time(text.parse()?)),
        }
    }
}

impl fmt::Display for Until {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Until::Epoch(epoch) => write!(f, "epoch {epoch}"),
            Until::Time(time) => time.fmt(f),
        }
    }
}

/// The epoch that the configuration asks for; [`NEVER`] where it asks for none.
pub(crate) fn resolve(config: &Config, manifest: &Manifest) -> Result<Epoch, RecoveryError> {
    let Some(until) = config.until else { return Ok(NEVER) };
    let (disk, home) = (&*config.environment.disk, config.dirs[0].as_path());
    let time = match until {
        Until::Epoch(_) => WallTime(u64::MAX),
        Until::Time(time) => time,
    };
    let generations = find_generations(disk, home, manifest, NEVER)?;
    let found = scan_all(config, generations, Base::of(manifest), time, None)?;
    let refuse = |what| RecoveryError::Until { path: home.to_owned(), until, what };
    choose(until, manifest, &found.total()).map_err(refuse)
}

fn choose(until: Until, manifest: &Manifest, log: &Tally) -> Result<Epoch, String> {
    let base = manifest.checkpoints.last();
    let reached = base.map_or(Epoch(0), |base| if base.max_epoch == NEVER { Epoch(0) } else { base.max_epoch });
    let end = log.max_epoch.max(reached);
    let too_late = || {
        Err(format!(
            "it ends with epoch {end}, and its last batch was closed at {}; to keep all of it ask for no epoch or time",
            log.closed
        ))
    };
    let epoch = match until {
        Until::Epoch(epoch) => epoch,
        Until::Time(time) if time > log.closed => return too_late(),
        Until::Time(_) if log.late == NEVER => end,
        Until::Time(_) if has(Mutation::TimeOvershot) => log.late.min(end),
        Until::Time(_) => Epoch(log.late.0.saturating_sub(1)),
    };
    if matches!(until, Until::Time(_)) && epoch < log.untimed {
        let untimed = log.untimed;
        return Err(format!("its log up to epoch {untimed} does not say when it was written; ask for an epoch"));
    }
    let is_before = |base: &CheckpointEntry| {
        let certain = log.borne_out.min(WallTime::of_second(base.taken_seconds + 1));
        matches!(until, Until::Time(time) if time < certain)
    };
    match base {
        _ if epoch > end => too_late(),
        Some(base) if base.max_epoch == NEVER => Err(format!(
            "its checkpoint {} does not say which epochs are in it; restore a backup from before that was taken",
            base.number
        )),
        Some(base) if is_before(base) => Err(format!(
            "its checkpoint {} may hold what came later than that; restore a backup from before that was taken, or ask for \
             an epoch",
            base.number
        )),
        Some(base) if epoch < base.max_epoch && !has(Mutation::ReachedIgnored) => Err(format!(
            "that is epoch {epoch}, and its checkpoint {} holds everything up to epoch {}; restore a backup from before \
             that was taken",
            base.number, base.max_epoch
        )),
        None if epoch < log.min_epoch => {
            Err(format!("that is epoch {epoch}, and its first transaction is of epoch {}", log.min_epoch))
        }
        _ => Ok(epoch),
    }
}
