//! The options of `osier serve`.

use std::num::{NonZeroU32, NonZeroUsize};
use std::path::PathBuf;
use std::time::Duration;

use clap::{Args, ValueEnum};

use super::{SettingArgs, seconds};

#[derive(Debug, Args)]
pub struct ServeArgs {
    /// A directory of the database; repeat it for all of them, the one with MANIFEST first. Where there is no database, one is
    /// made
    #[arg(long = "dir", required = true, value_name = "DIR")]
    pub dirs: Vec<PathBuf>,
    /// An address and port to listen at; repeat it for more. Port 0 takes a free one
    #[arg(long, value_name = "HOST:PORT", default_value = "127.0.0.1:5432")]
    pub listen: Vec<String>,
    /// How clients show who they are
    #[arg(long, value_enum, default_value = "scram")]
    pub auth: AuthArg,
    /// A file with the password of role osier, which is set at the start [default: the variable OSIER_PASSWORD, if it is set]
    #[arg(long, value_name = "FILE")]
    pub password_file: Option<PathBuf>,
    /// Where to make the Unix socket [default: the first directory of the database]
    #[arg(long, value_name = "DIR", conflicts_with = "no_socket")]
    pub socket_dir: Option<PathBuf>,
    /// Make no Unix socket
    #[arg(long)]
    pub no_socket: bool,
    /// The certificate for TLS, in PEM, with those that vouch for it behind it
    #[arg(long, value_name = "FILE", requires = "tls_key")]
    pub tls_cert: Option<PathBuf>,
    /// The private key of the certificate, in PEM
    #[arg(long, value_name = "FILE", requires = "tls_cert")]
    pub tls_key: Option<PathBuf>,
    /// Show how the server is: a page at /, figures at /metrics, /health and /ready. A port alone is one of 127.0.0.1; port 0
    /// takes a free one. Nobody is asked for a password
    #[arg(long, value_name = "[HOST:]PORT")]
    pub http: Option<String>,
    /// Keep the texts of statements that take so many seconds for the page of --http, without the values in them; 0: of none
    #[arg(long, value_name = "SECONDS", value_parser = seconds, default_value = "0.5")]
    pub slow_statement: Duration,
    /// How many clients may be connected
    #[arg(long, value_name = "CLIENTS", default_value = "1000")]
    pub connections_max: NonZeroU32,
    /// Threads that run statements [default: one per core]
    #[arg(long)]
    pub workers: Option<NonZeroUsize>,
    /// End connections that are idle for so many seconds, outside of a transaction; 0: never
    #[arg(long, value_name = "SECONDS", value_parser = seconds, default_value = "0")]
    pub idle_timeout: Duration,
    /// End connections that are idle for so many seconds within a transaction; 0: never
    #[arg(long, value_name = "SECONDS", value_parser = seconds, default_value = "300")]
    pub idle_in_transaction_timeout: Duration,
    /// The longest message of a client, in bytes
    #[arg(long, value_name = "BYTES", default_value = "268435456",
        value_parser = clap::value_parser!(u32).range(1024..=0x3fff_ffff))]
    pub message_bytes_max: u32,
    /// How many seconds running statements have to end, when the server ends
    #[arg(long, value_name = "SECONDS", value_parser = seconds, default_value = "10")]
    pub shutdown_timeout: Duration,
    #[command(flatten)]
    pub settings: SettingArgs,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum AuthArg {
    /// With a password (SCRAM-SHA-256); through the Unix socket the server's own user needs none
    Scram,
    /// Not at all: everyone is who they say. Only at addresses of this machine
    Trust,
}
