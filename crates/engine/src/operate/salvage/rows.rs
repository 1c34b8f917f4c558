//! Reads every row that is still readable, in its newest version. What frozen generations gave up does not count, where there is
//! a manifest that says what that was; for the last one there is no cut, so the result is not consistent.
//!
//! Invariants:
//! - A row comes from a sound block of a checkpoint part or a sound record of the log, of one database.
//! - What changed in a version that cannot be read is not taken: the row stays as it was before, if that can be read, and is
//!   reported.
//! - A row that a part held and that was not read from it lies in a range that is reported.
//! - What the manifest no longer needs is left out and counted: it would bring back rows that were deleted since. Where a part of
//!   the checkpoint is damaged it is read, too, since it may hold what the part lost.

use std::path::Path;
use std::sync::Arc;

use super::damage::Damage;
use super::origin::{self, Origin};
use super::parts::FoundInParts;
use super::report::{LostRows, RowName, SalvageReport};
use super::sound::SoundBatches;
use super::unnamed::Unnamed;
use crate::checkpoint::files;
use crate::checkpoint::format::PartIdentity;
use crate::checkpoint::loader::PartReader;
use crate::config::Config;
use crate::directory::manifest::{FrozenGeneration, Manifest};
use crate::error::{Error, RecoveryError, SalvageError};
use crate::ids::{DatabaseId, Generation, LogOffset};
use crate::io::{Disk, OpenMode};
use crate::log::format::dependency::{Dependency, LsnVector};
use crate::log::format::parts_reader::RecordInParts;
use crate::log::format::payload::values::{Change, LoggedWrite};
use crate::log::format::payload::{PayloadKind, PayloadReader};
use crate::log::format::record::{Entry, RecordHeader};
use crate::log::format::records::Records;
use crate::log::format::segment::{self, Segment};
use crate::log::protocol::recovery_rule::{RecoveryRule, with_rule};
use crate::recovery::chain::Chain;
use crate::recovery::replay::machine::{ReplayBatch, ReplayMachine};
use crate::recovery::replay::values::ValueMachine;
use crate::recovery::replay::waiting::WaitingDeltas;
use crate::table::store::Store;

struct Reader<'r> {
    disk: &'r dyn Disk,
    /// Files of others are not read.
    database: Option<DatabaseId>,
    /// What tells which files are superseded; `None` where all are read.
    manifest: Option<(&'r Manifest, &'r Path)>,
    /// What tells which records of frozen generations count.
    judge: Option<&'r Manifest>,
    machine: ValueMachine,
    report: &'r mut SalvageReport,
    in_parts: FoundInParts,
    files: u64,
}

/// Reads them into `store`.
pub(super) fn read(damaged: &Config, store: &Store, report: &mut SalvageReport) -> Result<(), Error> {
    let (disk, home) = (&*damaged.environment.disk, &damaged.dirs[0]);
    let Origin { database, manifest, unnamed } = origin::of_rows(damaged, report)?;
    let waiting = Arc::new(WaitingDeltas::new());
    let machine = ValueMachine::new(store, damaged, &waiting)?;
    let newest = manifest.as_ref().and_then(|manifest| Some((manifest, manifest.checkpoints.last()?)));
    let mut missing = newest.map_or(Vec::new(), |(manifest, entry)| files::parts_of(home, manifest, entry));
    let (named, others): (Vec<_>, Vec<_>) = origin::parts(damaged)?
        .into_iter()
        .partition(|path| missing.iter().any(|(part, ..)| part.file_name() == path.file_name()));
    let before = report.damages.len();
    let mut reader = Reader {
        disk,
        database,
        manifest: None,
        judge: manifest.as_ref(),
        machine,
        report,
        in_parts: FoundInParts::default(),
        files: 0,
    };
    for path in &named {
        let expected = missing.extract_if(.., |(part, ..)| part.file_name() == path.file_name()).next();
        reader.part(path, expected.map(|(_, part, _)| part))?;
    }
    if missing.is_empty() && reader.report.damages.len() == before {
        reader.manifest = manifest.as_ref().map(|manifest| (manifest, home.as_path()));
    }
    others.iter().try_for_each(|path| reader.part(path, None))?;
    for (path, generation, sequence) in origin::segments(damaged)? {
        reader.segment(&path, generation, sequence)?;
    }
    reader.in_parts.replay(disk, &mut reader.machine, reader.report)?;
    for (path, ..) in missing {
        let (path, what) = unnamed.last(&path).unwrap_or_else(|| (path, "it is missing".to_owned()));
        reader.report.damage(&path, None, what);
        reader.report.lost.push(LostRows::after(&path, None));
    }
    if reader.files == 0 {
        return Err(SalvageError::NothingFound { path: home.clone() }.into());
    }
    reader.report.database = reader.database.map(|database| database.to_string());
    report.outdated.extend(waiting.left().into_iter().map(|row| RowName::new((row.table, row.key))));
    if let Some(manifest) = &manifest {
        expect_chains(damaged, manifest, &unnamed, report);
    }
    Ok(())
}

