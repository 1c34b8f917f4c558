//! What a salvage found damaged, left out and saved.

use std::fmt;
use std::path::PathBuf;

use serde::Serialize;

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
    /// Up to which stamp transactions count, where damage made it less; beyond only those that read nothing beyond.
    pub cut: Option<u64>,
    /// Generations that are left out because they follow one that is damaged.
    pub skipped_generations: Vec<u64>,
    /// The checkpoint that was loaded.
    pub checkpoint: Option<u64>,
    /// Transactions that were read.
    pub records: u64,
    /// Of these, how many were replayed; the others are in the checkpoint or do not count.
    pub replayed: u64,
    /// What was written.
    pub tables: Vec<SalvagedTable>,
    /// Rows of tables whose definition is lost.
    pub nameless_rows: u64,
}

/// Something that is not as it was written.
#[derive(Clone, Debug, Serialize)]
#[non_exhaustive]
pub struct Damage {
    /// The file or directory.
    pub path: PathBuf,
    /// Where in the file, where that is known.
    pub position: Option<u64>,
    /// What is wrong.
    pub what: String,
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
            cut: None,
            skipped_generations: Vec::new(),
            checkpoint: None,
            records: 0,
            replayed: 0,
            tables: Vec::new(),
            nameless_rows: 0,
        }
    }

    pub(super) fn damage(&mut self, path: impl Into<PathBuf>, position: Option<u64>, what: impl fmt::Display) {
        self.damages.push(Damage { path: path.into(), position, what: what.to_string() });
    }
}

impl fmt::Display for SalvageReport {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (from, target) = (self.home.display(), self.target.display());
        let what = if self.consistent { "a consistent state" } else { "rows, which promise no consistency," };
        writeln!(f, "salvaged {what} of the database in {from} to {target}")?;
        for Damage { path, position, what } in &self.damages {
            let at = position.map_or(String::new(), |position| format!(" at byte {position}"));
            writeln!(f, "  damage   {}{at}: {what}", path.display())?;
        }
        if let Some(cut) = self.cut {
            writeln!(f, "  cut      transactions count up to stamp {cut}, and beyond if they read nothing beyond")?;
        }
        for generation in &self.skipped_generations {
            writeln!(f, "  skipped  generation {generation}, which may rest on what is lost")?;
        }
        if let Some(checkpoint) = self.checkpoint {
            writeln!(f, "  loaded   checkpoint {checkpoint}")?;
        }
        writeln!(f, "  read     {} transactions of the log, {} replayed", self.records, self.replayed)?;
        if self.nameless_rows > 0 {
            writeln!(f, "  lost     {} rows of tables whose definition is lost", self.nameless_rows)?;
        }
        for SalvagedTable { name, rows, refused } in &self.tables {
            let refused = if *refused > 0 { format!(", {refused} refused") } else { String::new() };
            writeln!(f, "  saved    {rows} rows of {name}{refused}")?;
        }
        if self.damages.is_empty() {
            write!(f, "no damage was found")
        } else {
            write!(f, "what else was there is missing")
        }
    }
}
