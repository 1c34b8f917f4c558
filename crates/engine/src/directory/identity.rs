//! The identity of a directory: the file `IDENTITY`, which says what a directory is, wherever it lies and however its path is
//! spelled (docs/log-format.md, section 8).
//!
//! Invariants:
//! - It is durable before anything of the database is in the directory, and replaced as a whole.
//! - It names the incarnation that the manifest has, or had before the open that is under way: that open writes its own as the
//!   next one into every directory before its manifest is stored, and as the only one afterwards. So two copies of a database
//!   that were opened separately no longer fit together.

use std::path::{Path, PathBuf};

use super::DirectoryError;
use crate::directory::faults;
use crate::ids::{DatabaseId, Incarnation};
use crate::io::{Disk, OpenMode};

/// The name of the file.
pub(crate) const FILE_NAME: &str = super::IDENTITY_NAME;
/// What it is written as before it takes its place.
pub(crate) const TEMPORARY_NAME: &str = "IDENTITY.tmp";

const MAGIC: [u8; 8] = *b"OSIERDIR";
const VERSION: u32 = 1;
const BYTES: usize = 56;

/// What a directory is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Identity {
    /// The database that it belongs to.
    pub(crate) database: DatabaseId,
    /// Its index in the manifest; 0 is the first directory, which holds the manifest.
    pub(crate) index: u32,
    /// The incarnation of the manifest that it belongs to; [`Incarnation::NONE`] before the first one is stored.
    pub(crate) incarnation: Incarnation,
    /// That of an open that has not ended; [`Incarnation::NONE`] where there is none.
    pub(crate) next: Incarnation,
}

impl Identity {
    /// Whether the directory belongs to a manifest of this incarnation.
    pub(crate) fn fits(&self, incarnation: Incarnation) -> bool {
        let is_next = self.next == incarnation && incarnation != Incarnation::NONE;
        faults::fits(self.incarnation == incarnation || is_next)
    }

    /// Reads the identity of `directory`; `None` where it has none.
    ///
    /// # Errors
    /// Where it cannot be read, is damaged, or was written by a newer program.
    pub(crate) fn load(disk: &dyn Disk, directory: &Path) -> Result<Option<Identity>, DirectoryError> {
        let path = directory.join(FILE_NAME);
        if !disk.exists(&path).map_err(DirectoryError::io("look for", &path))? {
            return Ok(None);
        }
        let file = disk.open(&path, OpenMode::Read).map_err(DirectoryError::io("open", &path))?;
        let mut bytes = [0; BYTES + 1];
        let read = file.read_at(&mut bytes, 0).map_err(DirectoryError::io("read", &path))?;
        decode(path, &bytes[..read]).map(Some)
    }

    /// Makes this the identity of `directory`, durably.
    pub(crate) fn store(&self, disk: &dyn Disk, directory: &Path) -> Result<(), DirectoryError> {
        let bytes = self.encode();
        assert!(
            decode(PathBuf::new(), &bytes).is_ok_and(|read| read == *self),
            "an identity that cannot be read again"
        );
        let (temporary, path) = (directory.join(TEMPORARY_NAME), directory.join(FILE_NAME));
        if disk.exists(&temporary).map_err(DirectoryError::io("look for", &temporary))? {
            disk.remove(&temporary).map_err(DirectoryError::io("remove", &temporary))?;
        }
        let file = disk.open(&temporary, OpenMode::Create).map_err(DirectoryError::io("create", &temporary))?;
        file.write_at(&bytes, 0).map_err(DirectoryError::io("write", &temporary))?;
        faults::sync_identity(|| file.sync().map_err(DirectoryError::io("sync", &temporary)))?;
        disk.rename(&temporary, &path).map_err(DirectoryError::io("replace", &path))?;
        disk.sync_dir(directory).map_err(DirectoryError::io("sync the directory", directory))
    }

    fn encode(&self) -> [u8; BYTES] {
        let mut bytes = [0; BYTES];
        bytes[..8].copy_from_slice(&MAGIC);
        bytes[8..12].copy_from_slice(&VERSION.to_le_bytes());
        bytes[16..32].copy_from_slice(&self.database.0.to_le_bytes());
        bytes[32..36].copy_from_slice(&self.index.to_le_bytes());
        bytes[40..48].copy_from_slice(&self.incarnation.0.to_le_bytes());
        bytes[48..56].copy_from_slice(&self.next.0.to_le_bytes());
        let checksum = checksum(&bytes);
        bytes[12..16].copy_from_slice(&checksum.to_le_bytes());
        bytes
    }
}

/// Of everything but the checksum itself.
fn checksum(bytes: &[u8; BYTES]) -> u32 {
    crc_fast::crc32_iscsi(&bytes[16..]) ^ crc_fast::crc32_iscsi(&bytes[..12])
}

fn decode(path: PathBuf, bytes: &[u8]) -> Result<Identity, DirectoryError> {
    let damaged = |what| Err(DirectoryError::IdentityDamaged { path: path.clone(), what });
    if bytes.len() < 12 || bytes[..8] != MAGIC {
        return damaged("it does not begin like an identity");
    }
    let word = |at: usize| u32::from_le_bytes(std::array::from_fn(|byte| bytes[at + byte]));
    if word(8) > VERSION {
        return Err(DirectoryError::IdentityVersion { path, found: word(8), known: VERSION });
    }
    let Ok(bytes) = <&[u8; BYTES]>::try_from(bytes) else { return damaged("its length is wrong") };
    if word(12) != checksum(bytes) || word(8) != VERSION || word(36) != 0 {
        return damaged("its checksum does not fit");
    }
    let long = |at: usize| u64::from_le_bytes(std::array::from_fn(|byte| bytes[at + byte]));
    let database = DatabaseId(u128::from(long(16)) | u128::from(long(24)) << 64);
    Ok(Identity { database, index: word(32), incarnation: Incarnation(long(40)), next: Incarnation(long(48)) })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::io::disk_for_tests::TestDisk;

    const IDENTITY: Identity =
        Identity { database: DatabaseId(7 << 70 | 9), index: 3, incarnation: Incarnation(11), next: Incarnation(12) };

    #[test]
    fn what_is_stored_is_loaded_and_durable() {
        let (disk, home) = (TestDisk::new(), Path::new("/db"));
        disk.create_dir_all(home).unwrap();
        assert_eq!(Identity::load(&disk, home).unwrap(), None);
        for index in [3, 4] {
            Identity { index, ..IDENTITY }.store(&disk, home).unwrap();
            disk.crash();
            assert_eq!(Identity::load(&disk, home).unwrap(), Some(Identity { index, ..IDENTITY }));
        }
    }

    #[test]
    fn every_changed_bit_and_length_is_damage() {
        let bytes = IDENTITY.encode();
        for bit in 0..8 * BYTES {
            let mut changed = bytes;
            changed[bit / 8] ^= 1 << (bit % 8);
            assert!(decode(PathBuf::new(), &changed).is_err(), "bit {bit}");
        }
        for length in 0..BYTES {
            assert!(decode(PathBuf::new(), &bytes[..length]).is_err(), "{length} bytes");
        }
        assert!(decode(PathBuf::new(), &[&bytes[..], &[0]].concat()).is_err());
    }
}
