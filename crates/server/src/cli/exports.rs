//! The options of the commands about exports.

use std::num::NonZeroU64;
use std::path::PathBuf;

use clap::Args;

use super::OutputArgs;
use super::clients::{ConnectionArgs, ImportFormat};
use super::procedures::HomeArgs;

#[derive(Debug, Args)]
pub struct ExportArgs {
    #[command(flatten)]
    pub home: HomeArgs,
    /// The directory of the export, empty or missing
    #[arg(long, value_name = "OUT")]
    pub to: PathBuf,
    #[command(flatten)]
    pub output: OutputArgs,
}

#[derive(Debug, Args)]
#[command(disable_help_flag = true)]
pub struct ImportArgs {
    /// A file of SQL, as dump writes it, or of rows, as CSV or as COPY's text; -: the standard input
    #[arg(value_name = "FILE", conflicts_with = "from")]
    pub file: Option<PathBuf>,
    /// The table that gets the rows of FILE
    #[arg(long, requires = "file", value_name = "TABLE")]
    pub table: Option<String>,
    /// How FILE is written [default: as its name ends, .sql, .csv, .tsv or .txt]
    #[arg(long, value_enum, requires = "file")]
    pub format: Option<ImportFormat>,
    /// The columns of the table that FILE has, separated by commas [default: those that its first line names, or all]
    #[arg(long, value_name = "NAMES", requires = "table")]
    pub columns: Option<String>,
    /// The first line of FILE is a row, and names no columns
    #[arg(long, requires = "table")]
    pub no_header: bool,
    /// What stands between two values, a character [default: a comma in CSV, otherwise a tab]
    #[arg(long, value_name = "CHARACTER", requires = "table")]
    pub delimiter: Option<String>,
    /// What stands for NULL [default: nothing in CSV, otherwise \\N]
    #[arg(long, value_name = "TEXT", requires = "table")]
    pub null: Option<String>,
    /// Commit after so many rows [default: once, at the end]
    #[arg(long, value_name = "ROWS", requires = "table")]
    pub batch_rows: Option<NonZeroU64>,
    /// Commit after each statement of SQL [default: once, at the end]
    #[arg(long, requires = "file", conflicts_with = "table")]
    pub each_statement: bool,
    /// The directory of an export, which is read into the database of --dir
    #[arg(long, value_name = "OUT", required_unless_present = "file", requires = "dirs")]
    pub from: Option<PathBuf>,
    #[command(flatten)]
    pub connection: ConnectionArgs,
    #[command(flatten)]
    pub output: OutputArgs,
}
