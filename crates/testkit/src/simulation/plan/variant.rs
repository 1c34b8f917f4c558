//! How a seed's engine differs from the one that ships: sizes that it makes small, so that a few keys reach what lies behind
//! them, the order of locks, which must not depend on addresses, and whether commits draw their stamps before they validate.
//!
//! Invariant: it is drawn from numbers of its own, so that the rest of a plan does not depend on it. One seed in four runs the
//! sizes that ship; of the others each size is its own choice.

use fastrand::Rng;
use osier::failpoint::simulated::{Sizes, TreeSizes, Variant};

/// The variant of a seed. With `is_alone` no step of another thread comes between two locks: their order may be that of
/// addresses, as it ships, and the seed repeats.
pub(super) fn draw(rng: &mut Rng, is_alone: bool) -> Variant {
    let locks_by_key = !is_alone;
    if rng.u8(0..4) == 0 {
        return Variant { locks_by_key, ..Variant::SHIPPED };
    }
    let (sizes, trees) = (sizes(rng), trees(rng));
    Variant { sizes, trees, locks_by_key, stamps_early: rng.u8(0..4) == 0, ..Variant::SHIPPED }
}

/// Trees of small nodes.
pub(super) fn trees(rng: &mut Rng) -> TreeSizes {
    TreeSizes {
        leaf_slots: one(rng, &[4, 4, 5, 8]),
        inner_slots: one(rng, &[4, 4, 5, 8]),
        hinted_leaves_min: one(rng, &[1, 2, 4]),
    }
}

/// Small steps.
pub(super) fn sizes(rng: &mut Rng) -> Sizes {
    const SHIPPED: Sizes = Sizes::SHIPPED;
    const PAGE_BYTES: usize = 4096;
    // From numbers of its own, as a plan's.
    let read_stamp_slots = one(&mut Rng::with_seed(rng.clone().u64(..).rotate_left(11)), &[1, 4, 1 << 10]);
    let lsn_slots = one(&mut Rng::with_seed(rng.clone().u64(..).rotate_left(59)), &[1, 4, 1 << 10, 1 << 10]);
    let checks_per_read =
        one(&mut Rng::with_seed(rng.clone().u64(..).rotate_left(23)), &[0, 1, SHIPPED.checks_per_read]);
    let of_windows = &mut Rng::with_seed(rng.clone().u64(..).rotate_left(3));
    let (window_records, at_once_min) = (one(of_windows, &[1, 4, 300, 16 << 10]), one(of_windows, &[1, 2, 8]));
    let (at_once_per_step, at_once_taken) =
        (one(of_windows, &[1, 1, 3, SHIPPED.at_once_per_step]), one(of_windows, &[1, 4]));
    let gathered_records = one(of_windows, &[1, 4, 16, SHIPPED.gathered_records]);
    let (noted_per_chunk, noted_chunks) =
        (one(of_windows, &[1, 3, SHIPPED.noted_per_chunk]), one(of_windows, &[1, 2, SHIPPED.noted_chunks]));
    let of_shuffles = &mut Rng::with_seed(rng.clone().u64(..).rotate_left(37));
    let shuffled_batch_bytes = one(of_shuffles, &[1, 300, SHIPPED.shuffled_batch_bytes]);
    let shuffled_bytes_max = one(of_shuffles, &[0, 1000, SHIPPED.shuffled_bytes_max]);
    let indexed_sampled_one_in = one(rng, &[1, 2, 4]);
    Sizes {
        deltas_kept_bytes: 0,
        read_stamp_slots,
        lsn_slots,
        checks_per_read,
        gathered_records,
        noted_per_chunk,
        noted_chunks,
        window_records,
        shuffled_batch_bytes,
        shuffled_bytes_max,
        at_once_min,
        at_once_per_step,
        at_once_taken,
        linear_writes_max: one(rng, &[1, 2, 4, SHIPPED.linear_writes_max]),
        purges_per_begin: one(rng, &[1, 2, SHIPPED.purges_per_begin]),
        checkpoint_leaves_per_step: one(rng, &[1, 2, 4, SHIPPED.checkpoint_leaves_per_step]),
        checkpoint_ranges: one(rng, &[1, 1, 4, SHIPPED.checkpoint_ranges]),
        checkpoint_block_bytes: one(rng, &[1, 100, 800, SHIPPED.checkpoint_block_bytes]),
        checkpoint_write_bytes: one(rng, &[PAGE_BYTES, 3 * PAGE_BYTES, 16 * PAGE_BYTES]),
        loaded_blocks_per_run: one(rng, &[1, 2, SHIPPED.loaded_blocks_per_run]),
        scanned_chunk_bytes: one(rng, &[PAGE_BYTES as u64, 4 * PAGE_BYTES as u64, SHIPPED.scanned_chunk_bytes]),
        replay_waiting_max: one(rng, &[1, 4, SHIPPED.replay_waiting_max]),
        replay_handled_bytes_max: one(rng, &[1, 1000, SHIPPED.replay_handled_bytes_max]),
        replay_waiting_bytes_max: one(rng, &[0, 0, 500, SHIPPED.replay_waiting_bytes_max]),
        replay_purges_per_step: one(rng, &[1, 3, SHIPPED.replay_purges_per_step]),
        indexed_range_rows: one(rng, &[1, 4, SHIPPED.indexed_range_rows]),
        indexed_chunk_entries: indexed_sampled_one_in * one(rng, &[1, 3, 100]),
        indexed_sampled_one_in,
        removed_piece_bytes: one(rng, &[PAGE_BYTES as u64, 8 * PAGE_BYTES as u64, SHIPPED.removed_piece_bytes]),
        // Transactions of a few rows are in parts, of less than a row each.
        whole_record_bytes_max: one(
            rng,
            &[1, 200, 600, SHIPPED.whole_record_bytes_max, SHIPPED.whole_record_bytes_max],
        ),
        part_bytes: one(rng, &[56, 80, 200, 1000, SHIPPED.part_bytes]),
        parts_in_flight_bytes: one(rng, &[1, 6000, SHIPPED.parts_in_flight_bytes]),
        copied_piece_bytes: one(rng, &[PAGE_BYTES, 3 * PAGE_BYTES, SHIPPED.copied_piece_bytes]),
    }
}

/// Every transaction in parts.
pub(super) fn in_parts(rng: &mut Rng, sizes: Sizes) -> Sizes {
    Sizes { whole_record_bytes_max: 1, part_bytes: one(rng, &[56, 80, 200]), ..sizes }
}

fn one<T: Copy>(rng: &mut Rng, values: &[T]) -> T {
    values[rng.usize(0..values.len())]
}
