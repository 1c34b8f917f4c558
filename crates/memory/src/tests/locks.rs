//! Locks that transactions hold until they end, policy by policy.
//!
//! Whoever is to wait in a test does so in a thread of its own, and the test goes on when it is in the queue: nothing rests on
//! how long something takes.

mod circles;
mod turns;

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::time::{Duration, Instant};

use crate::sync::atomic::{AtomicU64, Ordering};
use crate::sync::thread::{Scope, ScopedJoinHandle};
use crate::sync::{Arc, Mutex, lock, thread};
use crate::{LockMode, LockWord, Locking, Locks, Lost, Owner, Taken};

use LockMode::{Exclusive, Shared};
use Locking::{Detect, NoWait, WaitDie, WoundWait};

const POLICIES: [Locking; 4] = [NoWait, WaitDie, WoundWait, Detect];

/// Waits that end in time: who waits longer never will.
const LONG: Duration = Duration::from_secs(60);

/// Waits that do not begin.
const NONE: Duration = Duration::ZERO;

/// A lock, and those who take it.
struct World {
    locks: Arc<Locks>,
    word: LockWord,
}

impl World {
    fn new(locking: Locking) -> World {
        World { locks: Locks::new(locking), word: LockWord::new() }
    }

    /// Owners that have met nobody.
    fn owners<const N: usize>(&self) -> [Owner; N] {
        std::array::from_fn(|_| self.locks.register().expect("there are few owners"))
    }

    /// Owners with ages: the first one is the oldest.
    fn aged<const N: usize>(&self) -> [Owner; N] {
        let owners = self.owners();
        owners.iter().for_each(Owner::give_age);
        owners
    }

    /// Takes the lock without waiting.
    fn take(&self, owner: &Owner, mode: LockMode) -> Result<Taken, Lost> {
        owner.lock(&self.word, mode, NONE)
    }

    fn share<'a>(&self, owners: impl IntoIterator<Item = &'a Owner>) {
        owners.into_iter().for_each(|owner| assert_eq!(self.take(owner, Shared), Ok(Taken::New)));
    }

    /// Lets the owner wait for the lock; returns when it is in the queue.
    fn wait<'s, 'e>(&'e self, scope: &'s Scope<'s, 'e>, owner: &'e Owner, mode: LockMode) -> Waiting<'s> {
        let before = self.locks.waiting(&self.word);
        let waiting = scope.spawn(move || owner.lock(&self.word, mode, LONG));
        while self.locks.waiting(&self.word) <= before {
            assert!(!waiting.is_finished(), "it waits: {:?}", waiting.join());
            thread::yield_now();
        }
        waiting
    }

    fn unlock(&self, owner: &Owner) {
        owner.unlock(&self.word);
    }

    /// Nobody holds the lock, and no queue is left.
    fn assert_idle(&self) {
        assert_eq!(self.locks.queues(), 0);
        assert!(self.word.is_free(), "{:?}", self.word);
    }
}

type Waiting<'s> = ScopedJoinHandle<'s, Result<Taken, Lost>>;

fn joined(waiting: Waiting<'_>) -> Result<Taken, Lost> {
    waiting.join().expect("the waiter is content")
}

#[test]
fn what_is_held_in_a_word() {
    for locking in POLICIES {
        let world = World::new(locking);
        assert_eq!((world.locks.locking(), Locking::default()), (locking, WoundWait));
        let [one, other, third] = world.owners();
        assert!(world.word.is_free() && one.is_free_for(&world.word) && !one.is_exclusive(&world.word));

        assert_eq!(world.take(&one, Exclusive), Ok(Taken::New));
        assert!(!world.word.is_free() && one.is_free_for(&world.word) && !other.is_free_for(&world.word));
        assert!(one.is_exclusive(&world.word) && !other.is_exclusive(&world.word));
        for mode in [Shared, Exclusive] {
            assert_eq!(world.take(&one, mode), Ok(Taken::Before));
            assert!(one.is_exclusive(&world.word), "it stays so");
        }
        world.unlock(&one);
        world.assert_idle();

        for owner in [&one, &other, &third] {
            assert_eq!(world.take(owner, Shared), Ok(Taken::New));
            assert_eq!(world.take(owner, Shared), Ok(Taken::Before));
            assert!(!owner.is_exclusive(&world.word));
        }
        assert!(!one.is_free_for(&world.word));
        assert_eq!(world.locks.queues(), 0, "three fit into a word");
        [&other, &one].into_iter().for_each(|owner| world.unlock(owner));
        assert!(third.is_free_for(&world.word) && !one.is_free_for(&world.word));
        world.unlock(&third);
        world.assert_idle();
    }
}

