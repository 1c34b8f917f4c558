//! What is compared: Osier, or a peer.

use std::path::Path;

use osier_bench::ycsb::{Ycsb, YcsbConfig};
use osier_bench::{Target, TargetError};

/// A target of YCSB that can be made, opened again and looked into.
pub trait Subject: Target<Ycsb> + Sized {
    /// What makes a commit durable: which file, by which call, for each commit or for a group of them.
    const SYNCS: &'static str;

    /// Makes it in an empty directory, with all rows of a workload, durable.
    fn create(place: &Path, config: &YcsbConfig) -> Result<Self, TargetError>;
    /// Opens what is there.
    fn open(place: &Path, config: &YcsbConfig) -> Result<Self, TargetError>;
    /// Reads rows; `None` for those that are not there.
    fn read(&self, keys: &[u64]) -> Result<Vec<Option<Vec<u8>>>, TargetError>;
}
