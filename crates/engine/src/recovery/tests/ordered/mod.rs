//! Commands that are run again: their order, what lies among them, what they rest on, and what happens where they do otherwise.

mod accepted;
mod among_values;
mod refused;
mod shop;

use std::borrow::Cow;

use shop::{ADD, APPEND, DRAW, MOVE, MULTIPLY, Procedures, Shop, TOUCH, call, command, contents, pass, run, survives};

use crate::config::RecoveryPhase;
use crate::database::Database;
use crate::log::format::payload::command::Command;
use crate::recovery::{Until, explain};
use crate::table::{Argument, Value};

/// Random calls of one session, the last of which is durable.
fn some_calls(db: &Database, rng: &mut fastrand::Rng, calls: usize) {
    let mut session = db.session().unwrap();
    let mut last = None;
    for _ in 0..calls {
        let (one, other) = (rng.i64(1..12), rng.i64(12..16));
        last = Some(match rng.u8(..7) {
            0 | 1 => call(&mut session, ADD, &[one, rng.i64(-9..99)]),
            2 => call(&mut session, MULTIPLY, &[one, rng.i64(2..5)]),
            3 => call(&mut session, APPEND, &[]),
            4 => call(&mut session, MOVE, &[one, other, rng.i64(1..50)]),
            5 => {
                let ids = [one, other, 3].map(Value::Int);
                run(&mut session, &command(TOUCH, &[Argument::Array((&ids).into())]), rng.bool()).unwrap()
            }
            _ => {
                let drawn = [rng.i64(-9..0), rng.i64(-9..0)];
                let (time, seed) = (Some(rng.i64(..)), Some(rng.u64(..)));
                let sequence_values = Cow::Borrowed(&drawn[..]);
                let drew = Command { time, seed, sequence_values, ..command(DRAW, &[]) };
                run(&mut session, &drew, rng.bool()).unwrap()
            }
        });
    }
    last.unwrap().wait().unwrap();
}

#[test]
fn commands_are_run_again_in_their_order() {
    let (shop, db) = Shop::with_counters();
    let mut session = db.session().unwrap();
    // Of these two, in either order, the results differ.
    call(&mut session, ADD, &[1, 5]);
    call(&mut session, MULTIPLY, &[1, 3]);
    call(&mut session, ADD, &[1, 2]);
    call(&mut session, APPEND, &[]).wait().unwrap();
    let expected = contents(&db);
    assert_eq!(expected["counter"].iter().map(|row| &row[..4]).collect::<Vec<_>>(), ["1 17", "2 17"]);

    let crashed = shop.crashed();
    let plan = explain(&crashed.config).unwrap();
    assert_eq!((plan.replayed, plan.commands), (5, 4), "{plan}");
    assert!(plan.to_string().contains("4 of them commands"), "{plan}");
    let recovered = crashed.open();
    assert_eq!(contents(&recovered), expected);
    let report = recovered.recovery().unwrap();
    assert_eq!((report.replayed, report.ordered, report.commands, report.writes), (5, 5, 4, 1), "{report}");
    assert!(report.to_string().contains("5 transactions run again in"), "{report}");
    survives(&shop, &db);
}

/// Each round is a life: calls, and a crash or a close. Segments are small, so that streams have several.
#[test]
fn many_lives_end_as_they_were() {
    for seed in 0..3 {
        let mut rng = fastrand::Rng::with_seed(seed);
        let (mut shop, mut db) = Shop::with_counters();
        for life in 0..4 {
            some_calls(&db, &mut rng, 400);
            if rng.u8(..3) == 0 {
                db.checkpoint().unwrap();
                some_calls(&db, &mut rng, 50);
            }
            let expected = contents(&db);
            if rng.bool() {
                db.close().unwrap();
            }
            shop = shop.crashed();
            db = shop.open();
            assert_eq!(contents(&db), expected, "seed {seed}, life {life}");
        }
    }
}

/// The order in the log is that in which the transactions took effect, also of those that read what another one writes.
#[test]
fn commands_of_many_threads_are_run_again_as_they_were() {
    for round in 0..8 {
        let (shop, db) = Shop::with_counters();
        let threads = (0..4).map(|thread| {
            let db = db.clone();
            std::thread::spawn(move || some_calls(&db, &mut fastrand::Rng::with_seed(10 * round + thread), 300))
        });
        let threads: Vec<_> = threads.collect();
        threads.into_iter().for_each(|thread| thread.join().unwrap());
        survives(&shop, &db);
    }
}

#[test]
fn a_checkpoint_is_a_base_for_the_commands_behind_it() {
    let (shop, db) = Shop::with_counters();
    let mut rng = fastrand::Rng::with_seed(1);
    some_calls(&db, &mut rng, 300);
    let other = db.clone();
    let beside = std::thread::spawn(move || some_calls(&other, &mut fastrand::Rng::with_seed(2), 300));
    db.checkpoint().unwrap();
    beside.join().unwrap();
    some_calls(&db, &mut rng, 20);
    let expected = contents(&db);
    let recovered = shop.crashed().open();
    assert_eq!(contents(&recovered), expected);
    let report = recovered.recovery().unwrap();
    assert!(report.checkpoint == 1 && report.commands >= 20 && report.commands < 620, "{report}");
    survives(&shop, &db);
}

#[test]
fn a_crash_at_any_step_of_recovery_changes_nothing() {
    let (shop, db) = Shop::with_counters();
    some_calls(&db, &mut fastrand::Rng::with_seed(3), 40);
    let (expected, shop) = (contents(&db), shop.crashed());
    let mut steps = 0;
    loop {
        let shop = shop.crashed();
        shop.disk.fail_after(steps);
        let is_open = shop.open_by(Procedures::Sound).is_ok();
        assert_eq!(contents(&shop.crashed().open()), expected, "after {steps} steps");
        if is_open {
            break;
        }
        steps += 1;
    }
    assert!(steps > 15, "only {steps} steps were tried");
}

#[test]
fn a_database_is_taken_back_to_an_epoch_between_commands() {
    let (shop, db) = Shop::with_counters();
    let mut session = db.session().unwrap();
    let mut states = Vec::new();
    for round in 0..4 {
        call(&mut session, ADD, &[1, round + 1]);
        let epoch = call(&mut session, MULTIPLY, &[1, 3]).epoch();
        states.push((epoch, contents(&db)));
        pass(&db, epoch);
    }
    call(&mut session, ADD, &[2, 1]).wait().unwrap();
    for (epoch, state) in states {
        let mut back = shop.crashed();
        back.config.until = Some(Until::Epoch(epoch));
        let recovered = back.open();
        assert_eq!(contents(&recovered), state, "epoch {epoch}");
        back.config.until = None;
        call(&mut recovered.session().unwrap(), ADD, &[7, 7]).wait().unwrap();
        survives(&back, &recovered);
    }
}

#[test]
fn progress_is_told_and_reaches_its_end() {
    let (shop, db) = Shop::with_counters();
    some_calls(&db, &mut fastrand::Rng::with_seed(3), 1100);
    let told = std::sync::Arc::new(std::sync::Mutex::new(Vec::new()));
    let (mut shop, listener) = (shop.crashed(), told.clone());
    shop.config = shop.config.progress(move |progress| {
        if progress.phase == RecoveryPhase::Order {
            listener.lock().unwrap().push((progress.done, progress.total));
        }
    });
    let ordered = shop.open().recovery().unwrap().ordered;
    assert_eq!(*told.lock().unwrap(), [(1024, ordered), (ordered, ordered)]);
}