/// In whatever order the sharers go: from three on the word has room for them.
#[test]
fn more_sharers_than_a_word_has_room_for() {
    for (locking, first) in POLICIES.into_iter().flat_map(|locking| (0..5).map(move |first| (locking, first))) {
        let world = World::new(locking);
        let owners: [Owner; 5] = world.owners();
        world.share(&owners);
        assert_eq!(world.locks.queues(), 1);
        for owner in &owners {
            assert_eq!(world.take(owner, Shared), Ok(Taken::Before), "in the queue, too");
            assert!(!owner.is_free_for(&world.word) && !owner.is_exclusive(&world.word));
        }
        assert!(!world.word.is_free());

        for left in (0..5).rev() {
            let owner = &owners[(first + left) % 5];
            assert_eq!(owner.is_free_for(&world.word), left == 0);
            world.unlock(owner);
            assert_eq!(world.locks.queues(), usize::from(left > 3));
        }
        world.assert_idle();
        assert_eq!(world.take(&owners[0], Exclusive), Ok(Taken::New));
        world.unlock(&owners[0]);
    }
}

/// In a word and in a queue.
#[test]
fn an_upgrade_by_one_who_is_alone() {
    for locking in POLICIES {
        let world = World::new(locking);
        let [one, other] = world.owners();
        assert_eq!(world.take(&one, Shared), Ok(Taken::New));
        assert_eq!(world.take(&one, Exclusive), Ok(Taken::Before));
        assert!(one.is_exclusive(&world.word));
        world.unlock(&one);

        assert_eq!(world.take(&one, Shared), Ok(Taken::New));
        if locking == NoWait {
            assert_eq!(world.take(&other, Exclusive), Err(Lost::Refused));
            assert_eq!(world.locks.queues(), 1, "somebody is to be told");
            assert_eq!(world.take(&one, Exclusive), Ok(Taken::Before));
            assert!(one.is_exclusive(&world.word) && !other.is_exclusive(&world.word));
            world.unlock(&one);
        } else {
            thread::scope(|scope| {
                let waiting = world.wait(scope, &other, Exclusive);
                assert!(!one.is_wounded());
                assert!(one.is_free_for(&world.word) && !other.is_free_for(&world.word), "those who wait hold nothing");
                assert_eq!(world.take(&one, Exclusive), Ok(Taken::Before), "before those who wait");
                assert!(one.is_exclusive(&world.word) && !other.is_exclusive(&world.word));
                world.unlock(&one);
                assert_eq!(joined(waiting), Ok(Taken::New));
                world.unlock(&other);
            });
        }
        world.assert_idle();
    }
}

#[test]
fn nobody_waits_where_nobody_is_to() {
    let world = World::new(NoWait);
    let [one, other] = world.owners();
    for (held, wanted) in [(Exclusive, Exclusive), (Exclusive, Shared), (Shared, Exclusive)] {
        assert_eq!(world.take(&one, held), Ok(Taken::New));
        for _ in 0..2 {
            assert_eq!(other.lock(&world.word, wanted, LONG), Err(Lost::Refused));
        }
        assert!(!one.is_wounded() && one.is_free_for(&world.word));
        world.unlock(&one);
        world.assert_idle();
    }

    world.share([&one, &other]);
    for owner in [&one, &other] {
        assert_eq!(owner.lock(&world.word, Exclusive, LONG), Err(Lost::Refused), "the other shares it");
    }
    world.unlock(&one);
    assert_eq!(world.take(&other, Exclusive), Ok(Taken::Before));
    world.unlock(&other);
    world.assert_idle();
}

