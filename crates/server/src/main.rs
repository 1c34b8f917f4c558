//! The binary `osier`: serves, measures, crashes, recovers and inspects databases.
//!
//! Exit status: 0 for success; 130 where it was interrupted; the others are in [`exit`].

mod cli;
mod client;
mod commands;
mod exit;
mod exports;
mod graphs;
mod operate;
mod procedures;
mod serve;

use std::process::ExitCode;

use clap::Parser;

/// Loading and recovery allocate each row version; this allocator takes half the time of the system's. Its second version
/// takes a tenth less memory than its third, and loads a checkpoint of small rows in three quarters of the time.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

fn is_broken_pipe(error: &(dyn std::error::Error + 'static)) -> bool {
    std::iter::successors(Some(error), |error| error.source())
        .filter_map(|error| error.downcast_ref::<std::io::Error>())
        .any(|error| error.kind() == std::io::ErrorKind::BrokenPipe)
}

/// Interrupted or asked to end: a server ends in good order, and a shell cancels its statement. Otherwise what was temporary
/// goes, and databases are left as a crash leaves them.
fn interrupted() {
    if serve::shutdown::interrupted() || client::interrupted() {
        return;
    }
    osier_bench::run_directories::remove_temporary_and_exit(130)
}

fn main() -> ExitCode {
    if let Err(error) = ctrlc::set_handler(interrupted) {
        eprintln!("warning: temporary directories will stay if this is interrupted: {error}");
    }
    match commands::run(cli::Cli::parse()) {
        Ok(code) => code,
        // Whoever reads has seen enough, as `head` does.
        Err(error) if is_broken_pipe(&error) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("error: {error}");
            ExitCode::from(exit::status(&error))
        }
    }
}
