//! Who of a segment waits for whom: those that access the same key space, if one of them modifies it (PACMAN, section 4.3.1).
//!
//! A *segment* is a stretch of the order in which no definition changes: it ends before whatever defines something, before a
//! command of which nobody knows what it accesses, and where its graph is large.
//!
//! Invariants:
//! - All accesses count that may conflict with another one of the segment: those of commands, and the rows that were logged as
//!   values, whatever tables procedures write (O5).
//! - The key spaces of a table have the same number of columns, the fewest of any access to it, or are the whole table. So two of
//!   them are equal, or disjoint, or one is everything.
//! - Rows that nobody changes, neither in the segment nor in the one that is still running, are read for the keys that they give
//!   (O17).
//! - A transaction that was logged as very many rows accesses their tables as a whole.
//! - Key spaces are told apart by a hash. Two that have the same one are taken for one: a transaction waits in vain.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::time::Duration;

use super::super::merge::{Batch, LiveRecord};
use super::super::notes::Group;
use super::super::run::for_each_write;
use super::accesses::{Accesses, OfTable as LastOfTable};
use super::homes::Homes;
use super::key_table::KeyTable;
use super::noting::{AdHoc, Chunk, Gathered, Noters, Source, Tables, Touch};
use super::places::{Place, behind, places_from, record};
use super::waits::Waits as LastWaits;
use crate::call::{Planner, Unordered};
use crate::catalog::SEQUENCES;
use crate::catalog::procedure::VersionKey;
use crate::catalog::sequence::{ID as SEQUENCE_ID, SequenceRow};
use crate::error::{Error, RecoveryError};
use crate::ids::TableId;
use crate::log::format::payload::PayloadReader;
use crate::log::format::payload::values::{Change, LoggedWrite};
use crate::procedure::analysis::KeySpace;
use crate::recovery::faults;
use crate::recovery::log_scan::LogScan;
use crate::transaction::Session;
use crate::transaction::shared::Shared;

/// A segment with so many accesses, or as many that wait, ends: so is its memory bounded.
const ACCESSES_MAX: usize = 1 << 20;

/// As [`ACCESSES_MAX`], of a segment that is not run before the database opens.
const STAYING_ACCESSES_MAX: usize = 1 << 25;

/// The memory of an access is asked for when so many others are linked before it.
const TOUCHES_AHEAD: usize = 32;

/// A transaction that was logged as more rows than these accesses their tables as a whole.
const ROWS_MAX: u32 = 4096;

/// Who has accessed a table.
#[derive(Debug, Default)]
struct OfTable {
    /// Who has accessed the whole of it last.
    whole: Option<u32>,
    /// Who has accessed any of it since.
    since: Vec<u32>,
    /// Who reads what nobody changes: any of it, and the whole of it.
    reads: Vec<u32>,
    whole_reads: Vec<u32>,
}

/// A segment: its transactions, and who of them waits for whom.
#[derive(Debug, Default)]
pub(in super::super) struct Segment {
    pub(super) places: Vec<Place>,
    /// Each from one, by its number in the segment, to another one that waits for it.
    pub(super) edges: Vec<(u32, u32)>,
    /// The thread at which each is at home.
    pub(super) homes: Vec<u16>,
    /// The longest chain of which each waits for the one before.
    pub(super) chained: u32,
    /// Which reads of procedures nobody of them changes.
    pub(super) unordered: Arc<Unordered>,
    /// Who accesses what, where that is wanted.
    pub(super) accesses: Option<Accesses>,
}

impl Segment {
    /// Whether it has no transaction.
    pub(in super::super) fn is_empty(&self) -> bool {
        self.places.is_empty()
    }

    /// How many transactions it has.
    pub(in super::super) fn len(&self) -> usize {
        self.places.len()
    }

    /// Its transactions, in order.
    pub(in super::super) fn places(&self) -> impl Iterator<Item = Place> {
        self.places.clone().into_iter()
    }

    /// The place behind it; behind the one at which it would begin, where it is empty.
    pub(in super::super) fn end(&self, window: &[Batch], from: Place) -> Place {
        behind(window, self.places.last().copied().unwrap_or(from))
    }
}

/// What changes the rows of segments.
#[derive(Clone, Default, PartialEq)]
struct Changing {
    /// The procedures that are called.
    procedures: BTreeSet<VersionKey>,
    /// The tables of rows that were logged as values.
    tables: BTreeSet<TableId>,
}

