//! Hand-made wrong histories, of each anomaly one at least, and right ones beside them.

use super::*;

fn transaction(id: Id) -> Transaction {
    Transaction { id, ..Transaction::default() }
}

impl Transaction {
    fn saw(mut self, key: Key, writer: Id) -> Self {
        self.reads.push((key, (writer, 0)));
        self
    }

    fn wrote(mut self, key: Key) -> Self {
        self.writes.push((key, (self.id, self.writes.len() as u32)));
        self
    }

    fn listed(mut self, key: Key, seen: &[Id]) -> Self {
        self.lists.push((key, seen.iter().map(|&id| (id, 0)).collect()));
        self
    }

    fn appended(mut self, key: Key) -> Self {
        let part = self.appends.iter().filter(|(other, _)| *other == key).count() as u32;
        self.appends.push((key, (self.id, part)));
        self
    }

    fn aborted(self) -> Self {
        Transaction { is_aborted: true, ..self }
    }
}

fn registers(orders: &[(Key, &[Id])]) -> BTreeMap<Key, Vec<Version>> {
    orders.iter().map(|(key, ids)| (*key, ids.iter().map(|&id| (id, 0)).collect())).collect()
}

fn rejected(history: &[Transaction], orders: &[(Key, &[Id])], name: &str) -> String {
    let anomaly = check(history, &registers(orders)).expect_err("a wrong history was accepted");
    assert!(anomaly.name.starts_with(name), "{anomaly}");
    anomaly.what
}

/// T1 read what T2 replaced, T3 read what T2 wrote.
#[test]
fn places_follow_every_dependency() {
    let history = [transaction(1).saw(1, 0).wrote(2), transaction(2).wrote(1), transaction(3).saw(1, 2).wrote(3)];
    let registers = registers(&[(1, &[0, 2]), (2, &[0, 1]), (3, &[0, 3])]);
    let judge = |places: &[(Id, u64)]| check_places(&history, &registers, &places.iter().copied().collect());
    assert_eq!(judge(&[(1, 5), (2, 6), (3, 7)]), Ok(()));
    assert_eq!(judge(&[(2, 6), (3, 7)]), Ok(()), "who has no place is nowhere");
    for wrong in [[(1, 6), (2, 5), (3, 7)], [(1, 5), (2, 7), (3, 6)], [(1, 5), (2, 6), (3, 6)]] {
        let anomaly = judge(&wrong).expect_err("a wrong order was accepted");
        assert!(anomaly.name.starts_with("an order"), "{anomaly}");
    }
}

#[test]
fn right_histories_are_accepted() {
    let history = [
        transaction(1).saw(1, 0).wrote(1),
        transaction(2).saw(1, 1).wrote(2),
        transaction(3).saw(1, 0).saw(2, 0),
        transaction(4).listed(7, &[]).appended(7),
        transaction(5).listed(7, &[4]).appended(7),
        transaction(6).listed(7, &[4, 5]).listed(8, &[]),
        transaction(7).appended(7).aborted(),
    ];
    assert_eq!(check(&history, &registers(&[(1, &[0, 1]), (2, &[0, 2])])), Ok(()));
}

#[test]
fn g0_write_cycles_are_rejected() {
    let history = [transaction(1).wrote(1).wrote(2), transaction(2).wrote(1).wrote(2)];
    let mut orders = registers(&[(1, &[0, 1, 2])]);
    orders.insert(2, vec![(0, 0), (2, 1), (1, 1)]);
    let anomaly = check(&history, &orders).unwrap_err();
    assert!(anomaly.name.starts_with("G0"), "{anomaly}");
    let lists = [
        transaction(1).appended(1).appended(2),
        transaction(2).appended(1).appended(2),
        transaction(3).listed(1, &[1, 2]).listed(2, &[2, 1]),
    ];
    let what = rejected(&lists, &[], "G0");
    assert_eq!(what, "T1 -> T2 -> T1: T2 wrote list 1 after T1; T1 wrote list 2 after T2");
}

