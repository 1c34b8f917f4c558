//! Background tasks without threads: the simulator steps them, one at a time, in an order drawn from the seed.
//!
//! Invariants:
//! - A task runs only inside [`SimSpawn::step`] or while somebody waits for it in [`Joiner::join`], as a fiber: a step
//!   of it may be preempted, see [`crate::fiber`].
//! - A task that sleeps is stepped again only when its signal was raised or its time has come, exactly as a thread of
//!   `OsSpawn`: a lost wake-up shows as a stalled join, which panics.
//! - A panic in a task ends that task alone; its joiner reports the message, as a thread's would.
//!
//! Deliberately absent: preemption anywhere but at the engine's points. Races between threads are the business of the
//! models in `osier-memory` and of the threaded crash test.

use std::any::Any;
use std::collections::BTreeMap;
use std::io;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use fastrand::Rng;
use osier::io::{Clock, Joiner, Signal, Spawn, Step, Task};

use crate::clock::ManualClock;
use crate::fiber::{self, Fiber, Turn, endure, give_way};

/// A join that has moved the clock to so many deadlines, and so far, gives up: what it waits for never comes. Deadlines may be a
/// microsecond apart.
const DEADLINES_MAX: u32 = 20_000;
const JOIN_MAX: Duration = Duration::from_secs(5);

/// How often a task is drawn, relative to the others that are awake.
const SPEEDS: [u32; 4] = [1, 8, 32, 32];

/// A scheduler of tasks in one thread. Clones share it.
#[derive(Clone)]
pub struct SimSpawn {
    shared: Arc<Scheduler>,
}

struct Scheduler {
    clock: Arc<ManualClock>,
    parallelism: usize,
    /// There is more to do than processors for it, all the time.
    is_short: bool,
    state: Mutex<Tasks>,
}

struct Tasks {
    rng: Rng,
    next: usize,
    tasks: BTreeMap<usize, ScheduledTask>,
    ended: BTreeMap<usize, Result<(), String>>,
}

struct ScheduledTask {
    name: String,
    /// Tasks run at very different speeds: a slow logger, a starved preparer.
    speed: u32,
    signal: Arc<Signal>,
    /// Absent while the task is being stepped.
    task: Option<Fiber<'static>>,
    rest: Rest,
}

/// Where a task stands in the protocol of its [`Signal`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Rest {
    Awake,
    /// It was idle once, has announced that it sleeps, or rests, and looks for work once more.
    Listening {
        is_rest: bool,
    },
    Asleep {
        until: Option<Duration>,
    },
}

struct SimJoiner {
    spawn: SimSpawn,
    id: usize,
}

impl ScheduledTask {
    fn is_ready(&self, now: Duration) -> bool {
        self.task.is_some()
            && match self.rest {
                Rest::Awake | Rest::Listening { .. } => true,
                Rest::Asleep { until } => self.signal.is_raised() || until.is_some_and(|until| until <= now),
            }
    }

    /// What follows an idle step: with `is_rest`, one after which hints are not heard.
    fn rest(&mut self, timeout: Option<Duration>, is_rest: bool, now: Duration) {
        self.rest = match self.rest {
            Rest::Listening { is_rest: announced } if announced == is_rest => {
                Rest::Asleep { until: timeout.map(|timeout| now + timeout) }
            }
            Rest::Listening { .. } => {
                self.signal.unlisten();
                Rest::Awake
            }
            Rest::Awake | Rest::Asleep { .. } => {
                if is_rest {
                    self.signal.rest()
                } else {
                    self.signal.listen()
                }
                Rest::Listening { is_rest }
            }
        };
    }

    /// What follows a step that did something, or precedes one after a sleep.
    fn wake(&mut self) {
        match self.rest {
            Rest::Awake => {}
            Rest::Listening { .. } => self.signal.unlisten(),
            Rest::Asleep { .. } => {
                self.signal.wait(Some(Duration::ZERO));
            }
        }
        self.rest = Rest::Awake;
    }
}

impl SimSpawn {
    /// A scheduler whose order is drawn from `seed`; `clock` is moved on when a join finds every task asleep.
    pub fn new(seed: u64, clock: Arc<ManualClock>) -> SimSpawn {
        let mut rng = Rng::with_seed(seed);
        let parallelism = rng.usize(1..=4);
        let is_short = Rng::with_seed(!seed).bool();
        let state = Tasks { rng, next: 0, tasks: BTreeMap::new(), ended: BTreeMap::new() };
        SimSpawn { shared: Arc::new(Scheduler { clock, parallelism, is_short, state: Mutex::new(state) }) }
    }

