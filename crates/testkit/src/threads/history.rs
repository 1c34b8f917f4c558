//! Judges a history of threads that really ran in parallel. No order of commits is known, but every value names its
//! writer and every writer's stamp is known, so reads and versions can be put in order afterwards.
//!
//! - The run is serializable, and so are those that survived it with a reader of what they left ([`crate::history`]).
//! - What was acknowledged is recovered, and whatever it or a survivor read is recovered too.
//! - Where stamps are a serialization order: they follow every dependency between writers, anti-dependencies included.
//! - Each key holds what the recovered writer with the greatest stamp wrote, each list what was appended to it.
//!
//! Deliberately absent: absent registers and ranges of them, whose writers cannot be named. The simulation by seed has them.

use std::collections::{BTreeMap, BTreeSet};

use crate::history::{self, Transaction, Version};

/// Names a transaction; zero wrote the state that the run began with.
pub type Id = u64;

/// A committed transaction.
#[derive(Clone, Debug, Default)]
pub struct Committed {
    /// Its name, and its marker where it wrote.
    pub id: Id,
    /// Its order number; zero where it only read.
    pub stamp: u64,
    /// The stream of its session.
    pub stream: u32,
    /// Keys, and who had written what it read.
    pub reads: Vec<(i64, Id)>,
    /// Keys that it wrote its name to.
    pub writes: Vec<i64>,
    /// Lists as it saw them.
    pub lists: Vec<(i64, Vec<Id>)>,
    /// Lists that it appended its name to.
    pub appends: Vec<i64>,
    /// Whether its receipt was acknowledged.
    pub acknowledged: bool,
}

impl Committed {
    fn is_writer(&self) -> bool {
        !self.writes.is_empty() || !self.appends.is_empty()
    }
}

/// What an open found.
#[derive(Clone, Debug, Default)]
pub struct Survivors {
    /// The markers.
    pub markers: BTreeSet<Id>,
    /// Who wrote each key.
    pub writers: BTreeMap<i64, Id>,
    /// Who appended to each list, in order.
    pub lists: BTreeMap<i64, Vec<Id>>,
}

/// Judges the stamps of a run as a serialization order, over all streams; `base` is the state that it began with.
pub fn check_stamps(history: &[Committed], base: &Survivors) -> Result<(), String> {
    let (transactions, registers) = known(history.iter(), base, None)?;
    let writers = history.iter().filter(|committed| committed.is_writer());
    let places = writers.map(|committed| (committed.id, (committed.stamp, committed.stream))).collect();
    history::check_places(&transactions, &registers, &places).map_err(|anomaly| anomaly.to_string())
}

/// Judges one generation: `base` is the state that it began with.
pub fn check(history: &[Committed], base: &Survivors, found: &Survivors) -> Result<(), String> {
    check_order(history.iter(), base, None)?;
    let lives = |id: Id| id == 0 || found.markers.contains(&id);
    if let Some(id) = base.markers.iter().find(|id| !lives(**id)) {
        return Err(format!("{id} had been recovered before and is lost"));
    }
    for committed in history {
        let is_writer = committed.is_writer();
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
    check_lists(history, base, found)?;
    let counts =
        |committed: &&Committed| if committed.is_writer() { lives(committed.id) } else { committed.acknowledged };
    check_order(history.iter().filter(counts), base, Some(found)).map_err(|error| format!("recovered: {error}"))?;
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

/// Looks for a cycle of dependencies; `extra` saw what is there.
fn check_order<'c>(
    history: impl Iterator<Item = &'c Committed> + Clone,
    base: &Survivors,
    extra: Option<&Survivors>,
) -> Result<(), String> {
    let (transactions, registers) = known(history, base, extra)?;
    history::check(&transactions, &registers).map_err(|anomaly| anomaly.to_string())
}

/// Transactions, and the versions of each register in the order of their stamps.
type Known = (Vec<Transaction>, BTreeMap<i64, Vec<Version>>);

/// Puts reads and versions in order; `extra` saw what is there.
fn known<'c>(
    history: impl Iterator<Item = &'c Committed> + Clone,
    base: &Survivors,
    extra: Option<&Survivors>,
) -> Result<Known, String> {
    let mut registers: BTreeMap<i64, Vec<Version>> = base.writers.keys().map(|&key| (key, vec![(0, 0)])).collect();
    let all: Vec<Committed> = history.clone().cloned().collect();
    for (key, versions) in versions(&all) {
        if let Some(pair) = versions.windows(2).find(|pair| pair[0].0 == pair[1].0) {
            return Err(format!("{pair:?} wrote one key with one stamp"));
        }
        registers.entry(key).or_default().extend(versions.iter().map(|(_, id)| (*id, 0)));
    }
    let list = |key: &i64, seen: &[Id]| {
        let before = base.lists.get(key).map_or(&[][..], Vec::as_slice);
        let since = seen.strip_prefix(before).ok_or(format!("list {key} was {before:?} and is {seen:?}"))?;
        Ok::<_, String>((*key, since.iter().map(|&id| (id, 0)).collect()))
    };
    let register = |(key, writer): &(i64, Id)| {
        let is_base = base.writers.get(key) == Some(writer);
        (*key, if is_base { (0, 0) } else { (*writer, 0) })
    };
    let own = |id, keys: &[i64]| keys.iter().map(|&key| (key, (id, 0))).collect();
    let mut transactions = Vec::new();
    for committed in history {
        transactions.push(Transaction {
            id: committed.id,
            is_aborted: false,
            reads: committed.reads.iter().map(register).collect(),
            writes: own(committed.id, &committed.writes),
            lists: committed.lists.iter().map(|(key, seen)| list(key, seen)).collect::<Result<_, _>>()?,
            appends: own(committed.id, &committed.appends),
        });
    }
    if let Some(found) = extra {
        let lists = found.lists.iter().map(|(key, seen)| list(key, seen)).collect::<Result<_, _>>()?;
        transactions.push(Transaction { id: Id::MAX, lists, ..Transaction::default() });
    }
    Ok((transactions, registers))
}

