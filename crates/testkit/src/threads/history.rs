//! Judges a history of threads that really ran in parallel. No order of commits is known, but every value names its
//! writer and every writer's stamp is known, so reads and versions can be put in order afterwards.
//!
//! - The run is serializable: no cycle of write-read, write-write and read-write dependencies (Adya).
//! - What was acknowledged is recovered, and whatever it or a survivor read is recovered too.
//! - Each key holds what the recovered writer with the greatest stamp wrote.
//!
//! Deliberately absent: absences and ranges, whose writers cannot be named. The simulation by seed has them.

use std::collections::{BTreeMap, BTreeSet};

/// Names a transaction; zero wrote the state that the run began with.
pub type Id = u64;

/// A committed transaction.
#[derive(Clone, Debug, Default)]
pub struct Committed {
    /// Its name, and its marker where it wrote.
    pub id: Id,
    /// Its order number; zero where it only read.
    pub stamp: u64,
    /// Keys, and who had written what it read.
    pub reads: Vec<(i64, Id)>,
    /// Keys that it wrote its name to.
    pub writes: Vec<i64>,
    /// Whether its receipt was acknowledged.
    pub acknowledged: bool,
}

/// What an open found.
#[derive(Clone, Debug, Default)]
pub struct Found {
    /// The markers.
    pub markers: BTreeSet<Id>,
    /// Who wrote each key.
    pub writers: BTreeMap<i64, Id>,
}

/// Judges one generation: `base` is the state that it began with.
pub fn check(history: &[Committed], base: &Found, found: &Found) -> Result<(), String> {
    check_order(history, base)?;
    let lives = |id: Id| id == 0 || found.markers.contains(&id);
    if let Some(id) = base.markers.iter().find(|id| !lives(**id)) {
        return Err(format!("{id} had been recovered before and is lost"));
    }
    for committed in history {
        let is_writer = !committed.writes.is_empty();
        if is_writer && committed.acknowledged && !lives(committed.id) {
            return Err(format!("{committed:?} was acknowledged and is lost"));
        }
        let counts = committed.acknowledged || (is_writer && lives(committed.id));
        if let Some((key, writer)) = committed.reads.iter().find(|(_, writer)| counts && !lives(*writer)) {
            return Err(format!("{committed:?} read {key} from {writer}, which is lost"));
        }
    }
    let mut expected = base.writers.clone();
    for (&key, versions) in &versions(history) {
        if let Some((_, writer)) = versions.iter().rev().find(|(_, writer)| lives(*writer)) {
            expected.insert(key, *writer);
        }
    }
    if expected != found.writers {
        return Err(format!("found {:?}, expected {expected:?}", found.writers));
    }
    let known: BTreeSet<Id> =
        history.iter().map(|committed| committed.id).chain(base.markers.iter().copied()).collect();
    match found.markers.difference(&known).next() {
        Some(id) => Err(format!("{id} was recovered and never committed")),
        None => Ok(()),
    }
}

/// The writers of each key in the order of their stamps.
fn versions(history: &[Committed]) -> BTreeMap<i64, Vec<(u64, Id)>> {
    let mut versions: BTreeMap<i64, Vec<(u64, Id)>> = BTreeMap::new();
    for committed in history {
        for &key in &committed.writes {
            versions.entry(key).or_default().push((committed.stamp, committed.id));
        }
    }
    versions.values_mut().for_each(|versions| versions.sort_unstable());
    versions
}

/// Looks for a cycle of dependencies.
fn check_order(history: &[Committed], base: &Found) -> Result<(), String> {
    let mut after: BTreeMap<Id, BTreeSet<Id>> = BTreeMap::new();
    let mut edge = |from: Id, to: Id| {
        if from != to {
            after.entry(from).or_default().insert(to);
        }
    };
    let versions = versions(history);
    for versions in versions.values() {
        if let Some(pair) = versions.windows(2).find(|pair| pair[0].0 == pair[1].0) {
            return Err(format!("{pair:?} wrote one key with one stamp"));
        }
        versions.windows(2).for_each(|pair| edge(pair[0].1, pair[1].1));
    }
    for committed in history {
        for &(key, writer) in &committed.reads {
            let versions = versions.get(&key).map_or(&[][..], Vec::as_slice);
            let next = match versions.iter().position(|(_, id)| *id == writer) {
                Some(at) => {
                    edge(writer, committed.id);
                    at + 1
                }
                None if base.writers.get(&key) == Some(&writer) => 0,
                None => return Err(format!("{committed:?} read {key} from {writer}, which never committed that")),
            };
            if let Some((_, next)) = versions.get(next) {
                edge(committed.id, *next);
            }
        }
    }
    is_acyclic(&after)
}

