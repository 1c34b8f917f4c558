//! The faults that the simulation must find, and within how many seeds.
//!
//! Invariant: every [`Mutation`] that exists is listed here once; `docs/testing.md` shows the table that [`table`] makes.

use std::sync::OnceLock;
use std::sync::atomic::{AtomicUsize, Ordering};

use osier::Protocol;
use osier::config::CheckpointKind;
use osier::failpoint::Mutation;

use super::{Choices, run};

/// One fault.
#[derive(Clone, Copy, Debug)]
pub struct Case {
    /// The fault.
    pub mutation: Mutation,
    /// The step that it takes away.
    pub what: &'static str,
    /// Which invariant that breaks.
    pub invariant: &'static str,
    /// The number of streams that shows it best; otherwise drawn.
    pub streams: Option<u32>,
    /// The kind of checkpoints that shows it best; otherwise drawn, if there are any.
    pub checkpoints: Option<CheckpointKind>,
    /// It must be caught within this many seeds.
    pub seeds_max: u64,
}

/// A fault that was found.
#[derive(Debug)]
pub struct Caught {
    /// After how many seeds.
    pub seeds: u64,
    /// What was wrong.
    pub verdict: String,
}

const fn case(mutation: Mutation, what: &'static str, invariant: &'static str) -> Case {
    Case { mutation, what, invariant, streams: None, checkpoints: None, seeds_max: 200 }
}

const fn of_checkpoints(kind: CheckpointKind, case: Case) -> Case {
    Case { checkpoints: Some(kind), ..case }
}

/// What fits a cell of a table.
fn shortened(verdict: &str) -> String {
    const LENGTH_MAX: usize = 110;
    let plain = verdict.replace('|', "/");
    let mut short: String = plain.chars().take(LENGTH_MAX).collect();
    if short.len() < plain.len() {
        short.push_str(" ...");
    }
    short
}

/// All of them.
pub const CASES: &[Case] = &[
    case(Mutation::SkipLogSync, "batches are published without a sync", "P2: what is acknowledged is durable"),
    Case {
        streams: Some(4),
        seeds_max: 1000,
        ..case(
            Mutation::VolatileHeartbeat,
            "a stream counts as durable up to a heartbeat that is not",
            "P2: the frontier exceeds no stream",
        )
    },
    case(Mutation::NoGenerationFreeze, "a frozen generation is judged by the next one's cut", "the dead stay dead"),
    case(Mutation::EarlyPurge, "tombstones go, stamp and all, before they are stable", "P1 for absent keys"),
    case(Mutation::UnlockBeforeInstall, "locks are released before the install", "serializability"),
    case(Mutation::PlaceholderUnobserved, "absent records are not observed", "serializability: phantoms"),
    case(Mutation::NoLeafValidation, "versions of leaves are not validated", "serializability: phantoms"),
    case(Mutation::NoCsnWait, "acknowledged by the own stream alone", "P3: CSN covers what was read"),
    case(Mutation::NoHeartbeat, "no markers, no certificates", "every receipt is answered"),
    case(Mutation::TailNotPersisted, "recovery does not write tails again", "what was recovered is durable"),
    case(Mutation::DirectoryNotSynced, "a new segment's directory is not synced", "P2: segments keep their names"),
    case(Mutation::ManifestNotSynced, "the manifest is renamed before its sync", "a manifest is old or new"),
    case(Mutation::NoFloor, "a segment's header says nothing of the stamps before", "a rotation loses no frontier"),
    case(Mutation::AbortNotValidated, "aborts and readers are not validated", "an abort tells what holds"),
    case(Mutation::AbsencesIgnored, "`raw_dep` leaves out absent rows", "P3 for absences"),
    case(Mutation::StampsIgnored, "replay keeps the image that comes first", "last writer wins"),
    case(Mutation::BusyCertified, "a stream is certified with records in flight", "P2: a certificate is true"),
    case(Mutation::CloseOutsideLatch, "a batch's stamp is read after its close", "P2: no record is behind its batch"),
    of_checkpoints(
        CheckpointKind::Epoch,
        case(Mutation::CheckpointBeforeSync, "a manifest names files that were not synced", "K2"),
    ),
    of_checkpoints(
        CheckpointKind::Fuzzy,
        case(
            Mutation::CheckpointBeforeStable,
            "a manifest names a checkpoint that the log does not bear out yet",
            "K2",
        ),
    ),
    of_checkpoints(
        CheckpointKind::Epoch,
        case(Mutation::UnlinkBeforeManifest, "files go before the manifest that does not need them", "K3"),
    ),
    of_checkpoints(CheckpointKind::Fuzzy, case(Mutation::LateReplayStart, "RSN is read after the tuples", "K1")),
];

impl Case {
    /// As it is named on the command line.
    pub fn name(&self) -> String {
        let camel = format!("{:?}", self.mutation);
        let kebab = camel.chars().flat_map(|letter| {
            let dash = letter.is_uppercase().then_some('-');
            dash.into_iter().chain(letter.to_lowercase())
        });
        kebab.skip(1).collect()
    }

    fn row(&self, seeds_max: u64) -> (String, bool) {
        let caught = self.hunt(seeds_max);
        let streams = self.streams.map_or(String::new(), |streams| format!(" with {streams} streams"));
        let kind = self.checkpoints.map_or(String::new(), |kind| format!(" with {kind:?} checkpoints").to_lowercase());
        let (seeds, verdict) = match &caught {
            Some(caught) => (format!("{}{streams}{kind}", caught.seeds), shortened(&caught.verdict)),
            None => (format!("not in {seeds_max}"), String::new()),
        };
        let row = format!("| `{}`: {} | {} | {seeds} | {verdict} |\n", self.name(), self.what, self.invariant);
        (row, caught.is_some_and(|caught| caught.seeds <= self.seeds_max))
    }

    /// Runs seeds until one finds the fault.
    pub fn hunt(&self, seeds_max: u64) -> Option<Caught> {
        let choices = Choices {
            protocol: (self.streams.is_some() || self.checkpoints.is_some()).then_some(Protocol::Poplar),
            streams: self.streams,
            checkpoints: self.checkpoints,
            mutations: vec![self.mutation],
        };
        (0..seeds_max).find_map(|seed| {
            let failure = run(seed, &choices, false).err()?.to_string();
            Some(Caught { seeds: seed + 1, verdict: failure.lines().next().unwrap_or_default().to_owned() })
        })
    }
}

/// Catches every fault, on as many threads as there are cores; the rows of the table in docs/testing.md. The flag says whether
/// each was caught within its limit.
pub fn table(seeds_max: u64) -> (String, bool) {
    let next = AtomicUsize::new(0);
    let rows: Vec<OnceLock<(String, bool)>> = CASES.iter().map(|_| OnceLock::new()).collect();
    let hunt = || {
        while let Some(case) = CASES.get(next.fetch_add(1, Ordering::Relaxed)) {
            let at = CASES.iter().position(|other| other.mutation == case.mutation).expect("it is one of them");
            let _ = rows[at].set(case.row(seeds_max));
        }
    };
    std::thread::scope(|scope| {
        let cores = std::thread::available_parallelism().map_or(1, |cores| cores.get());
        (0..cores).for_each(|_| drop(scope.spawn(hunt)));
    });
    let mut table = "| mutation | invariant broken | seeds | what was found |\n|---|---|---|---|\n".to_owned();
    let mut all = true;
    for (row, caught) in rows.iter().filter_map(OnceLock::get) {
        table.push_str(row);
        all &= caught;
    }
    (table, all)
}
