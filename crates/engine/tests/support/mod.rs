//! What the tests of the public API share: directories of their own, and a configuration that makes small files.

use std::fs;
use std::path::{Path, PathBuf};

use osier::{Config, Protocol};

/// An empty directory for one test.
pub(crate) fn directory(file: &str, test: &str) -> PathBuf {
    let path = Path::new(env!("CARGO_TARGET_TMPDIR")).join(file).join(test);
    let _ = fs::remove_dir_all(&path);
    path
}

/// Segments are small, and epochs short.
pub(crate) fn config(home: &Path, protocol: Protocol, streams: u32) -> Config {
    let config = Config::new(home).protocol(protocol).streams(streams);
    let set = |config: Config, name, value| config.set(name, value).expect(name);
    let config = set(set(config, "transaction_log_bytes_max", "16384"), "ring_bytes", "65536");
    set(set(config, "segment_bytes", "131072"), "epoch_interval_us", "1000")
}
