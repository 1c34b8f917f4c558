//! The options of the commands about exports.

use std::path::PathBuf;

use clap::Args;

use super::OutputArgs;
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
pub struct ImportArgs {
    #[command(flatten)]
    pub home: HomeArgs,
    /// The directory of the export
    #[arg(long, value_name = "OUT")]
    pub from: PathBuf,
    #[command(flatten)]
    pub output: OutputArgs,
}