    fn state(&self) -> MutexGuard<'_, Tasks> {
        self.shared.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The tasks that have not ended.
    pub fn live(&self) -> usize {
        self.state().tasks.len()
    }

    /// Steps one task, drawn from those that are awake; `None` where none is.
    pub fn step(&self) -> Option<(String, Step)> {
        let (id, name, mut task) = self.take_ready()?;
        let turn = task.resume();
        let now = self.shared.clock.now();
        let (step, end) = match turn {
            Turn::Stepped(step) => (step, None),
            Turn::Over(panic) => (Step::Done, Some(panic.map_or(Ok(()), Err))),
            // As it was: it goes on with the same step.
            Turn::Preempted(_) | Turn::Pending => {
                if let Some(slot) = self.state().tasks.get_mut(&id) {
                    slot.task = Some(task);
                }
                return Some((name, Step::Again));
            }
        };
        if let Some(end) = end {
            task.end();
            let mut state = self.state();
            if let Some(mut slot) = state.tasks.remove(&id) {
                slot.wake();
            }
            state.ended.insert(id, end);
        } else if let Some(slot) = self.state().tasks.get_mut(&id) {
            slot.task = Some(task);
            match step {
                Step::Idle(timeout) => slot.rest(timeout, false, now),
                Step::Rest(time) => slot.rest(Some(time), true, now),
                _ => slot.wake(),
            }
        }
        Some((name, step))
    }

    fn take_ready(&self) -> Option<(usize, String, Fiber<'static>)> {
        let now = self.shared.clock.now();
        let mut state = self.state();
        let ready: Vec<usize> = state.tasks.iter().filter(|(_, slot)| slot.is_ready(now)).map(|(&id, _)| id).collect();
        if ready.is_empty() {
            return None;
        }
        let total = ready.iter().map(|id| state.tasks[id].speed).sum();
        let mut at = state.rng.u32(0..total);
        let drawn = ready.into_iter().find(|id| {
            let speed = state.tasks[id].speed;
            let here = at < speed;
            at = at.wrapping_sub(speed);
            here
        });
        let id = drawn?;
        let slot = state.tasks.get_mut(&id)?;
        if matches!(slot.rest, Rest::Asleep { .. }) {
            slot.wake();
        }
        let task = slot.task.take()?;
        Some((id, slot.name.clone(), task))
    }

    /// Steps tasks until all are asleep, without moving the clock.
    pub fn run_until_idle(&self) {
        while self.step().is_some() {}
    }

    /// Moves the clock to the earliest deadline of a sleeping task; `false` where there is none.
    pub fn advance_to_deadline(&self) -> bool {
        let deadlines = |slot: &ScheduledTask| match slot.rest {
            Rest::Asleep { until } => until,
            _ => None,
        };
        let Some(next) = self.state().tasks.values().filter_map(deadlines).min() else { return false };
        self.shared.clock.advance(next.saturating_sub(self.shared.clock.now()));
        true
    }

    fn join(&self, id: usize) -> Result<(), String> {
        let (mut deadlines, begun) = (0, self.shared.clock.now());
        loop {
            if let Some(end) = self.state().ended.remove(&id) {
                return end;
            }
            if self.step().is_none() {
                deadlines += 1;
                let is_early = deadlines < DEADLINES_MAX || self.shared.clock.now() < begun + JOIN_MAX;
                let goes_on = is_early && self.advance_to_deadline();
                assert!(goes_on, "{} was waited for, sleeps, and nothing will wake it", self.describe(id));
            }
            // A task that joins another lets sessions go on, too: the other may wait for a lock of theirs.
            fiber::wait();
        }
    }

    fn describe(&self, id: usize) -> String {
        let state = self.state();
        state.tasks.get(&id).map_or_else(|| format!("task {id}"), |slot| format!("{} ({:?})", slot.name, slot.rest))
    }
}

impl Spawn for SimSpawn {
    fn spawn(&self, name: String, task: Box<dyn Task>, signal: Arc<Signal>) -> io::Result<Box<dyn Joiner>> {
        let task = Fiber::new(move || run(task));
        let mut state = self.state();
        let id = state.next;
        state.next += 1;
        let speed = SPEEDS[state.rng.usize(0..SPEEDS.len())];
        state.tasks.insert(id, ScheduledTask { name, speed, signal, task: Some(task), rest: Rest::Awake });
        Ok(Box::new(SimJoiner { spawn: self.clone(), id }))
    }