/// Plans segments.
pub(in super::super) struct Plans {
    /// Others have it while they note.
    planner: Arc<Planner>,
    /// Of the segment before, which may be running, ...
    before: Changing,
    /// ... and of all for which the planner knows the reads of which nobody changes anything.
    settled: Changing,
    shared: Arc<Shared>,
    noters: Noters,
    links: Links,
    homes: Homes,
    /// Whether arguments count, and not the tables that procedures name alone.
    by_arguments: bool,
    /// Whether who comes after a segment is to know who of it accesses what.
    tells_accesses: bool,
}

/// Which accesses are noted, and by how many columns the key spaces of each table are told apart.
#[derive(Default)]
struct Levels {
    of: BTreeMap<TableId, usize>,
    /// Of reads that nobody of the segment changes, where they are noted, too.
    of_reads: BTreeMap<TableId, usize>,
    unordered: Unordered,
}

/// A segment in the making.
#[derive(Default)]
struct Links {
    segment: Segment,
    accessed: KeyTable,
    /// How many accesses there are so far.
    accesses: usize,
    tables: BTreeMap<TableId, OfTable>,
    waits: Vec<Waits>,
    /// Who reads what nobody changes.
    reads: KeyTable,
}

/// A transaction of a segment in the making.
#[derive(Clone, Copy, Debug)]
struct Waits {
    /// The longest chain that ends with it.
    chained: u32,
    /// The last transaction that is known to wait for it; itself, where there is none.
    last: u32,
}

/// The planner, when nobody notes.
fn alone(planner: &mut Arc<Planner>) -> &mut Planner {
    Arc::get_mut(planner).expect("nobody notes between segments")
}

impl Plans {
    /// Plans for so many threads, of which some note; these have sessions of their own.
    pub(in super::super) fn new(
        shared: &Arc<Shared>,
        (threads, noting): (usize, usize),
        by_arguments: bool,
        tells_accesses: bool,
    ) -> Result<Plans, Error> {
        let (planner, before, settled, links) = Default::default();
        let (shared, noters, homes) = (shared.clone(), Noters::new(noting, shared)?, Homes::new(threads));
        Ok(Plans { planner, before, settled, shared, noters, links, homes, by_arguments, tells_accesses })
    }

    /// Plans the segment that begins at a place of a window. It may be empty. `session` reads definitions.
    pub(in super::super) fn segment(
        &mut self,
        session: &mut Session,
        (scan, window): (&Arc<LogScan>, &Arc<Vec<Batch>>),
        from: Place,
    ) -> Result<Segment, RecoveryError> {
        let gathered = self.gather(session, scan, window, from)?;
        let tables = gathered.ad_hoc.keys().copied().collect();
        self.settle(Changing { procedures: gathered.used.clone(), tables });
        let how = (self.by_arguments, self.tells_accesses);
        let levels = Levels::of(alone(&mut self.planner), &gathered, how);
        let Plans { planner, noters, links, homes, tells_accesses, .. } = self;

        links.begin();
        let log = (scan.clone(), window.clone());
        let source = Arc::new(Source::new(log, gathered, planner.clone(), levels.of.clone()));
        noters.note(&source, |chunk| {
            links.link(chunk, homes);
            !links.is_full(*tells_accesses)
        })?;
        let mut places = Arc::into_inner(source).expect("nobody notes any more").into_places();
        places.truncate(links.waits.len());
        let accesses = tells_accesses.then(|| links.accesses(&levels));
        let unordered = Arc::new(levels.unordered);
        Ok(Segment { places, unordered, accesses, ..std::mem::take(&mut links.segment) })
    }

    /// Gathers the transactions from a place on of which it is known what they access, and which define nothing.
    fn gather(
        &mut self,
        session: &mut Session,
        scan: &LogScan,
        window: &[Batch],
        from: Place,
    ) -> Result<Gathered, RecoveryError> {
        let (planner, shared) = (alone(&mut self.planner), &self.shared);
        let mut gathered = Gathered::default();
        for place in places_from(window, from) {
            match window[place.0 as usize].called(scan, place.1 as usize) {
                Some(called) if gathered.used.contains(&called) => {}
                Some(called) if planner.knows(session, called) => _ = gathered.used.insert(called),
                Some(_) => break,
                None => {
                    let record = record(scan, window, place);
                    let Written { tables, defines } = Written::of(shared, scan, &record)?;
                    if faults::runs_alone(defines) {
                        break;
                    }
                    for id in &tables {
                        gathered.ad_hoc.entry(*id).or_insert_with(|| shared.catalog.table(*id).map(AdHoc::new));
                    }
                    if record.writes > ROWS_MAX || matches!(record.payload, PayloadReader::InParts(_)) {
                        gathered.large.insert(place, tables);
                    }
                }
            }
            gathered.places.push(place);
        }
        Ok(gathered)
    }