#[test]
fn the_older_waits_and_the_younger_dies() {
    let world = World::new(WaitDie);
    let [older, younger] = world.aged();
    for (held, wanted) in [(Exclusive, Exclusive), (Exclusive, Shared), (Shared, Exclusive)] {
        assert_eq!(world.take(&older, held), Ok(Taken::New));
        assert_eq!(younger.lock(&world.word, wanted, LONG), Err(Lost::Refused));
        world.unlock(&older);
        world.assert_idle();

        assert_eq!(world.take(&younger, held), Ok(Taken::New));
        thread::scope(|scope| {
            let waiting = world.wait(scope, &older, wanted);
            assert!(!younger.is_wounded());
            world.unlock(&younger);
            assert_eq!(joined(waiting), Ok(Taken::New));
        });
        assert_eq!(older.is_exclusive(&world.word), wanted == Exclusive);
        world.unlock(&older);
        world.assert_idle();
    }
}

/// Of two that have met nobody the one that asks is the older: it waits, and the other one is refused what it has.
#[test]
fn who_meets_first_is_the_older_where_the_younger_dies() {
    let (world, second) = (World::new(WaitDie), LockWord::new());
    let [asks, holds] = world.owners();
    assert_eq!(world.take(&holds, Exclusive), Ok(Taken::New));
    assert_eq!(asks.lock(&second, Exclusive, NONE), Ok(Taken::New));
    thread::scope(|scope| {
        let waiting = world.wait(scope, &asks, Exclusive);
        assert_eq!(holds.lock(&second, Exclusive, LONG), Err(Lost::Refused));
        world.unlock(&holds);
        assert_eq!(joined(waiting), Ok(Taken::New));
    });
    world.unlock(&asks);
    asks.unlock(&second);
    assert!(second.is_free());
    world.assert_idle();
}

#[test]
fn the_older_wounds_and_the_younger_waits() {
    let world = World::new(WoundWait);
    let [older, younger] = world.aged();
    for (held, wanted) in [(Exclusive, Exclusive), (Exclusive, Shared), (Shared, Exclusive)] {
        for (holder, waiter, is_wounded) in [(&older, &younger, false), (&younger, &older, true)] {
            assert_eq!(world.take(holder, held), Ok(Taken::New));
            thread::scope(|scope| {
                let waiting = world.wait(scope, waiter, wanted);
                assert_eq!(holder.is_wounded(), is_wounded);
                world.unlock(holder);
                assert_eq!(joined(waiting), Ok(Taken::New));
            });
            holder.end(true);
            assert!(!holder.is_wounded() && !waiter.is_wounded());
            world.unlock(waiter);
            world.assert_idle();
        }
    }
}

/// Of two that have met nobody the holder is the older. One that is older than it wounds it.
#[test]
fn who_holds_first_is_the_older_where_the_younger_is_wounded() {
    let world = World::new(WoundWait);
    let [oldest] = world.aged();
    let [asks, holds] = world.owners();
    assert_eq!(world.take(&holds, Exclusive), Ok(Taken::New));
    assert_eq!(world.take(&asks, Exclusive), Err(Lost::TimedOut));
    assert!(!holds.is_wounded());
    assert_eq!(world.take(&oldest, Exclusive), Err(Lost::TimedOut));
    assert!(holds.is_wounded() && !asks.is_wounded());
    world.unlock(&holds);
    world.assert_idle();
}

/// All those who are in the way are wounded, and nobody else.
#[test]
fn every_younger_sharer_is_wounded() {
    let world = World::new(WoundWait);
    let owners: [Owner; 6] = world.aged();
    let (sharers, wants) = ([0, 1, 3, 4, 5].map(|index| &owners[index]), &owners[2]);
    world.share(sharers.into_iter().chain([wants]));
    world.unlock(wants);
    assert!(!sharers.iter().any(|owner| owner.is_wounded()), "what is shared is shared");
    assert_eq!(world.take(wants, Exclusive), Err(Lost::TimedOut));
    assert_eq!(sharers.map(Owner::is_wounded), [false, false, true, true, true]);
    sharers.iter().for_each(|owner| world.unlock(owner));
    world.assert_idle();
}

