//! Locks that transactions hold until they end: exclusion, queues that come and go beside those who use them, and the gaps of a
//! leaf, which a scanner locks and an inserter asks for.
//!
//! In a model no time passes: whoever waits is granted its lock, or wounded, or the model reports a deadlock.
//!
//! Absent: the orders in which waiters get their locks, which are unit tests.

use std::time::Duration;

use super::explore;
use super::tree::{Model, absence, tree_of};
use crate::sync::{Arc, RaceCell, thread};
use crate::tree::tests::ItemBox;
use crate::{LeafScan, LockMode, LockWord, Locking, Locks, Lost, Owner, Pin, ScanFrom, Stamp, Taken};

use LockMode::{Exclusive, Shared};
use Locking::{Detect, NoWait, WaitDie, WoundWait};

/// No time passes, so this is for ever.
const LIMIT: Duration = Duration::ZERO;

/// A lock and what it protects.
#[derive(Default)]
struct Guarded {
    word: LockWord,
    bytes: RaceCell,
}

impl Guarded {
    /// Does what a holder does.
    fn access(&self, mode: LockMode) {
        match mode {
            Shared => self.bytes.read(),
            Exclusive => self.bytes.write(),
        }
    }

    /// Takes the lock, does what it allows, and gives it back; or does nothing.
    fn visit(&self, owner: &Owner, mode: LockMode) -> Result<(), Lost> {
        assert_eq!(owner.lock(&self.word, mode, LIMIT)?, Taken::New);
        self.access(mode);
        owner.unlock(&self.word);
        Ok(())
    }
}

/// Locks, and those who take them.
struct World {
    locks: Arc<Locks>,
    guarded: [Guarded; 24],
}

impl World {
    fn new(locking: Locking) -> Arc<World> {
        Arc::new(World { locks: Locks::new(locking), guarded: Default::default() })
    }

    fn owner(&self) -> Owner {
        self.locks.register().expect("a few owners")
    }

    fn first(&self) -> &Guarded {
        &self.guarded[0]
    }

    /// Where it is depends on addresses, and what it does must not.
    fn second(&self) -> &Guarded {
        let is_apart = |other: &&Guarded| self.locks.are_apart(&self.first().word, &other.word);
        self.guarded.iter().find(is_apart).expect("neighbours have different buckets")
    }

    /// Nobody holds anything, and no queue is left.
    fn assert_idle(&self) {
        assert!(self.guarded.iter().all(|guarded| guarded.word.is_free()), "everything was given back");
        assert_eq!(self.locks.queues(), 0);
    }
}

/// Runs `other` in a thread of its own.
fn beside<R: 'static>(world: &Arc<World>, other: impl FnOnce(&World) -> R + Send + 'static) -> thread::JoinHandle<R>
where
    R: Send,
{
    let world = Arc::clone(world);
    thread::spawn(move || other(&world))
}

/// The locks by which `first` and `second` access the same thing at the same time exclude each other.
fn accesses_exclude(locking: Locking, first: LockMode, second: LockMode) {
    explore(3, move || {
        let world = World::new(locking);
        let (one, other) = (world.owner(), world.owner());
        let visiting = beside(&world, move |world| world.first().visit(&other, second));
        let mine = world.first().visit(&one, first);
        let others = visiting.join().expect("the other is content");
        assert!(mine.is_ok() || others.is_ok(), "one of two comes through");
        assert!(locking == NoWait || (mine, others) == (Ok(()), Ok(())), "who has met nobody else waits");
        world.assert_idle();
    });
}

#[test]
fn an_exclusive_lock_excludes() {
    for locking in [NoWait, WaitDie, WoundWait, Detect] {
        accesses_exclude(locking, Exclusive, Exclusive);
    }
}

#[test]
fn a_shared_lock_excludes_writers() {
    for locking in [NoWait, WaitDie, WoundWait, Detect] {
        accesses_exclude(locking, Exclusive, Shared);
    }
}