    /// Returns what is noted of each call of a segment that was just planned, as a hash.
    #[cfg(feature = "mutations")]
    pub(super) fn noted(
        &mut self,
        session: &mut Session,
        (scan, window): (&LogScan, &[Batch]),
        segment: &Segment,
    ) -> Vec<(bool, u64)> {
        let mut noted = Vec::new();
        for place in &segment.places {
            let (record, mut all) = (record(scan, window, *place), 0);
            if let Some(command) = &record.command {
                let found = |space: &KeySpace, prefix: Option<&crate::table::KeyBuf>, _| {
                    all = super::accesses::hash(space.table.id, prefix.map_or(&[], |prefix| prefix.as_bytes()))
                        ^ u64::rotate_left(all, 1);
                };
                let is_noted = self.planner.note(&session.begin(), command, &mut bumpalo::Bump::new(), found);
                noted.push((is_noted, all));
            }
        }
        noted
    }

    /// From now on it is noted what decides where transactions are at home; returns what was since, and how long one thread alone
    /// has noted accesses.
    pub(super) fn note_homes(&mut self) -> (Vec<Group>, Duration) {
        (self.homes.note(), std::mem::take(&mut self.noters.spent))
    }

    /// Definitions have changed, and nothing is running.
    pub(in super::super) fn forget(&mut self) {
        alone(&mut self.planner).forget();
        self.settled = Changing::default();
        self.have_run();
    }

    /// All segments so far have run.
    pub(in super::super) fn have_run(&mut self) {
        self.before = Changing::default();
    }

    /// Tells the planner of which reads nobody changes anything in this segment and in the one before: their rows are already as
    /// calls will find them (O17).
    fn settle(&mut self, now: Changing) {
        let before = std::mem::replace(&mut self.before, now.clone());
        let all = Changing {
            procedures: faults::beside(&now.procedures, &before.procedures),
            tables: faults::beside(&now.tables, &before.tables),
        };
        if !self.by_arguments || self.settled == all {
            return;
        }
        let planner = alone(&mut self.planner);
        let mut known: Vec<_> = planner.known().filter(|(key, _)| all.procedures.contains(key)).collect();
        let is_changed = |note: &KeySpace| {
            let mut others = known.iter().flat_map(|(_, other)| other.notes());
            faults::is_changed(all.tables.contains(&note.table.id) || others.any(|other| note.conflicts(other)))
        };
        let settled: Vec<_> = known.iter().map(|(_, planned)| planned.settled(is_changed)).collect();
        known.iter_mut().zip(settled).for_each(|((_, planned), settled)| planned.settle(settled));
        self.settled = all;
    }
}

impl Levels {
    /// Decides which accesses of these procedures are noted, beside rows that were logged as values in these tables, and whether
    /// by arguments. Reads that nobody changes are noted `with_reads` alone.
    fn of(
        planner: &mut Planner,
        Gathered { used, ad_hoc, .. }: &Gathered,
        (by_arguments, with_reads): (bool, bool),
    ) -> Levels {
        let (mut levels, mut ordered) = (Levels::default(), BTreeMap::<VersionKey, Vec<usize>>::new());
        let told_apart = |columns: usize| if by_arguments { columns } else { 0 };
        for AdHoc { table, columns } in ad_hoc.values().flatten() {
            add(&mut levels.of, table.id, told_apart(*columns));
        }
        let known: Vec<_> = planner.known().filter(|(key, _)| used.contains(key)).collect();
        for (key, planned) in &known {
            for (number, space) in planned.notes().iter().enumerate() {
                let mut others = known.iter().flat_map(|(_, other)| other.notes());
                if ad_hoc.contains_key(&space.table.id) || others.any(|other| space.conflicts(other)) {
                    add(&mut levels.of, space.table.id, told_apart(space.columns()));
                    ordered.entry(*key).or_default().push(number);
                } else if with_reads {
                    add(&mut levels.of_reads, space.table.id, space.columns());
                }
            }
        }
        for (key, planned) in known {
            let ordered = ordered.remove(&key).unwrap_or_default();
            let others = (0..planned.notes().len()).filter(|number| with_reads && !ordered.contains(number)).collect();
            let by_columns = |numbers: Vec<usize>, of: &BTreeMap<TableId, usize>| {
                let columns = |space: &KeySpace| space.columns().min(of.get(&space.table.id).copied().unwrap_or(0));
                numbers.into_iter().map(|number| (number, columns(&planned.notes()[number]))).collect::<Vec<_>>()
            };
            let wanted = (by_columns(ordered, &levels.of), by_columns(others, &levels.of_reads));
            levels.unordered.insert(key, planned.want(wanted.0, wanted.1));
        }
        levels
    }
}

