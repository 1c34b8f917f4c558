//! Threads of a simulation: each has a stack of its own, all run in one thread of the system, and one runs until it is
//! preempted at a point that the engine names or gives way by itself.
//!
//! Invariants:
//! - Whether a point preempts is drawn from the seed ([`start`]); a wait for another thread always does, because that one
//!   runs only when it is resumed.
//! - A fiber that has not ended is leaked and never unwound: it may stand where an unwinding thread would end the process.
//!
//! Deliberately absent: which fiber runs next. That is drawn by whoever resumes them.

use std::cell::{Cell, RefCell};
use std::mem::ManuallyDrop;
use std::rc::Rc;

use fastrand::Rng;
use generator::{Generator, Gn};
use osier::failpoint::simulated::Variant;
use osier::failpoint::{Draw, Mutation, Point, simulated};
use osier::io::Step;
use send_wrapper::SendWrapper;

/// Of one stack, in words; memory that is not touched costs nothing.
const STACK_WORDS: usize = 64 << 10;

/// Why a fiber gave way.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Turn {
    /// It was preempted inside a call.
    Preempted(Point),
    /// Its future is pending.
    Pending,
    /// Its task took a step.
    Stepped(Step),
    /// It is over, by a panic where there is a message.
    Over(Option<String>),
}

struct Schedule {
    rng: Rng,
    preempted_share: f64,
}

thread_local! {
    static SCHEDULE: RefCell<Option<Schedule>> = const { RefCell::new(None) };
    /// What is called before a manifest names a checkpoint.
    static ON_COMPLETE: RefCell<Option<Rc<dyn Fn()>>> = const { RefCell::new(None) };
    /// After how many steps a task dies; zero where none does, or one has.
    static DEATH: Cell<u64> = const { Cell::new(0) };
    static HAS_DIED: Cell<bool> = const { Cell::new(false) };
    /// The last place in the serial order that was given.
    static LAST_ORDER: Cell<u64> = const { Cell::new(0) };
    /// The one that the running fiber was given last.
    static ORDER: Cell<u64> = const { Cell::new(0) };
    /// What the running fiber has drawn for its last call of a procedure.
    static DRAWS: RefCell<Vec<Draw>> = const { RefCell::new(Vec::new()) };
}

/// Begins a simulation in this thread: points preempt with this chance, the engine is this variant, and these faults are built
/// into it.
pub fn start(seed: u64, preempted_share: f64, variant: Variant, mutations: &[Mutation]) {
    simulated::install(generator::is_generator, reached);
    simulated::watch_draws(drew);
    simulated::number_places(take_place, |place| ORDER.set(place));
    simulated::vary(variant);
    simulated::build_in(mutations);
    SCHEDULE.set(Some(Schedule { rng: Rng::with_seed(seed), preempted_share }));
    LAST_ORDER.set(0);
    ON_COMPLETE.set(None);
    strike(0);
}

/// Ends a simulation: what runs in this thread from now on is what ships.
pub fn stop() {
    simulated::vary(Variant::SHIPPED);
    simulated::build_in(&[]);
    SCHEDULE.set(None);
    ON_COMPLETE.set(None);
    strike(0);
}

/// Lets the background task that takes the `step`-th step from now on die of a panic; with zero none does.
pub fn strike(step: u64) {
    DEATH.set(step);
    HAS_DIED.set(false);
}

/// Does something during which no task dies.
pub fn spared<T>(body: impl FnOnce() -> T) -> T {
    let left = DEATH.replace(0);
    let result = body();
    DEATH.set(left);
    result
}

/// Whether a task has died since.
pub fn has_struck() -> bool {
    HAS_DIED.get()
}

/// To be called at each step of a background task.
pub fn endure() {
    let left = DEATH.get();
    DEATH.set(left.saturating_sub(1));
    if left == 1 {
        HAS_DIED.set(true);
        // No panic of the hook's business.
        std::panic::resume_unwind(Box::new("struck by the simulation".to_owned()));
    }
}

/// From now on calls `hook` when a checkpoint is complete and no manifest names it yet.
pub fn on_complete(hook: impl Fn() + 'static) {
    ON_COMPLETE.set(Some(Rc::new(hook)));
}

/// The place in the serial order of the commit that the calling fiber did last.
pub fn order() -> u64 {
    ORDER.get()
}

/// Returns what the calling fiber has drawn for the last call of a procedure that it has begun.
pub fn take_draws() -> Vec<Draw> {
    DRAWS.take()
}

fn drew(draw: Draw) {
    DRAWS.with_borrow_mut(|draws| match draw {
        Draw::Begun => draws.clear(),
        draw => draws.push(draw),
    });
}

/// The next place in the serial order.
fn take_place() -> u64 {
    LAST_ORDER.set(LAST_ORDER.get() + 1);
    LAST_ORDER.get()
}

fn reached(point: Point) {
    if point == Point::Ordered {
        ORDER.set(take_place());
    }
    if point == Point::Complete
        && let Some(hook) = ON_COMPLETE.with_borrow(Clone::clone)
    {
        hook();
    }
    let draw = |schedule: &mut Schedule| schedule.rng.f64() < schedule.preempted_share;
    let is_drawn = || SCHEDULE.with_borrow_mut(|schedule| schedule.as_mut().is_some_and(draw));
    if generator::is_generator() && (point == Point::Waiting || is_drawn()) {
        give_way(Turn::Preempted(point));
    }
}

/// Lets others run, where the caller is a fiber that may wait.
pub fn wait() {
    if generator::is_generator() && !std::thread::panicking() {
        give_way(Turn::Preempted(Point::Waiting));
    }
}

/// Has whoever resumed the calling fiber go on.
pub fn give_way(turn: Turn) {
    let (order, draws) = (ORDER.get(), DRAWS.take());
    #[expect(deprecated, reason = "the scope that replaces it cannot be reached from inside the engine")]
    generator::yield_with(turn);
    ORDER.set(order);
    DRAWS.set(draws);
}

/// A thread of the simulation.
pub struct Fiber<'f>(ManuallyDrop<Generator<'f, (), Turn>>);

impl<'f> Fiber<'f> {
    /// A fiber that runs `body`.
    pub fn new(body: impl FnOnce() -> Turn + Send + 'f) -> Fiber<'f> {
        Fiber(ManuallyDrop::new(Gn::new_opt(STACK_WORDS, body)))
    }

    /// A fiber that stays in the thread of the system that made it.
    pub fn new_local(body: impl FnOnce() -> Turn + 'f) -> Fiber<'f> {
        let body = SendWrapper::new(body);
        Fiber::new(move || body.take()())
    }

    /// Lets it run until it gives way. A panic inside goes on in the caller.
    pub fn resume(&mut self) -> Turn {
        self.0.resume().expect("a fiber that is over is not resumed")
    }

    /// Frees its stack, once it is over.
    pub fn end(self) {
        assert!(self.0.is_done(), "a fiber is unwound by nobody");
        drop(ManuallyDrop::into_inner(self.0));
    }
}