/// A wounded owner keeps what it has, and may take what is free. It waits for nothing.
#[test]
fn a_wounded_owner_does_not_wait() {
    let (world, second) = (World::new(WoundWait), LockWord::new());
    let [oldest, younger, holder] = world.aged();
    assert_eq!(world.take(&younger, Exclusive), Ok(Taken::New));
    assert_eq!(holder.lock(&second, Exclusive, NONE), Ok(Taken::New));
    thread::scope(|scope| {
        let waiting = world.wait(scope, &oldest, Shared);
        assert_eq!(younger.lock(&second, Exclusive, LONG), Err(Lost::Wounded));
        assert!(!holder.is_wounded(), "who is lost wounds nobody");
        assert_eq!(world.take(&younger, Shared), Ok(Taken::Before));
        holder.unlock(&second);
        assert_eq!(younger.lock(&second, Exclusive, NONE), Ok(Taken::New));
        younger.unlock(&second);
        world.unlock(&younger);
        assert_eq!(joined(waiting), Ok(Taken::New));
    });
    world.unlock(&oldest);
    world.assert_idle();
}

#[test]
fn an_upgrade_beside_a_sharer_where_the_younger_dies() {
    let world = World::new(WaitDie);
    let [older, younger] = world.aged();
    world.share([&older, &younger]);
    assert_eq!(younger.lock(&world.word, Exclusive, LONG), Err(Lost::Refused));
    thread::scope(|scope| {
        let waiting = world.wait(scope, &older, Exclusive);
        assert!(!older.is_exclusive(&world.word), "it shares the lock");
        assert_eq!(younger.lock(&world.word, Exclusive, LONG), Err(Lost::Refused));
        world.unlock(&younger);
        assert_eq!(joined(waiting), Ok(Taken::Before));
    });
    assert!(older.is_exclusive(&world.word));
    world.unlock(&older);
    world.assert_idle();
}

#[test]
fn an_upgrade_beside_a_sharer_where_the_younger_is_wounded() {
    let world = World::new(WoundWait);
    let [older, younger] = world.aged();
    world.share([&older, &younger]);
    thread::scope(|scope| {
        let waits = world.wait(scope, &younger, Exclusive);
        assert!(!older.is_wounded() && !younger.is_wounded());
        let waiting = scope.spawn(|| older.lock(&world.word, Exclusive, LONG));
        assert_eq!(joined(waits), Err(Lost::Wounded), "the other way round it would wait for ever");
        assert!(!older.is_exclusive(&world.word), "the younger one shares it still");
        world.unlock(&younger);
        assert_eq!(joined(waiting), Ok(Taken::Before));
    });
    assert!(older.is_exclusive(&world.word));
    world.unlock(&older);
    world.assert_idle();
}

/// Each of `arriving` (places in the order of ages) waits for the lock alone; returns the order in which they got it.
fn order_of_grants(locking: Locking, arriving: [usize; 4]) -> Vec<usize> {
    let (world, order) = (World::new(locking), Mutex::new(Vec::new()));
    let [holder] = world.owners();
    let owners: [Owner; 4] = world.aged();
    assert_eq!(world.take(&holder, Exclusive), Ok(Taken::New));
    thread::scope(|scope| {
        for (index, place) in arriving.into_iter().enumerate() {
            let (world, order, owner) = (&world, &order, &owners[place]);
            scope.spawn(move || {
                assert_eq!(owner.lock(&world.word, Exclusive, LONG), Ok(Taken::New));
                lock(order).push(place);
                world.unlock(owner);
            });
            while world.locks.waiting(&world.word) <= index {
                thread::yield_now();
            }
        }
        world.unlock(&holder);
    });
    world.assert_idle();
    order.into_inner().expect("nobody failed")
}

