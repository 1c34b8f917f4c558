//! The options of the commands that are clients: `osier shell`, `import` of files, and `dump`.

use std::path::PathBuf;

use clap::{ArgAction, Args, ValueEnum};

use super::{OutputArgs, SettingArgs};

/// Where to connect; as psql's.
#[derive(Clone, Debug, Default, Args)]
pub struct ConnectionArgs {
    /// A directory of a database, in place of a server; repeat it for all of them, the one with MANIFEST first. Where a server
    /// has it open, it is asked at the Unix socket there; otherwise this process opens it
    #[arg(long = "dir", value_name = "DIR", conflicts_with_all = ["host", "port", "dbname"])]
    pub dirs: Vec<PathBuf>,
    /// The server's name or address, or the directory of its Unix socket [default: the variable PGHOST, or 127.0.0.1]
    #[arg(short = 'h', long, value_name = "HOST")]
    pub host: Option<String>,
    /// Its port [default: the variable PGPORT, or 5432]
    #[arg(short = 'p', long, value_name = "PORT")]
    pub port: Option<String>,
    /// The role [default: the variable PGUSER, or osier]; its password is in the variable PGPASSWORD, or is asked for
    #[arg(short = 'U', long, value_name = "ROLE")]
    pub username: Option<String>,
    /// The database, or a connection string: postgres://role:password@host:port/database, or host=... port=... [default: the
    /// variable PGDATABASE, or the name of the role]
    #[arg(short = 'd', long, value_name = "DATABASE")]
    pub dbname: Option<String>,
    #[command(flatten)]
    pub settings: SettingArgs,
    /// Print help
    #[arg(long, action = ArgAction::Help)]
    pub help: Option<bool>,
}

/// How a file of rows or statements is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum ImportFormat {
    /// Statements of SQL, with the data of `COPY ... FROM stdin` behind them
    Sql,
    /// Rows with values between commas, some of them in quotes
    Csv,
    /// Rows with values between tabs, with backslashes before what is special
    Text,
}

#[derive(Debug, Args)]
#[command(disable_help_flag = true)]
pub struct ShellArgs {
    /// The database, or a connection string, as of --dbname
    #[arg(value_name = "CONNECTION", conflicts_with_all = ["dbname", "dirs"])]
    pub target: Option<String>,
    /// Run this, which may be several statements or a command with a backslash, and end; repeat it for more
    #[arg(short = 'c', long, value_name = "SQL")]
    pub command: Vec<String>,
    /// Run the statements of this file, and end; -: of the standard input. At the first error it ends with status 3, unless
    /// -v ON_ERROR_STOP=0
    #[arg(short = 'f', long, value_name = "FILE")]
    pub file: Vec<PathBuf>,
    /// Set a variable of the shell: ON_ERROR_STOP is the one that there is
    #[arg(short = 'v', long = "variable", value_name = "NAME=VALUE")]
    pub variables: Vec<String>,
    /// Run all of -c and -f in one transaction
    #[arg(short = '1', long)]
    pub single_transaction: bool,
    /// Print rows without names and without their number
    #[arg(short = 't', long)]
    pub tuples_only: bool,
    /// Print values with | between them, and no lines
    #[arg(short = 'A', long)]
    pub no_align: bool,
    /// Print nothing but results
    #[arg(short = 'q', long)]
    pub quiet: bool,
    #[command(flatten)]
    pub connection: ConnectionArgs,
}

#[derive(Debug, Args)]
#[command(disable_help_flag = true)]
pub struct DumpArgs {
    /// The database, or a connection string, as of --dbname
    #[arg(value_name = "CONNECTION", conflicts_with_all = ["dbname", "dirs"])]
    pub target: Option<String>,
    /// The file to write, which must not be there [default: the standard output]
    #[arg(long, value_name = "FILE")]
    pub to: Option<PathBuf>,
    /// Leave the rows out
    #[arg(long, conflicts_with = "data_only")]
    pub schema_only: bool,
    /// Leave the definitions out: rows, and the values of sequences
    #[arg(long)]
    pub data_only: bool,
    #[command(flatten)]
    pub connection: ConnectionArgs,
    #[command(flatten)]
    pub output: OutputArgs,
}
