//! What the transactions of a segment access, noted by several threads: most of the time that planning takes is that of reads,
//! of the log and of rows, which wait for memory.
//!
//! Invariants:
//! - What is noted of a transaction depends neither on who notes it nor on others, and is given in the order of the log. So a
//!   segment is the same for any number of threads.
//! - No more is noted ahead of what is linked than one round: so is memory bounded.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::ops::Range;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use bumpalo::Bump;
use foldhash::fast::RandomState;
use smallvec::SmallVec;

use super::super::merge::Batch;
use super::super::notes::Group;
use super::super::run::for_each_write;
use super::accesses::hash;
use super::homes;
use super::places::{Place, record};
use crate::call::Planner;
use crate::catalog::procedure::VersionKey;
use crate::error::{Error, RecoveryError};
use crate::ids::TableId;
use crate::io::Environment;
use crate::procedure::analysis::{KeySpace, columns_enough};
use crate::recovery::faults;
use crate::recovery::log_scan::LogScan;
use crate::recovery::workers::{self, Work};
use crate::sizes::{noted_chunks, noted_per_chunk};
use crate::table::Table;
use crate::transaction::shared::Shared;
use crate::transaction::{Session, Transaction};

/// The transactions of a chunk are noted under one pin, if they do not have so many accesses: longer ones would hold up what
/// others free and purge.
const TOUCHES_PER_PIN: usize = 4096;

/// Tables that a transaction accesses as a whole.
pub(super) type Tables = SmallVec<[TableId; 8]>;

/// What a transaction accesses.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Touch {
    pub(super) table: TableId,
    /// A hash of the key space; `None`: the whole table.
    pub(super) key: Option<u64>,
    pub(super) modifies: bool,
    /// Whether its order with others of the segment counts.
    pub(super) is_ordered: bool,
}

impl Touch {
    fn modifies(table: TableId, key: Option<u64>) -> Touch {
        Touch { table, key, modifies: true, is_ordered: true }
    }
}

/// A table with rows that were logged as values.
pub(super) struct AdHoc {
    pub(super) table: Table,
    /// By so many columns of their keys rows are told apart that may not change places.
    pub(super) columns: usize,
}

impl AdHoc {
    pub(super) fn new(table: Table) -> AdHoc {
        AdHoc { columns: columns_enough(table.schema()), table }
    }
}

/// What a segment may consist of.
#[derive(Default)]
pub(super) struct Gathered {
    pub(super) places: Vec<Place>,
    /// The procedures that are called.
    pub(super) used: BTreeSet<VersionKey>,
    /// The tables of rows that were logged as values; `None`: one that was dropped.
    pub(super) ad_hoc: BTreeMap<TableId, Option<AdHoc>>,
    /// The tables of transactions that access them as a whole.
    pub(super) large: HashMap<Place, Tables, RandomState>,
}

/// What is to be noted.
pub(super) struct Source {
    scan: Arc<LogScan>,
    window: Arc<Vec<Batch>>,
    gathered: Gathered,
    planner: Arc<Planner>,
    /// By so many columns the key spaces of tables are told apart; those of others are not.
    columns: BTreeMap<TableId, usize>,
    /// So many transactions are a chunk.
    per_chunk: usize,
    /// The next chunk that nobody has taken.
    next: AtomicUsize,
}

impl Source {
    /// Returns what is to be noted of these transactions, which are of this window.
    pub(super) fn new(
        (scan, window): (Arc<LogScan>, Arc<Vec<Batch>>),
        gathered: Gathered,
        planner: Arc<Planner>,
        columns: BTreeMap<TableId, usize>,
    ) -> Source {
        Source { scan, window, gathered, planner, columns, per_chunk: noted_per_chunk(), next: AtomicUsize::new(0) }
    }

    /// Returns where the transactions are.
    pub(super) fn into_places(self) -> Vec<Place> {
        self.gathered.places
    }

    fn chunks(&self) -> usize {
        self.gathered.places.len().div_ceil(self.per_chunk)
    }

    /// The numbers of the transactions of a chunk.
    fn chunk(&self, number: usize) -> Range<usize> {
        let begin = number * self.per_chunk;
        begin..self.gathered.places.len().min(begin + self.per_chunk)
    }

    /// Takes a chunk in front of `end`.
    fn take(&self, end: usize) -> Option<usize> {
        self.next.fetch_update(Ordering::Relaxed, Ordering::Relaxed, |next| (next < end).then_some(next + 1)).ok()
    }

    /// Notes what the transaction with this number accesses.
    fn note(
        &self,
        transaction: &Transaction<'_>,
        number: usize,
        memory: &mut Bump,
        Chunk { touches, groups, .. }: &mut Chunk,
    ) -> Result<(), RecoveryError> {
        let Source { scan, window, gathered: Gathered { places, ad_hoc, large, .. }, planner, columns, .. } = self;
        let (record, mut group) = (record(scan, window, places[number]), None);
        let mut note = |touch| touches.push((number as u32, touch));
        let key = |table: &Table, key: &[u8]| Some(hash(table.id, key));
        match &record.command {
            Some(command) => {
                let is_noted = planner.note(transaction, command, memory, |space, prefix, is_ordered| {
                    let KeySpace { table, .. } = space;
                    if let Some(prefix) = prefix.filter(|_| group.is_none() && space.modifies()) {
                        group = homes::group(table, prefix.as_bytes());
                    }
                    let key = prefix.and_then(|prefix| key(table, prefix.as_bytes()));
                    note(Touch { table: table.id, key, modifies: space.modifies(), is_ordered });
                });
                let all = planner.notes(command).filter(|_| !is_noted);
                all.for_each(|space| note(Touch::modifies(space.table.id, None)));
            }
            None if let Some(tables) = large.get(&places[number]) => {
                tables.iter().for_each(|table| note(Touch::modifies(*table, None)));
            }
            None => for_each_write(scan, &record, &mut |write| {
                // Rows of a table that was dropped are let go.
                let Some(AdHoc { table, columns: of_values }) = &ad_hoc[&write.table] else { return };
                group = group.or_else(|| homes::group(table, write.key));
                let columns = (*of_values).min(columns.get(&table.id).copied().unwrap_or(0));
                let length = table.keys.prefix_len(write.key, columns).ok().filter(|_| columns > 0);
                let key = length.and_then(|length| key(table, &write.key[..length]));
                note(Touch::modifies(table.id, faults::place_of_values(key)));
            })?,
        }
        groups.push(group);
        Ok(())
    }
}

