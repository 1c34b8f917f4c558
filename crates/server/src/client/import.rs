//! `osier import FILE`: rows and statements of a file, into a server or a database that no process has open.
//!
//! Invariant: unless it was asked to commit on the way, all of a file is there afterwards, or nothing.

use std::path::Path;
use std::process::ExitCode;

use osier_bench::error::BenchError;
use osier_bench::progress::{Bar, Unit};
use serde::Serialize;

use super::copy_file::CopyFile;
use super::error::ClientError;
use super::script::{Lines, Runner};
use super::shell::{Opened, open};
use crate::cli::{ImportArgs, ImportFormat};
use crate::commands::say;

/// What was read.
#[derive(Clone, Debug, Default, Serialize)]
pub struct Report {
    /// Statements of SQL.
    pub statements: u64,
    /// Rows.
    pub rows: u64,
    /// Transactions.
    pub transactions: u64,
}

/// Imports a file.
///
/// # Errors
/// Where it cannot be read, or what is in it fails.
pub fn import(args: &ImportArgs, file: &Path) -> Result<ExitCode, BenchError> {
    let format = format(args, file)?;
    // Before a database is made for it.
    let mut lines = Lines::open(file)?;
    if let Ok(metadata) = std::fs::metadata(file)
        && metadata.is_file()
    {
        lines = lines.with_bar(Bar::new("importing", metadata.len(), Unit::Bytes));
    }
    let Opened { connection, embedded, .. } = open(&args.connection, None, true)?;
    let mut runner = Runner::new(connection, Box::new(std::io::sink()));
    runner.is_quiet = true;
    let imported = match format {
        ImportFormat::Sql => run_sql(args, runner, &mut lines),
        format => CopyFile::of(args, format).and_then(|copy| copy.run(runner, &mut lines)),
    };
    drop(lines);
    if let Some(embedded) = embedded {
        embedded.close(imported.is_ok())?;
    }
    let report = imported.map_err(|error| match error {
        ClientError::Script if args.each_statement => {
            ClientError::Failed("the statements before it were committed; the others were not run".to_owned())
        }
        ClientError::Script => ClientError::Failed("nothing was imported".to_owned()),
        error => error,
    })?;
    let Report { statements, rows, transactions } = report;
    let what = match format {
        ImportFormat::Sql => format!("{statements} statements, {rows} rows"),
        _ => format!("{rows} rows"),
    };
    say(&mut *args.output.text(), &format!("imported {what} in {transactions} transactions"))?;
    args.output.write(&report)?;
    Ok(ExitCode::SUCCESS)
}

/// How the file is written.
fn format(args: &ImportArgs, file: &Path) -> Result<ImportFormat, BenchError> {
    let extension = file.extension().and_then(|extension| extension.to_str()).unwrap_or_default();
    let format = args.format.or_else(|| match extension.to_ascii_lowercase().as_str() {
        "sql" => Some(ImportFormat::Sql),
        "csv" => Some(ImportFormat::Csv),
        "tsv" | "txt" => Some(ImportFormat::Text),
        _ => None,
    });
    let usage = |what: &str| Err(BenchError::Usage(what.to_owned()));
    match (format, &args.table) {
        (None, _) => usage("say with --format how the file is written: sql, csv or text"),
        (Some(ImportFormat::Sql), Some(_)) => usage("a file of SQL names its tables itself: leave out --table"),
        (Some(ImportFormat::Csv | ImportFormat::Text), None) => usage("say with --table which table gets the rows"),
        (Some(format), _) => Ok(format),
    }
}

fn run_sql(args: &ImportArgs, mut runner: Runner, lines: &mut Lines) -> Result<Report, ClientError> {
    if args.each_statement {
        runner.script(lines)?;
        return Ok(Report { statements: runner.statements, rows: runner.copied, transactions: runner.statements });
    }
    runner.connection.run("BEGIN")?;
    runner.script(lines)?;
    runner.connection.run("COMMIT")?;
    Ok(Report { statements: runner.statements, rows: runner.copied, transactions: 1 })
}
