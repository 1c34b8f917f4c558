//! The log ring of one stream: many workers reserve and fill records, one logger takes them away in batches.
//!
//! Offsets are logical and only grow; the byte at offset `o` lies at `o % capacity`. A batch is
//! `header | records and skips | zero padding up to a block`; batches follow each other without gaps, so each starts on a
//! block boundary, and its header, at most a block long, is contiguous in memory. So is each record: where the end of the
//! ring is in the way, the rest of the lap becomes a *skip* (`u32` length with the top bit set, little-endian, then zeros).
//!
//! Invariants:
//! - **F1** {stamp, offset, batch accounting} of a reservation, the closing of a batch, and certifying idleness are each one
//!   step under the latch. So every record in a closed batch has a stamp at most the batch's, every later one a greater one.
//! - **F2** each byte in `[released, released + capacity)` belongs to one owner: an unfilled reservation (record and skip
//!   before it), the holder of the closed batch (its header and padding at once, all of it once it is filled), or nobody.
//! - **F3** at most one batch is closed and not yet released; workers meanwhile go on in the next.
//! - **F4** a worker that reserves either fills or the process ends: a hole would stop the log for ever.
//!
//! How bytes change hands: filling adds to the batch's `buffered` counter with Release, the logger reads it with Acquire; the sum
//! equals what was reserved only after the last of these additions, and as they are read-modify-writes all of them are
//! seen. A released byte reaches its next owner through the latch. The counters of odd and even batches are apart, so that one
//! batch fills while the other is waited for; they are never reset, so late readers cannot mistake one lap for another.
//!
//! Deliberately absent: what a record says, when a batch is closed, and how it is written.

use std::fmt;

use crossbeam_utils::CachePadded;

use crate::Stamp;
use crate::aligned::AlignedBuffer;
use crate::prefetch::{LINE_BYTES, prefetch_to_write};
use crate::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use crate::sync::{Backoff, Condvar, Mutex, MutexGuard, RaceCell, Unique, lock, wait};

/// Records and headers begin and end on multiples of this.
const GRAIN_BYTES: u64 = 8;

/// The bit of a record's length field that makes it a skip.
const SKIP_BIT: u32 = 1 << 31;

/// How much of the ring is fetched ahead of a worker.
const EXPECTED_BYTES_MAX: u64 = 2048;

static RING_IDS: Unique = Unique::new();

/// The shape of a ring and where its log goes on.
#[derive(Clone, Copy, Debug)]
pub struct RingConfig {
    /// Bytes in memory: a power of two, at least 4 blocks and at least 4 times the longest record.
    pub capacity_bytes: usize,
    /// What batches are padded to: a power of two.
    pub block_bytes: usize,
    /// What is left free at the start of each batch: a multiple of 8, at most a block.
    pub batch_header_bytes: usize,
    /// The offset of the first batch: a multiple of the block.
    pub first_offset: u64,
    /// Every stamp is greater.
    pub floor: Stamp,
}

/// The ring is closed: the database is closing or has failed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Closed;

/// The log ring of one stream.
pub struct Ring {
    latch: CachePadded<Latch>,
    /// A copy of `state.released`, which loggers of other rings read.
    durable_end: CachePadded<AtomicU64>,
    /// Bytes filled so far, in even and in odd batches.
    buffered: [CachePadded<AtomicU64>; 2],
    space: Condvar,
    bytes: Bytes,
    capacity: u64,
    block: u64,
    header: u64,
    id: u64,
    abandoned: fn(),
}

/// What a reservation writes, together on one line (as far as the platform's mutex is small).
struct Latch {
    state: Mutex<RingState>,
    /// A copy of `state.last`.
    last: AtomicU64,
    /// The bytes of records and skips in the open batch.
    pending: AtomicU64,
    /// A copy of `state.in_flight`.
    in_flight: AtomicBool,
}

struct RingState {
    /// The greatest stamp given or promised.
    last: Stamp,
    /// The next free byte.
    offset: u64,
    /// The first byte of the open batch.
    start: u64,
    /// Everything before it may be overwritten a lap later; where the in-flight batch starts, else where the open one does.
    released: u64,
    /// Bytes reserved so far, in even and in odd batches.
    reserved: [u64; 2],
    /// The records in the open batch.
    records: u64,
    /// Whether the open batch is an even or an odd one.
    parity: usize,
    in_flight: bool,
    closed: bool,
    blocked: usize,
}

