//! Exports: the rows of all tables at one snapshot as lines of JSON, with schemas, sequences and procedures, for other programs
//! and for other databases (docs/export-format.md).
//!
//! ```text
//! export:  claim the directory -> a file for each table, for sequences and for procedures, each synced -> wait until all of that
//!          is durable in the database -> manifest
//! import:  manifest -> read and check every line -> definitions and rows, in one transaction, or where the database is new in
//!          several -> wait until durable
//! ```
//!
//! Invariants:
//! - The rows of an export are those of one snapshot, and no crash of the database takes any of them back.
//! - A directory holds a whole export, or the temporary manifest says that it does not.
//! - An export changes nothing in its directory unless the temporary manifest that it created lies there ([`target`]): what was
//!   moved, removed or replaced meanwhile is another one's. It removes no file but those that it has created.
//! - An import changes nothing before every byte was found to be what was written. It replaces nothing.
//!
//! Deliberately absent: parts of a database, other formats, compression, and more than one thread.

mod file;
mod import;
mod lines;
mod manifest;
mod row;
mod target;

use std::fmt;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

pub use import::{ImportReport, import};

use crate::catalog::procedure::{ProcedureDefinition, ProcedureKind, VersionKey};
use crate::catalog::sequence::SequenceRow;
use crate::database::Database;
use crate::directory;
use crate::error::Error;
use crate::ids::WallTime;
use crate::procedure::program::Program;
use crate::procedure::stored;
use crate::table::{KeyRange, Row, SchemaError};
use crate::transaction::Transaction;
use crate::transaction::snapshot::Snapshot;
use crate::units::{bytes, count};
use file::LineWriter;
use lines::{ProcedureLine, SequenceLine, TableLine};
use manifest::{Contents, ListedFile, Manifest};
use target::Target;

/// An export that is whole.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct ExportReport {
    /// Where it is.
    pub target: PathBuf,
    /// When it was written.
    pub taken: String,
    /// The epoch at whose end the snapshot is.
    pub epoch: u64,
    /// The tables.
    pub tables: Vec<ExportedTable>,
    /// How many sequences there are.
    pub sequences: u64,
    /// How many procedures there are.
    pub procedures: u64,
    /// Procedures that are functions of a program, and so not in it.
    pub functions: Vec<String>,
    /// Rows of all tables.
    pub rows: u64,
    /// Of all files but the manifest.
    pub bytes: u64,
}

/// A table of an export.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct ExportedTable {
    /// Its name.
    pub name: String,
    /// The file in the export.
    pub file: String,
    /// Its rows.
    pub rows: u64,
    /// Of the file.
    pub bytes: u64,
}

impl fmt::Display for ExportReport {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let ExportReport { target, taken, epoch, tables, sequences, procedures, functions, rows, bytes: all } = self;
        let (rows, all) = (count(*rows, "row"), bytes(*all));
        writeln!(f, "export in {}: {rows} of {}, {all}", target.display(), count(tables.len() as u64, "table"))?;
        write!(f, "  as of     the end of epoch {epoch}, at {taken}")?;
        for ExportedTable { name, file, rows, bytes: size } in tables {
            write!(f, "\n  table     {name}: {} in {file}, {}", count(*rows, "row"), bytes(*size))?;
        }
        write!(f, "\n  besides   {}, {}", count(*sequences, "sequence"), count(*procedures, "procedure"))?;
        functions.iter().try_for_each(|name| write!(f, "\n  left out  {name}, a function of the program that has it"))
    }
}

/// The tables that a manifest lists.
fn tables(manifest: &Manifest) -> Vec<ExportedTable> {
    let table = |file: &ListedFile| {
        let ListedFile { name, rows, bytes, .. } = file;
        let (file_name, rows, bytes) = (name.clone(), *rows, *bytes);
        file.table().map(|name| ExportedTable { name: name.to_owned(), file: file_name, rows, bytes })
    };
    manifest.files.iter().filter_map(table).collect()
}

/// How many sequences and procedures a manifest lists.
fn others(manifest: &Manifest) -> (u64, u64) {
    let rows = |holds: Contents| manifest.files.iter().filter(|file| file.holds == holds).map(|file| file.rows).sum();
    (rows(Contents::Sequences), rows(Contents::Procedures))
}