#[test]
fn the_youngest_gets_the_lock_first_where_the_younger_dies() {
    // Whoever comes is older than those that it waits for.
    assert_eq!(order_of_grants(WaitDie, [3, 2, 1, 0]), [3, 2, 1, 0]);
}

#[test]
fn the_oldest_gets_the_lock_first_where_the_younger_is_wounded() {
    for arriving in [[0, 1, 2, 3], [3, 2, 1, 0], [2, 0, 3, 1]] {
        assert_eq!(order_of_grants(WoundWait, arriving), [0, 1, 2, 3]);
    }
}

/// Those who share a lock get it together, as far as nobody else is before them.
#[test]
fn sharers_are_granted_together() {
    let world = World::new(WoundWait);
    let [holder, first, second, alone, last] = world.aged();
    assert_eq!(world.take(&holder, Exclusive), Ok(Taken::New));
    thread::scope(|scope| {
        let sharing = [&last, &second, &first].map(|owner| world.wait(scope, owner, Shared));
        let waiting = world.wait(scope, &alone, Exclusive);
        world.unlock(&holder);
        let [behind, second_sharing, first_sharing] = sharing;
        assert_eq!([joined(first_sharing), joined(second_sharing)], [Ok(Taken::New); 2]);
        assert_eq!(world.locks.waiting(&world.word), 2);
        [&first, &second].into_iter().for_each(|owner| world.unlock(owner));
        assert_eq!(joined(waiting), Ok(Taken::New));
        assert_eq!(world.locks.waiting(&world.word), 1);
        world.unlock(&alone);
        assert_eq!(joined(behind), Ok(Taken::New));
    });
    assert_eq!(world.locks.queues(), 0);
    world.unlock(&last);
    world.assert_idle();
}

/// A shared lock is not shared with more while somebody waits to have it alone, who would wait for ever.
#[test]
fn nobody_overtakes_a_waiter_where_the_younger_dies() {
    let world = World::new(WaitDie);
    let [oldest, waiter, youngest, holder] = world.aged();
    assert_eq!(world.take(&holder, Shared), Ok(Taken::New));
    thread::scope(|scope| {
        let waiting = world.wait(scope, &waiter, Exclusive);
        assert_eq!(youngest.lock(&world.word, Shared, LONG), Err(Lost::Refused));
        let behind = world.wait(scope, &oldest, Shared);
        world.unlock(&holder);
        assert_eq!(joined(waiting), Ok(Taken::New));
        assert_eq!(world.locks.waiting(&world.word), 1);
        world.unlock(&waiter);
        assert_eq!(joined(behind), Ok(Taken::New));
    });
    world.unlock(&oldest);
    world.assert_idle();
}

/// As above; one that is older than the waiter would wound it, and goes before it.
#[test]
fn nobody_overtakes_an_older_waiter_where_the_younger_is_wounded() {
    let world = World::new(WoundWait);
    let [oldest, holder, waiter, youngest] = world.aged();
    assert_eq!(world.take(&holder, Shared), Ok(Taken::New));
    thread::scope(|scope| {
        let waiting = world.wait(scope, &waiter, Exclusive);
        let behind = world.wait(scope, &youngest, Shared);
        assert_eq!(world.take(&oldest, Shared), Ok(Taken::New));
        [&holder, &oldest].into_iter().for_each(|owner| world.unlock(owner));
        assert_eq!(joined(waiting), Ok(Taken::New));
        assert!(!waiter.is_wounded());
        assert_eq!(world.locks.waiting(&world.word), 1);
        world.unlock(&waiter);
        assert_eq!(joined(behind), Ok(Taken::New));
    });
    world.unlock(&youngest);
    world.assert_idle();
}