/// Reads under a shared lock, and writes under the lock that it becomes. Gives everything back.
fn upgrade(world: &World, owner: &Owner) -> Result<(), Lost> {
    let guarded = world.first();
    assert_eq!(owner.lock(&guarded.word, Shared, LIMIT)?, Taken::New);
    guarded.access(Shared);
    let upgraded = owner.lock(&guarded.word, Exclusive, LIMIT);
    if let Ok(taken) = upgraded {
        assert_eq!(taken, Taken::Before);
        guarded.access(Exclusive);
    }
    owner.unlock(&guarded.word);
    owner.end(true);
    upgraded.map(drop)
}

/// Two who share a lock and want it for themselves: one of them gets it, at least.
#[test]
fn of_two_upgrades_one_comes_through() {
    for locking in [NoWait, WaitDie, WoundWait, Detect] {
        explore(3, move || {
            let world = World::new(locking);
            let (one, other) = (world.owner(), world.owner());
            let upgrading = beside(&world, move |world| upgrade(world, &other));
            let mine = upgrade(&world, &one);
            let others = upgrading.join().expect("the other is content");
            assert!(locking == NoWait || mine.is_ok() || others.is_ok(), "the older one is not lost");
            world.assert_idle();
        });
    }
}

/// The one more that does not fit makes a queue, and the word takes over from it, while others give the lock back.
#[test]
fn a_queue_comes_and_goes_beside_releases() {
    explore(3, || {
        let world = World::new(NoWait);
        let (sharers, last) = ([world.owner(), world.owner(), world.owner()], world.owner());
        let word = &world.first().word;
        for owner in &sharers {
            assert_eq!(owner.lock(word, Shared, LIMIT), Ok(Taken::New));
        }
        let visiting = beside(&world, move |world| world.first().visit(&last, Shared));
        sharers[..2].iter().for_each(|owner| owner.unlock(word));
        assert!(!word.is_free() && !sharers[0].is_free_for(word));
        visiting.join().expect("the other is content").expect("a shared lock is shared");
        assert!(sharers[2].is_free_for(word));
        sharers[2].unlock(word);
        world.assert_idle();
    });
}

/// Who asks about a lock finds its holders in the word or in the queue.
///
/// The asking thread comes second: loom tries another order of a load and a later store only where the storing thread has not
/// loaded the same word in between.
#[test]
fn a_queue_comes_and_goes_beside_questions() {
    explore(3, || {
        let world = World::new(NoWait);
        let (sharers, last) = ([world.owner(), world.owner(), world.owner()], world.owner());
        for owner in &sharers {
            assert_eq!(owner.lock(&world.first().word, Shared, LIMIT), Ok(Taken::New));
        }
        let asking = beside(&world, move |world| {
            let word = &world.first().word;
            assert!(!word.is_free() && !sharers[0].is_free_for(word));
            assert!(!sharers[0].is_exclusive(word));
            sharers
        });
        world.first().visit(&last, Shared).expect("a shared lock is shared");
        for owner in asking.join().expect("the other is content") {
            owner.unlock(&world.first().word);
        }
        world.assert_idle();
    });
}

/// Who waits for a lock is woken when it is given back, and does what it wants after the holder.
#[test]
fn a_release_wakes_who_waits() {
    for (locking, mode) in [(WaitDie, Exclusive), (WaitDie, Shared), (WoundWait, Exclusive), (WoundWait, Shared)] {
        explore(3, move || {
            let world = World::new(locking);
            let (holder, waiter) = (world.owner(), world.owner());
            let guarded = world.first();
            assert_eq!(holder.lock(&guarded.word, Exclusive, LIMIT), Ok(Taken::New));
            let waiting = beside(&world, move |world| world.first().visit(&waiter, mode));
            guarded.access(Exclusive);
            holder.unlock(&guarded.word);
            assert_eq!(waiting.join().expect("the other is content"), Ok(()));
            world.assert_idle();
        });
    }
}

