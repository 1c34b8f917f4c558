//! Which thread runs a transaction, if it has nothing more urgent: the one that runs others of the same first column of the key,
//! so that rows stay in its cache, and what replaces them in its memory.
//!
//! A hint: an idle thread takes what is another one's. What follows is at home again.

use foldhash::fast::FixedState;
use std::hash::BuildHasher;

use super::super::notes::Group;
use crate::table::Table;

/// How many groups of first columns are told apart; a power of two.
const GROUPS: usize = 4096;

/// Returns the group of rows with these keys: alike for all tables, because their keys often begin with the same column.
pub(super) fn group(table: &Table, key: &[u8]) -> Group {
    let first = table.keys.prefix_len(key, 1).map_or(key, |length| &key[..length]);
    Some((FixedState::with_seed(0).hash_one(first) as usize % GROUPS) as u16)
}

/// Where transactions are at home.
pub(super) struct Homes {
    /// By the hash of the first column: the thread, once there is a transaction of it.
    of: Box<[Option<u16>]>,
    /// How many transactions are at home with each thread.
    loads: Vec<u64>,
    /// What decided where each transaction is at home, where that is wanted.
    noted: Option<Vec<Group>>,
}

impl Homes {
    /// So many threads have nothing yet.
    pub(super) fn new(threads: usize) -> Homes {
        Homes { of: vec![None; GROUPS].into(), loads: vec![0; threads], noted: None }
    }

    /// Returns where a transaction is at home that modifies rows of this group first, or any other one: where there is least so
    /// far, if nobody of the group has been there before.
    pub(super) fn of(&mut self, group: Group) -> u16 {
        self.noted.iter_mut().for_each(|noted| noted.push(group));
        let known = group.and_then(|group| self.of[usize::from(group)]);
        let home = known.unwrap_or_else(|| self.least());
        group.into_iter().for_each(|group| self.of[usize::from(group)] = Some(home));
        self.loads[usize::from(home)] += 1;
        home
    }

    /// From now on it is noted what decides where transactions are at home; returns what was noted since.
    pub(super) fn note(&mut self) -> Vec<Group> {
        self.noted.replace(Vec::new()).unwrap_or_default()
    }

    fn least(&self) -> u16 {
        (0..self.loads.len()).min_by_key(|thread| self.loads[*thread]).expect("there is a thread") as u16
    }
}
