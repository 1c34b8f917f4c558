//! Taking a database back to an epoch or a time: what is left, what is refused, and that nothing later comes back.
//!
//! The epoch of a transaction is its stamp / 10 + 1 here, and a batch is closed so many seconds after 1970 as its stamp is.

use super::world::{World, delete, plain, put};
use crate::config::Protocol;
use crate::error::RecoveryError;
use crate::ids::{Epoch, WallTime};
use crate::recovery::{Until, explain};

/// Four epochs over two streams, of which the last one deletes.
fn world() -> World {
    let world = World::new(Protocol::Poplar, 2);
    let mut log = world.writer(0);
    log.batch(&[put(5, 0, "a", "1"), put(6, 0, "b", "1")]).batch(&[put(12, 5, "a", "2")]).rotate();
    log.batch(&[put(25, 12, "a", "3")]).batch(&[delete(34, 25, "a")]).flush();
    world.writer(1).batch(&[put(14, 0, "c", "2")]).batch(&[put(35, 0, "d", "4")]).flush();
    world
}

fn back(world: &World, until: &str) -> World {
    let mut world = world.fork();
    world.config.until = Some(until.parse().unwrap());
    world
}

/// The rows by epoch.
const STATES: [&[(&str, &str)]; 4] = [
    &[("a", "1"), ("b", "1")],
    &[("a", "2"), ("b", "1"), ("c", "2")],
    &[("a", "3"), ("b", "1"), ("c", "2")],
    &[("b", "1"), ("c", "2"), ("d", "4")],
];

#[test]
fn an_epoch_is_a_state_and_what_came_later_never_comes_back() {
    for (epoch, state) in (1..).zip(STATES) {
        let mut world = back(&world(), &epoch.to_string());
        let plan = explain(&world.config).unwrap();
        let (report, rows) = world.recover().unwrap();
        assert_eq!((plain(&rows), report.until), (state.to_vec(), Some(Epoch(epoch))));
        assert_eq!((plan.after, plan.replayed), (report.after, report.replayed), "{plan}");
        assert_eq!(report.discarded, report.after, "{report}");
        world.config.until = None;
        for round in 0..3 {
            world.disk.crash();
            let base = world.manifest().current.floor.0.next_multiple_of(10);
            if round == 1 {
                world.writer(0).batch(&[put(base + 1, 0, "z", "new")]).flush();
                world.writer(1).batch_with(&[], base + 1, 0, &[]).flush();
            }
            let (report, rows) = world.recover().unwrap();
            let mut expected = state.to_vec();
            expected.extend((round > 0).then_some(("z", "new")));
            assert_eq!((plain(&rows), report.until), (expected, None), "epoch {epoch}, round {round}");
        }
        // Later epochs that are dead do not come back when a later one is asked for: that would be another state.
        match back(&world, "3").recover() {
            Ok((_, rows)) => assert_eq!((plain(&rows), epoch >= 3), (STATES[2].to_vec(), true)),
            Err(error) => {
                let says =
                    format!("it was taken back to epoch {epoch}: what later epochs up to 4 held is gone for ever");
                assert!(error.to_string().contains(&says) && epoch < 3, "{error}");
            }
        }
    }
}

#[test]
fn what_was_given_up_is_refused_and_named() {
    let mut world = back(&world(), "2");
    world.recover().unwrap();
    for until in ["3", "4", "9", "@25", "@35", "@36"] {
        let error = back(&world, until).refused().to_string();
        assert!(error.contains("it was taken back to epoch 2: what later epochs up to 4"), "{until}: {error}");
        assert!(error.contains("ask for epoch 2 or an earlier one, or for one after 4"), "{until}: {error}");
    }
    for (until, epoch) in [("2", 2), ("@24", 2), ("1", 1), ("@13", 1)] {
        assert_eq!(plain(&back(&world, until).recover().unwrap().1), STATES[epoch - 1], "{until}");
    }
    world.config.until = None;
    // What was given up is not counted again by whoever goes back once more.
    let (first, again) = (explain(&world.config).unwrap(), explain(&back(&world, "2").config).unwrap());
    assert_eq!([(first.given_up, first.after), (again.given_up, again.after)], [(3, 0), (3, 0)]);
    let text = explain(&world.config).unwrap().to_string();
    assert!(text.contains("before   taken back to epoch 2: what later epochs up to 4 held is gone for ever"), "{text}");

    // What comes later is of later epochs, and can be gone back to.
    let base = world.manifest().current.floor.0.next_multiple_of(10);
    world.writer(0).batch(&[put(base + 1, 0, "y", "5")]).batch(&[put(base + 11, 0, "z", "6")]).flush();
    world.writer(1).batch_with(&[], base + 11, 0, &[]).flush();
    let later = (base + 1) / 10 + 1;
    let rows = back(&world, &later.to_string()).recover().unwrap().1;
    assert_eq!(plain(&rows), [("a", "2"), ("b", "1"), ("c", "2"), ("y", "5")]);
    let error = back(&world, "4").refused().to_string();
    assert!(error.contains("it was taken back to epoch 2"), "{error}");

    // Further back than before: what both decisions gave up is one gap.
    let world = back(&world, "1");
    world.recover().unwrap();
    let error = back(&world, &later.to_string()).refused().to_string();
    assert!(error.contains(&format!("taken back to epoch 1: what later epochs up to {}", later + 1)), "{error}");
}

