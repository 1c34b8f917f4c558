//! The crash simulation within the budget of `cargo test`; scripts/crash-simulation runs as many seeds as one likes.

use clap::ValueEnum;
use osier::Protocol;
use osier::config::{CheckpointKind, Logged};
use osier_testkit::simulation::coverage::What;
use osier_testkit::simulation::mutations::{CASES, table};
use osier_testkit::simulation::{Choices, Profile, Summary, run};

/// Seeds of each test; OSIER_SEEDS overrides it.
const SEEDS: u64 = 150;

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

#[test]
fn poplar_survives() {
    let total = pass(0..seeds(), &Choices { protocol: Some(Protocol::Poplar), ..Choices::default() });
    assert!(total.acknowledged > 0 && total.lost > 0 && total.failed_opens > 0, "the seeds are too tame: {total:?}");
}

#[test]
fn gsn_survives() {
    let total = pass(0..seeds(), &Choices { protocol: Some(Protocol::Gsn), ..Choices::default() });
    assert!(total.acknowledged > 0 && total.lost > 0 && total.failed_opens > 0, "the seeds are too tame: {total:?}");
}

#[test]
fn none_survives_as_its_checkpoints() {
    let total = pass(0..seeds(), &Choices { protocol: Some(Protocol::None), ..Choices::default() });
    assert!(total.acknowledged > 0 && total.lost > 0 && total.compared > 0, "the seeds are too tame: {total:?}");
}

#[test]
fn serial_survives() {
    let total = pass(0..seeds(), &Choices { protocol: Some(Protocol::Serial), ..Choices::default() });
    assert!(total.acknowledged > 0 && total.lost > 0 && total.failed_opens > 0, "the seeds are too tame: {total:?}");
}

#[test]
fn commands_survive() {
    for (protocol, streams) in [(Protocol::Serial, None), (Protocol::Gsn, Some(1)), (Protocol::Gsn, Some(4))] {
        let (protocol, logged) = (Some(protocol), Some(Logged::Commands));
        let total = pass(0..seeds(), &Choices { protocol, streams, logged, ..Choices::default() });
        for what in [What::Calls, What::CallsThatGaveUp, What::ProceduresDeclared, What::ProceduresRefused] {
            assert!(total.coverage.count(what) > seeds(), "the seeds are too tame: {what:?} in {}", total.coverage);
        }
        assert!(
            total.acknowledged > 0 && total.lost > 0 && total.failed_opens > 0,
            "the seeds are too tame: {total:?}"
        );
    }
}

/// Calls are logged as commands or as values by chance: both are among what is run again.
#[test]
fn commands_among_values_survive() {
    for (protocol, streams) in [(Protocol::Serial, None), (Protocol::Gsn, Some(4))] {
        let (protocol, logged) = (Some(protocol), Some(Logged::Adaptive));
        let total = pass(0..seeds(), &Choices { protocol, streams, logged, ..Choices::default() });
        for what in [What::Calls, What::CallsLoggedAsCommands, What::CallsLoggedAsValues] {
            assert!(total.coverage.count(what) > seeds(), "the seeds are too tame: {what:?} in {}", total.coverage);
        }
        assert!(total.lost > 0 && total.failed_opens > 0, "the seeds are too tame: {total:?}");
    }
}

#[test]
fn images_survive() {
    for (protocol, streams) in [(Protocol::Serial, None), (Protocol::Gsn, None), (Protocol::Poplar, Some(4))] {
        let (protocol, logged) = (Some(protocol), Some(Logged::Physiological));
        let total = pass(0..seeds(), &Choices { protocol, streams, logged, ..Choices::default() });
        assert!(
            total.acknowledged > 0 && total.lost > 0 && total.failed_opens > 0,
            "the seeds are too tame: {total:?}"
        );
    }
}

#[test]
fn definitions_of_procedures_survive() {
    let total = pass(0..seeds(), &Choices { profile: Some(Profile::Calling), ..Choices::default() });
    for what in [What::Calls, What::ProceduresDeclared, What::ProceduresDropped, What::ValuesDrawn, What::LogsChanged] {
        assert!(total.coverage.count(what) > seeds() / 5, "the seeds are too tame: {what:?} in {}", total.coverage);
    }
    assert!(total.checkpoints > seeds() && total.lost > seeds(), "the seeds are too tame: {total:?}");
}

#[test]
fn checkpoints_survive() {
    for (protocol, kind) in [
        (Protocol::Serial, CheckpointKind::Epoch),
        (Protocol::Gsn, CheckpointKind::Epoch),
        (Protocol::Poplar, CheckpointKind::Epoch),
        (Protocol::Poplar, CheckpointKind::Fuzzy),
    ] {
        let choices = Choices { protocol: Some(protocol), checkpoints: Some(kind), ..Choices::default() };
        let total = pass(0..seeds(), &choices);
        assert_eq!(total.compared > 50, kind == CheckpointKind::Epoch, "{total:?}");
        assert!(total.checkpoints > 50 && total.lost > 0, "the seeds are too tame: {total:?}");
    }
}

