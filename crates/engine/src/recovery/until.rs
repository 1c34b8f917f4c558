//! Point in time: the epoch that a database is taken back to.
//!
//! Invariants:
//! - `{T : epoch(T) <= E}` is closed under every dependency (docs/protocols.md), so a record counts or does not by its epoch
//!   alone. A checkpoint is a base for E only if everything in it is of an epoch up to E.
//! - A time means the greatest E such that every record of an epoch up to E is in a batch that was closed by then; records
//!   beyond the cut of their generation are none. Of those that only the checkpoint holds that is known of times after a batch
//!   was closed that knew all of them to be durable, or after the second in which the checkpoint was taken.
//! - What the log does not reach is refused, at either end, and what was given up by going back before: nobody gets another
//!   state than the one asked for.
//!
//! Absent: the decision itself, which is the manifest's (freeze.rs): until that is stored nothing has changed, and from then
//! on later epochs never count again.

use super::base::Base;
use super::faults;
use super::tally::Tally;
use super::{find_generations, read_and_judge};
use crate::config::{Config, Until};
use crate::directory::TakenBack;
use crate::directory::manifest::{CheckpointEntry, Manifest, NEVER};
use crate::error::RecoveryError;
use crate::ids::{Epoch, WallTime};

/// Returns the epoch that the configuration asks for; [`NEVER`] where it asks for none.
pub(crate) fn resolve(config: &Config, manifest: &Manifest) -> Result<Epoch, RecoveryError> {
    let Some(until) = config.until else { return Ok(NEVER) };
    let (disk, home) = (&*config.environment.disk, config.dirs[0].as_path());
    let time = match until {
        Until::Epoch(_) => WallTime(u64::MAX),
        Until::Time(time) => time,
    };
    let generations = find_generations(disk, home, manifest, NEVER)?;
    let (scanned, _) = read_and_judge(config, manifest, generations, Base::of(manifest), time)?;
    let refuse = |what| RecoveryError::Until { path: home.to_owned(), until, what };
    choose(until, manifest, &scanned.total()).map_err(refuse)
}

/// Returns the epoch to go back to, or why there is none.
fn choose(until: Until, manifest: &Manifest, log: &Tally) -> Result<Epoch, String> {
    let base = manifest.checkpoints.last();
    let reached = base.map_or(Epoch(0), |base| if base.max_epoch == NEVER { Epoch(0) } else { base.max_epoch });
    let end = log.max_epoch.max(reached);
    let taken_back = manifest.taken_back();
    let given_up = |epoch: Epoch| taken_back.iter().find(|back| back.gave_up(epoch.0)).map(already);
    let too_late = || {
        Err(given_up(end).unwrap_or_else(|| {
            let last = match base {
                Some(base) if log.closed == WallTime::UNKNOWN => {
                    let (number, taken) = (base.number, WallTime::of_second(base.taken_seconds));
                    format!("in its checkpoint {number}, which was taken at {taken}")
                }
                _ => format!("and its last batch was closed at {}", log.closed),
            };
            format!("it ends with epoch {end}, {last}; to keep all of it ask for no epoch or time")
        }))
    };
    let is_before = |base: &CheckpointEntry| {
        let certain = log.borne_out.min(WallTime::of_second(base.taken_seconds + 1));
        matches!(until, Until::Time(time) if time < certain)
    };
    let before = |base: &CheckpointEntry| {
        let number = base.number;
        Err(format!(
            "its checkpoint {number} may hold what came later than that; restore a backup from before that was taken, or ask for \
             an epoch"
        ))
    };
    let epoch = match until {
        Until::Time(time) if time > log.closed && base.is_some_and(is_before) => {
            return base.map_or_else(too_late, before);
        }
        Until::Epoch(epoch) => epoch,
        Until::Time(time) if time > log.closed => return too_late(),
        Until::Time(_) if log.late == NEVER => end,
        Until::Time(_) => faults::last_epoch(Epoch(log.late.0.saturating_sub(1)), log.late.min(end)),
    };
    if matches!(until, Until::Time(_)) && epoch < log.untimed {
        let untimed = log.untimed;
        return Err(format!("its log up to epoch {untimed} does not say when it was written; ask for an epoch"));
    }
    if let Some(what) = given_up(epoch) {
        return Err(what);
    }
    let that = match until {
        Until::Epoch(_) => String::new(),
        Until::Time(_) => format!("that is epoch {epoch}, and "),
    };
    match base {
        _ if epoch > end => too_late(),
        Some(base) if base.max_epoch == NEVER => Err(format!(
            "its checkpoint {} does not say which epochs are in it; restore a backup from before that was taken",
            base.number
        )),
        Some(base) if is_before(base) => before(base),
        Some(base) if faults::reaches_beyond(epoch < base.max_epoch) => Err(format!(
            "{that}its checkpoint {} holds everything up to epoch {}; restore a backup from before \
             that was taken",
            base.number, base.max_epoch
        )),
        None if epoch < log.min_epoch => Err(format!("{that}its first transaction is of epoch {}", log.min_epoch)),
        _ => Ok(epoch),
    }
}

/// Why there is no way back to an epoch that was given up.
fn already(back: &TakenBack) -> String {
    format!("it was {back} for ever; ask for epoch {} or an earlier one, or for one after {}", back.to, back.last)
}
