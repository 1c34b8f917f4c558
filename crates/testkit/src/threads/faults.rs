//! Deliberate faults in real threads: those that the engine starts have the ones of whoever opened the database.

use std::io;
use std::sync::Arc;

use osier::failpoint::{Mutation, simulated};
use osier::io::{Environment, Joiner, Signal, Spawn, Step, Task};

/// Starts threads that have these faults built in.
struct FaultySpawn {
    inner: Arc<dyn Spawn>,
    faults: Vec<Mutation>,
}

struct FaultyTask {
    inner: Box<dyn Task>,
    /// Until the first step.
    faults: Option<Vec<Mutation>>,
}

impl Task for FaultyTask {
    fn step(&mut self) -> Step {
        if let Some(faults) = self.faults.take() {
            simulated::build_in(&faults);
        }
        self.inner.step()
    }
}

impl Spawn for FaultySpawn {
    fn spawn(&self, name: String, task: Box<dyn Task>, signal: Arc<Signal>) -> io::Result<Box<dyn Joiner>> {
        let task = FaultyTask { inner: task, faults: Some(self.faults.clone()) };
        self.inner.spawn(name, Box::new(task), signal)
    }

    fn parallelism(&self) -> usize {
        self.inner.parallelism()
    }
}

/// Returns `environment`, in which the threads that a database starts have these faults built in.
pub fn with_faults(environment: Environment, faults: &[Mutation]) -> Environment {
    let spawn = Arc::new(FaultySpawn { inner: environment.spawn.clone(), faults: faults.to_vec() });
    Environment { spawn, ..environment }
}