/// Some transactions, one behind the other.
#[derive(Default)]
pub(super) struct Chunk {
    number: usize,
    /// What they access, each with the number of the transaction.
    pub(super) touches: Vec<(u32, Touch)>,
    /// Of each transaction what decides where it is at home.
    pub(super) groups: Vec<Group>,
}

/// A thread that notes.
struct Noter {
    session: Session,
    memory: Bump,
    /// What it notes, as far as the chunk with this number.
    round: Option<(Arc<Source>, usize)>,
    chunks: Vec<Chunk>,
    /// For their memory.
    spare: Vec<Chunk>,
}

impl Work for Noter {
    type Error = RecoveryError;

    fn advance(&mut self) -> Result<bool, RecoveryError> {
        let Noter { session, memory, round, chunks, spare } = self;
        let (source, end) = round.as_ref().expect("a round has begun");
        let Some(number) = source.take(*end) else { return Ok(false) };
        let mut chunk = spare.pop().unwrap_or_default();
        chunk.number = number;
        chunk.touches.clear();
        chunk.groups.clear();
        let mut coming = source.chunk(number);
        while !coming.is_empty() {
            let transaction = session.begin();
            let touches_max = chunk.touches.len() + TOUCHES_PER_PIN;
            while chunk.touches.len() < touches_max
                && let Some(number) = coming.next()
            {
                source.note(&transaction, number, memory, &mut chunk)?;
            }
        }
        chunks.push(chunk);
        Ok(true)
    }
}

/// The threads that note. One alone notes in the thread that wants it.
pub(super) struct Noters {
    threads: usize,
    noters: Vec<Noter>,
    spare: Vec<Chunk>,
    /// How long one alone has noted so far.
    pub(super) spent: Duration,
    /// Threads of the operating system are kept from a round to the next one.
    environment: Environment,
}

/// A round that has begun; `None`: in no other thread, so that it is yet to be run.
type Running = Option<workers::Running<Noter>>;

impl Noters {
    /// Returns so many threads over what is shared.
    pub(super) fn new(threads: usize, shared: &Arc<Shared>) -> Result<Noters, Error> {
        let noter = || {
            let (session, memory) = (Session::new(shared.clone())?, Bump::new());
            Ok(Noter { session, memory, round: None, chunks: Vec::new(), spare: Vec::new() })
        };
        let noters = (0..threads).map(|_| noter()).collect::<Result<Vec<_>, Error>>()?;
        let environment = shared.config.environment.keeping_threads();
        Ok(Noters { threads, noters, spare: Vec::new(), spent: Duration::ZERO, environment })
    }

    /// Notes all, and gives it in order to `link`, while what comes behind is being noted; as long as that says so.
    pub(super) fn note(
        &mut self,
        source: &Arc<Source>,
        mut link: impl FnMut(&Chunk) -> bool,
    ) -> Result<(), RecoveryError> {
        let (chunks, of_round) = (source.chunks(), if self.threads > 1 { noted_chunks() } else { 1 });
        let (mut end, mut running) = (0, None);
        loop {
            let noted = running.map_or(Ok(Vec::new()), |running| self.end(running))?;
            running = (end < chunks).then(|| {
                end = chunks.min(end + of_round);
                self.begin(source, end)
            });
            let goes_on = noted.iter().all(&mut link);
            self.spare.extend(noted);
            match running {
                Some(running) if !goes_on => return self.end(running).map(|_| ()),
                Some(_) => {}
                None => return Ok(()),
            }
        }
    }

    /// Begins to note what nobody has, in front of the chunk `end`.
    fn begin(&mut self, source: &Arc<Source>, end: usize) -> Running {
        let share = self.spare.len().div_ceil(self.threads);
        for noter in &mut self.noters {
            noter.round = Some((source.clone(), end));
            noter.spare.extend(self.spare.drain(..share.min(self.spare.len())));
        }
        (self.threads > 1).then(|| workers::begin(&self.environment, std::mem::take(&mut self.noters)))
    }

    /// Ends a round, and returns what was noted, in order.
    fn end(&mut self, running: Running) -> Result<Vec<Chunk>, RecoveryError> {
        match running {
            Some(threads) => self.noters = threads.end()?,
            None => {
                let clock = &self.environment.clock;
                let begun = clock.now();
                while self.noters[0].advance()? {}
                self.spent += clock.now().saturating_sub(begun);
            }
        }
        let mut noted = Vec::new();
        for noter in &mut self.noters {
            noter.round = None;
            noted.append(&mut noter.chunks);
        }
        noted.sort_unstable_by_key(|chunk| chunk.number);
        Ok(noted)
    }
}