/// Who was refused a lock is told when it is given back, and gets it then.
#[test]
fn a_release_tells_who_was_refused() {
    explore(3, || {
        let world = World::new(NoWait);
        let (holder, refused) = (world.owner(), world.owner());
        let guarded = world.first();
        assert_eq!(holder.lock(&guarded.word, Exclusive, LIMIT), Ok(Taken::New));
        let trying = beside(&world, move |world| {
            if world.first().visit(&refused, Exclusive).is_err() {
                refused.wait_for_refused(LIMIT);
                assert_eq!(world.first().visit(&refused, Exclusive), Ok(()));
            }
        });
        guarded.access(Exclusive);
        holder.unlock(&guarded.word);
        trying.join().expect("the other is content");
        world.assert_idle();
    });
}

/// Takes both locks and does what they allow; gives back what it has.
fn take_both(owner: &Owner, first: &Guarded, second: &Guarded) -> Result<(), Lost> {
    assert_eq!(owner.lock(&first.word, Exclusive, LIMIT)?, Taken::New);
    first.access(Exclusive);
    let taken = owner.lock(&second.word, Exclusive, LIMIT);
    if taken.is_ok() {
        second.access(Exclusive);
        owner.unlock(&second.word);
    }
    owner.unlock(&first.word);
    taken.map(drop)
}

/// As [`take_both`], until it succeeds; the owner keeps its age.
fn take_both_at_last(owner: &Owner, first: &Guarded, second: &Guarded) {
    while take_both(owner, first, second).is_err() {
        owner.end(true);
        owner.wait_for_refused(LIMIT);
    }
    owner.end(false);
}

/// Two who take two locks in opposite orders both get there.
fn opposite_orders_end(locking: Locking) {
    explore(3, move || {
        let world = World::new(locking);
        let (one, other) = (world.owner(), world.owner());
        let taking = beside(&world, move |world| take_both_at_last(&other, world.second(), world.first()));
        take_both_at_last(&one, world.first(), world.second());
        taking.join().expect("the other is content");
        world.assert_idle();
    });
}

#[test]
fn opposite_orders_end_where_the_younger_dies() {
    opposite_orders_end(WaitDie);
}

#[test]
fn opposite_orders_end_where_the_younger_is_wounded() {
    opposite_orders_end(WoundWait);
}

#[test]
fn opposite_orders_end_where_the_circle_is_found() {
    opposite_orders_end(Detect);
}

/// Whoever is wounded is so until it has given back what the older one wants, and not in its next transaction.
#[test]
fn a_wound_ends_with_its_transaction() {
    explore(3, || {
        let world = World::new(WoundWait);
        let (older, younger) = (world.owner(), world.owner());
        [&older, &younger].into_iter().for_each(Owner::give_age);
        let guarded = world.first();
        assert_eq!(younger.lock(&guarded.word, Exclusive, LIMIT), Ok(Taken::New));
        let visiting = beside(&world, move |world| world.first().visit(&older, Exclusive));
        guarded.access(Exclusive);
        younger.unlock(&guarded.word);
        younger.end(true);
        assert!(!younger.is_wounded(), "it holds nothing");
        assert_eq!(world.second().visit(&younger, Exclusive), Ok(()));
        assert_eq!(visiting.join().expect("the older one is content"), Ok(()));
        assert!(!younger.is_wounded(), "it had ended");
        world.assert_idle();
    });
}

