//! `osier serve --http`: whether the server is well, in words, in figures and in pictures.
//!
//! A thread of its own answers; another one, [`sampler`], looks at the database once a second and keeps the last minutes. Answers
//! are made of what it has seen.
//!
//! Invariants:
//! - An answer reads no row and takes no lock of the database for longer than it takes to copy a few numbers. Only the sampler
//!   asks it for more, one question at a time, whatever clients do.
//! - Nothing can be changed: all there is are `GET` and `HEAD`.
//! - A request, its answer and the number of connections are limited ([`HEAD_BYTES_MAX`], [`PATIENCE`], [`CONNECTIONS_MAX`]).
//! - Nothing is shown that clients alone may know: the texts of statements have no values (`scrub.rs`).
//!
//! Absent: TLS and passwords. Listen at the loopback, behind a proxy, or in a network that may know.

mod figures;
mod history;
mod prometheus;
mod request;
mod sampler;

use std::net::{SocketAddr, TcpListener};
use std::rc::Rc;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use osier_bench::error::BenchError;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio::task::LocalSet;

use super::listeners;
use super::server::Server;
use request::{Request, Response};
use sampler::Sampler;

/// The longest head of a request.
const HEAD_BYTES_MAX: usize = 8 << 10;
/// How long a client may take to ask, and again to take the answer.
const PATIENCE: Duration = Duration::from_secs(5);
/// Connections beyond these are closed at once.
const CONNECTIONS_MAX: usize = 64;
/// How long to wait where the operating system has no more descriptors.
const EXHAUSTED_PAUSE: Duration = Duration::from_millis(100);

/// The page, which needs nothing from elsewhere.
const PAGE: &str = include_str!("page.html");

/// Returns the addresses that `--http` means: a port alone is one of the loopback.
///
/// # Errors
/// A text that means none.
pub fn addresses(text: &str) -> Result<Vec<SocketAddr>, BenchError> {
    match text.parse::<u16>() {
        Ok(port) => Ok(vec![SocketAddr::from(([127, 0, 0, 1], port))]),
        Err(_) => listeners::addresses(text),
    }
}

/// Listens, and answers on a thread of its own for as long as the process lasts. Returns where.
///
/// # Errors
/// An address that is taken; of the operating system.
pub fn start(text: &str, server: &Arc<Server>) -> Result<Vec<SocketAddr>, BenchError> {
    let failed = |source| BenchError::Io { action: "start the status page of", path: "osier serve".into(), source };
    let doors: Vec<TcpListener> =
        addresses(text)?.into_iter().map(|address| listeners::listen(address, "--http")).collect::<Result<_, _>>()?;
    let bound = doors.iter().map(TcpListener::local_addr).collect::<Result<Vec<_>, _>>().map_err(failed)?;
    if let Some(open) = bound.iter().find(|address| !address.ip().is_loopback()) {
        eprintln!("warning: everyone who reaches {open} can read the status page");
    }
    let sampler = Sampler::start(server).map_err(failed)?;
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().map_err(failed)?;
    let work = move || runtime.block_on(LocalSet::new().run_until(attend(doors, sampler)));
    std::thread::Builder::new().name("status page".to_owned()).spawn(work).map_err(failed)?;
    Ok(bound)
}

async fn attend(doors: Vec<TcpListener>, sampler: Arc<Sampler>) {
    let present = Rc::new(AtomicUsize::new(0));
    for door in doors {
        let (sampler, present) = (sampler.clone(), present.clone());
        tokio::task::spawn_local(async move {
            // A runtime that takes no listener has none to answer at.
            let Ok(door) = tokio::net::TcpListener::from_std(door) else { return };
            let is_private = door.local_addr().is_ok_and(|address| address.ip().is_loopback());
            loop {
                let Ok((socket, _)) = door.accept().await else {
                    tokio::time::sleep(EXHAUSTED_PAUSE).await;
                    continue;
                };
                if present.load(Ordering::Relaxed) >= CONNECTIONS_MAX {
                    continue;
                }
                present.fetch_add(1, Ordering::Relaxed);
                let (sampler, present) = (sampler.clone(), present.clone());
                tokio::task::spawn_local(async move {
                    // A client that has gone misses nothing.
                    let _gone = converse(socket, &sampler, is_private).await;
                    present.fetch_sub(1, Ordering::Relaxed);
                });
            }
        });
    }
    std::future::pending::<()>().await;
}

/// Reads one request and answers it.
async fn converse(mut socket: TcpStream, sampler: &Sampler, is_private: bool) -> std::io::Result<()> {
    let response = match tokio::time::timeout(PATIENCE, read_head(&mut socket)).await {
        Ok(Ok(Some(head))) => respond(&head, sampler, is_private),
        Ok(Ok(None)) => Response::error(431, "the head of the request is too long"),
        Ok(Err(error)) => return Err(error),
        Err(_) => Response::error(408, "the request did not come in time"),
    };
    let sending = async {
        socket.write_all(&response.bytes()).await?;
        socket.shutdown().await?;
        // What is left of the request is read, lest the answer is lost in a reset.
        let mut rest = [0; 1024];
        while socket.read(&mut rest).await? > 0 {}
        Ok(())
    };
    tokio::time::timeout(PATIENCE, sending).await.unwrap_or(Ok(()))
}

/// Reads up to the blank line; `None` where there is too much before it.
async fn read_head(socket: &mut TcpStream) -> std::io::Result<Option<Vec<u8>>> {
    let mut head = Vec::with_capacity(1024);
    loop {
        let mut piece = [0; 1024];
        let length = socket.read(&mut piece).await?;
        if length == 0 {
            return Err(std::io::ErrorKind::UnexpectedEof.into());
        }
        // The end of the head may lie in two pieces.
        let from = head.len().saturating_sub(3);
        head.extend_from_slice(&piece[..length]);
        if head[from..].windows(4).any(|four| four == b"\r\n\r\n") {
            return Ok(Some(head));
        }
        if head.len() > HEAD_BYTES_MAX {
            return Ok(None);
        }
    }
}

fn respond(head: &[u8], sampler: &Sampler, is_private: bool) -> Response {
    let request = match Request::parse(head) {
        Ok(request) => request,
        Err(response) => return response,
    };
    if is_private && !request.is_for_loopback() {
        return Response::error(403, "this address answers to names of the loopback alone");
    }
    let response = match request.path {
        "/" => Response::new(200, "text/html; charset=utf-8", PAGE.to_owned()),
        "/health" => sampler.health(),
        "/ready" => sampler.ready(),
        "/metrics" => Response::new(200, "text/plain; version=0.0.4; charset=utf-8", sampler.prometheus()),
        "/status.json" => Response::new(200, "application/json", sampler.figures()),
        _ => Response::error(404, "there are /, /health, /ready, /metrics and /status.json"),
    };
    if request.is_head { response.without_body() } else { response }
}
