//! Who waits in a circle under [`Locking::Detect`].

use super::*;

/// Who waits for nobody that waits for it waits on, whatever their ages are.
#[test]
fn nobody_is_wounded_without_a_circle() {
    let world = World::new(Detect);
    let [oldest, youngest] = world.aged();
    for (holder, waiter) in [(&oldest, &youngest), (&youngest, &oldest)] {
        assert_eq!(world.take(holder, Exclusive), Ok(Taken::New));
        assert_eq!(world.take(waiter, Exclusive), Err(Lost::TimedOut));
        assert!(!holder.is_wounded() && !waiter.is_wounded());
        world.unlock(holder);
        world.assert_idle();
    }
}

/// Each of some owners holds one lock and then wants that of the next one. Returns which of them are lost.
fn circle(owners: &[&Owner], words: &[LockWord], mode: LockMode) -> Vec<bool> {
    for (owner, word) in owners.iter().zip(words) {
        assert_eq!(owner.lock(word, mode, LONG), Ok(Taken::New));
    }
    let wants = |(at, owner): (usize, &Owner)| {
        let wanted = &words[(at + 1) % words.len()];
        let taken = owner.lock(wanted, Exclusive, LONG);
        assert!(taken != Err(Lost::TimedOut), "the circle is found at once");
        if taken == Ok(Taken::New) {
            owner.unlock(wanted);
        }
        owner.unlock(&words[at]);
        taken.is_err()
    };
    thread::scope(|scope| {
        let waiting = owners.iter().enumerate().map(|(at, owner)| scope.spawn(move || wants((at, owner))));
        let waiting: Vec<_> = waiting.collect();
        waiting.into_iter().map(|thread| thread.join().expect("no panic")).collect()
    })
}

#[test]
fn the_youngest_of_a_circle_is_wounded() {
    for _ in 0..if cfg!(miri) { 2 } else { 50 } {
        let world = World::new(Detect);
        let words: Vec<LockWord> = (0..3).map(|_| LockWord::new()).collect();
        let [oldest, middle, youngest] = world.aged();
        assert_eq!(circle(&[&middle, &youngest, &oldest], &words, Exclusive), [false, true, false]);
        assert_eq!(circle(&[&middle, &youngest], &words[..2], Shared), [false, true]);
        assert!(words.iter().all(LockWord::is_free));
        assert_eq!(world.locks.queues(), 0);
        youngest.end(true);
        assert!(!youngest.is_wounded());
    }
}

/// Of two that share a lock and want it alone one is wounded, also where others wait before them.
#[test]
fn of_two_upgrades_the_younger_is_wounded() {
    let world = World::new(Detect);
    let [oldest, middle, youngest] = world.aged();
    for owner in [&middle, &youngest] {
        assert_eq!(world.take(owner, Shared), Ok(Taken::New));
    }
    thread::scope(|scope| {
        let behind = scope.spawn(|| oldest.lock(&world.word, Exclusive, LONG));
        while world.locks.waiting(&world.word) == 0 {
            thread::yield_now();
        }
        let first =
            scope.spawn(|| youngest.lock(&world.word, Exclusive, LONG).inspect_err(|_| world.unlock(&youngest)));
        while world.locks.waiting(&world.word) == 1 {
            thread::yield_now();
        }
        assert_eq!(middle.lock(&world.word, Exclusive, LONG), Ok(Taken::Before));
        assert_eq!(joined(first), Err(Lost::Wounded));
        world.unlock(&middle);
        assert_eq!(joined(behind), Ok(Taken::New));
    });
    world.unlock(&oldest);
    world.assert_idle();
}
