//! Import: reads an export, checks all of it, and makes its tables, rows, sequences and procedures.
//!
//! Invariants:
//! - An import into a database that was there before is one transaction: all of it is there, or nothing.
//! - A new database gets its rows in bounded transactions, and does not open until everything is in it.
//! - Procedures are defined as they were, also those that their database could not call any more.

use std::fmt;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use serde::{Deserialize, Serialize};

use super::file::LineReader;
use super::lines::{ProcedureLine, SequenceLine, TableLine};
use super::manifest::{Contents, ListedFile, Manifest};
use super::{ExportedTable, others, row, tables};
use crate::call::Replayer;
use crate::catalog::procedure::{ProcedureKind, VersionKey};
use crate::config::{Config, Create, Protocol};
use crate::database::Database;
use crate::directory::{self, Claim};
use crate::error::{Error, ExportError, TransactionError};
use crate::ids::ProcedureVersion;
use crate::io::Disk;
use crate::procedure::program::Program;
use crate::procedure::stored;
use crate::table::{Datum, KeyBuf, KeyCodec, Schema, Table, Value};
use crate::transaction::Transaction;
use crate::units::{bytes, count};

/// So many rows are inserted at a time, ...
const ROWS_AT_ONCE: usize = 1000;
/// ... and no more of them when their lines are so long.
const BYTES_AT_ONCE: usize = 1 << 20;

/// What was imported.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct ImportReport {
    /// The export.
    pub source: PathBuf,
    /// The first directory of the database.
    pub home: PathBuf,
    /// When the export was written.
    pub taken: String,
    /// The tables.
    pub tables: Vec<ExportedTable>,
    /// How many sequences there were.
    pub sequences: u64,
    /// How many procedures there were.
    pub procedures: u64,
    /// Procedures of the exported database that are functions of a program: they are there when a program opens the database with
    /// them.
    pub functions: Vec<String>,
    /// Rows of all tables.
    pub rows: u64,
}

impl fmt::Display for ImportReport {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let ImportReport { source, home, taken, tables, sequences, procedures, functions, rows } = self;
        let (rows, of) = (count(*rows, "row"), count(tables.len() as u64, "table"));
        writeln!(f, "imported into {}: {rows} of {of}", home.display())?;
        write!(f, "  from      {}, of {taken}", source.display())?;
        for ExportedTable { name, rows, bytes: size, .. } in tables {
            write!(f, "\n  table     {name}: {}, {}", count(*rows, "row"), bytes(*size))?;
        }
        write!(f, "\n  besides   {}, {}", count(*sequences, "sequence"), count(*procedures, "procedure"))?;
        functions.iter().try_for_each(|name| write!(f, "\n  left out  {name}, a function of the program that had it"))
    }
}

/// Makes a database of an export, in directories that are empty or missing. It does not open until everything is in it.
///
/// # Errors
/// Those of [`Database::import`]; [`ExportError::Occupied`] where a directory holds anything. Where the export is damaged nothing
/// was created; where something fails later, the directories are to be removed.
pub fn import(config: Config, source: &Path) -> Result<ImportReport, Error> {
    config.check()?;
    let (disk, home) = (config.environment.disk.clone(), config.dirs[0].clone());
    let disk = &*disk;
    for dir in &config.dirs {
        directory::refuse_overlap(disk, [dir.as_path()], source)?;
        if disk.exists(dir).map_err(ExportError::io("look for", dir))? && directory::holds_anything(disk, dir)? {
            return Err(ExportError::Occupied { path: dir.clone() }.into());
        }
    }
    let checked = Checked::read(disk, source)?;
    let config = Config { create: Create::New, checkpoint_at_close: true, ..config };
    let (claim, found) = Claim::take(&config)?;
    if found.is_some() || claim.occupant()?.is_some() {
        return Err(ExportError::Occupied { path: home }.into());
    }
    directory::mark_unfinished(disk, &home)?;
    let db = Database::open_claimed(config, Some((claim, None)), &mut Replayer::default())?;
    let report = db.fill(&checked, source)?;
    db.close()?;
    directory::unmark(disk, &home)?;
    Ok(report)
}