/// Whether `one` is older than `other`, which holds nothing.
fn is_older(world: &World, one: &Owner, other: &Owner) -> bool {
    assert_eq!(world.take(other, Exclusive), Ok(Taken::New));
    let taken = world.take(one, Exclusive);
    let is_older = match world.locks.locking() {
        WaitDie => taken == Err(Lost::TimedOut),
        _ => other.is_wounded(),
    };
    let is_refused = world.locks.locking() == WaitDie && !is_older;
    assert_eq!(taken, Err(if is_refused { Lost::Refused } else { Lost::TimedOut }));
    world.unlock(other);
    other.end(true);
    world.assert_idle();
    is_older
}

#[test]
fn an_age_lasts_until_the_transaction_has_ended_for_good() {
    for locking in [WaitDie, WoundWait] {
        let world = World::new(locking);
        let [one, other] = world.aged();
        for _ in 0..2 {
            assert!(is_older(&world, &one, &other) && !is_older(&world, &other, &one));
            [&one, &other].into_iter().for_each(|owner| owner.end(true));
        }
        one.end(false);
        assert!(!is_older(&world, &one, &other), "it has met the other one anew");
        assert!(is_older(&world, &other, &one));
    }
}

/// Who has waited long enough is not in the way of those behind it.
#[test]
fn who_runs_out_of_time_leaves_the_queue() {
    for locking in [WaitDie, WoundWait] {
        let world = World::new(locking);
        let [oldest, middle, youngest] = world.aged();
        // The holder, and who waits behind the one that leaves.
        let (holder, behind) = if locking == WaitDie { (&youngest, &oldest) } else { (&oldest, &youngest) };
        assert_eq!(world.take(holder, Shared), Ok(Taken::New));
        assert_eq!(world.take(&middle, Exclusive), Err(Lost::TimedOut));
        assert_eq!(world.locks.queues(), 0, "nobody waits any more");
        thread::scope(|scope| {
            let leaving = scope.spawn(|| middle.lock(&world.word, Exclusive, Duration::from_millis(30)));
            while world.locks.waiting(&world.word) == 0 && !leaving.is_finished() {
                thread::yield_now();
            }
            // Behind the other one, where it is still there.
            assert_eq!(behind.lock(&world.word, Shared, LONG), Ok(Taken::New));
            assert_eq!(joined(leaving), Err(Lost::TimedOut));
        });
        assert!(!holder.is_free_for(&world.word), "both share it");
        [holder, behind].into_iter().for_each(|owner| world.unlock(owner));
        world.assert_idle();
    }
}

#[test]
fn a_wound_wakes_who_waits_elsewhere() {
    let (world, second) = (World::new(WoundWait), LockWord::new());
    let [oldest, holder, younger] = world.aged();
    assert_eq!(world.take(&holder, Exclusive), Ok(Taken::New));
    assert_eq!(younger.lock(&second, Exclusive, NONE), Ok(Taken::New));
    thread::scope(|scope| {
        let waiting = world.wait(scope, &younger, Exclusive);
        let wounding = scope.spawn(|| oldest.lock(&second, Exclusive, LONG));
        assert_eq!(joined(waiting), Err(Lost::Wounded));
        assert_eq!(world.locks.waiting(&world.word), 0);
        younger.unlock(&second);
        younger.end(true);
        assert_eq!(joined(wounding), Ok(Taken::New));
    });
    assert!(!holder.is_wounded() && !oldest.is_wounded());
    oldest.unlock(&second);
    world.unlock(&holder);
    world.assert_idle();
    assert!(second.is_free());
}

/// Everybody who was refused is told, once, when the lock is given back; before that a wait takes its time.
#[test]
fn who_was_refused_is_told() {
    let world = World::new(NoWait);
    let [holder, one, other] = world.owners();
    one.wait_for_refused(LONG);
    assert_eq!(world.take(&holder, Exclusive), Ok(Taken::New));
    assert_eq!(world.take(&one, Shared), Err(Lost::Refused));
    let (limit, begun) = (Duration::from_millis(20), Instant::now());
    one.wait_for_refused(limit);
    assert!(begun.elapsed() >= limit, "the lock is held");
    for _ in 0..3 {
        assert_eq!(world.take(&one, Shared), Err(Lost::Refused));
    }
    assert_eq!(world.take(&other, Exclusive), Err(Lost::Refused));
    thread::scope(|scope| {
        let waiting = [&one, &other].map(|owner| scope.spawn(|| owner.wait_for_refused(LONG)));
        world.unlock(&holder);
        waiting.into_iter().for_each(|waiting| assert!(waiting.join().unwrap(), "it was told"));
    });
    world.assert_idle();
    one.wait_for_refused(LONG);

    assert_eq!(world.take(&holder, Exclusive), Ok(Taken::New));
    assert_eq!(world.take(&one, Shared), Err(Lost::Refused));
    world.unlock(&holder);
    one.wait_for_refused(LONG);
    world.assert_idle();
}

