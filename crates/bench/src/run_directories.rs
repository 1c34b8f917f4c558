//! Where a run keeps its database: in the directories given, or in a fresh one that is removed at the end.

use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{SystemTime, UNIX_EPOCH};

use crate::error::BenchError;

/// The temporary directories of this process.
static TEMPORARY: Mutex<Vec<PathBuf>> = Mutex::new(Vec::new());

fn temporary() -> MutexGuard<'static, Vec<PathBuf>> {
    TEMPORARY.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Removes the temporary directories of this process and ends it with `status`: it was interrupted.
///
/// The threads of a run would go on to create files, and whole directories where they are about to open a database. So a shell
/// takes the place of this process, which ends them all at once, and removes what they left. The worker of `osier crash` is
/// another process; it ends by itself, soon after this one, which is what the tries are for.
pub fn remove_temporary_and_exit(status: i32) -> ! {
    const REMOVE: &str = "status=$1; shift
        for try in 1 2 3 4 5 6 7 8; do rm -rf -- \"$@\" && break; sleep 0.2; done
        exit \"$status\"";
    let dirs = temporary();
    if !dirs.is_empty() {
        let error = Command::new("/bin/sh").args(["-c", REMOVE, "sh", &status.to_string()]).args(dirs.iter()).exec();
        eprintln!("warning: cannot remove the temporary directories {dirs:?}: {error}");
    }
    std::process::exit(status)
}

fn remove(dir: &Path) {
    if let Err(error) = std::fs::remove_dir_all(dir) {
        eprintln!("warning: cannot remove the temporary directory {}: {error}", dir.display());
    }
}

/// The directories of a run.
#[derive(Debug)]
pub struct RunDirectories {
    dirs: Vec<PathBuf>,
    /// Whether the directory goes with the value.
    is_temporary: bool,
}

impl RunDirectories {
    /// The directories given; without any a new one below the present directory, named after what is run.
    pub fn new(given: &[PathBuf], what: &str) -> Result<RunDirectories, BenchError> {
        if !given.is_empty() {
            return Ok(RunDirectories { dirs: given.to_vec(), is_temporary: false });
        }
        let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
        let dir = PathBuf::from(format!("osier-{what}-{:x}-{:x}", since.as_secs(), std::process::id()));
        // Whoever interrupts the run waits until the directory that is made is known.
        let mut temporary = temporary();
        std::fs::create_dir(&dir).map_err(BenchError::io("create the temporary directory", &dir))?;
        temporary.push(dir.clone());
        Ok(RunDirectories { dirs: vec![dir], is_temporary: true })
    }

    /// The directories.
    pub fn dirs(&self) -> &[PathBuf] {
        &self.dirs
    }

    /// The first.
    pub fn home(&self) -> &Path {
        &self.dirs[0]
    }

    /// Whether it is removed at the end.
    pub fn is_temporary(&self) -> bool {
        self.is_temporary
    }

    /// Leaves the directory where it is.
    pub fn keep(&mut self) {
        self.is_temporary = false;
        self.forget();
    }

    fn forget(&self) {
        temporary().retain(|dir| dir != self.home());
    }
}

impl Drop for RunDirectories {
    fn drop(&mut self) {
        if self.is_temporary {
            self.forget();
            remove(self.home());
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn given_directories_stay() {
        let dir = std::env::temp_dir().join(format!("osier-run-directories-{}", std::process::id()));
        std::fs::create_dir_all(&dir).unwrap();
        drop(RunDirectories::new(std::slice::from_ref(&dir), "test").unwrap());
        assert!(dir.exists());
        drop(RunDirectories { dirs: vec![dir.clone()], is_temporary: true });
        assert!(!dir.exists());
    }
}
