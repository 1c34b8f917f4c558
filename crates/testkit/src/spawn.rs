//! Background tasks without threads: the simulator steps them, one at a time, in an order drawn from the seed.
//!
//! Invariants:
//! - A task runs only inside [`SimSpawn::step`] or while another waits for it in [`Joiner::join`]; a step is atomic.
//! - A panic in a task ends that task alone; its joiner reports the message, as a thread's would.
//!
//! Deliberately absent: preemption inside a step. Races between threads are the business of the models in
//! `osier-memory` and of the threaded crash test.

use std::any::Any;
use std::collections::BTreeMap;
use std::io;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use fastrand::Rng;
use osier::io::{Joiner, Signal, Spawn, Step, Task};

use crate::clock::ManualClock;

/// Steps without any progress after which a join gives up: every task is idle and waits for something that never
/// comes.
const STALL_STEPS_MAX: u32 = 100_000;

/// How far time moves when every task of a join is idle.
const IDLE_ADVANCE: Duration = Duration::from_millis(1);

/// A scheduler of tasks in one thread. Clones share it.
#[derive(Clone)]
pub struct SimSpawn {
    shared: Arc<Shared>,
}

struct Shared {
    clock: Arc<ManualClock>,
    state: Mutex<State>,
}

struct State {
    rng: Rng,
    next: usize,
    tasks: BTreeMap<usize, Slot>,
    ended: BTreeMap<usize, Result<(), String>>,
}

struct Slot {
    name: String,
    /// Absent while the task is being stepped.
    task: Option<Box<dyn Task>>,
}

struct SimJoiner {
    spawn: SimSpawn,
    id: usize,
}

impl SimSpawn {
    /// A scheduler whose order is drawn from `seed`; `clock` is moved on when a join finds every task idle.
    pub fn new(seed: u64, clock: Arc<ManualClock>) -> SimSpawn {
        let state = State { rng: Rng::with_seed(seed), next: 0, tasks: BTreeMap::new(), ended: BTreeMap::new() };
        SimSpawn { shared: Arc::new(Shared { clock, state: Mutex::new(state) }) }
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.shared.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The tasks that have not ended.
    pub fn live(&self) -> usize {
        self.state().tasks.len()
    }

    /// Steps one task, drawn from those that are not in the middle of a step already; `None` where there is none.
    pub fn step(&self) -> Option<(String, Step)> {
        let (id, mut task, name) = {
            let mut state = self.state();
            let ready: Vec<usize> =
                state.tasks.iter().filter(|(_, slot)| slot.task.is_some()).map(|(&id, _)| id).collect();
            if ready.is_empty() {
                return None;
            }
            let id = ready[state.rng.usize(0..ready.len())];
            let slot = state.tasks.get_mut(&id)?;
            (id, slot.task.take()?, slot.name.clone())
        };
        let outcome = catch_unwind(AssertUnwindSafe(|| task.step()));
        let end = match outcome {
            Ok(Step::Done) => Some(Ok(())),
            Ok(_) => None,
            Err(ref panic) => Some(Err(panic_message(panic.as_ref()))),
        };
        let step = outcome.unwrap_or(Step::Done);
        match end {
            None => {
                if let Some(slot) = self.state().tasks.get_mut(&id) {
                    slot.task = Some(task);
                }
            }
            Some(end) => {
                // The task's drop may raise signals or take locks of its own: outside ours.
                drop(task);
                let mut state = self.state();
                state.tasks.remove(&id);
                state.ended.insert(id, end);
            }
        }
        Some((name, step))
    }

    /// Steps tasks until each was idle or over when last stepped and none has made progress for a while.
    pub fn run_until_idle(&self) {
        let mut idle = 0;
        while idle < 4 * self.live() + 4 {
            match self.step() {
                None => return,
                Some((_, Step::Idle(_))) => idle += 1,
                Some(_) => idle = 0,
            }
        }
    }

    fn join(&self, id: usize) -> Result<(), String> {
        let mut idle = 0;
        loop {
            if let Some(end) = self.state().ended.remove(&id) {
                return end;
            }
            match self.step() {
                None => return Err(format!("task {id} waits for itself")),
                Some((_, Step::Idle(_))) => idle += 1,
                Some(_) => idle = 0,
            }
            if idle > 0 && (idle as usize).is_multiple_of(2 * self.live() + 1) {
                self.shared.clock.advance(IDLE_ADVANCE);
            }
            assert!(idle < STALL_STEPS_MAX, "every task is idle, and {} has not ended", self.name(id));
        }
    }

    fn name(&self, id: usize) -> String {
        self.state().tasks.get(&id).map_or_else(|| format!("task {id}"), |slot| slot.name.clone())
    }
}

impl Spawn for SimSpawn {
    fn spawn(&self, name: String, task: Box<dyn Task>, _signal: Arc<Signal>) -> io::Result<Box<dyn Joiner>> {
        let mut state = self.state();
        let id = state.next;
        state.next += 1;
        state.tasks.insert(id, Slot { name, task: Some(task) });
        Ok(Box::new(SimJoiner { spawn: self.clone(), id }))
    }
}

impl Joiner for SimJoiner {
    fn join(self: Box<Self>) -> Result<(), String> {
        self.spawn.join(self.id)
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
            if self.left.is_multiple_of(2) { Step::Again } else { Step::Idle(None) }
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
}