impl Ring {
    /// An empty ring.
    ///
    /// # Panics
    /// Where the configuration breaks a rule that [`RingConfig`] states.
    pub fn new(config: RingConfig) -> Ring {
        Ring::with_abandoned(config, || {
            eprintln!("osier: a worker died between reserving and filling a log record; the log cannot go on");
            std::process::abort();
        })
    }

    /// As [`Ring::new`], with a substitute for aborting the process when a reservation is dropped unfilled. It is for tests:
    /// when it returns, the ring has a hole that no logger gets past.
    pub fn with_abandoned(config: RingConfig, abandoned: fn()) -> Ring {
        let (capacity, block) = (config.capacity_bytes as u64, config.block_bytes as u64);
        let header = config.batch_header_bytes as u64;
        assert!(capacity.is_power_of_two() && capacity < SKIP_BIT.into(), "a ring is a power of two below 2 GiB");
        assert!(block.is_power_of_two() && block >= GRAIN_BYTES, "a block is a power of two");
        assert!(block <= capacity / 4, "a ring holds at least 4 blocks");
        assert!(header.is_multiple_of(GRAIN_BYTES) && header <= block, "a batch header fits in a block");
        assert!(config.first_offset.is_multiple_of(block), "batches start on block boundaries");
        assert!(config.floor < Stamp::MAX, "stamps are exhausted");
        let state = RingState {
            last: config.floor,
            offset: config.first_offset + header,
            start: config.first_offset,
            released: config.first_offset,
            reserved: [0; 2],
            records: 0,
            parity: 0,
            in_flight: false,
            closed: false,
            blocked: 0,
        };
        Ring {
            latch: CachePadded::new(Latch {
                state: Mutex::new(state),
                last: AtomicU64::new(config.floor.0),
                pending: AtomicU64::new(0),
                in_flight: AtomicBool::new(false),
            }),
            durable_end: CachePadded::new(AtomicU64::new(config.first_offset)),
            buffered: [CachePadded::new(AtomicU64::new(0)), CachePadded::new(AtomicU64::new(0))],
            space: Condvar::new(),
            bytes: Bytes::new(config.capacity_bytes),
            capacity,
            block,
            header,
            id: RING_IDS.take(),
            abandoned,
        }
    }

    /// The longest record that can be reserved, in bytes.
    pub fn record_bytes_max(&self) -> usize {
        (self.capacity / 4) as usize
    }

