//! The byte stream of a connection: TCP or a Unix socket, in the clear or with TLS.
//!
//! Invariants:
//! - A socket belongs to the runtime of one thread. It is [parked](Stream::park) before it goes to another thread and
//!   [resumed](Stream::resume) there.
//! - [`Stream::send_now`] is used only while nothing of an earlier write waits in the stream, so that bytes keep their order.
//!
//! `send_now` is for the rows of a statement that runs: the statement is a plain call, nothing can be awaited within it. It
//! writes to the socket's file descriptor, which does not block. While the client is not reading it sleeps in `poll` for a
//! moment, and then lets the other connections of the thread go on. The time that it may take is limited by [`Patience`], so
//! that a slow client cannot keep what the statement has locked for long.

use std::io::{self, ErrorKind, Write};
use std::os::fd::{AsFd, BorrowedFd};
use std::pin::Pin;
use std::task::{Context, Poll};
use std::time::{Duration, Instant};

use bytes::BytesMut;
use rustix::event::{PollFd, PollFlags, Timespec};
use rustix::io::Errno;
use rustix::net::SendFlags;
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt, ReadBuf};
use tokio::net::{TcpStream, UnixStream};
use tokio_rustls::server::TlsStream;

/// Bytes that are handed to TLS at a time, below the limit of its own buffer.
const TLS_PIECE_BYTES: usize = 32 * 1024;

/// A socket.
#[derive(Debug)]
pub enum Socket {
    /// TCP.
    Tcp(TcpStream),
    /// A Unix socket.
    Unix(UnixStream),
    /// TCP, between two threads.
    ParkedTcp(std::net::TcpStream),
    /// A Unix socket, between two threads.
    ParkedUnix(std::os::unix::net::UnixStream),
    /// Lost while it went to another thread.
    Gone,
}

impl Socket {
    fn park(&mut self) -> io::Result<()> {
        *self = match std::mem::replace(self, Socket::Gone) {
            Socket::Tcp(socket) => Socket::ParkedTcp(socket.into_std()?),
            Socket::Unix(socket) => Socket::ParkedUnix(socket.into_std()?),
            parked => parked,
        };
        Ok(())
    }

    fn resume(&mut self) -> io::Result<()> {
        *self = match std::mem::replace(self, Socket::Gone) {
            Socket::ParkedTcp(socket) => Socket::Tcp(TcpStream::from_std(socket)?),
            Socket::ParkedUnix(socket) => Socket::Unix(UnixStream::from_std(socket)?),
            resumed => resumed,
        };
        Ok(())
    }

    fn descriptor(&self) -> io::Result<BorrowedFd<'_>> {
        match self {
            Socket::Tcp(socket) => Ok(socket.as_fd()),
            Socket::Unix(socket) => Ok(socket.as_fd()),
            Socket::ParkedTcp(_) | Socket::ParkedUnix(_) | Socket::Gone => Err(between_threads()),
        }
    }

    /// Writes what the socket takes, and waits while it takes nothing.
    fn send_some(&self, bytes: &[u8], patience: &mut Patience) -> io::Result<usize> {
        let descriptor = self.descriptor()?;
        loop {
            match rustix::net::send(descriptor, bytes, SendFlags::NOSIGNAL | SendFlags::DONTWAIT) {
                Ok(sent) => {
                    patience.sent(sent);
                    return Ok(sent);
                }
                Err(Errno::INTR) => {}
                Err(Errno::AGAIN) => patience.wait(descriptor)?,
                Err(error) => return Err(error.into()),
            }
        }
    }
}

fn between_threads() -> io::Error {
    io::Error::new(ErrorKind::NotConnected, "the socket is between two threads")
}

impl AsyncRead for Socket {
    fn poll_read(self: Pin<&mut Self>, context: &mut Context<'_>, buffer: &mut ReadBuf<'_>) -> Poll<io::Result<()>> {
        match self.get_mut() {
            Socket::Tcp(socket) => Pin::new(socket).poll_read(context, buffer),
            Socket::Unix(socket) => Pin::new(socket).poll_read(context, buffer),
            _ => Poll::Ready(Err(between_threads())),
        }
    }
}

impl AsyncWrite for Socket {
    fn poll_write(self: Pin<&mut Self>, context: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        match self.get_mut() {
            Socket::Tcp(socket) => Pin::new(socket).poll_write(context, bytes),
            Socket::Unix(socket) => Pin::new(socket).poll_write(context, bytes),
            _ => Poll::Ready(Err(between_threads())),
        }
    }

    fn poll_flush(self: Pin<&mut Self>, _context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Poll::Ready(Ok(()))
    }

    fn poll_shutdown(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        match self.get_mut() {
            Socket::Tcp(socket) => Pin::new(socket).poll_shutdown(context),
            Socket::Unix(socket) => Pin::new(socket).poll_shutdown(context),
            _ => Poll::Ready(Err(between_threads())),
        }
    }
}

/// How long one statement may wait for its client: 10 seconds, and a second more for each MiB that the client has taken.
///
/// It keeps the thread for [`Patience::TURN`] at a time, which is enough for a client that reads. In between the other
/// connections of the thread have their turn.
#[derive(Debug, Default)]
pub struct Patience {
    waited: Duration,
    sent_bytes: u64,
    /// How often the socket took nothing, one time after the other.
    turns: u32,
}

impl Patience {
    const BASE: Duration = Duration::from_secs(10);
    const TURN: Duration = Duration::from_millis(1);
    /// The others have at most so many turns for one.
    const PAUSE_TURNS_MAX: u32 = 32;