/// Reports where the files of a stream are not those that the manifest and the stream itself say there are.
fn expect_chains(damaged: &Config, manifest: &Manifest, unnamed: &Unnamed, report: &mut SalvageReport) {
    let (disk, home) = (&*damaged.environment.disk, &damaged.dirs[0]);
    let frozen = manifest.frozen.iter().map(|frozen| (&frozen.layout, Some(frozen)));
    let current = (!manifest.is_closed()).then_some((&manifest.current, None));
    for (layout, frozen) in frozen.chain(current) {
        for stream in 0..layout.streams.len() {
            let (chain, broken) = Chain::find(disk, home, manifest, layout, frozen, stream);
            let broken = broken.map(|broken| Damage::of(&chain.directory, &broken));
            let is_news = |damage: &Damage| {
                unnamed.last(&damage.path).is_none() && report.damages.iter().all(|known| known.path != damage.path)
            };
            report.damages.extend(broken.filter(is_news));
        }
    }
}

/// Whether the manifest of the database in `home` needs a segment no more.
fn is_superseded(manifest: &Manifest, home: &Path, path: &Path, generation: Generation, sequence: u64) -> bool {
    let absolute = |path: &Path| std::path::absolute(path).unwrap_or_else(|_| path.to_owned());
    let Some((stream, directory)) = path.parent().and_then(|stream| Some((stream.file_name()?, stream.parent()?)))
    else {
        return false;
    };
    // As the manifest spells it.
    let mut directories = (0..manifest.directories.len() as u32).map(|index| manifest.directory(home, index));
    let known = directories.find(|known| absolute(known) == absolute(directory));
    known.is_some_and(|known| !manifest.needs(home, &known.join(stream), generation, sequence))
}

/// Whether the newest checkpoint, whose rows were all read, holds what a record did.
fn is_covered(manifest: Option<(&Manifest, &Path)>, record: &RecordHeader<LsnVector>) -> bool {
    let checkpoint = manifest.and_then(|(manifest, _)| manifest.checkpoints.last());
    checkpoint.is_some_and(|checkpoint| checkpoint.covers(record.stamp, record.epoch))
}

/// Whether a record counts as committed: what a frozen generation gave up does not, of others nobody knows.
fn counts(frozen: Option<&FrozenGeneration>, record: &RecordHeader<LsnVector>) -> bool {
    frozen.is_none_or(|frozen| {
        let lives = with_rule!(frozen.layout.protocol, Rule => {
            let raw_dep = <Rule as RecoveryRule>::Dependency::of_vector(&record.raw_dep);
            raw_dep.is_some_and(|raw_dep| Rule::lives(record.stamp, &raw_dep, &Rule::frozen(frozen)))
        });
        lives && record.epoch <= frozen.until
    })
}