impl Database {
    /// Creates the tables, sequences and procedures of an export and inserts the rows, in one transaction. Everything in the
    /// export is read and checked before, and all is durable when this returns.
    ///
    /// # Errors [`Error::Export`] where there is no whole export in `source`, one of its files is damaged, missing or foreign,
    /// or the database has a table, a sequence or a procedure of a name in it; [`Error::Transaction`] where a row is beyond a
    /// limit of the settings, or all of them are beyond `transaction_bytes_max`: [`import`] makes a new database in smaller
    /// steps. The database is as it was then.
    pub fn import(&self, source: &Path) -> Result<ImportReport, Error> {
        let disk = &*self.config().environment.disk;
        let manifest = Manifest::load(disk, source)?;
        // Before everything is read, which may take long.
        for name in manifest.files.iter().filter_map(ListedFile::table) {
            match self.table(name) {
                Ok(_) => return Err(self.exists("table", name).into()),
                Err(Error::Transaction(TransactionError::UnknownTable { .. })) => {}
                Err(error) => return Err(error),
            }
        }
        let checked = Checked::read(disk, source)?;
        let ((), receipt) = self.run(|tx| {
            let made = checked.define(self, tx)?;
            checked.load(disk, source, &made, |table, rows| insert(tx, table, rows))
        })?;
        receipt.wait()?;
        if self.config().protocol == Protocol::None {
            self.checkpoint()?;
        }
        Ok(self.report(&checked, source))
    }

    /// Puts an export into a database that is new, in many transactions.
    fn fill(&self, checked: &Checked, source: &Path) -> Result<ImportReport, Error> {
        let (made, _) = self.run(|tx| checked.define(self, tx))?;
        let mut session = self.session()?;
        let disk = &*self.config().environment.disk;
        checked.load(disk, source, &made, |table, rows| session.run(|tx| insert(tx, table, rows)).map(|_| ()))?;
        // Everything that has committed, these among it.
        self.snapshot()?.receipt().wait()?;
        if self.config().protocol == Protocol::None {
            self.checkpoint()?;
        }
        Ok(self.report(checked, source))
    }

    fn report(&self, checked: &Checked, source: &Path) -> ImportReport {
        let (tables, (sequences, procedures)) = (tables(&checked.manifest), others(&checked.manifest));
        ImportReport {
            source: source.to_owned(),
            home: self.config().dirs[0].clone(),
            taken: checked.manifest.taken.clone(),
            rows: tables.iter().map(|table| table.rows).sum(),
            tables,
            sequences,
            procedures,
            functions: checked.manifest.functions.clone(),
        }
    }

    fn exists(&self, kind: &'static str, name: &str) -> ExportError {
        ExportError::Exists { kind, name: name.to_owned(), home: self.config().dirs[0].clone() }
    }
}

/// An export of which every byte was read, and found to be what was written.
struct Checked {
    manifest: Manifest,
    /// In the order of their files.
    schemas: Vec<Schema>,
    sequences: Vec<SequenceLine>,
    programs: Vec<Program>,
}

impl Checked {
    fn read(disk: &dyn Disk, source: &Path) -> Result<Checked, ExportError> {
        let manifest = Manifest::load(disk, source)?;
        let (mut schemas, mut sequences, mut programs) = (Vec::new(), Vec::new(), Vec::new());
        for file in &manifest.files {
            let mut reader = LineReader::open(disk, source, file)?;
            match &file.holds {
                Contents::Table(name) => schemas.push(check_rows(&mut reader, name, file.rows)?),
                Contents::Sequences => sequences = check_sequences(&mut reader, file.rows)?,
                Contents::Procedures => programs = check_procedures(&mut reader, file.rows)?,
            }
        }
        Ok(Checked { manifest, schemas, sequences, programs })
    }

    /// Reads the rows of all tables once more, checked as before, and gives some of them at a time to `insert`.
    fn load(
        &self,
        disk: &dyn Disk,
        source: &Path,
        made: &[Table],
        mut insert: impl FnMut(&Table, &[Vec<Datum>]) -> Result<(), Error>,
    ) -> Result<(), Error> {
        let files = self.manifest.files.iter().filter(|file| file.table().is_some());
        for (file, table) in files.zip(made) {
            let mut reader = LineReader::open(disk, source, file)?;
            read_schema(&mut reader, table.name())?;
            let (mut batch, mut bytes) = (Vec::with_capacity(ROWS_AT_ONCE), 0);
            while let Some(line) = reader.next()? {
                bytes += line.len();
                let row = row::decode(table.schema(), line);
                batch.push(row.map_err(|what| reader.damaged(what))?);
                if batch.len() >= ROWS_AT_ONCE || bytes >= BYTES_AT_ONCE {
                    insert(table, &batch)?;
                    (bytes, _) = (0, batch.clear());
                }
            }
            insert(table, &batch)?;
        }
        Ok(())
    }

