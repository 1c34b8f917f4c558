//! Sizes at which the engine changes what it does: how much one step takes, from where on a search is another one.
//!
//! Invariants:
//! - Without the cargo feature `mutations` every size is a constant.
//! - With it they belong to a thread. A thread that nobody has told anything has the sizes that ship: the tests of the public
//!   API run what ships, and only the crash simulation makes sizes small, so that it reaches what lies behind them.
//! - No size is part of a format: what was written with one is read with any other.
//!
//! Deliberately absent: what a user may choose; see [`crate::config`].

macro_rules! sizes {
    ($($(#[$doc:meta])* $name:ident: $type:ty = $shipped:expr;)*) => {
        /// The sizes of the engine, for the thread that runs it.
        #[cfg(feature = "mutations")]
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        pub struct Sizes {
            $($(#[$doc])* pub $name: $type,)*
        }

        #[cfg(feature = "mutations")]
        impl Sizes {
            /// The sizes that ship.
            pub const SHIPPED: Sizes = Sizes { $($name: $shipped,)* };
        }

        $(
            $(#[$doc])*
            #[inline(always)]
            pub(crate) fn $name() -> $type {
                #[cfg(feature = "mutations")]
                return OF_THREAD.with(|sizes| sizes.get().$name);
                #[cfg(not(feature = "mutations"))]
                $shipped
            }
        )*
    };
}

sizes! {
    /// Writes of a transaction beyond which its records are found by hash, and by bisection once they are sorted.
    linear_writes_max: usize = 16;
    /// Bytes of deltas for which a session keeps the memory from one transaction to the next.
    deltas_kept_bytes: usize = 64 << 10;
    /// Slots of the stamps of reads, where the protocol orders a read before the write that follows it; a power of two.
    /// Few enough to stay in the processor's cache, many enough that threads seldom take lines from each other.
    read_stamp_slots: usize = 1 << 16;
    /// Slots of the LSN vectors of rows; a power of two. What counts in them was written within the last milliseconds.
    lsn_slots: usize = 1 << 15;
    /// How often a transaction checks on the average whether a read is still there, to go on to the state of now: those that read
    /// much among many changes, and write nothing, had better stay in the past.
    checks_per_read: usize = 4;
    /// Keys that the begin of one transaction purges: more than a usual transaction leaves behind, few enough not to be felt.
    purges_per_begin: usize = 16;
    /// Leaves that a checkpoint reads under one pin: tombstones may make a block of rows a long way.
    checkpoint_leaves_per_step: usize = 64;
    /// Ranges that all tables are cut into together for a checkpoint, about: threads end at the same time, and how far they are
    /// is known.
    checkpoint_ranges: usize = 512;
    /// Bytes of rows with which a block of a checkpoint is written.
    checkpoint_block_bytes: usize = 256 << 10;
    /// Bytes that one write to a checkpoint carries; a multiple of 4096.
    checkpoint_write_bytes: usize = 1 << 20;
    /// Blocks of a checkpoint that a thread loads at a time: neighbours in the index for the most part.
    loaded_blocks_per_run: u64 = 64;
    /// Bytes of the log that recovery reads at a time; a multiple of 4096.
    scanned_chunk_bytes: u64 = 2 << 20;
    /// Overwritten images and replaced nodes that wait at most before a thread of recovery begins to free them.
    replay_waiting_max: usize = 512;
    /// Bytes written and replaced by which it begins earlier.
    replay_handled_bytes_max: usize = 256 << 10;
    /// Bytes of changes that wait for their bases beyond which one thread alone reads on: what the threads read apart from each
    /// other is far less, so that it costs no time.
    replay_waiting_bytes_max: u64 = 256 << 20;
    /// Bytes of writes that a thread of recovery hands to another one at a time.
    shuffled_batch_bytes: usize = 64 << 10;
    /// Bytes that wait for a thread of recovery beyond which others hand it no more.
    shuffled_bytes_max: usize = 16 << 20;
    /// Records of a log of calls that recovery gathers at a time, at most.
    gathered_records: usize = 256;
    /// Transactions of a window that several threads of recovery run: long enough that they seldom wait for each other at its
    /// end.
    window_records: usize = 16 << 10;
    /// Transactions whose accesses a thread of recovery notes in one go.
    noted_per_chunk: usize = 64;
    /// As many of them together are noted by several threads, while those before are linked.
    noted_chunks: usize = 128;
    /// Transactions that are worth more than one thread.
    at_once_min: usize = 32;
    /// Transactions that one of these threads runs in one step.
    at_once_per_step: usize = 64;
    /// Transactions that it takes, where procedures say which may run at once, before it runs the first of them: their memory is
    /// on its way.
    at_once_taken: usize = 4;
    /// Tombstones that recovery purges under one pin.
    replay_purges_per_step: usize = 256;
    /// Rows that a range holds at least from which index entries are made, save the last range of a table: work that is far
    /// longer than taking the range.
    indexed_range_rows: usize = 2048;
    /// Entries of a chunk of an index: a few megabytes with their keys, so that they are sorted in the cache; a piece has about
    /// as many.
    indexed_chunk_entries: usize = 16 << 10;
    /// One entry of a chunk in so many says where the keys of the others are; at most as many as a chunk has.
    indexed_sampled_one_in: usize = 256;
    /// Bytes of a superseded file that are removed at a time.
    removed_piece_bytes: u64 = 1 << 20;
    /// Bytes beyond which the payload of a transaction is written in parts, where `transaction_log_bytes_max` is not less.
    whole_record_bytes_max: usize = usize::MAX;
    /// Bytes of a part with its header; a multiple of 8. Others wait for no more than the copy of one, and none is in a hurry.
    part_bytes: usize = 64 << 10;
    /// Bytes of parts that are on their way to the device at most: what the next commit of another session waits for. Less than a
    /// device writes at a time costs throughput.
    parts_in_flight_bytes: u64 = 1 << 20;
    /// Bytes of a file that a backup or a restore reads at a time.
    copied_piece_bytes: usize = 1 << 20;
}

#[cfg(feature = "mutations")]
thread_local! {
    static OF_THREAD: std::cell::Cell<Sizes> = const { std::cell::Cell::new(Sizes::SHIPPED) };
}

/// Sets the sizes of what the calling thread runs from now on.
#[cfg(feature = "mutations")]
pub(crate) fn set(sizes: Sizes) {
    OF_THREAD.set(sizes);
}
