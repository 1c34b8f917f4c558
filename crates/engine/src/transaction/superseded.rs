//! Versions of procedures that were replaced or dropped: how long they are kept, and their end.
//!
//! A version is collected by the next transaction that defines a procedure after a checkpoint whose boundary epoch is no earlier
//! than the one in which the version was seen to be superseded. A call that used it found it current when it was validated, so
//! its epoch is no later than that of the transaction that superseded it (docs/protocols.md, epochs), and that one's no later
//! than the epoch of whoever sees it: the checkpoint holds what every such call did.
//!
//! Invariants:
//! - What is noted never becomes untrue: a version that is superseded stays so.
//! - The last version of the greatest id stays, so that no id is given twice.
//!
//! Recovery needs even less: it runs the log in its order, and a definition that a later transaction of the log removes is there
//! when the calls before that one run again. The rule is for whoever reads the log by hand.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::atomic::{AtomicU64, Ordering};

use osier_memory::sync::{Mutex, lock};

use super::Transaction;
use crate::catalog::Catalog;
use crate::catalog::procedure::VersionKey;
use crate::error::Error;
use crate::ids::{Epoch, ProcedureId};
use crate::table::KeyRange;

/// What is known of superseded versions.
pub(crate) struct Superseded {
    /// Ids from this one on were given since the database was opened.
    first_new_id: ProcedureId,
    /// Those of them that were dropped.
    dropped: Mutex<BTreeSet<ProcedureId>>,
    /// When each version was first seen to be superseded.
    seen: Mutex<BTreeMap<VersionKey, Epoch>>,
    /// The boundary of the last checkpoint.
    checkpointed: AtomicU64,
}

impl Superseded {
    /// Nothing is known but which procedures `catalog` has.
    pub(super) fn new(catalog: &Catalog) -> Superseded {
        let first_new_id = catalog.first_free_procedure_id();
        let (dropped, seen, checkpointed) = Default::default();
        Superseded { first_new_id, dropped, seen, checkpointed }
    }

    /// A procedure was dropped, and that has committed.
    pub(super) fn dropped(&self, id: ProcedureId) {
        lock(&self.dropped).insert(id);
    }

    /// A checkpoint has become valid that holds all transactions of epochs up to `boundary`, and no others.
    pub(crate) fn checkpointed(&self, boundary: Epoch) {
        self.checkpointed.fetch_max(boundary.0, Ordering::Release);
    }

    /// Whether a later version has committed, or the procedure was dropped.
    fn is_superseded(&self, catalog: &Catalog, of: VersionKey) -> bool {
        match catalog.open_procedures.find_by(|procedure| procedure.version().id == of.id) {
            Some(current) => current.version().version > of.version,
            // A procedure that is about to be published is a new one.
            None => of.id < self.first_new_id || lock(&self.dropped).contains(&of.id),
        }
    }

    /// Returns which of all `versions` nothing needs any more.
    fn collectable(&self, catalog: &Catalog, versions: &[VersionKey], now: impl Fn() -> Epoch) -> Vec<VersionKey> {
        let superseded = versions.iter().copied().filter(|of| self.is_superseded(catalog, *of));
        let superseded: BTreeSet<VersionKey> = superseded.collect();
        // After the look, so that it is no earlier than any of them.
        let now = now();
        let mut seen = lock(&self.seen);
        seen.retain(|of, _| superseded.contains(of));
        for of in &superseded {
            seen.entry(*of).or_insert(now);
        }
        let checkpointed = Epoch(self.checkpointed.load(Ordering::Acquire));
        let last = versions.iter().max();
        let is_over = |(of, epoch): &(&VersionKey, &Epoch)| **epoch <= checkpointed && Some(*of) != last;
        seen.iter().filter(is_over).map(|(of, _)| *of).collect()
    }
}

impl Transaction<'_> {
    /// Returns every version of a procedure that the catalog holds, in their order.
    ///
    /// # Errors
    /// A conflict.
    pub(crate) fn procedure_versions(&self) -> Result<Vec<VersionKey>, Error> {
        let versions = &self.shared.catalog.system.procedure_versions;
        let rows = self.scan(versions, KeyRange::all())?;
        rows.map(|row| Ok(VersionKey::of_version(&row?))).collect()
    }

    /// Removes the versions that nothing needs any more, as a part of a transaction that goes on to define a procedure.
    pub(crate) fn collect_versions(&self) -> Result<(), Error> {
        if self.has_defined() {
            // What it did itself is not committed.
            return Ok(());
        }
        let (system, shared) = (&self.shared.catalog.system.procedure_versions, self.shared);
        let versions = self.procedure_versions()?;
        for of in shared.superseded.collectable(&shared.catalog, &versions, || self.pin().current_epoch()) {
            let key = system.keys.of_key(&of.key())?;
            self.write_catalog(system, |state, tree_ref| self.delete_encoded(state, system, tree_ref, &key))?;
        }
        Ok(())
    }
}
