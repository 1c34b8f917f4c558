//! Which rows of a partition a frame has.
//!
//! Invariants:
//! - Rows are asked for in their order, so that both ends of a frame move forward only.
//! - Values between which `RANGE` measures are sorted: the first row in range decides where a frame starts.

use std::ops::Range;

use super::Partition;
use crate::datum::Datum;
use crate::error::{Result, SqlError, SqlState};
use crate::function;
use crate::plan::SortKey;
use crate::plan::window::{Bound, Distance, Exclusion, Frame, Unit};
use crate::run::Context;
use crate::value::datetime::date_to_timestamp;
use crate::value::numeric::Numeric;

/// A frame with the values of its offsets.
pub(super) struct Bounds<'p> {
    frame: &'p Frame,
    start: Datum,
    end: Datum,
}

impl<'p> Bounds<'p> {
    /// Evaluates the offsets.
    pub(super) fn new(frame: &'p Frame, context: &Context<'_>) -> Result<Bounds<'p>> {
        let value = |bound: &Bound, which: &str| {
            let Some(offset) = bound.offset() else { return Ok(Datum::Null) };
            let value = offset.evaluate(&[], context)?;
            match &value {
                Datum::Null => {
                    let message = format!("frame {which} offset must not be null");
                    Err(SqlError::new(SqlState::NullValueNotAllowed, message))
                }
                Datum::Int(offset) if *offset < 0 && frame.unit != Unit::Range => {
                    let message = format!("frame {which} offset must not be negative");
                    Err(SqlError::new(SqlState::InvalidPrecedingOrFollowingSize, message))
                }
                _ if is_negative(&value) => {
                    let message = "invalid preceding or following size in window function";
                    Err(SqlError::new(SqlState::InvalidPrecedingOrFollowingSize, message))
                }
                _ => Ok(value),
            }
        };
        Ok(Bounds { frame, start: value(&frame.start, "starting")?, end: value(&frame.end, "ending")? })
    }
}

/// Whether it is no distance.
fn is_negative(offset: &Datum) -> bool {
    match offset {
        Datum::Int(offset) => *offset < 0,
        Datum::Float(offset) => offset.is_nan() || *offset < 0.0,
        Datum::Numeric(offset) => offset.is_nan() || offset.sign() < 0,
        Datum::Interval(offset) => *offset < crate::value::interval::Interval::of_us(0),
        _ => false,
    }
}

/// The frames of a partition's rows.
pub(super) struct Frames<'p> {
    bounds: &'p Bounds<'p>,
    partition: &'p Partition<'p>,
    /// Where the frame of the row before started and ended, if `RANGE` measures.
    start: usize,
    end: usize,
}