impl Reader<'_> {
    /// Tells whether a file of `database` is to be read.
    fn admits(&mut self, path: &Path, database: DatabaseId) -> bool {
        let is_ours = self.database == Some(database);
        if !is_ours {
            self.report.damage(path, None, format!("it belongs to another database, {database}"));
        }
        self.files += u64::from(is_ours);
        is_ours
    }

    /// The sound blocks of a part, also behind damage, and between which rows others are lost; `expected` is what the manifest
    /// says of it.
    fn part(&mut self, path: &Path, expected: Option<PartIdentity>) -> Result<(), Error> {
        let Some(part) = origin::read_part(self.disk, path)? else {
            self.report.damage(path, Some(0), "its header is damaged; none of its rows can be read");
            self.report.lost.push(LostRows::after(path, None));
            return Ok(());
        };
        if !self.admits(path, part.database) {
            return Ok(());
        }
        match expected {
            Some(expected) if expected != part => {
                self.report.damage(path, Some(0), "it is not the part that the manifest names");
            }
            None if self.manifest.is_some() => {
                self.report.superseded_files += 1;
                return Ok(());
            }
            _ => {}
        }
        let file = self.disk.open(path, OpenMode::Read).map_err(SalvageError::io("open", path))?;
        let length = file.len().map_err(SalvageError::io("measure", path))?;
        let mut reader =
            PartReader::open(self.disk, path.to_owned(), part, length).map_err(crate::error::RecoveryError::from)?;
        let mut replay = self.machine.batch();
        let mut lost: Option<LostRows> = None;
        loop {
            let mut first = None;
            let next = reader.next_block(|table, row| {
                replay.write(row.stamp, LoggedWrite { table, key: row.key, change: Change::Put(row.row) });
                first.get_or_insert_with(|| (table, row.key.into()));
            });
            let goes_on = match next {
                Ok(goes_on) => {
                    self.report.lost.extend(lost.take().map(|lost| lost.before(first)));
                    goes_on
                }
                Err(error) => {
                    self.report.damage(path, None, error);
                    lost.get_or_insert_with(|| LostRows::after(path, reader.last()));
                    reader.skip_damage()
                }
            };
            if !goes_on {
                self.report.lost.extend(lost);
                return Ok(());
            }
        }
    }

    /// Every sound record of a segment, also behind damage.
    fn segment(&mut self, path: &Path, generation: Generation, sequence: u64) -> Result<(), Error> {
        let (header, file) = match segment::read_header(self.disk, path) {
            Ok(read) => read,
            Err(error) => {
                self.report.damages.push(Damage::of(path, &RecoveryError::Segment(error)));
                return Ok(());
            }
        };
        if !self.admits(path, header.log.database()) {
            return Ok(());
        }
        if let Some((manifest, home)) = self.manifest
            && is_superseded(manifest, home, path, generation, sequence)
        {
            self.report.superseded_files += 1;
            return Ok(());
        }
        let length = file.len().map_err(SalvageError::io("measure", path))?;
        if length < header.bytes {
            self.report.damages.push(Damage::short(path, length, header.bytes));
        }
        let segment = Segment { path: path.to_owned(), header, file };
        self.in_parts.enter(&segment);
        let mut batches = SoundBatches::new(&segment, header.base);
        while let Some((before, batch)) = batches.next()? {
            if before < batch.offset {
                let what = format!("no batch up to byte {}", header.position(batch.offset));
                self.report.damage(path, Some(header.position(before)), what);
            }
            if let Some((at, what)) = self.records(&header, batches.bytes(), batch.offset) {
                self.report.damage(path, Some(header.position(batch.offset) + at as u64), what);
            }
        }
        Ok(())
    }

    /// Replays the records of a batch up to the first that is unsound; returns where that is and what is wrong. A segment does
    /// not say which protocol wrote it, and there may be no manifest that does: records depend on a stamp under all of them.
    fn records(&mut self, header: &segment::SegmentHeader, bytes: &[u8], offset: LogOffset) -> Option<(usize, String)> {
        let frozen = self.judge.and_then(|manifest| manifest.frozen_generation(header.log.generation()));
        let mut replay = self.machine.batch();
        let mut records = Records::<LsnVector>::new(&header.log, offset, bytes);
        while let Some((offset, entry)) = records.next() {
            match entry {
                Ok(Entry::Record(record)) => {
                    self.report.records += 1;
                    if !counts(frozen, &record.header()) {
                        continue;
                    }
                    if let PayloadReader::InParts(named) = record.payload() {
                        let RecordHeader { stamp, write_count: writes, .. } = record.header();
                        // Its first parts may be given up, and every row that it left was read.
                        if !is_covered(self.manifest, &record.header()) {
                            self.in_parts.note(RecordInParts { offset, stamp, writes, named });
                        }
                        continue;
                    }
                    if record.kind() == PayloadKind::Command {
                        self.report.commands += u64::from(!is_covered(self.manifest, &record.header()));
                        continue;
                    }
                    self.report.replayed += 1;
                    replay.replay(&record);
                }
                Ok(Entry::Part(_) | Entry::Skip(_)) => {}
                Err(error) => return Some((records.sound_bytes(), error.to_string())),
            }
        }
        None
    }
}
