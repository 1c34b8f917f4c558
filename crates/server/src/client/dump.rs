//! `osier dump`: the definitions and rows of a database, as of one moment, as SQL.
//!
//! The server writes both, statements by `SHOW osier.definitions` and rows by `COPY`; here they are only put together. What it is
//! made of is in `dump.rs` of osier-sql.
//!
//! Invariants:
//! - All of it is read in one transaction, at a snapshot: nobody waits for it, and it is one moment.
//! - A file that was not written whole is removed.

use std::fs::File;
use std::io::{BufWriter, Write};
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use osier_bench::error::BenchError;
use osier_bench::progress::{Bar, Unit};
use serde::Serialize;

use super::connection::{Connection, Event};
use super::error::ClientError;
use super::interrupt::Interruptible;
use super::shell::{Opened, open};
use crate::cli::LogicalDumpArgs;
use crate::commands::say;

/// What a dump begins with: how it is to be read.
const HEAD: &str = "-- A dump of an Osier database: definitions and rows as of one moment.
-- `osier import FILE.sql` and `psql -f FILE.sql` read it.

SET client_encoding = 'UTF8';
SET standard_conforming_strings = on;
";

/// How values are written, whatever the role's settings are, and in which transaction.
const BEGIN: [&str; 6] = [
    "SET TimeZone = 'UTC'",
    "SET DateStyle = 'ISO, MDY'",
    "SET IntervalStyle = 'postgres'",
    "SET bytea_output = 'hex'",
    "SET extra_float_digits = 1",
    "BEGIN ISOLATION LEVEL SERIALIZABLE READ ONLY",
];

/// What was written.
#[derive(Clone, Debug, Default, Serialize)]
struct Report {
    definitions: u64,
    tables: u64,
    rows: u64,
    bytes: u64,
}

/// A statement, or a table with rows, as the server tells.
struct Definition {
    section: String,
    name: String,
    text: String,
}

/// Counts the bytes that are written.
struct Counted<W> {
    inner: W,
    bytes: u64,
}

impl<W: Write> Write for Counted<W> {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        let written = self.inner.write(bytes)?;
        self.bytes += written as u64;
        Ok(written)
    }

    fn flush(&mut self) -> std::io::Result<()> {
        self.inner.flush()
    }
}

/// Dumps a database.
///
/// # Errors
/// Where the database cannot be read, or the file cannot be written.
pub fn dump(args: &LogicalDumpArgs) -> Result<ExitCode, BenchError> {
    if args.to.is_none() && args.output.is_standard_output() {
        let what = "the dump and the JSON cannot both go to the standard output: use --to FILE, or --json FILE";
        return Err(BenchError::Usage(what.to_owned()));
    }
    let Opened { connection, embedded, .. } = open(&args.connection, args.target.as_deref(), false)?;
    let dumped = write_to(args, connection);
    if let Some(embedded) = embedded {
        embedded.close(false)?;
    }
    let report = dumped?;
    if let Some(path) = &args.to {
        let Report { definitions, tables, rows, bytes } = report;
        let text = format!(
            "dumped to {}: {definitions} definitions, {rows} rows of {tables} tables, {bytes} bytes",
            path.display()
        );
        say(&mut *args.output.text(), &text)?;
    }
    args.output.write(&report)?;
    Ok(ExitCode::SUCCESS)
}

fn write_to(args: &LogicalDumpArgs, connection: Connection) -> Result<Report, ClientError> {
    let Some(path) = &args.to else {
        return write(args, connection, std::io::stdout().lock(), Path::new("standard output"));
    };
    let file = File::create_new(path).map_err(ClientError::file("create", path))?;
    let written = write(args, connection, &file, path).and_then(|report| {
        file.sync_all().map_err(ClientError::file("sync", path))?;
        Ok(report)
    });
    written.inspect_err(|_| {
        // Half a dump looks like a whole one.
        drop(std::fs::remove_file(path));
    })
}

fn write(
    args: &LogicalDumpArgs,
    mut connection: Connection,
    out: impl Write,
    path: &Path,
) -> Result<Report, ClientError> {
    let _interruptible = Interruptible::new(&connection);
    let mut out = Counted { inner: BufWriter::with_capacity(1 << 18, out), bytes: 0 };
    let path: PathBuf = path.to_owned();
    let failed = || ClientError::file("write", &path);
    for statement in BEGIN {
        connection.run(statement)?;
    }
    let definitions = definitions(&mut connection)?;
    let mut report = Report::default();
    let is_table = |definition: &&Definition| definition.section == "rows";
    let bar = Bar::new("dumping", definitions.iter().filter(is_table).count() as u64, Unit::Count);
    out.write_all(HEAD.as_bytes()).map_err(failed())?;
    for definition in &definitions {
        let Definition { section, name, text } = definition;
        // The values of sequences belong to the rows, and so do those of materialized views.
        let is_data = section == "rows" || text.starts_with("SELECT ") || text.starts_with("REFRESH ");
        if if is_data { args.schema_only } else { args.data_only } {
            continue;
        }
        if section == "rows" {
            bar.note(name.clone());
            report.rows += copy(&mut connection, text, &mut out, &path)?;
            report.tables += 1;
            bar.advance(1);
        } else {
            out.write_all(format!("\n{text}\n").as_bytes()).map_err(failed())?;
            report.definitions += 1;
        }
    }
    connection.run("COMMIT")?;
    out.flush().map_err(failed())?;
    report.bytes = out.bytes;
    Ok(report)
}

fn definitions(connection: &mut Connection) -> Result<Vec<Definition>, ClientError> {
    let rows = connection.run("SHOW osier.definitions").map_err(|error| match error {
        ClientError::Told(told) if told.code == "42704" => {
            ClientError::Failed("the server is no Osier that can be dumped; use pg_dump for PostgreSQL".to_owned())
        }
        error => error,
    })?;
    let text = |row: &super::connection::Row, at: usize| row.text(at).unwrap_or_default();
    Ok(rows.iter().map(|row| Definition { section: text(row, 0), name: text(row, 1), text: text(row, 2) }).collect())
}

/// Writes the rows of a table. Returns how many there are.
fn copy(connection: &mut Connection, table: &str, out: &mut impl Write, path: &Path) -> Result<u64, ClientError> {
    let failed = || ClientError::file("write", path);
    out.write_all(format!("\nCOPY {table} FROM stdin;\n").as_bytes()).map_err(failed())?;
    connection.query(&format!("COPY {table} TO STDOUT"))?;
    let (mut rows, mut told) = (0, None);
    loop {
        match connection.next()? {
            Event::CopyData(bytes) => out.write_all(&bytes).map_err(failed())?,
            Event::Complete(tag) => rows = tag.strip_prefix("COPY ").and_then(|rows| rows.parse().ok()).unwrap_or(0),
            Event::Failed(error) => told = Some(error),
            Event::Ready => break,
            _ => {}
        }
    }
    match told {
        Some(told) => Err(ClientError::Told(Box::new(told))),
        None => {
            out.write_all(b"\\.\n").map_err(failed())?;
            Ok(rows)
        }
    }
}
