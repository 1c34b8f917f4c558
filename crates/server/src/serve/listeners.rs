//! Where the server listens: addresses of TCP, and a Unix socket.
//!
//! Invariants:
//! - The Unix socket is of mode 0600 from the moment at which it has its name.
//! - What lies at that name is removed only if it is a socket at which nobody listens.

use std::fs;
use std::io::ErrorKind;
use std::net::{SocketAddr, TcpListener, ToSocketAddrs};
use std::os::unix::fs::{FileTypeExt, PermissionsExt};
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::{Path, PathBuf};

use osier_bench::error::BenchError;

/// Finds the addresses that a text means, as `127.0.0.1:5432` or `localhost:5432`.
///
/// # Errors
/// A text that means none.
pub fn addresses(text: &str) -> Result<Vec<SocketAddr>, BenchError> {
    let wrong =
        |why: &str| BenchError::Usage(format!("cannot listen at {text}: {why}; use HOST:PORT, as 127.0.0.1:5432"));
    let found: Vec<SocketAddr> = text.to_socket_addrs().map_err(|error| wrong(&error.to_string()))?.collect();
    if found.is_empty() { Err(wrong("it has no address")) } else { Ok(found) }
}

/// Listens at an address, which the option `option` named.
///
/// # Errors
/// An address that is taken, or that this machine does not have.
pub fn listen(address: SocketAddr, option: &str) -> Result<TcpListener, BenchError> {
    let bound = TcpListener::bind(address).and_then(|listener| listener.set_nonblocking(true).map(|()| listener));
    bound.map_err(|error| {
        let cure = match error.kind() {
            ErrorKind::AddrInUse => ": another process listens there; end it, or choose another port with",
            ErrorKind::PermissionDenied => ": ports below 1024 are for the superuser; choose another one with",
            _ => "; choose another address with",
        };
        BenchError::Usage(format!("cannot listen at {address}{cure} {option} ({error})"))
    })
}

/// A Unix socket, which goes with the value.
pub struct SocketFile(PathBuf);

impl SocketFile {
    /// Returns the name of the socket for a port.
    pub fn path(dir: &Path, port: u16) -> PathBuf {
        let dir = std::path::absolute(dir).unwrap_or_else(|_| dir.to_owned());
        dir.join(format!(".s.PGSQL.{port}"))
    }

    /// Listens at a Unix socket.
    ///
    /// # Errors
    /// A name that is taken or too long; of the operating system.
    pub fn listen(path: &Path) -> Result<(UnixListener, SocketFile), BenchError> {
        remove_stale(path)?;
        let failed = |source| BenchError::Io { action: "listen at", path: path.to_owned(), source };
        // The name comes last, when nobody else can connect any more.
        let unnamed = path.with_extension("new");
        drop(fs::remove_file(&unnamed));
        let listener = UnixListener::bind(&unnamed).map_err(failed)?;
        fs::set_permissions(&unnamed, fs::Permissions::from_mode(0o600)).map_err(failed)?;
        fs::rename(&unnamed, path).map_err(failed)?;
        listener.set_nonblocking(true).map_err(failed)?;
        Ok((listener, SocketFile(path.to_owned())))
    }
}

impl Drop for SocketFile {
    fn drop(&mut self) {
        // The next start removes what stays.
        drop(fs::remove_file(&self.0));
    }
}

fn remove_stale(path: &Path) -> Result<(), BenchError> {
    let Ok(there) = fs::symlink_metadata(path) else { return Ok(()) };
    if !there.file_type().is_socket() {
        let message = format!("{} is in the way of the socket: remove it, or use --socket-dir", path.display());
        return Err(BenchError::Usage(message));
    }
    if UnixStream::connect(path).is_ok() {
        let message = format!("another process listens at {}: end it, or use --socket-dir", path.display());
        return Err(BenchError::Usage(message));
    }
    fs::remove_file(path).map_err(|source| BenchError::Io { action: "remove", path: path.to_owned(), source })
}
