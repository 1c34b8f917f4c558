//! `osier serve`: PostgreSQL's protocol on a database.
//!
//! The life of a server, in [`run`]: listen -> open the database, while clients are told to wait -> serve -> a signal -> let
//! clients end -> checkpoint -> close. The life of a connection: `doorman.rs` accepts it and reads its first packet, `worker.rs`
//! gives it a thread, `startup.rs` begins its session, `connection.rs` answers its requests. Beside them `http/` tells how all
//! of it goes, to whoever runs the server.
//!
//! Invariants:
//! - The server knows SQL only by [`osier_sql::Session`] and [`osier_sql::Sql`].
//! - A failure of the log does not end the server: statements fail, and clients see why.
//!
//! Absent: replication; what `COPY` reads and writes on the server's own files.

mod authentication;
mod connection;
mod copy;
mod doorman;
pub mod embedded;
mod errors;
mod extended;
mod fiber;
mod formats;
#[cfg(test)]
mod fuzzing;
mod http;
mod input;
mod listeners;
mod message;
mod notifications;
mod output;
mod portals;
mod registry;
mod rows;
mod scrub;
mod server;
pub mod shutdown;
mod simple;
mod startup;
mod startup_packet;
mod statistics;
mod stream;
mod tls;
mod watch;
mod worker;

use std::io::Write;
use std::net::{SocketAddr, TcpListener};
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::Arc;

use osier::{Create, Database, DirectoryError, Error};
use osier_bench::engine::EngineOptions;
use osier_bench::error::BenchError;
use osier_bench::machine::cores;
use osier_bench::progress::recovery_callback;
use osier_sql::{Sql, scram};
use tokio::task::LocalSet;

use crate::cli::{AuthArg, ServeArgs};
use crate::commands::say;
use crate::operate::{name_socket, own_config};
use doorman::{Door, attend};
use listeners::SocketFile;
use server::{Limits, Server};
use worker::Workers;

/// How statements of clients are kept apart, unless the user says otherwise. Clients hold transactions open while they think:
/// with locks they wait for each other, where optimistic control would have one of two do its work again.
const CLIENT_SETTINGS: [(&str, &str); 3] = [("cc", "2pl"), ("locking", "detect"), ("lock_timeout_us", "86400000000")];

/// The variable with the first role's password.
const PASSWORD_VARIABLE: &str = "OSIER_PASSWORD";

/// Serves a database until a signal comes.
///
/// # Errors
/// What keeps the server from starting, or the database from being closed.
pub fn run(args: &ServeArgs) -> Result<ExitCode, BenchError> {
    let doors = listen(args)?;
    let server = server(args)?;
    let pages = args.http.as_ref().map_or(Ok(Vec::new()), |http| http::start(http, &server))?;
    let workers = Workers::start(args.workers.map_or(cores(), |workers| workers.get()), &server);
    let workers = Arc::new(workers.map_err(io_error("start the workers of", Path::new("osier serve")))?);
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
    let runtime = runtime.map_err(io_error("start the threads of", Path::new("osier serve")))?;
    let db = runtime.block_on(LocalSet::new().run_until(serve(args, &server, workers, (doors, pages))))?;
    // With protocol `none` nothing else keeps what was committed; otherwise the next start has less to read.
    if db.failure().is_none()
        && let Err(error) = db.checkpoint()
    {
        eprintln!("warning: no checkpoint was taken: {error}");
    }
    db.close()?;
    Ok(ExitCode::SUCCESS)
}

fn listen(args: &ServeArgs) -> Result<Vec<TcpListener>, BenchError> {
    let mut addresses = Vec::new();
    for text in &args.listen {
        addresses.extend(listeners::addresses(text)?);
    }
    let open = addresses.iter().find(|address| !address.ip().is_loopback());
    if let (AuthArg::Trust, Some(address)) = (args.auth, open) {
        let message = format!("--auth trust lets everyone in who reaches {address}: listen at 127.0.0.1, or use scram");
        return Err(BenchError::Usage(message));
    }
    addresses.into_iter().map(|address| listeners::listen(address, "--listen")).collect()
}

fn server(args: &ServeArgs) -> Result<Arc<Server>, BenchError> {
    let tls = match (&args.tls_cert, &args.tls_key) {
        (Some(certificate), Some(key)) => Some(tls::acceptor(certificate, key)?),
        _ => None,
    };
    let limits = Limits {
        message_bytes_max: args.message_bytes_max as usize,
        idle: Some(args.idle_timeout).filter(|time| !time.is_zero()),
        idle_in_transaction: Some(args.idle_in_transaction_timeout).filter(|time| !time.is_zero()),
    };
    let slow_min = Some(args.slow_statement).filter(|time| !time.is_zero());
    Ok(Server::new(args.connections_max.get() as usize, limits, args.auth == AuthArg::Trust, tls, slow_min))
}