/// Whose upgrade was refused gives back its share. That tells the others, but not itself: the lock is still shared.
#[test]
fn who_was_refused_is_not_told_by_itself() {
    let world = World::new(WaitDie);
    let [older, younger] = world.aged();
    world.share([&older, &younger]);
    assert_eq!(world.take(&younger, Exclusive), Err(Lost::Refused));
    world.unlock(&younger);
    younger.end(true);
    let (limit, begun) = (Duration::from_millis(20), Instant::now());
    younger.wait_for_refused(limit);
    assert!(begun.elapsed() >= limit, "the older one holds it");
    assert_eq!(world.take(&younger, Exclusive), Err(Lost::Refused));
    world.unlock(&older);
    younger.wait_for_refused(LONG);
    world.assert_idle();
}

#[test]
fn a_closed_lock_is_taken_by_nobody() {
    for locking in POLICIES {
        let world = World::new(locking);
        let [one, other] = world.owners();
        for mode in [Shared, Exclusive] {
            assert!(world.word.close());
            assert!(!world.word.close() && !world.word.is_free());
            assert!(one.is_free_for(&world.word) && !one.is_exclusive(&world.word), "nobody has it");
            assert_eq!(one.lock(&world.word, mode, LONG), Ok(Taken::Closed));
            world.word.open();
            world.assert_idle();
            assert_eq!(world.take(&one, mode), Ok(Taken::New));
            assert!(!world.word.close(), "it is held");
            let _ = world.take(&other, Exclusive);
            assert!(!world.word.close(), "and wanted");
            world.unlock(&one);
            world.assert_idle();
        }
    }
}

#[test]
fn misuse_panics_and_changes_nothing() {
    let world = World::new(WoundWait);
    let owners: [Owner; 6] = world.owners();
    let refused = |act: &dyn Fn()| assert!(catch_unwind(AssertUnwindSafe(act)).is_err());
    refused(&|| world.word.open());
    refused(&|| world.unlock(&owners[5]));
    world.assert_idle();
    for sharer in &owners[..5] {
        assert_eq!(world.take(sharer, Shared), Ok(Taken::New));
        refused(&|| world.word.open());
        refused(&|| world.unlock(&owners[5]));
    }
    owners[..5].iter().for_each(|sharer| world.unlock(sharer));
    world.assert_idle();
}

/// The number of an owner that has gone serves another one, which has met nobody and is not wounded.
#[test]
fn a_number_is_used_again() {
    let world = World::new(WoundWait);
    let [older, younger] = world.aged();
    let number = format!("{younger:?}");
    assert_eq!(world.take(&younger, Exclusive), Ok(Taken::New));
    assert_eq!(world.take(&older, Exclusive), Err(Lost::TimedOut));
    assert!(younger.is_wounded());
    world.unlock(&younger);
    drop(younger);

    let [next] = world.owners();
    assert!(!next.is_wounded());
    assert_ne!(number, format!("{next:?}"), "it has no age");
    next.give_age();
    let until_age = |text: &str| text.split("age").next().map(str::to_owned);
    assert_eq!(until_age(&number), until_age(&format!("{next:?}")));
    assert!(is_older(&world, &older, &next));

    let [another] = world.owners();
    assert_ne!(until_age(&number), until_age(&format!("{another:?}")), "both are there");
}

