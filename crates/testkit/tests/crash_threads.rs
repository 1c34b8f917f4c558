//! The crash test with real threads within the budget of `cargo test`.

use osier::Protocol;
use osier::failpoint::Mutation;
use osier_testkit::threads::run;

/// Seeds of each protocol; OSIER_THREAD_SEEDS overrides it.
const SEEDS: u64 = 40;

fn survive(protocol: Protocol) {
    let seeds = std::env::var("OSIER_THREAD_SEEDS").map_or(SEEDS, |text| text.parse().expect("a number"));
    let acknowledged: usize =
        (0..seeds).map(|seed| run(seed, protocol, &[]).unwrap_or_else(|error| panic!("{error}"))).sum();
    assert!(acknowledged > 0, "nothing was acknowledged before the crashes");
}

#[test]
fn poplar_survives_with_threads() {
    survive(Protocol::Poplar);
}

#[test]
fn gsn_survives_with_threads() {
    survive(Protocol::Gsn);
}

#[test]
fn plover_survives_with_threads() {
    survive(Protocol::Plover);
}

#[test]
fn silo_survives_with_threads() {
    survive(Protocol::Silo);
}

#[test]
fn taurus_survives_with_threads() {
    survive(Protocol::Taurus);
}

#[test]
fn stamps_that_ignore_reads_are_caught_with_threads() {
    for mutation in [Mutation::ReadsUnordered, Mutation::StampDrawnLate] {
        let is_caught = |seed| run(seed, Protocol::Gsn, &[mutation]).is_err();
        assert!((0..2 * SEEDS).any(is_caught), "{mutation:?}");
    }
}

#[test]
fn a_skipped_sync_is_caught_with_threads() {
    let is_caught = |seed| run(seed, Protocol::Poplar, &[Mutation::SkipLogSync]).is_err();
    assert!((0..SEEDS).any(is_caught));
}

#[test]
fn serial_survives_with_threads() {
    survive(Protocol::Serial);
}
