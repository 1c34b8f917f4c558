//! A Unix domain socket over which another process asks this one: a line each way.
//!
//! Invariants:
//! - Only the user that the process runs as can connect: the socket has mode 0600 before it listens.
//! - A socket that nobody listens on was left by a process that was killed, and is replaced.
//! - Connections are answered in threads of their own, so that a long answer holds up no other.
//! - It is listened on until it is dropped, whatever errors connections end with.
//!
//! Absent: what is asked (control/).

use std::fs;
use std::io::{self, BufRead, BufReader, Read, Write};
use std::os::fd::AsRawFd;
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::{self, JoinHandle};
use std::time::Duration;

use rustix::net::{AddressFamily, Shutdown, SocketAddrUnix, SocketType};

use super::Process;

/// The longest question.
const QUESTION_BYTES_MAX: u64 = 64 << 10;
/// How long a connection may take to ask.
const PATIENCE: Duration = Duration::from_secs(10);
/// The rest after a connection that could not be taken, for want of descriptors perhaps.
const PAUSE: Duration = Duration::from_millis(50);
/// Waiting connections.
const BACKLOG: i32 = 16;
/// The longest path that fits an address.
const PATH_BYTES_MAX: usize = 100;

/// Answers a line.
pub(crate) type Answer = Arc<dyn Fn(&str) -> String + Send + Sync>;

/// A socket that is listened on; dropped, it is removed.
pub(crate) struct Listening {
    path: PathBuf,
    /// The device that the socket lies on, and its number there.
    id: (u64, u64),
    listener: Arc<UnixListener>,
    stopping: Arc<AtomicBool>,
    thread: Option<JoinHandle<()>>,
    /// The process that listens.
    process: Process,
}

/// A path that fits an address, and what keeps it valid.
struct Address {
    path: PathBuf,
    _directory: Option<fs::File>,
}

impl Address {
    /// Of the socket at `path`; a long one is reached through its directory's descriptor.
    fn of(path: &Path) -> io::Result<Address> {
        if path.as_os_str().len() <= PATH_BYTES_MAX {
            return Ok(Address { path: path.to_owned(), _directory: None });
        }
        let (parent, name) = (path.parent().unwrap_or(Path::new(".")), path.file_name().unwrap_or_default());
        let directory = fs::File::open(parent)?;
        let path = PathBuf::from(format!("/proc/self/fd/{}", directory.as_raw_fd())).join(name);
        Ok(Address { path, _directory: Some(directory) })
    }
}

/// Listens at `path`.
pub(crate) fn listen(path: &Path, answer: Answer) -> io::Result<Listening> {
    let address = Address::of(path)?;
    if fs::symlink_metadata(path).is_ok() {
        if UnixStream::connect(&address.path).is_ok() {
            return Err(io::Error::new(io::ErrorKind::AddrInUse, "another process listens on it"));
        }
        fs::remove_file(path)?;
    }
    let socket = rustix::net::socket(AddressFamily::UNIX, SocketType::STREAM, None)?;
    rustix::net::bind(&socket, &SocketAddrUnix::new(&address.path)?)?;
    fs::set_permissions(path, fs::Permissions::from_mode(0o600))?;
    rustix::net::listen(&socket, BACKLOG)?;
    let (id, listener) = (id_of(path)?, Arc::new(UnixListener::from(socket)));
    let stopping = Arc::new(AtomicBool::new(false));
    let (accepting, stops) = (Arc::clone(&listener), Arc::clone(&stopping));
    let accept = move || accept(&accepting, &stops, &answer);
    let thread = thread::Builder::new().name("osier-control".to_owned()).spawn(accept)?;
    Ok(Listening { path: path.to_owned(), id, listener, stopping, thread: Some(thread), process: Process::this() })
}

fn id_of(path: &Path) -> io::Result<(u64, u64)> {
    let of = fs::symlink_metadata(path)?;
    Ok((of.dev(), of.ino()))
}

fn accept(listener: &UnixListener, stopping: &AtomicBool, answer: &Answer) {
    loop {
        let accepted = listener.accept();
        if stopping.load(Ordering::SeqCst) {
            return;
        }
        match accepted {
            Ok((stream, _)) => {
                let answer = Arc::clone(answer);
                // Without a thread the connection ends unanswered.
                let _ = thread::Builder::new().name("osier-control".to_owned()).spawn(move || serve(stream, &answer));
            }
            Err(_) => thread::sleep(PAUSE),
        }
    }
}

fn serve(mut stream: UnixStream, answer: &Answer) {
    let mut question = String::new();
    let read = stream
        .set_read_timeout(Some(PATIENCE))
        .and_then(|()| BufReader::new((&stream).take(QUESTION_BYTES_MAX)).read_line(&mut question));
    if read.is_ok() {
        // The asking process may be gone.
        let _ = stream.write_all(answer(question.trim_end()).as_bytes()).and_then(|()| stream.write_all(b"\n"));
    }
}

impl Drop for Listening {
    fn drop(&mut self) {
        // The socket is the parent's, and so is the thread.
        if !self.process.is_this() {
            return std::mem::forget(self.thread.take());
        }
        // Another process's may lie there by now.
        if id_of(&self.path).is_ok_and(|id| id == self.id) {
            let _ = fs::remove_file(&self.path);
        }
        self.stopping.store(true, Ordering::SeqCst);
        let _ = rustix::net::shutdown(&self.listener, Shutdown::Both);
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

/// Asks the process that listens at `path`; `None` where none does. It waits as long as the other process lives: a checkpoint
/// takes its time, and the connection of a process that ends is closed.
pub(crate) fn ask(path: &Path, question: &str) -> io::Result<Option<String>> {
    let stream = match Address::of(path).and_then(|address| UnixStream::connect(&address.path)) {
        Ok(stream) => stream,
        Err(error) if matches!(error.kind(), io::ErrorKind::NotFound | io::ErrorKind::ConnectionRefused) => {
            return Ok(None);
        }
        Err(error) => return Err(error),
    };
    (&stream).write_all(question.as_bytes())?;
    (&stream).write_all(b"\n")?;
    let mut answer = String::new();
    BufReader::new(&stream).read_line(&mut answer)?;
    match answer.is_empty() {
        true => Err(io::Error::new(io::ErrorKind::UnexpectedEof, "the process ended before it answered")),
        false => Ok(Some(answer)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::io::as_child;

    #[test]
    fn it_goes_on_after_a_connection_that_could_not_be_taken() {
        let path = std::env::temp_dir().join(format!("osier-socket-{}", std::process::id()));
        let listening = listen(&path, Arc::new(|question: &str| format!("{question}?"))).unwrap();
        // From the second one on every attempt without a connection fails.
        listening.listener.set_nonblocking(true).unwrap();
        for _ in 0..3 {
            assert_eq!(ask(&path, "so").unwrap().as_deref(), Some("so?\n"));
        }
        drop(listening);
        assert!(ask(&path, "so").unwrap().is_none() && !path.exists());
    }

    #[test]
    fn a_child_leaves_it_to_the_process_that_listens() {
        let path = std::env::temp_dir().join(format!("osier-socket-child-{}", std::process::id()));
        let listening = listen(&path, Arc::new(|_: &str| "yes".to_owned())).unwrap();
        as_child(|| drop(listening));
        assert_eq!(ask(&path, "so").unwrap().as_deref(), Some("yes\n"));
        fs::remove_file(&path).unwrap();
    }
}