/// Notes an access by so many columns.
fn add(levels: &mut BTreeMap<TableId, usize>, table: TableId, columns: usize) {
    if columns > 0 {
        let level = levels.entry(table).or_insert(columns);
        *level = columns.min(*level);
    }
}

impl Links {
    fn begin(&mut self) {
        self.segment = Segment { chained: 1, ..Segment::default() };
        self.accessed.clear();
        self.accesses = 0;
        self.tables.clear();
        self.waits.clear();
        self.reads.clear();
    }

    /// Whether the segment is to end; one `that_stays` has room for more.
    fn is_full(&self, that_stays: bool) -> bool {
        let accesses_max = if that_stays { STAYING_ACCESSES_MAX } else { ACCESSES_MAX };
        self.accesses.max(self.segment.edges.len()) > accesses_max
    }

    /// Returns who has accessed what last.
    fn accesses(&mut self, levels: &Levels) -> Accesses {
        let columns = |of: &BTreeMap<TableId, usize>, table: &TableId| of.get(table).copied().unwrap_or(0);
        let tables = std::mem::take(&mut self.tables).into_iter().map(|(id, of)| {
            let [since, all_reads, whole_reads] = [of.since, of.reads, of.whole_reads].map(LastWaits::new);
            let (columns, read_columns) = (columns(&levels.of, &id), columns(&levels.of_reads, &id));
            (id, LastOfTable { columns, whole: of.whole, since, read_columns, whole_reads, all_reads })
        });
        let [keys, reads] = [&mut self.accessed, &mut self.reads].map(|table| std::mem::take(table).close());
        Accesses { tables: tables.collect(), keys, reads }
    }

    /// Links the next transactions.
    fn link(&mut self, Chunk { touches, groups, .. }: &Chunk, homes: &mut Homes) {
        for group in groups {
            self.waits.push(Waits { chained: 1, last: self.waits.len() as u32 });
            self.segment.homes.push(homes.of(*group));
        }
        touches.iter().take(TOUCHES_AHEAD).for_each(|(_, touch)| self.ask_ahead(touch));
        for (at, (number, touch)) in touches.iter().enumerate() {
            touches.get(at + TOUCHES_AHEAD).into_iter().for_each(|(_, touch)| self.ask_ahead(touch));
            match touch.is_ordered {
                true => self.touch(*number, *touch),
                false => self.read(*number, *touch),
            }
        }
        self.accesses += touches.len();
    }

    /// Asks for the memory of what will be linked.
    fn ask_ahead(&self, touch: &Touch) {
        let table = if touch.is_ordered { &self.accessed } else { &self.reads };
        touch.key.into_iter().for_each(|key| table.prefetch(key));
    }

    /// The transaction with this number reads what nobody changes.
    fn read(&mut self, number: u32, Touch { table, key, .. }: Touch) {
        let of = self.tables.entry(table).or_default();
        push(&mut of.reads, number);
        match key {
            Some(key) => self.reads.read(key, number, |_| {}),
            None => push(&mut of.whole_reads, number),
        }
    }

    /// The transaction with this number accesses something whose order counts.
    fn touch(&mut self, number: u32, touch: Touch) {
        let Links { segment, accessed, tables, waits, .. } = self;
        let mut wait = |other: u32| {
            let Waits { chained, last } = &mut waits[other as usize];
            if std::mem::replace(last, number) != number {
                let chained = *chained + 1;
                let own = &mut waits[number as usize].chained;
                *own = chained.max(*own);
                segment.chained = chained.max(segment.chained);
                segment.edges.push((other, number));
            }
        };
        let table = tables.entry(touch.table).or_default();
        table.whole.into_iter().for_each(&mut wait);
        let Some(key) = touch.key else {
            table.since.drain(..).filter(|_| faults::awaits_rows()).for_each(wait);
            table.whole = Some(number);
            return;
        };
        push(&mut table.since, number);
        // Those of before the whole table was accessed are waited for once more.
        match touch.modifies {
            true => accessed.modify(key, number, wait),
            false => accessed.read(key, number, wait),
        }
    }
}

/// Adds a number to a list in which it may be the last one.
fn push(numbers: &mut Vec<u32>, number: u32) {
    if numbers.last() != Some(&number) {
        numbers.push(number);
    }
}

/// What a transaction writes that was logged as values.
#[derive(Default)]
struct Written {
    tables: Tables,
    /// Whether it changes definitions.
    defines: bool,
}