    /// Reserves `len` contiguous bytes and a stamp as one step. `order` is given the greatest stamp so far and the record's
    /// offset and answers with the record's stamp, which must be greater; it runs under the latch and should be short.
    /// Waits while the ring is full.
    ///
    /// # Panics
    /// Where `len` is 0, no multiple of 8 or beyond [`Ring::record_bytes_max`], or `order` goes back.
    pub fn reserve(&self, len: usize, order: impl FnOnce(Stamp, u64) -> Stamp) -> Result<Reservation<'_>, Closed> {
        let len = self.check_len(len);
        let (mut state, skip) = self.wait_for_space(len)?;
        Ok(self.take(&mut state, skip, len, order))
    }

    /// As [`Ring::reserve`], without waiting: `None` while the ring is full. For those who hold what others wait for.
    pub fn try_reserve(
        &self,
        len: usize,
        order: impl FnOnce(Stamp, u64) -> Stamp,
    ) -> Result<Option<Reservation<'_>>, Closed> {
        let len = self.check_len(len);
        let mut state = lock(&self.latch.state);
        let space = self.space(&state, len)?;
        Ok(space.map(|skip| self.take(&mut state, skip, len, order)))
    }

    /// Reserves bytes in each of several rings with one stamp, as one step: it is above every stamp that one of them gave, and
    /// below every later one. `order` is given the greatest stamp so far of all of them. `None` while one of them is full.
    ///
    /// Whoever does so names the rings in the same order, or two wait for each other.
    ///
    /// # Panics
    /// As [`Ring::reserve`], and where a ring is named twice in a row.
    pub fn try_reserve_together<'r>(
        wanted: &[(&'r Ring, usize)],
        order: impl FnOnce(Stamp) -> Stamp,
    ) -> Result<Option<Vec<Reservation<'r>>>, Closed> {
        assert!(wanted.windows(2).all(|pair| pair[0].0.id != pair[1].0.id), "a ring has one latch");
        let mut latched = Vec::with_capacity(wanted.len());
        for &(ring, len) in wanted {
            let len = ring.check_len(len);
            let state = lock(&ring.latch.state);
            let Some(skip) = ring.space(&state, len)? else { return Ok(None) };
            latched.push((ring, state, skip, len));
        }
        let last = latched.iter().map(|(_, state, ..)| state.last).max();
        let stamp = order(last.expect("a record is in some ring"));
        // Before the first is taken: a stamp that one of them refuses leaves no hole in another one.
        assert!(latched.iter().all(|(_, state, ..)| stamp > state.last) && stamp <= Stamp::MAX, "stamp {stamp}");
        let mut taken = Vec::with_capacity(wanted.len());
        // The latches are held until the last one is taken: until then nobody draws a stamp in one of the rings, nor certifies
        // one.
        for (ring, state, skip, len) in &mut latched {
            taken.push(ring.take(state, *skip, *len, |_, _| stamp));
        }
        Ok(Some(taken))
    }

    /// Waits until there is room for a record of `len` bytes; others may take it first.
    pub fn wait_for_room(&self, len: usize) -> Result<(), Closed> {
        self.wait_for_space(self.check_len(len)).map(|_| ())
    }

    /// Whether at most `bytes` are reserved and not durable, with what batches add to them.
    pub fn is_calm(&self, bytes: u64) -> bool {
        self.on_their_way(&lock(&self.latch.state)) <= self.calm(bytes)
    }

    /// Waits until [`Ring::is_calm`]: for those who can wait, so that others do not have to.
    pub fn wait_until_calm(&self, bytes: u64) -> Result<(), Closed> {
        let (mut state, calm) = (lock(&self.latch.state), self.calm(bytes));
        loop {
            if state.closed {
                return Err(Closed);
            }
            if self.on_their_way(&state) <= calm {
                return Ok(());
            }
            state.blocked += 1;
            state = wait(&self.space, &self.latch.state, state);
            state.blocked -= 1;
        }
    }

    /// An idle ring is calm.
    fn calm(&self, bytes: u64) -> u64 {
        bytes.max(self.block)
    }

    fn on_their_way(&self, state: &RingState) -> u64 {
        state.offset - state.released
    }

    fn check_len(&self, len: usize) -> u64 {
        assert!(len <= self.record_bytes_max(), "a record of {len} bytes does not fit in the log ring");
        let len = len as u64;
        assert!(len > 0 && len.is_multiple_of(GRAIN_BYTES), "records are padded to {GRAIN_BYTES} bytes");
        len
    }

    fn take(
        &self,
        state: &mut RingState,
        skip: u64,
        len: u64,
        order: impl FnOnce(Stamp, u64) -> Stamp,
    ) -> Reservation<'_> {
        let offset = state.offset + skip;
        let stamp = order(state.last, offset);
        assert!(stamp > state.last && stamp <= Stamp::MAX, "stamps of a stream increase: {stamp} after {}", state.last);
        // Nothing fails from here on, so the step is taken wholly or not at all.
        let parity = state.parity;
        state.last = stamp;
        state.offset = offset + len;
        state.reserved[parity] += skip + len;
        state.records += 1;
        self.publish(state);
        Reservation { ring: self, offset, skip, len, parity, stamp }
    }

    /// The latch, at a moment when `len` bytes are free, and how many must be skipped before them.
    fn wait_for_space(&self, len: u64) -> Result<(MutexGuard<'_, RingState>, u64), Closed> {
        let mut state = lock(&self.latch.state);
        loop {
            if let Some(skip) = self.space(&state, len)? {
                return Ok((state, skip));
            }
            state.blocked += 1;
            state = wait(&self.space, &self.latch.state, state);
            state.blocked -= 1;
        }
    }

    /// Whether `len` bytes are free: how many must be skipped before them.
    fn space(&self, state: &RingState, len: u64) -> Result<Option<u64>, Closed> {
        if state.closed {
            return Err(Closed);
        }
        let lap_left = self.bytes.lap_left(state.offset);
        let skip = if lap_left < len { lap_left } else { 0 };
        Ok((state.offset + skip + len <= state.released + self.capacity).then_some(skip))
    }

    fn publish(&self, state: &RingState) {
        // Release, so that who sees the copy also sees what its writer did before. Readers that must not miss a change order
        // themselves with fences (the logger going to sleep) or the latch.
        self.latch.last.store(state.last.0, Ordering::Release);
        self.latch.pending.store(state.offset - state.start - self.header, Ordering::Release);
    }

    /// The greatest stamp given or promised; may lag a moment behind.
    pub fn last(&self) -> Stamp {
        Stamp(self.latch.last.load(Ordering::Acquire))
    }

    /// Whether the open batch holds records; may lag a moment behind.
    pub fn has_work(&self) -> bool {
        self.pending_bytes() != 0
    }

    /// How many bytes the open batch holds, without its header; may lag a moment behind.
    pub fn pending_bytes(&self) -> u64 {
        self.latch.pending.load(Ordering::Acquire)
    }

    /// Closes the open batch, which may be empty, and opens the next. All later stamps will be greater than `raise_to` and the
    /// batch's stamp. The records may still be being filled: see [`Ring::wait_filled`].
    ///
    /// # Panics
    /// Where the last closed batch is not yet released (F3).
    pub fn close_batch(&self, raise_to: Stamp) -> Batch {
        assert!(raise_to <= Stamp::MAX, "a stamp fits in 61 bits");
        let (batch, padding) = {
            let mut state = lock(&self.latch.state);
            assert!(!state.in_flight, "the logger closes a batch when it has released the one before");
            state.last = state.last.max(raise_to);
            let (start, record_end, parity) = (state.start, state.offset, state.parity);
            let end = record_end.next_multiple_of(self.block);
            assert!(start == state.released && end <= start + self.capacity, "a batch is at most the whole ring");
            state.in_flight = true;
            self.latch.in_flight.store(true, Ordering::Relaxed);
            state.start = end;
            state.offset = end + self.header;
            state.parity = 1 - parity;
            self.publish(&state);
            let batch = Batch {
                ring: self.id,
                start,
                end,
                record_bytes: record_end - start - self.header,
                records: std::mem::take(&mut state.records),
                stamp: state.last,
                parity,
                reserved: state.reserved[parity],
            };
            (batch, record_end..end)
        };
        if !padding.is_empty() {
            // SAFETY: F2: the padding belongs to whoever closed the batch, and nobody else has the batch yet.
            unsafe { self.bytes.slice_mut(padding.start, padding.end - padding.start) }.fill(0);
        }
        batch
    }

    /// Waits until all records of the batch are filled.
    pub fn wait_filled(&self, batch: &Batch) {
        let mut backoff = Backoff::new();
        while !self.is_filled(batch) {
            backoff.wait();
        }
    }

    /// Whether all records of the batch are filled.
    pub fn is_filled(&self, batch: &Batch) -> bool {
        self.check(batch);
        // Acquire: see the module's argument; the bytes of every record in the batch are seen.
        let buffered = self.buffered[batch.parity].load(Ordering::Acquire);
        assert!(buffered <= batch.reserved, "no more is filled than was reserved");
        buffered == batch.reserved
    }

    /// The batch's header, to be written.
    pub fn header_mut<'a>(&'a self, batch: &'a mut Batch) -> &'a mut [u8] {
        self.check(batch);
        // SAFETY: F2: the header belongs to the holder of the batch, which is borrowed exclusively.
        unsafe { self.bytes.slice_mut(batch.start, self.header) }
    }

    /// The whole batch: header, records, padding. The second part is empty unless the batch goes round the end of the ring; both
    /// are made of whole blocks and lie on block boundaries.
    ///
    /// # Panics
    /// Where the batch is not filled.
    pub fn parts<'a>(&'a self, batch: &'a Batch) -> [&'a [u8]; 2] {
        assert!(self.is_filled(batch), "a batch is read when all its records are filled");
        let len = batch.end - batch.start;
        let first = len.min(self.bytes.lap_left(batch.start));
        // SAFETY: F2: a filled batch belongs to its holder, which is borrowed.
        unsafe { [self.bytes.slice(batch.start, first), self.bytes.slice(batch.start + first, len - first)] }
    }

    /// The batch is durable: its bytes may be overwritten, and who waits for space is woken.
    ///
    /// # Panics
    /// Where the batch is not filled.
    pub fn release(&self, batch: Batch) {
        assert!(self.is_filled(&batch), "a batch is released when it has been written");
        let blocked = {
            let mut state = lock(&self.latch.state);
            assert!(
                state.in_flight && state.released == batch.start && state.start == batch.end,
                "one batch in flight"
            );
            state.in_flight = false;
            self.latch.in_flight.store(false, Ordering::Relaxed);
            state.released = batch.end;
            self.durable_end.store(batch.end, Ordering::Release);
            state.blocked
        };
        if blocked > 0 {
            self.space.notify_all();
        }
    }

    /// Where nothing is reserved beyond what is durable: promises that all later stamps will be greater than `stamp`, and
    /// says so. (Poplar: an active stream certifies an idle one instead of making it write a heartbeat.)
    pub fn certify_idle(&self, stamp: Stamp) -> bool {
        assert!(stamp <= Stamp::MAX, "a stamp fits in 61 bits");
        if self.has_work() || self.latch.in_flight.load(Ordering::Relaxed) {
            // The latch is left to those who fill the ring and write it.
            return false;
        }
        let mut state = lock(&self.latch.state);
        let idle = self.rests(&state);
        if idle {
            state.last = state.last.max(stamp);
            self.publish(&state);
        }
        idle
    }

    /// Whether nothing is reserved beyond what is durable.
    pub fn is_idle(&self) -> bool {
        self.rests(&lock(&self.latch.state))
    }

    fn rests(&self, state: &RingState) -> bool {
        !state.in_flight && state.offset == state.start + self.header
    }

    /// The end of what is durable: where the batch in flight or the open one starts.
    pub fn durable_end(&self) -> u64 {
        // Acquire, and written under the latch: after `certify_idle` it covers all of what that speaks of.
        self.durable_end.load(Ordering::Acquire)
    }

    /// Refuses further reservations, and wakes those who wait for space. What is reserved can still be filled and drained.
    pub fn close(&self) {
        lock(&self.latch.state).closed = true;
        self.space.notify_all();
    }

    fn check(&self, batch: &Batch) {
        assert_eq!(batch.ring, self.id, "a batch is used with the ring that it came from");
    }
}

