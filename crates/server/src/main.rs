//! The binary `osier`: measures, crashes, recovers and inspects databases.
//!
//! Exit status: 0 for success; 1 for an error, which names the object and the cure on standard error; 2 for a command
//! line that does not parse; 3 where something acknowledged was lost or a consistency condition does not hold.

mod cli;
mod commands;

use std::process::ExitCode;

use clap::Parser;

/// Loading and recovery allocate each row version; this allocator takes half the time of the system's.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

fn is_broken_pipe(error: &(dyn std::error::Error + 'static)) -> bool {
    std::iter::successors(Some(error), |error| error.source())
        .filter_map(|error| error.downcast_ref::<std::io::Error>())
        .any(|error| error.kind() == std::io::ErrorKind::BrokenPipe)
}

fn main() -> ExitCode {
    match commands::run(cli::Cli::parse()) {
        Ok(code) => code,
        // Whoever reads has seen enough, as `head` does.
        Err(error) if is_broken_pipe(&error) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("error: {error}");
            ExitCode::FAILURE
        }
    }
}
