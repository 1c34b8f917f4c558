//! The crash simulation within the budget of `cargo test`; scripts/crash-simulation runs as many seeds as one likes.

use osier::Protocol;
use osier::failpoint::Mutation;
use osier_testkit::simulation::{Choices, Summary, run};

/// Seeds of each test; OSIER_SEEDS overrides it.
const SEEDS: u64 = 150;

/// Within how many seeds each mutation must be caught.
const SEEDS_TO_CATCH: u64 = 200;

fn seeds() -> u64 {
    std::env::var("OSIER_SEEDS").map_or(SEEDS, |text| text.parse().expect("OSIER_SEEDS is a number"))
}

/// Runs seeds that must pass.
fn pass(seeds: impl IntoIterator<Item = u64>, choices: &Choices) -> Summary {
    let mut total = Summary::default();
    for seed in seeds {
        match run(seed, choices, false) {
            Ok(summary) => total.add(&summary),
            Err(failure) => panic!("seed {seed} with {choices:?}: {failure}"),
        }
    }
    total
}

/// The first seed that fails with a mutation built in.
fn first_caught(mutation: Mutation, protocol: Protocol, streams: Option<u32>) -> Option<u64> {
    let choices = Choices { protocol: Some(protocol), streams, mutations: vec![mutation] };
    (0..SEEDS_TO_CATCH).find(|&seed| run(seed, &choices, false).is_err())
}

#[test]
fn poplar_survives() {
    let total = pass(0..seeds(), &Choices { protocol: Some(Protocol::Poplar), ..Choices::default() });
    assert!(total.acknowledged > 0 && total.lost > 0 && total.failed_opens > 0, "the seeds are too tame: {total:?}");
}

#[test]
fn serial_survives() {
    let total = pass(0..seeds(), &Choices { protocol: Some(Protocol::Serial), ..Choices::default() });
    assert!(total.acknowledged > 0 && total.lost > 0 && total.failed_opens > 0, "the seeds are too tame: {total:?}");
}

#[test]
fn a_seed_repeats() {
    let digest = |seed| run(seed, &Choices::default(), false).map(|summary| summary.digest).ok();
    for seed in 0..10 {
        assert!(digest(seed).is_some());
        assert_eq!(digest(seed), digest(seed), "seed {seed}");
    }
    assert_ne!(digest(1), digest(2));
}

#[test]
fn a_skipped_sync_is_caught() {
    for protocol in [Protocol::Poplar, Protocol::Serial] {
        assert!(first_caught(Mutation::SkipLogSync, protocol, None).is_some(), "{protocol:?}");
    }
}

/// It takes several streams: one that is durable and one whose heartbeat only seemed to be.
#[test]
fn a_volatile_heartbeat_is_caught() {
    assert!(first_caught(Mutation::VolatileHeartbeat, Protocol::Poplar, Some(4)).is_some());
}
