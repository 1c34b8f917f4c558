//! The entries of one simulated directory: what programs see, and what the medium holds.
//!
//! Invariant: each entry operation that [`Directory::sync`] did not cover is kept or dropped by a power loss on its own,
//! a rename as a whole. Operations on one name that are kept are kept in their order.

use std::collections::BTreeMap;
use std::ffi::OsString;

use fastrand::Rng;

/// The identity of a file or directory, independent of its names.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct NodeId(pub(super) usize);

#[derive(Clone, Debug)]
enum Change {
    Link { name: OsString, node: NodeId },
    Unlink { name: OsString },
    Rename { from: OsString, to: OsString, node: NodeId },
}

/// A directory.
#[derive(Clone, Debug, Default)]
pub(super) struct Directory {
    entries: BTreeMap<OsString, NodeId>,
    durable: BTreeMap<OsString, NodeId>,
    pending: Vec<Change>,
}

impl Directory {
    pub(super) fn get(&self, name: &OsString) -> Option<NodeId> {
        self.entries.get(name).copied()
    }

    /// The visible entries, by name.
    pub(super) fn entries(&self) -> impl Iterator<Item = (&OsString, NodeId)> {
        self.entries.iter().map(|(name, &node)| (name, node))
    }

    /// Every node that has a name here, or may have one again after a power loss.
    pub(super) fn nodes(&self) -> impl Iterator<Item = NodeId> {
        let pending = self.pending.iter().filter_map(|change| match change {
            Change::Link { node, .. } | Change::Rename { node, .. } => Some(*node),
            Change::Unlink { .. } => None,
        });
        self.entries.values().chain(self.durable.values()).copied().chain(pending)
    }

    pub(super) fn link(&mut self, name: OsString, node: NodeId) {
        self.record(Change::Link { name, node });
    }

    pub(super) fn unlink(&mut self, name: OsString) {
        self.record(Change::Unlink { name });
    }

    pub(super) fn rename(&mut self, from: OsString, to: OsString, node: NodeId) {
        self.record(Change::Rename { from, to, node });
    }

    fn record(&mut self, change: Change) {
        apply(&mut self.entries, &change);
        self.pending.push(change);
    }

    pub(super) fn sync(&mut self) {
        for change in self.pending.drain(..) {
            apply(&mut self.durable, &change);
        }
    }

    /// Lets the power fail.
    pub(super) fn power_loss(&mut self, rng: &mut Rng) {
        let style = rng.u8(0..6);
        let cut = rng.usize(0..=self.pending.len());
        for (index, change) in std::mem::take(&mut self.pending).into_iter().enumerate() {
            let kept = match style {
                0 => false,
                1 => true,
                2 => index < cut,
                _ => rng.bool(),
            };
            if kept {
                apply(&mut self.durable, &change);
            }
        }
        self.entries.clone_from(&self.durable);
    }
}

fn apply(entries: &mut BTreeMap<OsString, NodeId>, change: &Change) {
    match change {
        Change::Link { name, node } => {
            entries.insert(name.clone(), *node);
        }
        Change::Unlink { name } => {
            entries.remove(name);
        }
        Change::Rename { from, to, node } => {
            if entries.get(from) == Some(node) {
                entries.remove(from);
            }
            entries.insert(to.clone(), *node);
        }
    }
}