#[test]
fn a_time_is_the_last_epoch_that_was_on_disk_by_then() {
    // The second stream's first batch is of epoch 2 and closed at 14.
    for (time, epoch) in [("@14", 2), ("@14.5", 2), ("@24", 2), ("@25", 3), ("@33.9", 3), ("@35", 4), ("@13", 1)] {
        let world = back(&world(), time);
        assert_eq!(plain(&world.recover().unwrap().1), STATES[epoch - 1], "{time}");
    }
    assert_eq!("1970-01-01T00:00:14Z".parse(), Ok(Until::Time(WallTime(14_000_000))));
    assert_eq!("14".parse(), Ok(Until::Epoch(Epoch(14))));
}

#[test]
fn what_lies_beyond_the_cut_delays_no_time() {
    let world = World::new(Protocol::Poplar, 2);
    // Stamp 19 read what the other stream has lost.
    world
        .writer(0)
        .batch(&[put(5, 0, "a", "1")])
        .batch(&[put(12, 5, "a", "2")])
        .batch(&[put(19, 17, "a", "3")])
        .flush();
    world.writer(1).batch(&[put(14, 5, "b", "2")]).flush();
    let rows = |world: &World| back(world, "@15").recover().map(|(report, rows)| (report.until, rows));
    for round in ["crashed", "frozen"] {
        let (until, found) = rows(&world).unwrap();
        assert_eq!((plain(&found), until), (vec![("a", "2"), ("b", "2")], Some(Epoch(2))), "{round}");
        world.recover().unwrap();
    }

    let living = World::new(Protocol::Poplar, 2);
    living
        .writer(0)
        .batch(&[put(5, 0, "a", "1")])
        .batch(&[put(12, 5, "a", "2")])
        .batch(&[put(19, 5, "c", "2")])
        .flush();
    living.writer(1).batch(&[put(14, 5, "b", "2")]).flush();
    for round in ["crashed", "frozen"] {
        let (until, found) = rows(&living).unwrap();
        assert_eq!((plain(&found), until), (vec![("a", "1")], Some(Epoch(1))), "{round}");
        living.recover().unwrap();
    }
}

#[test]
fn what_the_log_does_not_reach_is_refused_and_nothing_is_touched() {
    for (until, says) in [
        ("5", "it ends with epoch 4, and its last batch was closed at 1970-01-01T00:00:35"),
        ("@35.000001", "it ends with epoch 4"),
        ("0", "its first transaction is of epoch 1"),
        ("@4", "that is epoch 0, and its first transaction is of epoch 1"),
    ] {
        let world = back(&world(), until);
        world.disk.take_calls();
        let error = world.refused();
        assert!(matches!(error, RecoveryError::Until { .. }) && error.to_string().contains(says), "{error}");
        assert!(error.to_string().starts_with("/db cannot be taken back to "), "{error}");
        assert_eq!(error.to_string(), explain(&world.config).unwrap_err().to_string());
        assert!(world.disk.take_calls().is_empty());
    }
}

#[test]
fn a_crash_while_it_is_taken_back_leaves_the_one_state_or_the_other() {
    let (mut old, mut new) = (0, 0);
    for steps in 0.. {
        let mut world = back(&world(), "2");
        world.disk.fail_after(steps);
        let result = world.recover();
        world.disk.crash();
        world.config.until = None;
        let rows = world.recover().unwrap().1;
        match plain(&rows) {
            rows if rows == STATES[1] => new += 1,
            rows => {
                assert_eq!(rows, STATES[3], "after {steps} steps");
                assert!(result.is_err() && new == 0, "after {steps} steps");
                old += 1;
            }
        }
        if result.is_ok() {
            break;
        }
    }
    assert!(old > 5 && new > 0, "{old} {new}");
}

#[test]
fn a_plan_says_what_recovery_does_and_changes_nothing() {
    let world = World::new(Protocol::Poplar, 2);
    world.writer(0).batch(&[put(1, 0, "a", "one"), put(5, 1, "b", "five")]).rotate().flush();
    world.writer(1).batch(&[put(3, 0, "c", "three"), delete(8, 6, "d"), put(9, 0, "e", "nine")]).flush();
    world.disk.take_calls();
    let plan = explain(&world.config).unwrap();
    assert!(world.disk.take_calls().is_empty());
    let text = plan.to_string();
    for line in [
        "not closed",
        "begin    with the log alone: no checkpoint was taken",
        "stream 0 in /db/stream-0: 2 segments, durable up to 5",
        "generation 1 crashed: cut 5, greatest stamp 9, greatest epoch 1",
        "replay   4 of 5 transactions",
        "discard  1 beyond the cut",
        "closed at 1970-01-01T00:00:09",
    ] {
        assert!(text.contains(line), "`{line}` is not in:\n{text}");
    }
    let report = world.recover().unwrap().0;
    assert_eq!((report.replayed, report.discarded), (plan.replayed, plan.beyond_cut));
}