/// Takes away what nothing precedes until nothing is left.
fn is_acyclic(after: &BTreeMap<Id, BTreeSet<Id>>) -> Result<(), String> {
    let mut before: BTreeMap<Id, usize> = after.keys().map(|&id| (id, 0)).collect();
    after.values().flatten().for_each(|&id| *before.entry(id).or_default() += 1);
    let mut free: Vec<Id> = before.iter().filter(|(_, count)| **count == 0).map(|(&id, _)| id).collect();
    while let Some(id) = free.pop() {
        before.remove(&id);
        for next in after.get(&id).into_iter().flatten() {
            if let Some(count) = before.get_mut(next) {
                *count -= 1;
                if *count == 0 {
                    free.push(*next);
                }
            }
        }
    }
    if before.is_empty() { Ok(()) } else { Err(format!("not serializable: a cycle among {:?}", before.keys())) }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn committed(id: Id, reads: &[(i64, Id)], writes: &[i64]) -> Committed {
        let stamp = if writes.is_empty() { 0 } else { id };
        Committed { id, stamp, reads: reads.to_vec(), writes: writes.to_vec(), acknowledged: false }
    }

    fn told(committed: Committed) -> Committed {
        Committed { acknowledged: true, ..committed }
    }

    fn found(markers: &[Id], writers: &[(i64, Id)]) -> Found {
        Found { markers: markers.iter().copied().collect(), writers: writers.iter().copied().collect() }
    }

    fn base() -> Found {
        found(&[], &[(1, 0), (2, 0)])
    }

    #[test]
    fn right_histories_are_accepted() {
        let history =
            [told(committed(1, &[(1, 0)], &[1])), committed(2, &[(1, 1)], &[2]), committed(3, &[(2, 0)], &[])];
        assert_eq!(check(&history, &base(), &found(&[1], &[(1, 1), (2, 0)])), Ok(()));
        assert_eq!(check(&history, &base(), &found(&[1, 2], &[(1, 1), (2, 2)])), Ok(()));
    }

    #[test]
    fn wrong_histories_are_rejected() {
        let rejects = |history: &[Committed], after: Found, what: &str| {
            let error = check(history, &base(), &after).unwrap_err();
            assert!(error.contains(what), "{error}");
        };
        rejects(&[told(committed(1, &[], &[1]))], base(), "was acknowledged and is lost");
        let reader = [committed(1, &[], &[1]), told(committed(2, &[(1, 1)], &[]))];
        rejects(&reader, base(), "which is lost");
        let survivor = [committed(1, &[], &[1]), committed(2, &[(1, 1)], &[2])];
        rejects(&survivor, found(&[2], &[(1, 0), (2, 2)]), "which is lost");
        let skew = [committed(1, &[(1, 0), (2, 0)], &[1]), committed(2, &[(1, 0), (2, 0)], &[2])];
        rejects(&skew, found(&[1, 2], &[(1, 1), (2, 2)]), "a cycle");
        let lost_update = [committed(1, &[(1, 0)], &[1]), committed(2, &[(1, 0)], &[1])];
        rejects(&lost_update, found(&[1, 2], &[(1, 2), (2, 0)]), "a cycle");
        let dirty = [committed(2, &[(1, 9)], &[])];
        rejects(&dirty, base(), "never committed that");
        let older = [committed(1, &[], &[1]), committed(2, &[], &[1])];
        rejects(&older, found(&[1, 2], &[(1, 1), (2, 0)]), "expected");
        rejects(&[], found(&[7], &[(1, 0), (2, 0)]), "never committed");
    }
}