impl fmt::Debug for Ring {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Ring")
            .field("last", &self.last())
            .field("pending", &self.pending_bytes())
            .finish_non_exhaustive()
    }
}

/// Space for one record, with its place in the order. It must be filled: dropped unfilled it ends the process (F4).
#[must_use = "a reservation that is not filled ends the process"]
pub struct Reservation<'r> {
    ring: &'r Ring,
    offset: u64,
    skip: u64,
    len: u64,
    parity: usize,
    stamp: Stamp,
}

impl Reservation<'_> {
    /// The record's stamp.
    pub fn stamp(&self) -> Stamp {
        self.stamp
    }

    /// The record's offset in the log.
    pub fn offset(&self) -> u64 {
        self.offset
    }

    /// Lets `write` write the record, all of it: the bytes it is given hold whatever was there a lap ago.
    ///
    /// A panic of `write` drops the reservation unfilled.
    pub fn fill(self, write: impl FnOnce(&mut [u8])) {
        let bytes = &self.ring.bytes;
        if self.skip > 0 {
            // SAFETY: F2: the skip belongs to this reservation, which is consumed.
            let skip = unsafe { bytes.slice_mut(self.offset - self.skip, self.skip) };
            let (length, rest) = skip.split_at_mut(size_of::<u32>());
            length.copy_from_slice(&(self.skip as u32 | SKIP_BIT).to_le_bytes());
            rest.fill(0);
        }
        // The next record is often of this size and by this worker: let its lines come while this one is written.
        bytes.expect_writes(self.offset + self.len, self.len);
        // SAFETY: F2: the record belongs to this reservation, which is consumed.
        write(unsafe { bytes.slice_mut(self.offset, self.len) });
        // Release: whoever sees the batch complete sees the bytes.
        self.ring.buffered[self.parity].fetch_add(self.skip + self.len, Ordering::Release);
        std::mem::forget(self);
    }
}