impl Database {
    /// Writes what `snapshot` holds to `dir`, a directory that is empty or missing: the rows of all tables, their schemas,
    /// sequences and declared procedures. Transactions go on meanwhile; what they change is kept for the snapshot. When this
    /// returns the export is on disk, and so is, in the database, everything in it.
    ///
    /// # Errors
    /// [`Error::Export`] where `dir` is not empty or cannot be written; [`Error::Directory`] where it lies among the directories
    /// of the database; [`TransactionError::SnapshotEnded`](crate::TransactionError::SnapshotEnded). What was written is
    /// removed then.
    pub fn export(&self, snapshot: &Snapshot, dir: &Path) -> Result<ExportReport, Error> {
        let config = self.config();
        let disk = &*config.environment.disk;
        let mut session = self.session()?;
        let tx = session.begin_at(snapshot)?;
        directory::refuse_overlap(disk, config.dirs.iter().map(PathBuf::as_path), dir)?;
        let target = Target::claim(disk, dir)?;
        let exported = write(&target, &tx).and_then(|(files, functions)| {
            tx.commit()?.wait()?;
            let database = self.inner.retention.read(|_, _, manifest| manifest.database.to_string());
            let taken = WallTime::now(&*config.environment.clock).to_string();
            let manifest = Manifest::new(database, snapshot.epoch().0, taken, functions, files);
            target.complete(&manifest)?;
            Ok(manifest)
        });
        let manifest = exported.inspect_err(|_| target.remove())?;
        let (tables, (sequences, procedures)) = (tables(&manifest), others(&manifest));
        Ok(ExportReport {
            target: dir.to_owned(),
            rows: tables.iter().map(|table| table.rows).sum(),
            bytes: manifest.files.iter().map(|file| file.bytes).sum(),
            taken: manifest.taken,
            epoch: manifest.epoch,
            functions: manifest.functions,
            tables,
            sequences,
            procedures,
        })
    }
}

/// Writes all files but the manifest; returns them, and the names of functions.
fn write(target: &Target<'_>, tx: &Transaction<'_>) -> Result<(Vec<ListedFile>, Vec<String>), Error> {
    let system = tx.table("osier_tables")?;
    let name = system.column("name")?;
    let names: Result<Vec<String>, Error> =
        tx.scan(&system, KeyRange::all())?.map(|row| Ok(row?.text(name).to_owned())).collect();
    let mut files = Vec::new();
    for name in names? {
        let holds = Contents::Table(name);
        let file = target.create(holds.file_name(files.len()))?;
        files.push(write_table(file, holds, tx)?);
    }
    files.push(write_sequences(target.create(Contents::Sequences.file_name(0))?, tx)?);
    let (procedures, functions) = write_procedures(target.create(Contents::Procedures.file_name(0))?, tx)?;
    files.push(procedures);
    Ok((files, functions))
}

fn write_table(mut file: LineWriter, holds: Contents, tx: &Transaction<'_>) -> Result<ListedFile, Error> {
    let Contents::Table(name) = &holds else { unreachable!("a table has rows") };
    let table = tx.table(name)?;
    let schema = TableLine::of(table.schema());
    file.line(|line| put(line, &schema))?;
    let mut rows = 0;
    for row in tx.scan(&table, KeyRange::all())? {
        let row = row?;
        file.line(|line| row::encode(&row, line))?;
        rows += 1;
    }
    Ok(file.finish(holds, rows)?)
}

fn write_sequences(mut file: LineWriter, tx: &Transaction<'_>) -> Result<ListedFile, Error> {
    let mut rows = 0;
    let system = tx.table("osier_sequences")?;
    for row in tx.scan(&system, KeyRange::all())? {
        let row = row?;
        let sequence = SequenceLine::of(SequenceRow::name(&row), &SequenceRow::of(&row));
        file.line(|line| put(line, &sequence))?;
        rows += 1;
    }
    Ok(file.finish(Contents::Sequences, rows)?)
}

fn write_procedures(mut file: LineWriter, tx: &Transaction<'_>) -> Result<(ListedFile, Vec<String>), Error> {
    let (mut rows, mut functions) = (0, Vec::new());
    let system = tx.table("osier_procedures")?;
    for row in tx.scan(&system, KeyRange::all())? {
        let row = row?;
        match program(tx, &row)? {
            Some(program) => {
                let procedure = ProcedureLine::of(&program);
                file.line(|line| put(line, &procedure))?;
                rows += 1;
            }
            None => functions.push(VersionKey::of_current(&row).0.to_owned()),
        }
    }
    Ok((file.finish(Contents::Procedures, rows)?, functions))
}

/// The program of the current version of a procedure; `None` of a function.
fn program(tx: &Transaction<'_>, row: &Row<'_>) -> Result<Option<Program>, Error> {
    let (name, of) = VersionKey::of_current(row);
    let versions = tx.table("osier_procedure_versions")?;
    let Some(version) = tx.get(&versions, &of.key())? else {
        let reason = format!("version {} of procedure {} `{name}` is missing", of.version, of.id);
        return Err(SchemaError::CorruptRow { table: versions.name().to_owned(), reason }.into());
    };
    let definition = ProcedureDefinition::of(&version)?;
    match definition.kind {
        ProcedureKind::Declared => stored::decode(name, &definition.definition).map(Some),
        ProcedureKind::Opaque => Ok(None),
    }
}

/// Appends a value as JSON.
fn put(line: &mut Vec<u8>, value: &impl Serialize) {
    serde_json::to_writer(line, value).expect("the lines of an export are JSON");
}