#[test]
fn large_trees_survive() {
    let total = pass(0..seeds(), &Choices { profile: Some(Profile::Large), ..Choices::default() });
    for what in [What::ForwardScans, What::BackwardScans, What::Inserts, What::Deletes, What::Rollbacks] {
        assert!(total.coverage.count(what) > 2 * seeds(), "the seeds are too tame: {what:?} in {}", total.coverage);
    }
    assert!(total.checkpoints > seeds() && total.lost > seeds(), "the seeds are too tame: {total:?}");
}

#[test]
fn tables_that_change_with_their_rows_survive() {
    let total = pass(0..seeds(), &Choices { profile: Some(Profile::Altering), ..Choices::default() });
    for what in [What::PartialScans, What::PartialIndexesCreated, What::Updates] {
        assert!(total.coverage.count(what) > seeds() / 2, "the seeds are too tame: {what:?} in {}", total.coverage);
    }
    for what in
        [What::IndexesDropped, What::TablesRenamed, What::ColumnsAdded, What::ColumnsDropped, What::ColumnsRenamed]
    {
        assert!(total.coverage.count(what) > seeds() / 40, "the seeds are too tame: {what:?} in {}", total.coverage);
    }
    assert!(total.checkpoints > seeds() && total.lost > seeds(), "the seeds are too tame: {total:?}");
}

#[test]
fn transactions_in_parts_survive() {
    let total = pass(0..seeds(), &Choices { profile: Some(Profile::Parts), ..Choices::default() });
    assert!(total.checkpoints > seeds() && total.lost > seeds(), "the seeds are too tame: {total:?}");
}

#[test]
fn sequences_survive() {
    let total = pass(0..seeds(), &Choices { profile: Some(Profile::Drawing), ..Choices::default() });
    for what in [What::SequencesCreated, What::SequencesDropped, What::ValuesDrawn, What::UserAborts] {
        assert!(total.coverage.count(what) > seeds() / 2, "the seeds are too tame: {what:?} in {}", total.coverage);
    }
    assert!(total.checkpoints > seeds() && total.lost > seeds(), "the seeds are too tame: {total:?}");
}

#[test]
fn backups_and_ways_back_survive() {
    let total = pass(0..seeds(), &Choices { profile: Some(Profile::Backup), ..Choices::default() });
    for what in [
        What::Backups,
        What::BackupsInterrupted,
        What::Restores,
        What::RestoresInterrupted,
        What::RestoresGoneOnWith,
        What::EpochsGoneBackTo,
        What::TimesGoneBackTo,
        What::WaysBackRefused,
    ] {
        assert!(total.coverage.count(what) > 2, "the seeds are too tame: {what:?} in {}", total.coverage);
    }
}

#[test]
fn ways_back_to_what_waits_for_the_cut_survive() {
    let total = pass(0..seeds(), &Choices { profile: Some(Profile::Returning), ..Choices::default() });
    let back = total.coverage.count(What::EpochsGoneBackTo);
    assert!(back > seeds() / 4 && total.lost > seeds(), "the seeds are too tame: {back} in {}", total.coverage);
}

#[test]
fn directories_that_move_survive() {
    let total = pass(0..seeds(), &Choices { profile: Some(Profile::Moved), ..Choices::default() });
    for what in [What::Moves, What::MixturesRefused, What::RobbedRefused, What::LogsChanged] {
        assert!(total.coverage.count(what) > 20, "the seeds are too tame: {what:?} in {}", total.coverage);
    }
}

#[test]
fn settings_that_change_survive() {
    let total = pass(0..seeds(), &Choices { profile: Some(Profile::Changing), ..Choices::default() });
    for what in [What::LogsChanged, What::ControlsChanged, What::CallsLoggedAsCommands, What::TablesCreated] {
        assert!(total.coverage.count(what) > seeds(), "the seeds are too tame: {what:?} in {}", total.coverage);
    }
}

#[test]
fn what_is_salvaged_was_there() {
    let total = pass(0..seeds(), &Choices { profile: Some(Profile::Salvaged), ..Choices::default() });
    for what in [What::Salvages, What::SalvagesRefused, What::DamageSalvaged] {
        assert!(total.coverage.count(what) > seeds() / 4, "the seeds are too tame: {what:?} in {}", total.coverage);
    }
}

#[test]
fn every_profile_survives() {
    for profile in Profile::value_variants() {
        pass(0..seeds() / 10, &Choices { profile: Some(*profile), ..Choices::default() });
    }
}

#[test]
fn a_seed_repeats() {
    let digest = |seed| run(seed, &Choices::default(), false).map(|summary| summary.digest).ok();
    // Among them are some whose locks are taken in the order of addresses.
    for seed in 0..50 {
        assert!(digest(seed).is_some());
        assert_eq!(digest(seed), digest(seed), "seed {seed}");
    }
    assert_ne!(digest(1), digest(2));
}

#[test]
fn every_mutation_is_caught() {
    let (table, all) = table(CASES);
    assert!(all, "not caught in time:\n{table}");
}
