//! The commands about exports: rows to other programs, and into other databases.
//!
//! Invariant: where another process has the database open, it is asked over its control socket; the files are left to it.

use std::path::{Path, PathBuf};
use std::process::ExitCode;

use osier::control::{Answer, Request};
use osier::{Create, DirectoryError, Error};
use osier_bench::engine::{EngineOptions, open};
use osier_bench::error::BenchError;

use crate::cli::{ExportArgs, ImportArgs};
use crate::commands::say;
use crate::operate::{ask, expect_own_log, name_socket, own_config, unexpected};

/// Exports the rows: the process that has the database open does, or this one opens it.
pub fn export(args: &ExportArgs) -> Result<ExitCode, BenchError> {
    let (dirs, target) = (&args.home.dirs, absolute(&args.to));
    expect_own_log(&args.home.settings, "export")?;
    let report = match ask(dirs, &Request::Export { target: target.clone() })? {
        Some(Answer::Export(report)) => report,
        Some(other) => return Err(unexpected(&other)),
        None => {
            let db = open(own_config(dirs, &args.home.settings)?).map_err(name_socket)?;
            let exported = db.snapshot().and_then(|snapshot| db.export(&snapshot, &target));
            let closed = db.close();
            let report = exported?;
            closed?;
            report
        }
    };
    say(&mut *args.output.text(), &report.to_string())?;
    args.output.write(&report)?;
    Ok(ExitCode::SUCCESS)
}

/// Imports an export: the process that has the database open does, or this one opens it, or makes it where there is none.
pub fn import(args: &ImportArgs) -> Result<ExitCode, BenchError> {
    let no_source = || BenchError::Usage("name a file, or an export with --from".to_owned());
    let (dirs, source) = (&args.connection.dirs, absolute(args.from.as_ref().ok_or_else(no_source)?));
    if dirs.is_empty() {
        return Err(BenchError::Usage("an export is read into a database that --dir names".to_owned()));
    }
    let report = match ask(dirs, &Request::Import { source: source.clone() })? {
        Some(Answer::Import(report)) => report,
        Some(other) => return Err(unexpected(&other)),
        None => match own_config(dirs, &args.connection.settings) {
            Err(BenchError::Engine(Error::Directory(DirectoryError::NoDatabase { .. }))) => {
                let settings = args.connection.settings.settings.iter().cloned().collect();
                let config = EngineOptions { dirs: dirs.clone(), settings, is_relaxed: false }.config(Create::New)?;
                osier::import(config, &source)?
            }
            config => {
                let db = open(config?).map_err(name_socket)?;
                let imported = db.import(&source);
                let closed = db.close();
                let report = imported?;
                closed?;
                report
            }
        },
    };
    say(&mut *args.output.text(), &report.to_string())?;
    args.output.write(&report)?;
    Ok(ExitCode::SUCCESS)
}

/// A path that another process understands.
fn absolute(path: &Path) -> PathBuf {
    std::path::absolute(path).unwrap_or_else(|_| path.to_owned())
}
