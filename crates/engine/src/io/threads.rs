//! Threads of the operating system: one for each task, or some that outlive their tasks, for tasks that come one after the other.
//!
//! A thread has memory of its own, which it reuses. What one that has ended leaves is used by nobody for a while, so that a new
//! thread for each task takes twice the memory from the system, and waits until that is cleared.

use std::any::Any;
use std::collections::VecDeque;
use std::io;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::sync::mpsc::{Receiver, Sender, channel};
use std::thread::{self, JoinHandle};
use std::time::Duration;

use osier_memory::sync::{Mutex, lock};
use rustix::time::{ClockId, clock_gettime};

use super::{Joiner, Process, Signal, Spawn, Step, Task};

/// One thread per task.
#[derive(Clone, Copy, Debug, Default)]
pub struct OsSpawn;

impl Spawn for OsSpawn {
    fn spawn(&self, name: String, task: Box<dyn Task>, signal: Arc<Signal>) -> io::Result<Box<dyn Joiner>> {
        let handle = thread::Builder::new().name(name).spawn(move || run(task, &signal))?;
        Ok(Box::new(OsJoiner { handle, process: Process::this() }))
    }

    fn keeping(&self) -> Option<Arc<dyn Spawn>> {
        Some(Arc::new(KeptSpawn::default()))
    }

    fn processor_time(&self) -> Option<Duration> {
        let used = clock_gettime(ClockId::ProcessCPUTime);
        Some(Duration::new(used.tv_sec.try_into().ok()?, used.tv_nsec.try_into().ok()?))
    }
}

/// Runs a task to its end; see [`Signal`] for why the step between `listen` and `wait` is needed.
pub(crate) fn run(mut task: Box<dyn Task>, signal: &Signal) {
    loop {
        let step = task.step();
        match step {
            Step::Again => continue,
            Step::Done => return,
            Step::Idle(_) => signal.listen(),
            Step::Rest(_) => signal.rest(),
        }
        match (step, task.step()) {
            (_, Step::Done) => return signal.unlisten(),
            (Step::Idle(_), Step::Idle(timeout)) => drop(signal.wait(timeout)),
            (Step::Rest(_), Step::Rest(time)) => drop(signal.wait(Some(time))),
            // Not what it has announced.
            _ => signal.unlisten(),
        }
    }
}

struct OsJoiner {
    handle: thread::JoinHandle<()>,
    /// The process that has the thread.
    process: Process,
}

impl Joiner for OsJoiner {
    fn join(self: Box<Self>) -> Result<(), String> {
        if !self.process.is_this() {
            // There is no thread that could be waited for, or detached.
            std::mem::forget(self.handle);
            return Err(Process::FORKED.to_owned());
        }
        self.handle.join().map_err(panic_message)
    }
}

/// What a thread that has panicked said.
fn panic_message(panic: Box<dyn Any + Send>) -> String {
    match panic.downcast::<String>() {
        Ok(message) => *message,
        Err(panic) => panic.downcast_ref::<&str>().map_or_else(|| "no message".to_owned(), |text| (*text).to_owned()),
    }
}

/// Runs each task in a thread that has ended its task before, or in a new one. Dropped, it waits for the end of the threads that
/// have no task.
#[derive(Default)]
struct KeptSpawn {
    idle: Arc<Mutex<VecDeque<Kept>>>,
}

/// A thread.
struct Kept {
    tasks: Sender<(Box<dyn Task>, Arc<Signal>)>,
    ended: Mutex<Receiver<Result<(), String>>>,
    handle: JoinHandle<()>,
}

impl Kept {
    fn new(name: String) -> io::Result<Kept> {
        let (tasks, coming) = channel::<(Box<dyn Task>, Arc<Signal>)>();
        let (tell, ended) = channel();
        let life = move || {
            while let Ok((task, signal)) = coming.recv() {
                let ran = catch_unwind(AssertUnwindSafe(|| run(task, &signal))).map_err(panic_message);
                if tell.send(ran).is_err() {
                    return;
                }
            }
        };
        let ended = Mutex::new(ended);
        Ok(Kept { tasks, ended, handle: thread::Builder::new().name(name).spawn(life)? })
    }
}

impl Spawn for KeptSpawn {
    fn spawn(&self, name: String, task: Box<dyn Task>, signal: Arc<Signal>) -> io::Result<Box<dyn Joiner>> {
        // In the order in which they were joined: each comes to what it has had before.
        let idle = lock(&self.idle).pop_front();
        let kept = idle.map_or_else(|| Kept::new(name), Ok)?;
        kept.tasks.send((task, signal)).expect("the thread waits for a task");
        Ok(Box::new(KeptJoiner { kept, idle: self.idle.clone(), process: Process::this() }))
    }
}

impl Drop for KeptSpawn {
    fn drop(&mut self) {
        for Kept { tasks, handle, .. } in lock(&self.idle).drain(..) {
            drop(tasks);
            // Panics of tasks were told.
            let _ = handle.join();
        }
    }
}

struct KeptJoiner {
    kept: Kept,
    idle: Arc<Mutex<VecDeque<Kept>>>,
    /// The process that has the thread.
    process: Process,
}

impl Joiner for KeptJoiner {
    fn join(self: Box<Self>) -> Result<(), String> {
        let KeptJoiner { kept, idle, process } = *self;
        if !process.is_this() {
            // There is no thread that could be waited for, or detached.
            std::mem::forget(kept);
            return Err(Process::FORKED.to_owned());
        }
        let ended = lock(&kept.ended).recv().expect("a thread tells how its task has ended");
        lock(&idle).push_back(kept);
        ended
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    struct Tells(Sender<thread::ThreadId>, bool);

    impl Task for Tells {
        fn step(&mut self) -> Step {
            self.0.send(thread::current().id()).expect("the test listens");
            assert!(!self.1, "the test kills this task");
            Step::Done
        }
    }

    #[test]
    fn a_thread_runs_one_task_after_the_other_also_behind_a_panic() {
        let (spawn, (tell, told)) = (KeptSpawn::default(), channel());
        let begin = |panics| {
            let task = Box::new(Tells(tell.clone(), panics));
            spawn.spawn("osier-test".to_owned(), task, Arc::new(Signal::new())).expect("a thread")
        };
        let (one, other) = (begin(false), begin(true));
        assert_eq!(one.join(), Ok(()));
        assert!(other.join().is_err_and(|message| message.contains("kills")));
        let mut threads: Vec<_> = told.try_iter().collect();
        assert_ne!(threads[0], threads[1], "two at a time");
        for _ in 0..3 {
            begin(false).join().expect("it ends");
        }
        threads.sort_by_key(|id| format!("{id:?}"));
        assert!(told.try_iter().all(|id| threads.contains(&id)), "no third one");
        let weak = Arc::downgrade(&spawn.idle);
        drop(spawn);
        assert_eq!(weak.strong_count(), 0);
    }
}
