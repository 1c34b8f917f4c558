//! Tasks: many transactions in one thread, each of which waits for others without it.
//!
//! A server runs the transactions of many clients in one thread. A transaction that waits for a lock would hold the thread of
//! the very transaction that has the lock. So whoever runs many in one thread runs each as a [`Fiber`], on a stack of its own:
//! where it waits for another transaction it is suspended, and the thread goes on with others until it is woken.
//!
//! Invariants:
//! - Nobody pauses with a mutex or a latch held: the next task may want it.
//! - A fiber goes on in the thread that it began in: what stands on its stack may belong there.
//! - A fiber that is given up is unwound on its own stack.
//!
//! Absent: which fiber runs next, and when a pause is over. Whoever resumes them says so. Models know no fibers.

use std::any::Any;
use std::cell::{Cell, RefCell};
use std::fmt;
use std::marker::PhantomData;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::ptr;
use std::rc::Rc;
use std::task::Waker;
use std::time::Duration;

use corosensei::stack::DefaultStack;
use corosensei::{Coroutine, CoroutineResult, Yielder};

/// Room on the stack of a fiber. Only what is used of it takes memory.
pub const STACK_BYTES: usize = if cfg!(debug_assertions) { 256 << 20 } else { 64 << 20 };
/// So many stacks that nobody uses are kept for each thread.
const STACKS_KEPT: usize = 16;

thread_local! {
    static CURRENT: RefCell<Option<Rc<Task>>> = const { RefCell::new(None) };
    static STACKS: RefCell<Vec<DefaultStack>> = const { RefCell::new(Vec::new()) };
}

fn current() -> Option<Rc<Task>> {
    CURRENT.with_borrow(Option::clone)
}

/// Returns what ends a pause of the current task early, from any thread; `None` where the thread runs no tasks.
pub fn waker() -> Option<Waker> {
    current().map(|task| task.waker.borrow().clone())
}

/// Lets other tasks run until this one is woken, or for so long; may return early. Returns `false` where the time has passed, or
/// it shall wait no more, and at once where the thread runs no tasks.
pub fn pause(limit: Duration) -> bool {
    let Some(task) = current() else { return false };
    // SAFETY: the current task is the one that runs, on the stack where this stands. What runs on the stack of a fiber without
    // being resumed is being unwound, and there is no current task then.
    unsafe { &*task.way.get() }.suspend(limit);
    task.has_time.get()
}

/// Whether the current task shall wait for nothing any more, whatever time there is.
pub fn is_to_end() -> bool {
    current().is_some_and(|task| task.is_to_end.get())
}

/// Lets each of the other tasks run that can. To be called now and then by what takes long.
pub fn give_way() {
    pause(Duration::ZERO);
}

type Way = Yielder<(), Duration>;

/// One of many that a thread runs in turn.
struct Task {
    /// Set by the task when it begins.
    way: Cell<*const Way>,
    waker: RefCell<Waker>,
    /// Whether the last pause was over before its time.
    has_time: Cell<bool>,
    is_to_end: Cell<bool>,
}

/// Puts back which task was the current one, also after a panic.
struct Before(Option<Rc<Task>>);

impl Drop for Before {
    fn drop(&mut self) {
        CURRENT.set(self.0.take());
    }
}

/// What a panic has thrown.
pub type Panic = Box<dyn Any + Send>;

/// How a turn of a fiber has ended.
#[derive(Debug)]
pub enum Turn<R> {
    /// It is to be resumed when it is woken, or after so long; at once where that is nothing.
    Paused(Duration),
    /// It is over, with its result or its panic.
    Over(Result<R, Panic>),
}

/// A call on a stack of its own, with which its caller goes on by turns. It stays in its thread.
pub struct Fiber<'a, R: 'static> {
    /// `None`: it is over.
    coroutine: Option<Coroutine<(), Duration, R, DefaultStack>>,
    task: Rc<Task>,
    body: PhantomData<Box<dyn FnOnce() -> R + 'a>>,
}

impl<'a, R: 'static> Fiber<'a, R> {
    /// A fiber that has not begun.
    ///
    /// # Panics
    /// Where there is no memory for a stack.
    pub fn new(body: impl FnOnce() -> R + 'a) -> Fiber<'a, R> {
        let body: Box<dyn FnOnce() -> R + 'a> = Box::new(body);
        // SAFETY: only the coroutine calls it or drops it, at the latest when the fiber is dropped, and so within `'a`. Where the
        // fiber is leaked, the coroutine is leaked with it, and never runs again.
        let body: Box<dyn FnOnce() -> R + 'static> = unsafe { std::mem::transmute(body) };
        let task = Rc::new(Task {
            way: Cell::new(ptr::null()),
            waker: RefCell::new(Waker::noop().clone()),
            has_time: Cell::new(true),
            is_to_end: Cell::new(false),
        });
        let own = task.clone();
        let stack = STACKS.with_borrow_mut(Vec::pop);
        let stack = stack.unwrap_or_else(|| DefaultStack::new(STACK_BYTES).expect("there is memory for a stack"));
        let coroutine = Coroutine::with_stack(stack, move |way: &Way, ()| {
            own.way.set(way);
            drop(own);
            body()
        });
        Fiber { coroutine: Some(coroutine), task, body: PhantomData }
    }

    /// Says whether it [shall wait for nothing any more](is_to_end).
    pub fn set_to_end(&self, is_to_end: bool) {
        self.task.is_to_end.set(is_to_end);
    }

    /// Goes on with it. `waker` wakes it during its next pause; `has_time` says whether the last one is over before its time.
    ///
    /// # Panics
    /// Where it is over.
    pub fn resume(&mut self, waker: &Waker, has_time: bool) -> Turn<R> {
        self.task.waker.borrow_mut().clone_from(waker);
        self.task.has_time.set(has_time);
        let coroutine = self.coroutine.as_mut().expect("a fiber that is over is not resumed");
        let before = Before(CURRENT.replace(Some(self.task.clone())));
        let resumed = catch_unwind(AssertUnwindSafe(|| coroutine.resume(())));
        drop(before);
        let result = match resumed {
            Ok(CoroutineResult::Yield(limit)) => return Turn::Paused(limit),
            Ok(CoroutineResult::Return(result)) => Ok(result),
            Err(panic) => Err(panic),
        };
        if let Some(coroutine) = self.coroutine.take() {
            let stack = coroutine.into_stack();
            STACKS.with_borrow_mut(|stacks| {
                if stacks.len() < STACKS_KEPT {
                    stacks.push(stack)
                }
            });
        }
        Turn::Over(result)
    }
}