impl Drop for Reservation<'_> {
    fn drop(&mut self) {
        (self.ring.abandoned)();
    }
}

impl fmt::Debug for Reservation<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Reservation").field("offset", &self.offset).field("stamp", &self.stamp).finish_non_exhaustive()
    }
}

/// A closed batch, held by the logger until it is durable. There is one at a time, and it cannot be copied.
#[must_use = "a batch that is not released stops the log"]
#[derive(Debug)]
pub struct Batch {
    ring: u64,
    start: u64,
    end: u64,
    record_bytes: u64,
    records: u64,
    stamp: Stamp,
    parity: usize,
    /// What `buffered` will be when the batch is filled.
    reserved: u64,
}

impl Batch {
    /// The offset of the batch's header.
    pub fn start(&self) -> u64 {
        self.start
    }

    /// The offset after the padding, where the next batch starts.
    pub fn end(&self) -> u64 {
        self.end
    }

    /// The bytes between the end of the header and the end of the last record, skips included; 0 for a batch that is only a
    /// marker.
    pub fn record_bytes(&self) -> u64 {
        self.record_bytes
    }

    /// How many records the batch holds.
    pub fn records(&self) -> u64 {
        self.records
    }

    /// Every record in the batch and before has a stamp at most this; every later one a greater one.
    pub fn stamp(&self) -> Stamp {
        self.stamp
    }
}