impl Written {
    fn of(shared: &Shared, scan: &LogScan, record: &LiveRecord<'_>) -> Result<Written, RecoveryError> {
        let mut written = Written::default();
        for_each_write(scan, record, &mut |write| {
            if !written.tables.contains(&write.table) {
                written.tables.push(write.table);
            }
            written.defines |= write.table < TableId::FIRST_USER && !is_reservation(shared, &write);
        })?;
        Ok(written)
    }
}

/// Whether a write reserves values of a sequence that there is. Commands that draw from it have their values in the log.
fn is_reservation(shared: &Shared, write: &LoggedWrite<'_>) -> bool {
    let catalog = &shared.catalog;
    let rows = &catalog.system.sequences.rows;
    let is_there = |bytes: &[u8]| {
        let row = rows.row(bytes);
        let id = SequenceRow::of(&row).id;
        catalog.open_sequences.find(SequenceRow::name(&row), |known| known.id() == id).is_some()
    };
    write.table == SEQUENCES
        && match write.change {
            Change::Put(row) => is_there(row),
            // What drops a sequence and creates another one of its name is logged as a change of its row, too.
            Change::Delta(delta) => !delta.touches(&rows.fixed_range(SEQUENCE_ID)),
            Change::Delete => false,
        }
}

#[cfg(test)]
mod tests {
    use fastrand::Rng;

    use super::super::accesses::hash;
    use super::*;

    fn touch(rng: &mut Rng) -> Touch {
        let table = TableId(rng.u32(0..2));
        let key = (rng.u8(0..8) > 0).then(|| hash(table, &[rng.u8(0..4)]));
        Touch { table, key, modifies: rng.u8(0..3) == 0, is_ordered: true }
    }

    /// Whether the order of two accesses counts, and whether they are kept in order.
    fn conflict(one: &Touch, other: &Touch) -> (bool, bool) {
        let is_whole = one.key.is_none() || other.key.is_none();
        let meets = one.table == other.table && (is_whole || one.key == other.key);
        let counts = meets && (one.modifies || other.modifies);
        (counts, counts || meets && is_whole)
    }

    /// Who conflicts with another one waits for it, if only by way of others, and nobody waits for one that it does not meet.
    #[test]
    fn who_conflicts_waits() {
        for seed in 0..2000 {
            let rng = &mut Rng::with_seed(seed);
            let touches = |rng: &mut Rng| (0..rng.usize(0..5)).map(|_| touch(rng)).collect::<Vec<_>>();
            let all: Vec<_> = (0..rng.usize(1..30)).map(|_| touches(rng)).collect();
            let (mut links, mut homes, mut chunk) = (Links::default(), Homes::new(1), Chunk::default());
            links.begin();
            for (number, touches) in (0..).zip(&all) {
                chunk.groups.push(None);
                chunk.touches.extend(touches.iter().map(|touch| (number, *touch)));
                if rng.bool() {
                    links.link(&std::mem::take(&mut chunk), &mut homes);
                }
            }
            links.link(&chunk, &mut homes);
            let Segment { edges, chained, .. } = links.segment;
            assert!(edges.iter().collect::<BTreeSet<_>>().len() == edges.len(), "seed {seed}: an edge is there twice");
            let conflict = |one: usize, other: usize| {
                let pairs = all[one].iter().flat_map(|one| all[other].iter().map(move |other| conflict(one, other)));
                pairs.fold((false, false), |all, pair| (all.0 || pair.0, all.1 || pair.1))
            };
            let (mut before, mut longest) = (Vec::<BTreeSet<usize>>::new(), Vec::<u32>::new());
            for later in 0..all.len() {
                let direct = edges.iter().filter(|(_, to)| *to as usize == later).map(|(from, _)| *from as usize);
                let direct: BTreeSet<usize> = direct.collect();
                assert!(direct.iter().all(|earlier| conflict(*earlier, later).1), "seed {seed}: {later} waits in vain");
                longest.push(1 + direct.iter().map(|earlier| longest[*earlier]).max().unwrap_or(0));
                let indirect = direct.iter().flat_map(|earlier| before[*earlier].clone()).collect();
                before.push(&direct | &indirect);
                let mut conflicting = (0..later).filter(|earlier| conflict(*earlier, later).0);
                assert!(
                    conflicting.all(|earlier| before[later].contains(&earlier)),
                    "seed {seed}: {later} runs too early"
                );
            }
            assert_eq!(Some(chained), longest.into_iter().max(), "seed {seed}");
        }
    }
}
