//! Who is connected: seats are limited, and a statement is cancelled by the number and the secret of its connection.
//!
//! Invariants:
//! - A seat is free again when its [`Seat`] goes, however the connection ended.
//! - A secret is compared in a time that does not depend on it.

use std::collections::{HashMap, hash_map};
use std::hint::black_box;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use osier_sql::session::Canceller;
use tokio::sync::watch;

struct Entry {
    secret: Vec<u8>,
    canceller: Canceller,
}

#[derive(Default)]
struct Entries {
    by_number: HashMap<i32, Entry>,
    last: i32,
}

/// The connections of a server.
pub struct Registry {
    entries: Mutex<Entries>,
    taken: watch::Sender<usize>,
    seats: usize,
}

impl Registry {
    /// Makes a registry with so many seats.
    pub fn new(seats: usize) -> Arc<Registry> {
        Arc::new(Registry { entries: Mutex::default(), taken: watch::Sender::new(0), seats })
    }

    fn entries(&self) -> MutexGuard<'_, Entries> {
        self.entries.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Takes a seat, if one is free.
    pub fn sit(self: &Arc<Registry>) -> Option<Seat> {
        let is_free = self.taken.send_if_modified(|taken| {
            let is_free = *taken < self.seats;
            *taken += usize::from(is_free);
            is_free
        });
        is_free.then(|| Seat { registry: self.clone(), number: 0 })
    }

    /// Returns how many seats are taken.
    pub fn taken(&self) -> usize {
        *self.taken.borrow()
    }

    /// Returns how many seats there are.
    pub fn seats(&self) -> usize {
        self.seats
    }

    /// Cancels the statement of a connection, if the secret is its own.
    pub fn cancel(&self, number: i32, secret: &[u8]) {
        if let Some(entry) = self.entries().by_number.get(&number)
            && is_same(&entry.secret, secret)
        {
            entry.canceller.cancel();
        }
    }

    /// Cancels the statements of all connections.
    pub fn cancel_all(&self) {
        for entry in self.entries().by_number.values() {
            entry.canceller.cancel();
        }
    }

    /// Waits until all seats are free.
    pub async fn until_empty(&self) {
        let mut taken = self.taken.subscribe();
        // The sender is not dropped before `self`.
        drop(taken.wait_for(|taken| *taken == 0).await);
    }
}

/// Compares in a time that depends on the lengths alone.
fn is_same(a: &[u8], b: &[u8]) -> bool {
    let difference = a.iter().zip(b).fold(0, |difference, (a, b)| black_box(difference | (a ^ b)));
    a.len() == b.len() && difference == 0
}

/// A connection's place among those that a server takes.
pub struct Seat {
    registry: Arc<Registry>,
    number: i32,
}

impl Seat {
    /// Gives the connection a number by which it can be cancelled with that secret.
    pub fn register(&mut self, secret: Vec<u8>, canceller: Canceller) -> i32 {
        let mut entries = self.registry.entries();
        loop {
            entries.last = entries.last.checked_add(1).unwrap_or(1);
            let number = entries.last;
            if let hash_map::Entry::Vacant(place) = entries.by_number.entry(number) {
                place.insert(Entry { secret, canceller });
                self.number = number;
                return number;
            }
        }
    }
}

impl Drop for Seat {
    fn drop(&mut self) {
        self.registry.entries().by_number.remove(&self.number);
        self.registry.taken.send_modify(|taken| *taken -= 1);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn seats_are_limited_and_free_again() {
        let registry = Registry::new(1);
        let seat = registry.sit().unwrap();
        assert!(registry.sit().is_none());
        drop(seat);
        assert!(registry.sit().is_some());
    }

    #[test]
    fn a_secret_is_compared_whole() {
        assert!(is_same(b"abcd", b"abcd"));
        assert!(!is_same(b"abcd", b"abce") && !is_same(b"abcd", b"abc") && !is_same(b"", b"a"));
    }
}
