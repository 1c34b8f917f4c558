//! The portals of a connection, by name.
//!
//! Invariant: the one without a name, which most clients use and no other, is found without a search.

use std::collections::HashMap;

use super::extended::Portal;

/// The portals.
#[derive(Default)]
pub struct Portals {
    unnamed: Option<Portal>,
    named: HashMap<String, Portal>,
}

impl Portals {
    /// Returns the portal of that name.
    pub fn get(&self, name: &str) -> Option<&Portal> {
        match name {
            "" => self.unnamed.as_ref(),
            name => self.named.get(name),
        }
    }

    /// Adds a portal, in the place of one that has the name.
    pub fn insert(&mut self, name: &str, portal: Portal) {
        match name {
            "" => self.unnamed = Some(portal),
            name => drop(self.named.insert(name.to_owned(), portal)),
        }
    }

    /// Takes the portal of that name away.
    pub fn remove(&mut self, name: &str) -> Option<Portal> {
        match name {
            "" => self.unnamed.take(),
            name => self.named.remove(name),
        }
    }

    /// Takes all away.
    pub fn clear(&mut self) {
        self.unnamed = None;
        self.named.clear();
    }
}
