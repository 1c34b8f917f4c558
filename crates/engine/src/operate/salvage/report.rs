//! What a salvage found damaged, left out and saved.

use std::fmt;
use std::path::{Path, PathBuf};

use serde::Serialize;

use super::damage::Damage;
use super::reach::Reach;
use crate::checkpoint::loader::RowKey;
use crate::table::Table;
use crate::units::count;

/// A database that was made of what another one provably held.
#[derive(Clone, Debug, Serialize)]
#[non_exhaustive]
pub struct SalvageReport {
    /// The damaged database's first directory.
    pub home: PathBuf,
    /// The new one's.
    pub target: PathBuf,
    /// Whether the new one is a consistent state; else rows, each in the newest version that could be read.
    pub consistent: bool,
    /// The damaged database, where that is known.
    pub database: Option<String>,
    /// What is wrong with its files.
    pub damages: Vec<Damage>,
    /// Between which rows a checkpoint held others that could not be read from it; the log may have had newer images of them.
    pub lost: Vec<LostRows>,
    /// Rows of which later changes were read and not the versions that they change: they are in the new database as they were
    /// before,
    /// or not at all where nothing earlier could be read either.
    pub outdated: Vec<RowName>,
    /// Up to which stamp transactions count, where damage made it less; beyond only those that read nothing beyond.
    pub cut: Option<u64>,
    /// How far what was saved reaches; `None` where nothing says, and for rows.
    pub reach: Option<Reach>,
    /// Transactions of the log that can be read and are not in the new database; those that cannot be read are not counted. After
    /// a crash also those that were never acknowledged.
    pub left_out: u64,
    /// Transactions that are logged as commands and that no checkpoint holds, where rows are salvaged: what they wrote is not in
    /// the log.
    pub commands: u64,
    /// Generations that are left out because they follow one that is damaged.
    pub skipped_generations: Vec<u64>,
    /// The checkpoint that was loaded.
    pub checkpoint: Option<u64>,
    /// Files that were left out because the manifest needs them no more; 0 where all were read.
    pub superseded_files: u64,
    /// Transactions that were read.
    pub records: u64,
    /// Of these, how many were replayed; the others are in the checkpoint or do not count.
    pub replayed: u64,
    /// What was written.
    pub tables: Vec<SalvagedTable>,
    /// Rows of tables whose definition is lost.
    pub nameless_rows: u64,
}

/// What a part of a checkpoint held between two rows, neither of which is lost. Its rows ascend by the tables' ids, then by key.
#[derive(Clone, Debug, Serialize)]
#[non_exhaustive]
pub struct LostRows {
    /// The file.
    pub path: PathBuf,
    /// The last row before them; `None`: from the beginning of the part.
    pub after: Option<RowName>,
    /// The first row behind them; `None`: to the end of the part.
    pub before: Option<RowName>,
}

impl LostRows {
    pub(super) fn after(path: &Path, row: Option<RowKey>) -> LostRows {
        LostRows { path: path.to_owned(), after: row.map(RowName::new), before: None }
    }

    pub(super) fn before(self, row: Option<RowKey>) -> LostRows {
        LostRows { before: row.map(RowName::new), ..self }
    }
}

/// Names a row.
#[derive(Clone, Debug, Serialize)]
#[non_exhaustive]
pub struct RowName {
    /// The table's id.
    pub table_id: u32,
    /// Its name, where its definition is not lost.
    pub table: Option<String>,
    /// The values of the key, or its bytes in hexadecimal where the definition is lost.
    pub key: String,
    #[serde(skip)]
    bytes: Box<[u8]>,
}

impl RowName {
    pub(super) fn new((table, bytes): RowKey) -> RowName {
        let key = bytes.iter().map(|byte| format!("{byte:02x}")).collect();
        RowName { table_id: table.0, table: None, key, bytes }
    }
}

impl fmt::Display for RowName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.table {
            Some(table) => write!(f, "{table} {}", self.key),
            None => write!(f, "table {} key {}", self.table_id, self.key),
        }
    }
}

/// A table in the new database.
#[derive(Clone, Debug, Serialize)]
#[non_exhaustive]
pub struct SalvagedTable {
    /// Its name.
    pub name: String,
    /// Rows that were written.
    pub rows: u64,
    /// Rows that were not: another row has their key in a unique index, or their bytes do not fit the definition.
    pub refused: u64,
}

impl SalvageReport {
    pub(super) fn new(home: PathBuf, target: PathBuf, consistent: bool) -> SalvageReport {
        SalvageReport {
            home,
            target,
            consistent,
            database: None,
            damages: Vec::new(),
            lost: Vec::new(),
            outdated: Vec::new(),
            cut: None,
            reach: None,
            left_out: 0,
            commands: 0,
            skipped_generations: Vec::new(),
            checkpoint: None,
            superseded_files: 0,
            records: 0,
            replayed: 0,
            tables: Vec::new(),
            nameless_rows: 0,
        }
    }