    fn parallelism(&self) -> usize {
        self.shared.parallelism
    }

    fn processor_time(&self) -> Option<Duration> {
        let processors = if self.shared.is_short { self.shared.parallelism as u32 } else { 0 };
        Some(self.shared.clock.now() * processors)
    }
}

impl Joiner for SimJoiner {
    fn join(self: Box<Self>) -> Result<(), String> {
        self.spawn.join(self.id)
    }
}

/// The life of a task. Its drop may raise signals or take locks of its own: outside those of the scheduler.
fn run(mut task: Box<dyn Task>) -> Turn {
    loop {
        let step = || {
            endure();
            task.step()
        };
        match catch_unwind(AssertUnwindSafe(step)) {
            Ok(Step::Done) => return Turn::Over(None),
            Ok(step) => give_way(Turn::Stepped(step)),
            Err(panic) => return Turn::Over(Some(panic_message(panic.as_ref()))),
        }
    }
}

fn panic_message(panic: &(dyn Any + Send)) -> String {
    let text = panic.downcast_ref::<String>().map(String::as_str);
    text.or_else(|| panic.downcast_ref::<&str>().copied()).unwrap_or("a panic without a message").to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    struct Countdown {
        left: u32,
        order: Arc<Mutex<Vec<u32>>>,
        tag: u32,
    }

    impl Task for Countdown {
        fn step(&mut self) -> Step {
            if self.left == 0 {
                return Step::Done;
            }
            self.left -= 1;
            self.order.lock().unwrap().push(self.tag);
            if self.left.is_multiple_of(2) { Step::Again } else { Step::Idle(Some(Duration::from_millis(1))) }
        }
    }

    /// Ends when told to.
    struct Waits(Arc<Mutex<bool>>);

    impl Task for Waits {
        fn step(&mut self) -> Step {
            if *self.0.lock().unwrap() { Step::Done } else { Step::Idle(None) }
        }
    }

    struct Panics;

    impl Task for Panics {
        fn step(&mut self) -> Step {
            panic!("on purpose");
        }
    }

    fn spawn() -> SimSpawn {
        SimSpawn::new(7, Arc::new(ManualClock::new()))
    }

    fn order_of(seed: u64) -> Vec<u32> {
        let order = Arc::new(Mutex::new(Vec::new()));
        let spawn = SimSpawn::new(seed, Arc::new(ManualClock::new()));
        let joiners: Vec<_> = (0..3)
            .map(|tag| {
                let task = Countdown { left: 10, order: Arc::clone(&order), tag };
                spawn.spawn(format!("count {tag}"), Box::new(task), Arc::new(Signal::new())).unwrap()
            })
            .collect();
        for joiner in joiners {
            joiner.join().unwrap();
        }
        assert_eq!(spawn.live(), 0);
        Arc::into_inner(order).map(|order| order.into_inner().unwrap()).unwrap_or_default()
    }

    #[test]
    fn a_seed_repeats_an_order_and_another_changes_it() {
        assert_eq!(order_of(1), order_of(1));
        assert_eq!(order_of(1).len(), 30);
        assert_ne!(order_of(1), order_of(2));
    }

    #[test]
    fn a_panic_is_reported_by_the_joiner() {
        let spawn = spawn();
        let joiner = spawn.spawn("panics".into(), Box::new(Panics), Arc::new(Signal::new())).unwrap();
        assert_eq!(joiner.join(), Err("on purpose".to_owned()));
    }

    #[test]
    fn a_sleeper_runs_only_when_woken() {
        let (spawn, signal, told) = (spawn(), Arc::new(Signal::new()), Arc::new(Mutex::new(false)));
        let joiner = spawn.spawn("waits".into(), Box::new(Waits(Arc::clone(&told))), Arc::clone(&signal)).unwrap();
        spawn.run_until_idle();
        *told.lock().unwrap() = true;
        assert_eq!(spawn.step(), None, "nobody raised the signal");
        signal.wake();
        assert_eq!(joiner.join(), Ok(()));
    }

    #[test]
    #[should_panic(expected = "nothing will wake it")]
    fn a_lost_wake_up_stalls_the_join_loudly() {
        let spawn = spawn();
        let told = Arc::new(Mutex::new(false));
        let joiner = spawn.spawn("waits".into(), Box::new(Waits(told)), Arc::new(Signal::new())).unwrap();
        let _ = joiner.join();
    }
}