/// Every list holds what was appended to it by who lives, and nothing else.
fn check_lists(history: &[Committed], base: &Survivors, found: &Survivors) -> Result<(), String> {
    let mut expected: BTreeMap<i64, BTreeSet<Id>> =
        base.lists.iter().map(|(&key, list)| (key, list.iter().copied().collect())).collect();
    for committed in history.iter().filter(|committed| found.markers.contains(&committed.id)) {
        for &key in &committed.appends {
            expected.entry(key).or_default().insert(committed.id);
        }
    }
    let present = found.lists.iter().map(|(&key, list)| (key, list.iter().copied().collect())).collect();
    if expected == present { Ok(()) } else { Err(format!("found lists {present:?}, expected {expected:?}")) }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn committed(id: Id, reads: &[(i64, Id)], writes: &[i64]) -> Committed {
        let stamp = if writes.is_empty() { 0 } else { id };
        Committed { id, stamp, reads: reads.to_vec(), writes: writes.to_vec(), ..Committed::default() }
    }

    fn told(committed: Committed) -> Committed {
        Committed { acknowledged: true, ..committed }
    }

    fn found(markers: &[Id], writers: &[(i64, Id)]) -> Survivors {
        let (markers, writers) = (markers.iter().copied().collect(), writers.iter().copied().collect());
        Survivors { markers, writers, lists: BTreeMap::new() }
    }

    fn base() -> Survivors {
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
        let rejects = |history: &[Committed], after: Survivors, what: &str| {
            let error = check(history, &base(), &after).unwrap_err();
            assert!(error.contains(what), "{error}");
        };
        rejects(&[told(committed(1, &[], &[1]))], base(), "was acknowledged and is lost");
        let reader = [committed(1, &[], &[1]), told(committed(2, &[(1, 1)], &[]))];
        rejects(&reader, base(), "which is lost");
        let survivor = [committed(1, &[], &[1]), committed(2, &[(1, 1)], &[2])];
        rejects(&survivor, found(&[2], &[(1, 0), (2, 2)]), "which is lost");
        let skew = [committed(1, &[(1, 0), (2, 0)], &[1]), committed(2, &[(1, 0), (2, 0)], &[2])];
        rejects(&skew, found(&[1, 2], &[(1, 1), (2, 2)]), "G");
        let lost_update = [committed(1, &[(1, 0)], &[1]), committed(2, &[(1, 0)], &[1])];
        rejects(&lost_update, found(&[1, 2], &[(1, 2), (2, 0)]), "G");
        let dirty = [committed(2, &[(1, 9)], &[])];
        rejects(&dirty, base(), "a read of nothing");
        let older = [committed(1, &[], &[1]), committed(2, &[], &[1])];
        rejects(&older, found(&[1, 2], &[(1, 1), (2, 0)]), "expected");
        rejects(&[], found(&[7], &[(1, 0), (2, 0)]), "never committed");
    }

    /// T1 read what T2 replaced: both orders are serializable by themselves, and only one is that of the stamps.
    #[test]
    fn stamps_against_a_dependency_are_rejected() {
        let placed = |stamp, stream, committed| Committed { stamp, stream, ..committed };
        let run = |first: (u64, u32), second: (u64, u32)| {
            let reader = placed(first.0, first.1, committed(1, &[(2, 0)], &[1]));
            let history = [reader, placed(second.0, second.1, committed(2, &[], &[2]))];
            assert_eq!(check(&history, &base(), &found(&[1, 2], &[(1, 1), (2, 2)])), Ok(()));
            check_stamps(&history, &base())
        };
        assert_eq!(run((5, 1), (6, 0)), Ok(()));
        assert!(run((6, 0), (5, 1)).is_err());
        assert!(run((5, 1), (5, 0)).is_err(), "by their streams the second comes first");
    }

    #[test]
    fn lists_that_lose_or_keep_too_much_are_rejected() {
        let append = |id, seen: &[Id]| Committed {
            lists: vec![(5, seen.to_vec())],
            appends: vec![5],
            ..committed(id, &[], &[])
        };
        let history = [append(1, &[]), append(2, &[1])];
        let after = |markers: &[Id], list: &[Id]| Survivors {
            lists: [(5, list.to_vec())].into(),
            ..found(markers, &[(1, 0), (2, 0)])
        };
        assert_eq!(check(&history, &base(), &after(&[1, 2], &[1, 2])), Ok(()));
        assert_eq!(check(&history, &base(), &after(&[1], &[1])), Ok(()));
        for wrong in [after(&[1, 2], &[1]), after(&[1], &[1, 2]), after(&[1, 2], &[2, 1]), after(&[2], &[2])] {
            assert!(check(&history, &base(), &wrong).is_err(), "{wrong:?}");
        }
    }
}