    pub(super) fn damage(&mut self, path: impl Into<PathBuf>, position: Option<u64>, what: impl fmt::Display) {
        self.damages.push(Damage::new(path, position, what));
    }

    /// Whether there is damage and the new database is empty.
    pub fn saved_nothing(&self) -> bool {
        !self.damages.is_empty() && self.tables.iter().all(|table| table.rows == 0)
    }

    /// Prints what can be read and is not in the new database.
    fn write_left_out(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.left_out > 0 {
            let why = match self.damages.is_empty() {
                true => "nobody was told that they are durable",
                false => "they follow what is damaged, or may rest on it, or nobody was told that they are durable",
            };
            writeln!(f, "  left out {} of the log that can be read: {why}", count(self.left_out, "transaction"))?;
        }
        if self.commands > 0 {
            let commands = count(self.commands, "transaction");
            writeln!(f, "  left out {commands} logged as commands: the log does not hold the rows that they wrote")?;
        }
        Ok(())
    }

    /// Names the rows of `table` around those that are lost, now that its definition is known.
    pub(super) fn name_rows(&mut self, table: &Table) {
        let rows = self.lost.iter_mut().flat_map(|lost| [&mut lost.after, &mut lost.before]).flatten();
        let rows = rows.chain(&mut self.outdated);
        for row in rows.filter(|row| row.table_id == table.id.0) {
            (row.table, row.key) = (Some(table.name().to_owned()), table.keys.describe(&row.bytes));
        }
    }
}

impl fmt::Display for SalvageReport {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (from, target) = (self.home.display(), self.target.display());
        let database = self.database.as_ref().map_or(String::new(), |database| format!(" {database}"));
        let what = match (self.saved_nothing(), self.consistent) {
            (true, _) => "no row",
            (false, true) => "a consistent state",
            (false, false) => "rows, which promise no consistency,",
        };
        writeln!(f, "salvaged {what} of the database{database} in {from} to {target}")?;
        for Damage { path, position, what } in &self.damages {
            let at = position.map_or(String::new(), |position| format!(" at byte {position}"));
            writeln!(f, "  damage   {}{at}: {what}", path.display())?;
        }
        for LostRows { path, after, before } in &self.lost {
            let from = after.as_ref().map_or("from its beginning".to_owned(), |row| format!("after {row}"));
            let to = before.as_ref().map_or("to its end".to_owned(), |row| format!("before {row}"));
            writeln!(f, "  lost     what {} held {from}, {to}", path.display())?;
        }
        for row in &self.outdated {
            writeln!(
                f,
                "  outdated {row}: what changed in it later can be read, the version in which it changed cannot or does not count"
            )?;
        }
        if let Some(cut) = self.cut {
            writeln!(
                f,
                "  cut      transactions count up to stamp {cut}, and above it as far as their protocol lets them"
            )?;
        }
        if let Some(Reach { epoch, time }) = self.reach.as_ref().filter(|_| !self.saved_nothing()) {
            let time = time.as_ref().map_or(String::new(), |time| format!(", {time}"));
            writeln!(f, "  reaches  the newest that is saved is of epoch {epoch}{time}")?;
        }
        self.write_left_out(f)?;
        for generation in &self.skipped_generations {
            writeln!(f, "  skipped  generation {generation}, which may rest on what is lost")?;
        }
        if let Some(checkpoint) = self.checkpoint {
            writeln!(f, "  loaded   checkpoint {checkpoint}")?;
        }
        if self.superseded_files > 0 {
            writeln!(f, "  skipped  {} that the manifest needs no more", count(self.superseded_files, "file"))?;
        }
        writeln!(f, "  read     {} of the log, {} replayed", count(self.records, "transaction"), self.replayed)?;
        if self.nameless_rows > 0 {
            writeln!(f, "  lost     {} of tables whose definition is lost", count(self.nameless_rows, "row"))?;
        }
        for SalvagedTable { name, rows, refused } in &self.tables {
            let refused = if *refused > 0 { format!(", {refused} refused") } else { String::new() };
            writeln!(f, "  saved    {} of {name}{refused}", count(*rows, "row"))?;
        }
        match (self.damages.is_empty(), self.saved_nothing(), self.consistent) {
            (true, ..) => write!(f, "no damage was found"),
            (false, true, true) => write!(f, "nothing is proven of any row: the new database holds none"),
            (false, true, false) => {
                write!(f, "no row can be read that belongs to a table: the new database holds none")
            }
            (false, false, true) => {
                write!(
                    f,
                    "transactions in the damaged places, and those that may rest on them, are not in the new database"
                )
            }
            (false, false, false) => write!(f, "rows that only the damaged places held are not in the new database"),
        }
    }
}
