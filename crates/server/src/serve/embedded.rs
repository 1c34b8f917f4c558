//! A server within a process, for its own clients: commands that use SQL on a database which no other process has open.
//!
//! Clients connect through pairs of sockets that have no names, so that nobody else can.
//!
//! Invariant: the database is closed when the value goes, whatever a client has left open.

use std::os::unix::net::UnixStream;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use osier::{Database, DirectoryError, Error, Protocol};
use osier_bench::error::BenchError;
use tokio::sync::mpsc;
use tokio::task::LocalSet;

use super::doorman::welcome;
use super::server::{Limits, Server};
use super::shutdown::{Phase, drain};
use super::stream::{Socket, Stream};
use super::worker::Workers;
use super::{io_error, open_sql};
use crate::cli::SettingArgs;

/// The longest message of a client, which is this process itself.
const MESSAGE_BYTES_MAX: usize = 0x3fff_ffff;
/// Connections of one process.
const SEATS: usize = 8;
/// How long open sessions may take to end when the database is closed.
const PATIENCE: Duration = Duration::from_secs(5);

/// A database that this process serves to itself.
pub struct Embedded {
    db: Arc<Database>,
    server: Arc<Server>,
    arrivals: mpsc::UnboundedSender<UnixStream>,
}

impl Embedded {
    /// Opens a database; one is made where there is none and `creates`.
    ///
    /// # Errors
    /// What keeps it from being opened.
    pub fn open(dirs: &[PathBuf], settings: &SettingArgs, creates: bool) -> Result<Embedded, BenchError> {
        if !creates && !dirs[0].join("MANIFEST").exists() {
            return Err(Error::Directory(DirectoryError::NoDatabase { home: dirs[0].clone() }).into());
        }
        let limits = Limits { message_bytes_max: MESSAGE_BYTES_MAX, idle: None, idle_in_transaction: None };
        let server = Server::new(SEATS, limits, true, None, None);
        let sql = open_sql(dirs, settings, None, &server)?;
        let db = sql.database().clone();
        let starting = || io_error("start the threads of", std::path::Path::new("osier"));
        let started = Workers::start(1, &server).map_err(starting()).and_then(|workers| {
            let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().map_err(starting())?;
            let (arrivals, coming) = mpsc::unbounded_channel();
            let attending = attend(server.clone(), Arc::new(workers), coming);
            let work = move || runtime.block_on(LocalSet::new().run_until(attending));
            std::thread::Builder::new().name("door".to_owned()).spawn(work).map_err(starting())?;
            Ok(arrivals)
        });
        let arrivals = started.inspect_err(|_| drop(db.close()))?;
        drop(server.sql.set(sql));
        Ok(Embedded { db, server, arrivals })
    }

    /// Connects a client.
    ///
    /// # Errors
    /// Of the operating system.
    pub fn connect(&self) -> std::io::Result<UnixStream> {
        let (own, theirs) = UnixStream::pair()?;
        theirs.set_nonblocking(true)?;
        let gone = |_| std::io::Error::from(std::io::ErrorKind::ConnectionRefused);
        self.arrivals.send(theirs).map_err(gone)?;
        Ok(own)
    }

    /// Cancels the statement of a connection, if the secret is its own.
    pub fn cancel(&self, number: i32, secret: &[u8]) {
        self.server.registry.cancel(number, secret);
    }

    /// Closes the database, after a checkpoint where it `was_written`, so that the next open has less to read.
    ///
    /// # Errors
    /// Where something could not be made durable.
    pub fn close(&self, was_written: bool) -> Result<(), BenchError> {
        self.end_sessions();
        // With protocol `none` nothing else keeps what was committed.
        let is_needed = was_written || self.db.config().protocol == Protocol::None;
        if is_needed
            && self.db.failure().is_none()
            && let Err(error) = self.db.checkpoint()
        {
            eprintln!("warning: no checkpoint was taken: {error}");
        }
        Ok(self.db.close()?)
    }

    fn end_sessions(&self) {
        self.server.phase.send_replace(Phase::Ending);
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
        if let Ok(runtime) = runtime {
            runtime.block_on(drain(&self.server, PATIENCE));
        }
    }
}

impl Drop for Embedded {
    fn drop(&mut self) {
        self.end_sessions();
        // Who wants to know has closed it before.
        drop(self.db.close());
    }
}

async fn attend(server: Arc<Server>, workers: Arc<Workers>, mut coming: mpsc::UnboundedReceiver<UnixStream>) {
    while let Some(socket) = coming.recv().await {
        // One that cannot be used is closed, which its client sees.
        let Ok(socket) = tokio::net::UnixStream::from_std(socket) else { continue };
        let (server, workers) = (server.clone(), workers.clone());
        tokio::task::spawn_local(async move { welcome(&server, &workers, Stream::Plain(Socket::Unix(socket))).await });
    }
}