/// What a lock protects: two equal numbers, of which nobody may see or change one alone.
#[derive(Default)]
struct Guarded {
    word: LockWord,
    numbers: [AtomicU64; 2],
}

impl Guarded {
    fn read(&self) -> u64 {
        let [first, second] = [0, 1].map(|index| self.numbers[index].load(Ordering::Relaxed));
        assert_eq!(first, second, "nobody writes what is read");
        first
    }

    fn write(&self) {
        let before = self.read();
        self.numbers[0].store(before + 1, Ordering::Relaxed);
        thread::yield_now();
        self.numbers[1].store(before + 1, Ordering::Relaxed);
    }
}

/// One transaction: takes locks in the given order and modes, and an exclusive one in place of a shared one here and there.
fn attempt(owner: &Owner, guarded: &[Guarded], steps: &[(usize, LockMode, bool)]) -> Result<u64, (u64, Lost)> {
    let (mut held, mut written, mut lost) = (Vec::new(), 0, None);
    'steps: for &(index, mode, is_upgraded) in steps {
        let place = &guarded[index];
        for mode in [Some(mode), is_upgraded.then_some(Exclusive)].into_iter().flatten() {
            match owner.lock(&place.word, mode, LONG) {
                Ok(Taken::New) => held.push(index),
                Ok(taken) => assert!(taken == Taken::Before && held.contains(&index), "nobody closes it"),
                Err(why) => {
                    lost = Some(why);
                    break 'steps;
                }
            }
            assert!(mode == Shared || owner.is_exclusive(&place.word), "it has what it asked for");
            match mode {
                Shared => {
                    place.read();
                }
                Exclusive => {
                    place.write();
                    written += 1;
                }
            }
        }
        if owner.is_wounded() {
            lost = Some(Lost::Wounded);
            break;
        }
    }
    held.into_iter().rev().for_each(|index| owner.unlock(&guarded[index].word));
    lost.map_or(Ok(written), |lost| Err((written, lost)))
}

/// Runs transactions until each has committed; returns how often they wrote.
fn work(seed: u64, transactions: u64, locks: &Arc<Locks>, guarded: &[Guarded]) -> u64 {
    let (mut random, mut written) = (fastrand::Rng::with_seed(seed), 0);
    let owner = locks.register().expect("there are few owners");
    for _ in 0..transactions {
        let steps = [(); 3].map(|()| {
            let mode = if random.bool() { Shared } else { Exclusive };
            (random.usize(..guarded.len()), mode, random.u8(..4) == 0)
        });
        let steps = &steps[..random.usize(1..=3)];
        loop {
            match attempt(&owner, guarded, steps) {
                Ok(writes) => {
                    written += writes;
                    break owner.end(false);
                }
                Err((writes, lost)) => {
                    assert_ne!(lost, Lost::TimedOut, "nobody waits for ever");
                    written += writes;
                    owner.end(true);
                    owner.wait_for_refused(Duration::from_millis(random.u64(1..5)));
                }
            }
        }
    }
    written
}

/// No deadlock, nothing lost, and everybody commits at last.
#[test]
fn stress_transactions_that_lock() {
    let threads = if cfg!(miri) { 3 } else { 8 };
    for locking in POLICIES {
        // Without ages it is chance who commits.
        let transactions = match locking {
            _ if cfg!(miri) => 12,
            NoWait => 500,
            WaitDie | WoundWait | Detect => 2_000,
        };
        let (locks, guarded) = (Locks::new(locking), [(); 4].map(|()| Guarded::default()));
        let written: u64 = thread::scope(|scope| {
            let work = |seed| work(seed, transactions, &locks, &guarded);
            let workers: Vec<_> = (0..threads).map(|seed| scope.spawn(move || work(seed))).collect();
            workers.into_iter().map(|worker| worker.join().unwrap()).sum()
        });
        assert_eq!(guarded.iter().map(Guarded::read).sum::<u64>(), written, "each write is counted once");
        assert!(guarded.iter().all(|place| place.word.is_free()));
        assert_eq!(locks.queues(), 0);
    }
}