impl<'p> Frames<'p> {
    pub(super) fn new(bounds: &'p Bounds<'p>, partition: &'p Partition<'p>) -> Frames<'p> {
        Frames { bounds, partition, start: 0, end: 0 }
    }

    /// The frame of a row, without regard to what it leaves out.
    pub(super) fn frame(&mut self, at: usize) -> Result<Range<usize>> {
        let (start, end) = (self.frame_start(at)?, self.frame_end(at)?);
        Ok(start..end.max(start))
    }

    /// What is left of the frame of a row: up to three ranges, some of which may be empty.
    pub(super) fn spans(&mut self, at: usize) -> Result<[Range<usize>; 3]> {
        let Range { start, end } = self.frame(at)?;
        let cut = |from: usize, to: usize| from.clamp(start, end)..to.clamp(start, end);
        let peers = self.partition.peers_start(at)..self.partition.peers_end(at);
        Ok(match self.bounds.frame.exclusion {
            Exclusion::Nothing => [start..end, end..end, end..end],
            Exclusion::CurrentRow => [cut(start, at), cut(at + 1, end), end..end],
            Exclusion::Group => [cut(start, peers.start), cut(peers.end, end), end..end],
            Exclusion::Ties => [cut(start, peers.start), cut(at, at + 1), cut(peers.end, end)],
        })
    }

    fn frame_start(&mut self, at: usize) -> Result<usize> {
        let Partition { rows, starts, groups, .. } = self.partition;
        let count = rows.len();
        let offset = offset_of(&self.bounds.start);
        let frame = self.bounds.frame;
        Ok(match (&frame.start, frame.unit) {
            (Bound::UnboundedPreceding, _) => 0,
            (Bound::UnboundedFollowing, _) => count,
            (Bound::CurrentRow, Unit::Rows) => at,
            (Bound::CurrentRow, _) => self.partition.peers_start(at),
            (Bound::Preceding(_), Unit::Rows) => at.saturating_sub(offset),
            (Bound::Following(_), Unit::Rows) => at.saturating_add(offset).min(count),
            (Bound::Preceding(_), Unit::Groups) => starts[groups[at].saturating_sub(offset)],
            (Bound::Following(_), Unit::Groups) => starts[groups[at].saturating_add(offset).min(starts.len() - 1)],
            (bound, Unit::Range) => {
                let is_preceding = matches!(bound, Bound::Preceding(_));
                while self.start < count && !self.is_within(self.start, at, is_preceding, true)? {
                    self.start += 1;
                }
                self.start
            }
        })
    }

    fn frame_end(&mut self, at: usize) -> Result<usize> {
        let Partition { rows, starts, groups, .. } = self.partition;
        let count = rows.len();
        let offset = offset_of(&self.bounds.end);
        let frame = self.bounds.frame;
        Ok(match (&frame.end, frame.unit) {
            (Bound::UnboundedPreceding, _) => 0,
            (Bound::UnboundedFollowing, _) => count,
            (Bound::CurrentRow, Unit::Rows) => at + 1,
            (Bound::CurrentRow, _) => self.partition.peers_end(at),
            (Bound::Preceding(_), Unit::Rows) => (at + 1).saturating_sub(offset),
            (Bound::Following(_), Unit::Rows) => (at + 1).saturating_add(offset).min(count),
            (Bound::Preceding(_), Unit::Groups) => match groups[at].checked_sub(offset) {
                Some(group) => starts[group + 1],
                None => 0,
            },
            (Bound::Following(_), Unit::Groups) => {
                starts[groups[at].saturating_add(offset).saturating_add(1).min(starts.len() - 1)]
            }
            (bound, Unit::Range) => {
                let is_preceding = matches!(bound, Bound::Preceding(_));
                while self.end < count && self.is_within(self.end, at, is_preceding, false)? {
                    self.end += 1;
                }
                self.end
            }
        })
    }

    /// Whether a row does not lie before the start of the frame of row `at`, or with `is_start` false, not behind its end.
    fn is_within(&self, row: usize, at: usize, is_preceding: bool, is_start: bool) -> Result<bool> {
        let place = self.partition.pass.partition;
        let key: &SortKey = &self.partition.pass.keys[place];
        let (value, base) = (&self.partition.keys[row][place], &self.partition.keys[at][place]);
        match (value.is_null(), base.is_null()) {
            (false, false) => {}
            (is_value_null, is_base_null) => {
                // All NULLs are peers, at one end of the order.
                return Ok(match (key.nulls_first, is_start) {
                    (true, true) => !is_value_null || is_base_null,
                    (false, true) => is_value_null || !is_base_null,
                    (true, false) => is_value_null || !is_base_null,
                    (false, false) => !is_value_null || is_base_null,
                });
            }
        }
        let offset = if is_start { &self.bounds.start } else { &self.bounds.end };
        let is_subtracted = is_preceding != key.is_descending;
        let is_less = is_start == key.is_descending;
        let distance = self.bounds.frame.distance.unwrap_or(Distance::Integer);
        in_range(distance, value, base, offset, (is_subtracted, is_less), self.partition.context)
    }
}