/// The ring's memory, handed out in pieces by offset.
///
/// Once the ring is shared nobody may borrow the whole buffer, not even to ask for its length.
struct Bytes {
    buffer: AlignedBuffer,
    len: usize,
    /// One for each grain, where a model watches; nothing otherwise.
    races: Box<[RaceCell]>,
}

impl Bytes {
    fn new(len: usize) -> Bytes {
        assert!(len.is_power_of_two() && len >= GRAIN_BYTES as usize, "a ring is a power of two");
        let races = (0..len / GRAIN_BYTES as usize).map(|_| RaceCell::new()).collect();
        Bytes { buffer: AlignedBuffer::zeroed(len), len, races }
    }

    /// How many bytes lie between an offset and the end of the ring.
    fn lap_left(&self, offset: u64) -> u64 {
        self.len as u64 - (offset & (self.len as u64 - 1))
    }

    /// The position of a piece, which must not go round the end.
    fn position(&self, offset: u64, len: u64) -> usize {
        let lap_left = self.lap_left(offset);
        assert!(len <= lap_left, "a piece of the ring is contiguous");
        self.len - lap_left as usize
    }

    /// Fetches the lines of a piece, or of the beginning of a long one, to be written soon.
    #[inline]
    fn expect_writes(&self, offset: u64, len: u64) {
        let len = len.min(self.lap_left(offset)).min(EXPECTED_BYTES_MAX);
        let start = self.buffer.start().as_ptr().wrapping_add(offset as usize & (self.len - 1));
        for line in (0..len as usize).step_by(LINE_BYTES) {
            prefetch_to_write(start.wrapping_add(line));
        }
    }

    fn races(&self, position: usize, len: u64) -> impl Iterator<Item = &RaceCell> {
        let grain = GRAIN_BYTES as usize;
        self.races[position / grain..(position + len as usize) / grain].iter()
    }

    /// A piece to be read.
    ///
    /// # Safety
    /// Nobody writes the piece during `'a`.
    unsafe fn slice(&self, offset: u64, len: u64) -> &[u8] {
        let position = self.position(offset, len);
        self.races(position, len).for_each(RaceCell::read);
        // SAFETY: in bounds (`position`), initialized, and by the caller's word not written.
        unsafe { std::slice::from_raw_parts(self.buffer.start().as_ptr().add(position), len as usize) }
    }

    /// A piece to be written.
    ///
    /// # Safety
    /// Nobody else reads or writes the piece during `'a`.
    #[expect(clippy::mut_from_ref, reason = "the ring divides its bytes among their owners (F2)")]
    unsafe fn slice_mut(&self, offset: u64, len: u64) -> &mut [u8] {
        let position = self.position(offset, len);
        self.races(position, len).for_each(RaceCell::write);
        // SAFETY: in bounds (`position`), initialized, and by the caller's word in nobody else's hands.
        unsafe { std::slice::from_raw_parts_mut(self.buffer.start().as_ptr().add(position), len as usize) }
    }
}
