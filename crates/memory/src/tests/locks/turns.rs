//! Locks that are asked for in turn, which may be held for long.

use super::*;

/// Lets the owner wait for the lock in turn; returns when it is in the queue.
fn wait<'s, 'e>(world: &'e World, scope: &'s Scope<'s, 'e>, owner: &'e Owner, mode: LockMode) -> Waiting<'s> {
    let before = world.locks.waiting(&world.word);
    let waiting = scope.spawn(move || owner.lock_in_turn(&world.word, mode, LONG));
    while world.locks.waiting(&world.word) <= before {
        assert!(!waiting.is_finished(), "it waits: {:?}", waiting.join());
        thread::yield_now();
    }
    waiting
}

/// Whatever the ages and the policy are, and nobody comes in between.
#[test]
fn who_comes_first_is_first() {
    for locking in POLICIES {
        let world = World::new(locking);
        let [oldest, middle, youngest] = world.aged();
        assert_eq!(middle.try_lock_in_turn(&world.word, Exclusive), Some(Taken::New));
        thread::scope(|scope| {
            let first = wait(&world, scope, &youngest, Exclusive);
            let second = wait(&world, scope, &oldest, Shared);
            middle.unlock(&world.word);
            assert_eq!(middle.try_lock_in_turn(&world.word, Shared), None, "it is given to who waits");
            assert_eq!(joined(first), Ok(Taken::New));
            assert!(youngest.is_exclusive(&world.word));
            assert_eq!(world.locks.waiting(&world.word), 1);
            youngest.unlock(&world.word);
            assert_eq!(joined(second), Ok(Taken::New));
        });
        assert_eq!(middle.try_lock_in_turn(&world.word, Shared), Some(Taken::New));
        [&oldest, &middle].into_iter().for_each(|owner| world.unlock(owner));
        world.assert_idle();
    }
}

#[test]
fn nobody_overtakes_without_waiting() {
    let world = World::new(Detect);
    let owners: [Owner; 6] = world.owners();
    let [waiter, late, sharers @ ..] = &owners;
    for owner in sharers {
        assert_eq!(owner.try_lock_in_turn(&world.word, Shared), Some(Taken::New), "more than a word has room for");
    }
    assert_eq!(waiter.lock_in_turn(&world.word, Exclusive, NONE), Err(Lost::TimedOut));
    thread::scope(|scope| {
        let waiting = wait(&world, scope, waiter, Exclusive);
        assert_eq!(late.try_lock_in_turn(&world.word, Shared), None);
        assert_eq!(sharers[0].try_lock_in_turn(&world.word, Shared), Some(Taken::Before));
        sharers.iter().for_each(|owner| world.unlock(owner));
        assert_eq!(joined(waiting), Ok(Taken::New));
    });
    world.unlock(waiter);
    world.assert_idle();
}

/// Who had a lock alone shares it: in its word, and in its queue with those who wait.
#[test]
fn a_lock_is_shared_afterwards() {
    let world = World::new(Detect);
    let [one, other] = world.owners();
    assert_eq!(one.try_lock_in_turn(&world.word, Exclusive), Some(Taken::New));
    one.share(&world.word);
    assert!(!one.is_exclusive(&world.word) && !world.word.is_free());
    assert_eq!(one.try_lock_in_turn(&world.word, Exclusive), Some(Taken::Before));
    thread::scope(|scope| {
        let waiting = wait(&world, scope, &other, Shared);
        one.share(&world.word);
        assert_eq!(joined(waiting), Ok(Taken::New));
    });
    [&one, &other].into_iter().for_each(|owner| world.unlock(owner));
    world.assert_idle();
}

/// A circle with a lock that is not taken in turn, under policies that look for none by themselves: who is chosen goes on, if it
/// is who waits in turn.
#[test]
fn a_circle_with_others_is_found() {
    for locking in [WaitDie, WoundWait, Detect] {
        let world = World::new(locking);
        let [older, younger] = world.aged();
        let row = LockWord::new();
        assert_eq!(younger.lock(&row, Exclusive, LONG), Ok(Taken::New));
        assert_eq!(older.lock_in_turn(&world.word, Exclusive, LONG), Ok(Taken::New));
        thread::scope(|scope| {
            let waiting = wait(&world, scope, &younger, Exclusive);
            let taken = scope.spawn(|| older.lock(&row, Exclusive, LONG));
            assert_eq!(joined(waiting), Err(Lost::Wounded));
            assert_eq!(younger.recover(), locking != WoundWait, "by age it was wounded before");
            younger.unlock(&row);
            assert_eq!(joined(taken), Ok(Taken::New));
        });
        older.unlock(&row);
        world.unlock(&older);
        world.assert_idle();
    }
}

/// Who only tries waits for nobody, and nobody is told of it, whether others wait or not.
#[test]
fn who_tries_leaves_no_trace() {
    for locking in POLICIES {
        let world = World::new(locking);
        let [one, other, waiter] = world.aged();
        assert_eq!(one.try_lock(&world.word), Some(Taken::New));
        assert_eq!((one.try_lock(&world.word), other.try_lock(&world.word)), (Some(Taken::Before), None));
        assert_eq!(world.locks.queues(), 0);
        thread::scope(|scope| {
            let waiting = wait(&world, scope, &waiter, Exclusive);
            assert_eq!((one.try_lock(&world.word), other.try_lock(&world.word)), (Some(Taken::Before), None));
            assert!(!one.is_wounded() && !waiter.is_wounded());
            world.unlock(&one);
            assert_eq!(joined(waiting), Ok(Taken::New));
        });
        world.unlock(&waiter);
        assert_eq!((world.take(&one, Shared), other.try_lock(&world.word)), (Ok(Taken::New), None));
        assert_eq!(one.try_lock(&world.word), Some(Taken::Before), "it is the only one that shares it");
        world.unlock(&one);
        world.assert_idle();
    }
}