async fn serve(
    args: &ServeArgs,
    server: &Arc<Server>,
    workers: Arc<Workers>,
    (doors, pages): (Vec<TcpListener>, Vec<SocketAddr>),
) -> Result<Arc<Database>, BenchError> {
    let broken = || io_error("listen for", Path::new("osier serve"));
    let addresses: Vec<SocketAddr> = doors.iter().filter_map(|door| door.local_addr().ok()).collect();
    for door in doors {
        let door = tokio::net::TcpListener::from_std(door).map_err(broken())?;
        tokio::task::spawn_local(attend(Door::Tcp(door), server.clone(), workers.clone()));
    }
    let settings = args.settings.clone().or(&CLIENT_SETTINGS);
    let (dirs, password, opening) = (args.dirs.clone(), password(args)?, server.clone());
    let opened = tokio::task::spawn_blocking(move || open_sql(&dirs, &settings, password.as_deref(), &opening));
    let sql = opened.await.map_err(|error| BenchError::Usage(format!("the database was not opened: {error}")))??;
    let db = sql.database().clone();
    let socket = if args.no_socket { None } else { unix_socket(args, &addresses)? };
    let file = match socket {
        Some((listener, file, path)) => {
            let door = tokio::net::UnixListener::from_std(listener).map_err(broken())?;
            tokio::task::spawn_local(attend(Door::Unix(door), server.clone(), workers.clone()));
            Some((file, path))
        }
        None => None,
    };
    drop(server.sql.set(sql));
    shutdown::end_by_signals(server);
    announce(args, &addresses, file.as_ref().map(|(_, path)| path.as_path()), &pages)?;
    server.until_ending().await;
    drop(file);
    if !shutdown::drain(server, args.shutdown_timeout).await {
        eprintln!("warning: some statements did not end, and are rolled back");
    }
    Ok(db)
}

/// Returns the first role's password, if one is given.
fn password(args: &ServeArgs) -> Result<Option<String>, BenchError> {
    match &args.password_file {
        Some(path) => {
            let text = std::fs::read_to_string(path).map_err(io_error("read", path))?;
            Ok(Some(text.trim_end_matches(['\r', '\n']).to_owned()))
        }
        None => Ok(std::env::var(PASSWORD_VARIABLE).ok()),
    }
}

/// Opens the database, or makes it where there is none, and its SQL catalog.
fn open_sql(
    dirs: &[PathBuf],
    settings: &crate::cli::SettingArgs,
    password: Option<&str>,
    server: &Arc<Server>,
) -> Result<Arc<Sql>, BenchError> {
    let config = match own_config(dirs, settings) {
        Err(BenchError::Engine(Error::Directory(DirectoryError::NoDatabase { .. }))) => {
            let settings = settings.settings.iter().cloned().collect();
            EngineOptions { dirs: dirs.to_vec(), settings, is_relaxed: false }.config(Create::IfMissing)?
        }
        config => config?,
    };
    let failed = |error: osier_sql::SqlError| BenchError::Asked {
        message: error.to_string(),
        sqlstate: error.code().to_owned(),
    };
    let (show, server) = (recovery_callback(), server.clone());
    let config = config.progress(move |progress| {
        server.set_recovering(*progress);
        show(progress);
    });
    let db = Arc::new(Database::open(config).map_err(|error| name_socket(error.into()))?);
    let sql = Sql::new(db.clone()).and_then(|sql| {
        if let Some(password) = password.filter(|password| !password.is_empty()) {
            sql.set_secret(Sql::FIRST_ROLE, &scram::secret_of(password))?;
        }
        Ok(sql)
    });
    sql.map_err(|error| {
        // What keeps it from being closed is not what the user asks about.
        drop(db.close());
        failed(error)
    })
}

/// Listens at the Unix socket. In the database's own directory, which others may use for long names, it may be left out.
fn unix_socket(
    args: &ServeArgs,
    addresses: &[SocketAddr],
) -> Result<Option<(std::os::unix::net::UnixListener, SocketFile, PathBuf)>, BenchError> {
    const PATH_BYTES_MAX: usize = 100;
    let Some(address) = addresses.first() else { return Ok(None) };
    let path = SocketFile::path(args.socket_dir.as_ref().unwrap_or(&args.dirs[0]), address.port());
    if args.socket_dir.is_none() && path.as_os_str().len() > PATH_BYTES_MAX {
        eprintln!("warning: {} is too long a name for a socket: use --socket-dir or --no-socket", path.display());
        return Ok(None);
    }
    let (listener, file) = SocketFile::listen(&path)?;
    Ok(Some((listener, file, path)))
}

/// Prints where the server listens.
fn announce(
    args: &ServeArgs,
    addresses: &[SocketAddr],
    socket: Option<&Path>,
    pages: &[SocketAddr],
) -> Result<(), BenchError> {
    let mut places: Vec<String> = addresses.iter().map(SocketAddr::to_string).collect();
    places.extend(socket.map(|path| path.display().to_string()));
    places.extend(pages.iter().map(|page| format!("http://{page}/")));
    let port = addresses.first().map_or(0, SocketAddr::port);
    let host = match (socket.and_then(Path::parent), addresses.first()) {
        // psql takes what does not begin with a slash for the name of a host.
        (Some(dir), _) => std::path::absolute(dir).unwrap_or_else(|_| dir.to_owned()).display().to_string(),
        (None, Some(address)) => address.ip().to_string(),
        (None, None) => String::new(),
    };
    let out = &mut std::io::stdout();
    let user = Sql::FIRST_ROLE;
    say(
        out,
        &format!(
            "osier serves {} at {}; connect with: psql -h {host} -p {port} -U {user} {user}",
            args.dirs[0].display(),
            places.join(", ")
        ),
    )?;
    out.flush().map_err(io_error("write", Path::new("standard output")))
}

/// Says what the operating system refused.
fn io_error(action: &'static str, path: &Path) -> impl FnOnce(std::io::Error) -> BenchError {
    let path = path.to_owned();
    move |source| BenchError::Io { action, path, source }
}