    /// Makes everything but rows.
    fn define(&self, db: &Database, tx: &Transaction<'_>) -> Result<Vec<Table>, Error> {
        let mut made = Vec::with_capacity(self.schemas.len());
        for schema in &self.schemas {
            made.push(tx.create_table(schema.clone()).map_err(|error| match error {
                Error::Transaction(TransactionError::TableExists { table }) => db.exists("table", &table).into(),
                error => error,
            })?);
        }
        for sequence in &self.sequences {
            define_sequence(tx, sequence).map_err(|error| match error {
                Error::Transaction(TransactionError::SequenceExists { sequence }) => {
                    db.exists("sequence", &sequence).into()
                }
                error => error,
            })?;
        }
        for program in &self.programs {
            if tx.procedure_definition(&program.name)?.is_some() {
                return Err(db.exists("procedure", &program.name).into());
            }
            let of = VersionKey { id: tx.next_procedure_id(), version: ProcedureVersion(1) };
            tx.write_procedure(&program.name, of, ProcedureKind::Declared, &stored::encode(program))?;
        }
        Ok(made)
    }
}

fn define_sequence(tx: &Transaction<'_>, line: &SequenceLine) -> Result<(), Error> {
    let sequence = tx.create_sequence(&line.options())?;
    tx.restart_sequence(&sequence, Some(line.next.unwrap_or(line.last())))?;
    if line.next.is_none() {
        tx.next_value(&sequence)?;
    }
    Ok(())
}

/// Takes the first line of a table's file.
fn read_schema(reader: &mut LineReader<'_>, name: &str) -> Result<Schema, ExportError> {
    let line = reader.next()?.map(serde_json::from_str::<TableLine>);
    let line = match line {
        Some(line) => line.map_err(|error| reader.damaged(error.to_string()))?,
        None => return Err(reader.damaged_file("it has no lines".to_owned())),
    };
    if line.table != name {
        return Err(reader.damaged(format!("it is of table `{}`, and should be of `{name}`", line.table)));
    }
    line.schema().map_err(|what| reader.damaged(what))
}

/// Checks a table's file: each row, that their keys ascend, and how many they are.
fn check_rows(reader: &mut LineReader<'_>, name: &str, expected: u64) -> Result<Schema, ExportError> {
    let schema = Arc::new(read_schema(reader, name)?);
    let keys = KeyCodec::primary(schema.clone());
    let (mut rows, mut last) = (0, None::<KeyBuf>);
    while let Some(line) = reader.next()? {
        let checked = row::decode(&schema, line).and_then(|row| {
            let key = keys.of_values(&values(&row)).map_err(|error| error.to_string())?;
            let ascends = last.as_ref().is_none_or(|last| last.as_bytes() < key.as_bytes());
            if ascends { Ok(key) } else { Err("its key is not behind that of the row before".to_owned()) }
        });
        last = Some(checked.map_err(|what| reader.damaged(what))?);
        rows += 1;
    }
    expect_rows(reader, rows, expected)?;
    Ok(Schema::clone(&schema))
}

fn check_sequences(reader: &mut LineReader<'_>, expected: u64) -> Result<Vec<SequenceLine>, ExportError> {
    let mut sequences: Vec<SequenceLine> = Vec::new();
    while let Some(line) = reader.next()? {
        let read = serde_json::from_str::<SequenceLine>(line).map_err(|error| error.to_string());
        let checked = read.and_then(|sequence| match sequence.flaw() {
            Some(what) => Err(what),
            None => Ok(sequence),
        });
        sequences.push(checked.map_err(|what| reader.damaged(what))?);
    }
    expect_names(reader, sequences.iter().map(|sequence| &sequence.sequence))?;
    expect_rows(reader, sequences.len() as u64, expected)?;
    Ok(sequences)
}

fn check_procedures(reader: &mut LineReader<'_>, expected: u64) -> Result<Vec<Program>, ExportError> {
    let mut programs: Vec<Program> = Vec::new();
    while let Some(line) = reader.next()? {
        let read = serde_json::from_str::<ProcedureLine>(line).map_err(|error| error.to_string());
        programs.push(read.and_then(|line| line.program()).map_err(|what| reader.damaged(what))?);
    }
    expect_names(reader, programs.iter().map(|program| &program.name))?;
    expect_rows(reader, programs.len() as u64, expected)?;
    Ok(programs)
}

fn expect_names<'n>(reader: &LineReader<'_>, names: impl Iterator<Item = &'n String>) -> Result<(), ExportError> {
    match names.is_sorted_by(|one, next| one < next) {
        true => Ok(()),
        false => Err(reader.damaged_file("its names do not ascend".to_owned())),
    }
}

fn expect_rows(reader: &LineReader<'_>, rows: u64, expected: u64) -> Result<(), ExportError> {
    match rows == expected {
        true => Ok(()),
        false => Err(reader.damaged_file(format!("it holds {} and had {expected}", count(rows, "row")))),
    }
}

fn values(row: &[Datum]) -> Vec<Value<'_>> {
    row.iter().map(|datum| datum.value().expect("a column holds no array")).collect()
}

fn insert(tx: &Transaction<'_>, table: &Table, rows: &[Vec<Datum>]) -> Result<(), Error> {
    rows.iter().try_for_each(|row| tx.insert(table, &values(row)))
}