/// An owner that waits is wounded and gets its lock at the same time: it has the lock, or it is in no queue. Where somebody waits
/// behind it the queue stays. Where enough pass it the lock is given to it.
fn a_wound_and_a_grant(preemptions: usize, passes: usize, has_follower: bool) {
    explore(preemptions, move || {
        let world = World::new(WoundWait);
        let (oldest, holder, waiter) = (world.owner(), world.owner(), world.owner());
        [&oldest, &holder, &waiter].into_iter().for_each(Owner::give_age);
        assert_eq!(waiter.lock(&world.first().word, Exclusive, LIMIT), Ok(Taken::New));
        assert_eq!(holder.lock(&world.second().word, Exclusive, LIMIT), Ok(Taken::New));
        let following = has_follower.then(|| {
            let follower = world.owner();
            beside(&world, move |world| world.second().visit(&follower, Exclusive))
        });
        let wounding = beside(&world, move |world| world.first().visit(&oldest, Exclusive));
        let waiting = beside(&world, move |world| {
            let visited = world.second().visit(&waiter, Exclusive);
            assert!(visited.is_ok() || (visited == Err(Lost::Wounded) && waiter.is_wounded()));
            world.first().access(Exclusive);
            waiter.unlock(&world.first().word);
            waiter.end(true);
        });
        world.second().access(Exclusive);
        holder.unlock(&world.second().word);
        for _ in 0..passes {
            let passer = world.owner();
            let _ = world.second().visit(&passer, Exclusive);
        }
        waiting.join().expect("the waiter is content");
        assert_eq!(wounding.join().expect("the oldest is content"), Ok(()));
        if let Some(following) = following {
            assert_eq!(following.join().expect("the follower is content"), Ok(()));
        }
        world.assert_idle();
    });
}

#[test]
fn a_wound_beside_a_call() {
    a_wound_and_a_grant(3, 0, false);
}

#[test]
fn a_wound_beside_a_call_before_another() {
    a_wound_and_a_grant(2, 0, true);
}

#[test]
fn a_wound_beside_a_grant() {
    a_wound_and_a_grant(2, 2, false);
}

#[test]
fn a_wound_beside_a_grant_before_another() {
    a_wound_and_a_grant(2, 2, true);
}

/// While the first who waits wakes up, others take the lock before it. They wait for nothing then: it may hold what they want.
#[test]
fn who_passes_a_waiter_waits_for_nobody() {
    for locking in [WaitDie, WoundWait] {
        explore(2, move || {
            let world = World::new(locking);
            let (waiter, holder, passer) = (world.owner(), world.owner(), world.owner());
            [&waiter, &holder].into_iter().for_each(Owner::give_age);
            assert_eq!(waiter.lock(&world.second().word, Exclusive, LIMIT), Ok(Taken::New));
            assert_eq!(holder.lock(&world.first().word, Exclusive, LIMIT), Ok(Taken::New));
            let waiting = beside(&world, move |world| {
                let visited = world.first().visit(&waiter, Exclusive);
                waiter.unlock(&world.second().word);
                visited
            });
            holder.unlock(&world.first().word);
            // It comes through, or it is lost, but it comes back.
            let _ = take_both(&passer, world.first(), world.second());
            passer.end(true);
            assert_eq!(waiting.join().expect("the waiter is content"), Ok(()), "it is the oldest");
            world.assert_idle();
        });
    }
}

/// Whoever waits is told again when those who have passed give the lock back.
#[test]
fn who_was_passed_gets_the_lock() {
    for locking in [WaitDie, WoundWait] {
        explore(2, move || {
            let world = World::new(locking);
            let (waiter, holder, passer) = (world.owner(), world.owner(), world.owner());
            waiter.give_age();
            assert_eq!(holder.lock(&world.first().word, Exclusive, LIMIT), Ok(Taken::New));
            let waiting = beside(&world, move |world| world.first().visit(&waiter, Exclusive));
            holder.unlock(&world.first().word);
            for _ in 0..3 {
                // It is refused where the waiter is older and was not called.
                let _ = world.first().visit(&passer, Exclusive);
                passer.end(false);
            }
            assert_eq!(waiting.join().expect("the waiter is content"), Ok(()));
            world.assert_idle();
        });
    }
}

/// A lock is closed, or it is held; what is done after either is ordered.
#[test]
fn a_lock_is_not_closed_while_it_is_held() {
    for (locking, mode) in [(NoWait, Shared), (WoundWait, Exclusive)] {
        explore(3, move || {
            let world = World::new(locking);
            let owner = world.owner();
            let closing = beside(&world, |world| {
                let is_closed = world.first().word.close();
                if is_closed {
                    world.first().access(Exclusive);
                }
                is_closed
            });
            let guarded = world.first();
            let taken = owner.lock(&guarded.word, mode, LIMIT).expect("nobody else holds it");
            if taken == Taken::New {
                guarded.access(mode);
                owner.unlock(&guarded.word);
            }
            let is_closed = closing.join().expect("the other is content");
            assert!(is_closed || taken == Taken::New);
            assert_eq!(world.first().word.close(), !is_closed);
        });
    }
}

