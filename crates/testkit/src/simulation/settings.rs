//! How a generation logs and isolates: protocol, number of streams, payload and concurrency control. Where a seed has it, they
//! change from one generation to the next.
//!
//! Invariant: they are drawn from numbers of their own, so that seeds without changes stay what they are.

use std::cell::{Cell, RefCell};

use fastrand::Rng;
use osier::Protocol;
use osier::config::{ConcurrencyControlKind, Locking, Logged};

use super::coverage::What;
use super::plan::{Plan, draw_control};
use super::run::Simulation;

/// Of one generation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Settings {
    pub(super) protocol: Protocol,
    pub(super) streams: u32,
    pub(super) logged: Logged,
    /// How transactions are isolated, and who waits for whom where they lock.
    pub(super) control: (ConcurrencyControlKind, Locking),
}

impl Settings {
    /// What the plan says.
    fn planned(plan: &Plan) -> Settings {
        Settings { protocol: plan.protocol, streams: plan.streams, logged: plan.logged, control: plan.control }
    }
}

/// What changes between generations.
pub(super) struct Changing {
    rng: RefCell<Rng>,
    now: Cell<Settings>,
}

impl Changing {
    pub(super) fn new(seed: u64, plan: &Plan) -> Changing {
        let rng = RefCell::new(Rng::with_seed(!seed.rotate_left(32)));
        Changing { rng, now: Cell::new(Settings::planned(plan)) }
    }
}

impl Simulation<'_> {
    /// Of the present generation.
    pub(super) fn settings(&self) -> Settings {
        self.changing.now.get()
    }

    /// Half of the generations have settings of their own, where the plan changes any.
    pub(super) fn change_settings(&self) {
        let (plan, rng) = (&self.plan, &mut *self.changing.rng.borrow_mut());
        let mut next = Settings::planned(plan);
        // A database that has a log does not open without one.
        if (plan.changes.log || plan.is_moved) && plan.protocol != Protocol::None && rng.bool() {
            (next.protocol, next.streams) = draw_protocol(rng);
            next.logged = self.draw_logged(rng, next.protocol);
            self.note(What::LogsChanged);
        }
        if plan.changes.control && rng.bool() {
            next.control = draw_control(rng);
            self.note(What::ControlsChanged);
        }
        if next != Settings::planned(plan) {
            self.trace.line(|| format!("-- changed: {next:?}"));
        }
        self.changing.now.set(next);
    }

    fn draw_logged(&self, rng: &mut Rng, protocol: Protocol) -> Logged {
        let has_commands = matches!(protocol, Protocol::Serial | Protocol::Gsn | Protocol::Taurus);
        let has_calls = has_commands && self.plan.call_share > 0.0 && rng.bool();
        let has_images = self.plan.logged == Logged::Physiological && rng.bool();
        match has_calls {
            true if self.plan.variant.stamps_early => Logged::Adaptive,
            true => Logged::Commands,
            false if has_images => Logged::Physiological,
            false => Logged::Values,
        }
    }
}

fn draw_protocol(rng: &mut Rng) -> (Protocol, u32) {
    let streams = rng.u32(1..=5);
    match rng.u8(0..6) {
        0 => (Protocol::Serial, 1),
        1 => (Protocol::Poplar, streams),
        2 => (Protocol::Gsn, streams),
        3 => (Protocol::Taurus, streams),
        4 => (Protocol::Silo, streams),
        _ => (Protocol::Plover, streams),
    }
}
