//! The options of the commands about procedures.

use std::path::{Path, PathBuf};

use clap::{Args, Subcommand, ValueEnum};

use super::{OutputArgs, SettingArgs};

#[derive(Debug, Subcommand)]
pub enum ProcedureCommand {
    /// Create the procedures of files, or put them in place of those with their names: all of them, or none
    Load(LoadArgs),
    /// List the procedures
    List(ListArgs),
    /// Print the text of a procedure
    Print(PrintArgs),
    /// Remove a procedure
    Drop(NameArgs),
    /// Call a procedure, and print what it returns
    Call(CallArgs),
    /// Show what of procedures depends on what: their slices, the local dependency graphs and the global one (PACMAN)
    Graph(GraphArgs),
}

#[derive(Debug, Args)]
pub struct HomeArgs {
    /// The database's directories, the one with MANIFEST first; repeat it where there are several
    #[arg(long = "dir", required = true, value_name = "DIR")]
    pub dirs: Vec<PathBuf>,
    #[command(flatten)]
    pub settings: SettingArgs,
}

#[derive(Debug, Args)]
pub struct LoadArgs {
    /// Files with the text of procedures; one that another one calls stands before it
    #[arg(required = true, value_name = "FILE")]
    pub files: Vec<PathBuf>,
    #[command(flatten)]
    pub home: HomeArgs,
}

#[derive(Debug, Args)]
pub struct ListArgs {
    #[command(flatten)]
    pub home: HomeArgs,
    #[command(flatten)]
    pub output: OutputArgs,
}

// Its option `--version` is that of the procedure.
#[derive(Debug, Args)]
#[command(disable_version_flag = true)]
pub struct PrintArgs {
    /// The procedure
    pub name: String,
    /// An earlier version, of those that `list` names
    #[arg(long, value_name = "NUMBER")]
    pub version: Option<u32>,
    #[command(flatten)]
    pub home: HomeArgs,
}

#[derive(Debug, Args)]
pub struct NameArgs {
    /// The procedure
    pub name: String,
    #[command(flatten)]
    pub home: HomeArgs,
}

#[derive(Debug, Args)]
pub struct CallArgs {
    /// The procedure
    pub name: String,
    /// The arguments: 12, -3.50, true, NULL, text or 'text', 2026-01-31 12:00:00, \x00ff, {1, 2, 3}
    #[arg(value_name = "ARGUMENT", allow_negative_numbers = true)]
    pub arguments: Vec<String>,
    #[command(flatten)]
    pub home: HomeArgs,
    #[command(flatten)]
    pub output: OutputArgs,
}

#[derive(Debug, Args)]
pub struct GraphArgs {
    /// The procedures; all of them where none is named
    #[arg(value_name = "NAME")]
    pub names: Vec<String>,
    /// Draw the graphs into a file: .svg, or .dot for Graphviz
    #[arg(long, value_name = "FILE")]
    pub draw: Option<PathBuf>,
    /// What makes two operations depend on each other: the same table, or the same columns
    #[arg(long, value_enum, default_value_t, value_name = "WHAT")]
    pub dependencies: DependenciesArg,
    /// Divide into the pieces of transaction chopping instead, with which the paper compares slices
    #[arg(long)]
    pub chopping: bool,
    #[command(flatten)]
    pub home: HomeArgs,
    #[command(flatten)]
    pub output: OutputArgs,
}

#[derive(Clone, Copy, Debug, Default, ValueEnum)]
pub enum DependenciesArg {
    /// One of them modifies a table that both access
    #[default]
    Tables,
    /// As `tables`, but a read does not depend on changes of other columns, where rows neither come nor go
    Columns,
}

impl ProcedureCommand {
    /// The first directory of the database.
    pub fn home(&self) -> Option<&Path> {
        let home = match self {
            ProcedureCommand::Load(args) => &args.home,
            ProcedureCommand::List(args) => &args.home,
            ProcedureCommand::Print(args) => &args.home,
            ProcedureCommand::Drop(args) => &args.home,
            ProcedureCommand::Call(args) => &args.home,
            ProcedureCommand::Graph(args) => &args.home,
        };
        home.dirs.first().map(PathBuf::as_path)
    }
}
