//! Transactions of a window, by where their records lie.

use super::super::merge::{Batch, LiveRecord};
use crate::recovery::log_scan::LogScan;

/// A transaction of a window: a batch, and a record in it.
pub(in super::super) type Place = (u32, u32);

/// The first records of transactions from a place on.
pub(in super::super) fn places_from(window: &[Batch], from: Place) -> impl Iterator<Item = Place> {
    let of_batch = move |batch: usize| {
        let first = if batch == from.0 as usize { from.1 as usize } else { 0 };
        (first..window[batch].len())
            .filter(move |at| window[batch].begins_at(*at))
            .map(move |at| (batch as u32, at as u32))
    };
    (from.0 as usize..window.len()).flat_map(of_batch)
}

/// The place behind a transaction; behind the window where it is the last one.
pub(super) fn behind(window: &[Batch], last: Place) -> Place {
    places_from(window, last).nth(1).unwrap_or((window.len() as u32, 0))
}

/// The transaction at a place.
pub(in super::super) fn record<'w>(scan: &LogScan, window: &'w [Batch], (batch, at): Place) -> LiveRecord<'w> {
    window[batch as usize].record(scan, at as usize)
}
