//! The moment that a database is taken back to: a setting of one open.

use std::fmt;
use std::str::FromStr;

use crate::ids::{Epoch, NoTime, WallTime};

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