/// Who takes a lock that was opened again sees what was done while it was closed.
#[test]
fn an_opened_lock_follows_what_was_done() {
    explore(3, || {
        let world = World::new(WoundWait);
        let owner = world.owner();
        let closing = beside(&world, |world| {
            let guarded = world.first();
            if guarded.word.close() {
                guarded.access(Exclusive);
                guarded.word.open();
            }
        });
        let guarded = world.first();
        if owner.lock(&guarded.word, Shared, LIMIT) == Ok(Taken::New) {
            guarded.access(Shared);
            owner.unlock(&guarded.word);
        }
        closing.join().expect("the other is content");
        world.assert_idle();
    });
}

/// The keys of the leaf whose gaps are locked.
const KEYS: &[u8] = &[10, 20, 30];

/// Comes into the leaf.
const NEW: u8 = 25;

/// Leaves it.
const OLD: u8 = 30;

/// Reads the leaf, locks its gaps, and looks whether it is as it was: then the range without `NEW` and with `OLD` was read, and
/// stays so. The lock is kept.
fn scan(model: &Model, pin: &Pin<'_>, scanner: &Owner) -> bool {
    let mut leaf = LeafScan::new();
    model.tree.scan_leaf(pin, ScanFrom::AtLeast(&[]), &mut leaf);
    let is_before = leaf.entries.len() == KEYS.len();
    let read = leaf.read();
    scanner.lock(read.gap(pin), Shared, LIMIT).expect("what is shared is shared");
    is_before && read.is_unchanged(pin)
}

/// Runs a scan beside `change`, which asks the lock of the gaps, and returns whether it changed the leaf. Not both come through.
fn beside_a_scan(change: impl Fn(&Model, &Pin<'_>, &Owner) -> bool + Copy + Send + Sync + 'static) {
    explore(3, move || {
        let (model, mut first, mut second) = tree_of(KEYS);
        let locks = Locks::new(NoWait);
        let owner = || locks.register().expect("a few owners");
        let (writer, scanner) = (owner(), owner());
        let scanning = {
            let model = Arc::clone(&model);
            thread::spawn(move || {
                let pin = second.pin();
                scan(&model, &pin, &scanner)
            })
        };
        let has_changed = change(&model, &first.pin(), &writer);
        let is_valid = scanning.join().expect("the scanner is content");
        assert!(!(has_changed && is_valid), "the range changed while it was locked");
    });
}

/// Inserts unless somebody else has locked the gaps.
fn insert_if_free(model: &Model, pin: &Pin<'_>, writer: &Owner) -> bool {
    let make = |_| ItemBox::new(&[NEW], u64::from(NEW), &model.alive);
    let inserted = model.tree.get_or_insert_if(pin, &[NEW], false, |gap| writer.is_free_for(gap), make);
    inserted.is_ok_and(|inserted| inserted.change.is_some())
}

#[test]
fn nothing_comes_into_locked_gaps() {
    beside_a_scan(insert_if_free);
}

/// Here the inserter has locked the gaps, too.
#[test]
fn nothing_comes_into_shared_gaps() {
    beside_a_scan(|model, pin, writer| {
        let read = absence(model, pin, NEW).expect("nobody else inserts it");
        writer.lock(read.gap(pin), Shared, LIMIT).expect("what is shared is shared");
        insert_if_free(model, pin, writer)
    });
}

#[test]
fn nothing_leaves_locked_gaps() {
    beside_a_scan(|model, pin, _| model.tree.remove_if(pin, &[OLD], |_, gap| gap.is_free().then_some(Stamp(1))));
}