    fn left(&self) -> Duration {
        (Patience::BASE + Duration::from_secs(self.sent_bytes >> 20)).saturating_sub(self.waited)
    }

    fn sent(&mut self, bytes: usize) {
        self.sent_bytes += bytes as u64;
        self.turns = 0;
    }

    /// Waits until the socket takes bytes, or for a while.
    fn wait(&mut self, descriptor: BorrowedFd<'_>) -> io::Result<()> {
        let left = self.left();
        if left.is_zero() {
            return Err(ErrorKind::TimedOut.into());
        }
        let begun = Instant::now();
        if self.turns > 0 {
            // At once where there are no others, or the statement is cancelled.
            osier::task::pause(Patience::TURN * self.turns.min(Patience::PAUSE_TURNS_MAX));
        }
        let timeout = Timespec { tv_sec: 0, tv_nsec: i64::from(left.min(Patience::TURN).subsec_nanos()) };
        let polled = rustix::event::poll(&mut [PollFd::new(&descriptor, PollFlags::OUT)], Some(&timeout));
        self.turns += 1;
        self.waited += begun.elapsed();
        match polled {
            Ok(_) | Err(Errno::INTR) => Ok(()),
            Err(error) => Err(error.into()),
        }
    }
}

/// Writes as a blocking socket would.
struct Blocking<'a> {
    socket: &'a Socket,
    patience: &'a mut Patience,
}

impl Write for Blocking<'_> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.socket.send_some(bytes, self.patience)
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// A socket, with TLS or without.
#[derive(Debug)]
pub enum Stream {
    /// In the clear.
    Plain(Socket),
    /// With TLS.
    Tls(Box<TlsStream<Socket>>),
}

impl Stream {
    /// Whether it is a Unix socket of a process with this user's number, or the superuser's.
    pub fn is_of_own_user(&self) -> bool {
        let Stream::Plain(Socket::Unix(socket)) = self else { return false };
        let own = rustix::process::geteuid().as_raw();
        socket.peer_cred().is_ok_and(|peer| peer.uid() == own || peer.uid() == 0)
    }

    /// Takes the socket from the runtime of this thread.
    ///
    /// # Errors
    /// Of the operating system.
    pub fn park(&mut self) -> io::Result<()> {
        self.socket().park()
    }

    /// Gives the socket to the runtime of this thread.
    ///
    /// # Errors
    /// Of the operating system.
    pub fn resume(&mut self) -> io::Result<()> {
        self.socket().resume()
    }

    fn socket(&mut self) -> &mut Socket {
        match self {
            Stream::Plain(socket) => socket,
            Stream::Tls(stream) => stream.get_mut().0,
        }
    }

    /// Waits for bytes and appends them. Returns how many came; zero where none will come.
    ///
    /// # Errors
    /// Where the connection broke.
    pub async fn read(&mut self, into: &mut BytesMut) -> io::Result<usize> {
        match self {
            Stream::Plain(socket) => socket.read_buf(into).await,
            Stream::Tls(stream) => stream.read_buf(into).await,
        }
    }

    /// Sends bytes.
    ///
    /// # Errors
    /// Where the connection broke.
    pub async fn send(&mut self, bytes: &[u8]) -> io::Result<()> {
        match self {
            Stream::Plain(socket) => socket.write_all(bytes).await,
            Stream::Tls(stream) => {
                stream.write_all(bytes).await?;
                stream.flush().await
            }
        }
    }

    /// Sends some of these bytes, and returns how many. Safe to cancel: what was not returned was not sent.
    ///
    /// # Errors
    /// Where the connection broke.
    pub async fn send_part(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let sent = match self {
            Stream::Plain(socket) => socket.write(bytes).await?,
            Stream::Tls(stream) => stream.write(bytes).await?,
        };
        if sent == 0 { Err(ErrorKind::WriteZero.into()) } else { Ok(sent) }
    }

    /// Sends what was taken by [`Stream::send_part`] and has not left. Safe to cancel.
    ///
    /// # Errors
    /// Where the connection broke.
    pub async fn flush(&mut self) -> io::Result<()> {
        match self {
            Stream::Plain(socket) => socket.flush().await,
            Stream::Tls(stream) => stream.flush().await,
        }
    }

    /// Says that no more bytes come, as far as the peer can be told.
    pub async fn close(&mut self) {
        let told = match self {
            Stream::Plain(socket) => socket.shutdown().await,
            Stream::Tls(stream) => stream.shutdown().await,
        };
        // A peer that has gone needs no telling.
        drop(told);
    }

    /// Sends bytes while the statement waits.
    ///
    /// # Errors
    /// Where the connection broke; [`ErrorKind::TimedOut`] where the client takes too long.
    pub fn send_now(&mut self, mut bytes: &[u8], patience: &mut Patience) -> io::Result<()> {
        match self {
            Stream::Plain(socket) => {
                while !bytes.is_empty() {
                    bytes = &bytes[socket.send_some(bytes, patience)?..];
                }
            }
            Stream::Tls(stream) => {
                let (socket, tls) = stream.get_mut();
                for piece in bytes.chunks(TLS_PIECE_BYTES) {
                    tls.writer().write_all(piece)?;
                    while tls.wants_write() {
                        tls.write_tls(&mut Blocking { socket, patience })?;
                    }
                }
            }
        }
        Ok(())
    }
}