fn offset_of(value: &Datum) -> usize {
    match value {
        Datum::Int(offset) => usize::try_from(*offset).unwrap_or(usize::MAX),
        _ => 0,
    }
}

/// Whether a value is at most (with `is_less`) or at least `base` plus or minus an offset. A sum that no value reaches is beyond
/// all of them.
fn in_range(
    distance: Distance,
    value: &Datum,
    base: &Datum,
    offset: &Datum,
    (is_subtracted, is_less): (bool, bool),
    context: &Context<'_>,
) -> Result<bool> {
    let beyond = if is_subtracted { !is_less } else { is_less };
    let holds = |order: std::cmp::Ordering| if is_less { order.is_le() } else { order.is_ge() };
    match (value, base, offset) {
        (Datum::Int(value), Datum::Int(base), Datum::Int(offset)) => {
            let sum = if is_subtracted { base.checked_sub(*offset) } else { base.checked_add(*offset) };
            Ok(sum.map_or(beyond, |sum| holds(value.cmp(&sum))))
        }
        (Datum::Float(value), Datum::Float(base), Datum::Float(offset)) => {
            if value.is_nan() || base.is_nan() {
                return Ok(if value.is_nan() { base.is_nan() || !is_less } else { is_less });
            }
            // A difference of infinities is within every distance.
            if offset.is_infinite() && base.is_infinite() && is_subtracted == (*base > 0.0) {
                return Ok(true);
            }
            let sum = if is_subtracted { base - offset } else { base + offset };
            Ok(value.partial_cmp(&sum).is_some_and(holds))
        }
        (Datum::Numeric(value), Datum::Numeric(base), Datum::Numeric(offset)) => {
            numeric_in_range(value, base, offset, is_subtracted, is_less)
        }
        (Datum::Time(value), Datum::Time(base), Datum::Interval(offset)) => {
            if offset.us < 0 {
                let message = "invalid preceding or following size in window function";
                return Err(SqlError::new(SqlState::InvalidPrecedingOrFollowingSize, message));
            }
            let sum = if is_subtracted { base.checked_sub(offset.us) } else { base.checked_add(offset.us) };
            Ok(sum.map_or(beyond, |sum| holds(value.cmp(&sum))))
        }
        (Datum::Interval(value), Datum::Interval(base), Datum::Interval(offset)) => {
            let sum = if is_subtracted { base.sub(offset)? } else { base.add(offset)? };
            Ok(holds(value.cmp(&sum)))
        }
        (_, _, Datum::Interval(offset)) => {
            let (value, base) = (timestamp(value)?, timestamp(base)?);
            let span = if is_subtracted { offset.neg()? } else { *offset };
            let zone = (distance == Distance::Timestamptz).then(|| &context.settings().time_zone);
            Ok(holds(value.cmp(&function::shifted(base, span, zone)?)))
        }
        _ => unreachable!("offsets were converted to what RANGE measures by"),
    }
}

/// As [`in_range`], with what is infinite and what is no number.
fn numeric_in_range(
    value: &Numeric,
    base: &Numeric,
    offset: &Numeric,
    is_subtracted: bool,
    is_less: bool,
) -> Result<bool> {
    if value.is_nan() || base.is_nan() {
        return Ok(if value.is_nan() { base.is_nan() || !is_less } else { is_less });
    }
    if !offset.is_finite() && !base.is_finite() && is_subtracted == (base.sign() > 0) {
        return Ok(true);
    }
    let sum = if is_subtracted { base.sub(offset) } else { base.add(offset) };
    Ok(if is_less { *value <= sum } else { *value >= sum })
}

fn timestamp(value: &Datum) -> Result<i64> {
    match value {
        Datum::Date(days) => date_to_timestamp(*days),
        Datum::Timestamp(us) => Ok(*us),
        _ => unreachable!("RANGE measures between moments here"),
    }
}