#[test]
fn g1a_reads_of_the_aborted_are_rejected() {
    rejected(&[transaction(1).appended(1).aborted(), transaction(2).listed(1, &[1])], &[], "G1a");
    rejected(&[transaction(1).wrote(1).aborted(), transaction(2).saw(1, 1)], &[(1, &[0, 1])], "G1a");
    rejected(&[transaction(2).saw(1, 9)], &[(1, &[0])], "a read of nothing");
    rejected(&[transaction(2).listed(1, &[9])], &[], "a read of nothing");
}

#[test]
fn g1b_intermediate_reads_are_rejected() {
    rejected(&[transaction(1).appended(1).appended(1), transaction(2).listed(1, &[1])], &[], "G1b");
    let twice = [transaction(1).wrote(1).wrote(1), transaction(2).saw(1, 1)];
    let orders = BTreeMap::from([(1, vec![(0, 0), (1, 0), (1, 1)])]);
    assert!(check(&twice, &orders).unwrap_err().name.starts_with("G1b"));
}

#[test]
fn g1c_circular_information_is_rejected() {
    let history = [transaction(1).appended(1).listed(2, &[2]), transaction(2).appended(2).listed(1, &[1])];
    rejected(&history, &[], "G1c");
    let history = [transaction(1).wrote(1).saw(2, 2), transaction(2).wrote(2).saw(1, 1)];
    rejected(&history, &[(1, &[0, 1]), (2, &[0, 2])], "G1c");
}

#[test]
fn g_single_read_skew_is_rejected() {
    let history = [
        transaction(1).appended(1).appended(2),
        transaction(2).listed(1, &[]).listed(2, &[1]),
        transaction(3).listed(1, &[1]),
    ];
    let what = rejected(&history, &[], "G-single");
    assert_eq!(what, "T2 -> T1 -> T2: T1 wrote list 1 after T2 had read it; T2 read list 2 as T1 left it");
}

#[test]
fn lost_updates_are_rejected() {
    let lists = [
        transaction(1).listed(1, &[]).appended(1),
        transaction(2).listed(1, &[]).appended(1),
        transaction(3).listed(1, &[2]),
    ];
    rejected(&lists, &[], "G-single");
    let unread = [transaction(1).listed(1, &[]).appended(1), transaction(2).listed(1, &[]).appended(1)];
    rejected(&unread, &[], "G2");
    let registers = [transaction(1).saw(1, 0).wrote(1), transaction(2).saw(1, 0).wrote(1)];
    rejected(&registers, &[(1, &[0, 1, 2])], "G-single");
}

#[test]
fn g2_write_skew_is_rejected() {
    let lists = [
        transaction(1).listed(1, &[]).listed(2, &[]).appended(1),
        transaction(2).listed(1, &[]).listed(2, &[]).appended(2),
        transaction(3).listed(1, &[1]).listed(2, &[2]),
    ];
    rejected(&lists, &[], "G2");
    let registers = [transaction(1).saw(1, 0).saw(2, 0).wrote(1), transaction(2).saw(1, 0).saw(2, 0).wrote(2)];
    rejected(&registers, &[(1, &[0, 1]), (2, &[0, 2])], "G2");
}

#[test]
fn phantoms_are_rejected() {
    // Each read a range without the other's new key, and then added a key of its own to it.
    let history = [
        transaction(1).listed(1, &[]).listed(2, &[]).appended(1),
        transaction(2).listed(1, &[]).listed(2, &[]).appended(2),
    ];
    rejected(&history, &[], "G2");
}

#[test]
fn lists_that_forget_or_change_their_order_are_rejected() {
    let writers = || [transaction(1).appended(1), transaction(2).appended(1)];
    let [one, two] = writers();
    rejected(
        &[one, two, transaction(3).listed(1, &[1, 2]), transaction(4).listed(1, &[2])],
        &[],
        "incompatible orders",
    );
    let [one, two] = writers();
    assert_eq!(
        check(&[one, two, transaction(3).listed(1, &[1, 2]), transaction(4).listed(1, &[1])], &BTreeMap::new()),
        Ok(())
    );
}
