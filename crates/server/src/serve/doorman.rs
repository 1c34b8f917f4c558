//! Who comes in: accepts connections, reads their first packet, answers what needs no session, and gives the others to workers.
//!
//! It has a thread of its own, on which no statement runs: a request to cancel is heard while all workers are busy.
//!
//! Invariants:
//! - A connection begins its session within [`ENTRY_MAX`], or is closed: that is the time for TLS and the password, too.
//! - Connections that have not begun a session are limited, too ([`WAITING_EXTRA`]); what comes beyond is closed at once.
//! - Bytes that came in the clear before TLS are not taken for bytes that came with it.

use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use bytes::BytesMut;
use osier_sql::{SqlError, SqlState};
use tokio::net::{TcpListener, UnixListener};
use tokio::time::Instant;

use super::errors::{End, Severity, fatal, push_error, shutting_down, violation};
use super::output::Output;
use super::registry::Seat;
use super::server::Server;
use super::startup_packet::{Packet, Startup};
use super::stream::{Socket, Stream};
use super::worker::Workers;

/// How long a connection may take to begin its session.
const ENTRY_MAX: Duration = Duration::from_secs(60);
/// Connections that may wait at the door beside those that have seats.
const WAITING_EXTRA: usize = 100;
/// How long to wait where the operating system has no more descriptors.
const EXHAUSTED_PAUSE: Duration = Duration::from_millis(100);
/// How long a client that is refused has to hear why.
const REFUSAL_MAX: Duration = Duration::from_secs(2);

/// A connection that begins a session.
pub struct Arrival {
    /// Its stream, parked.
    pub stream: Stream,
    /// What the client wishes.
    pub startup: Startup,
    /// Bytes that came behind that.
    pub rest: BytesMut,
    /// Its seat.
    pub seat: Seat,
    /// When it has to be through with the password.
    pub deadline: Instant,
}

/// Where connections come from.
pub enum Door {
    /// TCP.
    Tcp(TcpListener),
    /// A Unix socket.
    Unix(UnixListener),
}

impl Door {
    async fn accept(&self) -> io::Result<Socket> {
        match self {
            Door::Tcp(listener) => {
                let (socket, _) = listener.accept().await?;
                socket.set_nodelay(true)?;
                rustix::net::sockopt::set_socket_keepalive(&socket, true)?;
                Ok(Socket::Tcp(socket))
            }
            Door::Unix(listener) => Ok(Socket::Unix(listener.accept().await?.0)),
        }
    }
}

/// Lets connections in, until the server ends.
pub async fn attend(door: Door, server: Arc<Server>, workers: Arc<Workers>) {
    let waiting = Arc::new(AtomicUsize::new(0));
    loop {
        let socket = tokio::select! {
            () = server.until_ending() => return,
            accepted = door.accept() => match accepted {
                Ok(socket) => socket,
                Err(_) => {
                    tokio::time::sleep(EXHAUSTED_PAUSE).await;
                    continue;
                }
            },
        };
        if waiting.load(Ordering::Relaxed) >= server.registry.seats() + WAITING_EXTRA {
            continue;
        }
        waiting.fetch_add(1, Ordering::Relaxed);
        let (server, workers, waiting) = (server.clone(), workers.clone(), waiting.clone());
        tokio::task::spawn_local(async move {
            welcome(&server, &workers, Stream::Plain(socket)).await;
            waiting.fetch_sub(1, Ordering::Relaxed);
        });
    }
}

/// Begins with a connection, and gives it to a worker if it begins a session.
pub async fn welcome(server: &Server, workers: &Workers, stream: Stream) {
    let deadline = Instant::now() + ENTRY_MAX;
    let greeted = tokio::time::timeout_at(deadline, greet(server, stream, deadline)).await;
    if let Ok(Some(arrival)) = greeted {
        workers.take(arrival);
    }
}

/// Reads the first packets. Returns the connection if it begins a session; otherwise it was answered.
async fn greet(server: &Server, mut stream: Stream, deadline: Instant) -> Option<Arrival> {
    let mut bytes = BytesMut::with_capacity(512);
    loop {
        let answered = match next_packet(&mut stream, &mut bytes).await {
            Ok(Packet::Tls) => {
                stream = encrypt(server, stream, &bytes).await.ok()?;
                Ok(())
            }
            Ok(Packet::Gss) => stream.send(b"N").await.map_err(End::from),
            Ok(Packet::Cancel { number, secret }) => {
                server.registry.cancel(number, &secret);
                Err(End::Closed)
            }
            Ok(Packet::Startup(startup)) => match admit(server) {
                Ok(seat) => {
                    stream.park().ok()?;
                    return Some(Arrival { stream, startup, rest: bytes, seat, deadline });
                }
                Err(error) => {
                    server.statistics.refused();
                    Err(End::Fatal(error))
                }
            },
            Err(end) => Err(end),
        };
        match answered {
            Ok(()) => {}
            Err(end) => {
                refuse(&mut stream, end).await;
                return None;
            }
        }
    }
}

async fn next_packet(stream: &mut Stream, bytes: &mut BytesMut) -> Result<Packet, End> {
    loop {
        if let Some(packet) = Packet::take(bytes).map_err(End::Fatal)? {
            return Ok(packet);
        }
        if stream.read(bytes).await? == 0 {
            return Err(End::Closed);
        }
    }
}

/// Answers a request for TLS.
async fn encrypt(server: &Server, mut stream: Stream, rest: &BytesMut) -> Result<Stream, End> {
    let tls = server.tls.as_ref().filter(|_| matches!(stream, Stream::Plain(Socket::Tcp(_))));
    let Some(tls) = tls else {
        stream.send(b"N").await?;
        return Ok(stream);
    };
    if !rest.is_empty() {
        refuse(&mut stream, End::Fatal(violation("received unencrypted data after SSL request"))).await;
        return Err(End::Closed);
    }
    stream.send(b"S").await?;
    match stream {
        Stream::Plain(socket) => Ok(Stream::Tls(Box::new(tls.accept(socket).await?))),
        encrypted => Ok(encrypted),
    }
}

/// Finds a seat.
fn admit(server: &Server) -> Result<Seat, SqlError> {
    if server.is_ending() {
        return Err(SqlError::new(SqlState::CannotConnectNow, "the database system is shutting down"));
    }
    if server.sql.get().is_none() {
        return Err(SqlError::new(SqlState::CannotConnectNow, "the database system is starting up"));
    }
    server.registry.sit().ok_or_else(|| {
        SqlError::new(SqlState::TooManyConnections, "sorry, too many clients already")
            .with_hint("Close connections, or raise --connections-max of osier serve.")
    })
}

/// Tells a client why its connection ends, and ends it.
pub async fn refuse(stream: &mut Stream, end: End) {
    if let End::Fatal(error) = end {
        let mut output = Output::default();
        push_error(&mut output, Severity::Fatal, &error);
        // A client that does not listen is not waited for.
        drop(tokio::time::timeout(REFUSAL_MAX, stream.send(&output.bytes)).await);
    }
    drop(tokio::time::timeout(REFUSAL_MAX, stream.close()).await);
}

/// Returns the end of a connection that was open when the server ended.
pub fn ended_by_server() -> End {
    End::Fatal(shutting_down())
}

/// Returns the end of a connection that took too long to begin its session.
pub fn too_late() -> End {
    fatal(SqlState::ProtocolViolation, "the session did not begin in time")
}