impl<R> Drop for Fiber<'_, R> {
    /// What unwinds runs on the fiber's stack, which is not that of the current task: it is no task meanwhile, and pauses
    /// nothing.
    fn drop(&mut self) {
        let before = Before(CURRENT.take());
        drop(self.coroutine.take());
        drop(before);
    }
}

impl<R> fmt::Debug for Fiber<'_, R> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Fiber").field("is_over", &self.coroutine.is_none()).finish_non_exhaustive()
    }
}

// Miri knows no stacks but its own.
#[cfg(all(test, not(miri)))]
mod tests {
    use super::*;

    fn resume<R>(fiber: &mut Fiber<'_, R>, has_time: bool) -> Turn<R> {
        fiber.resume(Waker::noop(), has_time)
    }

    #[test]
    fn fibers_take_turns() {
        let order = RefCell::new(Vec::new());
        let mut fibers = [1, 2].map(|number| {
            let order = &order;
            Fiber::new(move || {
                order.borrow_mut().push(number);
                let has_time = pause(Duration::from_secs(number));
                order.borrow_mut().push(number + 10);
                has_time
            })
        });
        for (fiber, number) in fibers.iter_mut().zip(1..) {
            assert!(matches!(resume(fiber, true), Turn::Paused(limit) if limit == Duration::from_secs(number)));
            assert!(waker().is_none(), "nobody runs");
        }
        for (fiber, has_time) in fibers.iter_mut().zip([true, false]).rev() {
            assert!(matches!(resume(fiber, has_time), Turn::Over(Ok(told)) if told == has_time));
        }
        drop(fibers);
        assert_eq!(order.into_inner(), [1, 2, 12, 11]);
        assert!(!pause(Duration::from_secs(600)), "without a task there is nothing to wait with");
    }

    #[test]
    fn a_fiber_within_a_fiber_pauses_alone() {
        let mut outer = Fiber::new(|| {
            let mut inner = Fiber::new(|| pause(Duration::from_secs(1)));
            assert!(matches!(resume(&mut inner, true), Turn::Paused(_)));
            pause(Duration::from_secs(2));
            matches!(resume(&mut inner, true), Turn::Over(Ok(true)))
        });
        assert!(matches!(resume(&mut outer, true), Turn::Paused(limit) if limit == Duration::from_secs(2)));
        assert!(matches!(resume(&mut outer, true), Turn::Over(Ok(true))));
    }

    #[test]
    fn a_fiber_that_is_given_up_is_unwound() {
        struct Sets<'a>(&'a Cell<bool>);
        impl Drop for Sets<'_> {
            fn drop(&mut self) {
                self.0.set(true);
            }
        }
        let is_gone = Cell::new(false);
        let mut fiber = Fiber::new(|| {
            let _sets = Sets(&is_gone);
            pause(Duration::from_secs(1))
        });
        assert!(matches!(resume(&mut fiber, true), Turn::Paused(_)) && !is_gone.get());
        drop(fiber);
        assert!(is_gone.get());
    }

    /// Also within another task, which is not the one that would pause.
    #[test]
    fn what_unwinds_does_not_pause() {
        struct Pauses<'a>(&'a Cell<bool>);
        impl Drop for Pauses<'_> {
            fn drop(&mut self) {
                self.0.set(waker().is_none() && !pause(Duration::from_secs(3)));
            }
        }
        let has_gone_on = Cell::new(false);
        let mut outer = Fiber::new(|| {
            let mut inner = Fiber::new(|| {
                let _pauses = Pauses(&has_gone_on);
                pause(Duration::from_secs(1))
            });
            assert!(matches!(resume(&mut inner, true), Turn::Paused(_)));
            drop(inner);
            pause(Duration::from_secs(2))
        });
        assert!(matches!(resume(&mut outer, true), Turn::Paused(limit) if limit == Duration::from_secs(2)));
        assert!(has_gone_on.get());
    }

    #[test]
    fn who_is_to_end_is_told() {
        assert!(!is_to_end());
        let mut fiber = Fiber::new(|| (is_to_end(), pause(Duration::ZERO), is_to_end()));
        assert!(matches!(resume(&mut fiber, true), Turn::Paused(_)));
        fiber.set_to_end(true);
        assert!(matches!(resume(&mut fiber, true), Turn::Over(Ok((false, true, true)))));
    }

    #[test]
    fn a_panic_is_the_fibers_result() {
        let mut fiber = Fiber::new(|| -> () { panic!("on purpose") });
        assert!(matches!(resume(&mut fiber, true), Turn::Over(Err(_))));
        assert!(waker().is_none());
    }

    #[test]
    fn who_takes_long_gives_way() {
        give_way();
        let mut fiber = Fiber::new(give_way);
        assert!(matches!(resume(&mut fiber, true), Turn::Paused(Duration::ZERO)));
        assert!(matches!(resume(&mut fiber, true), Turn::Over(Ok(()))));
    }
}
