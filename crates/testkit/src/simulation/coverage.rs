//! How often seeds reach what the simulation is to try: operations and their outcomes, ends of transactions, moments of crashes.
//!
//! Invariant: only what ended with a receipt counts, so that the oracle has judged every one of it; save what the log got of
//! calls, which the engine has counted.

use std::fmt;

use osier::ProcedureMetrics;

use super::operation::{Operation, Outcome};
use super::oracle::{End, Finished};
use crate::disk::Kind;

/// What is counted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[expect(missing_docs, reason = "their names say it")]
pub enum What {
    Gets,
    Absences,
    ForwardScans,
    BackwardScans,
    UniqueLookups,
    IndexScans,
    PartialScans,
    Inserts,
    Duplicates,
    Upserts,
    Replaces,
    Updates,
    Increments,
    Appends,
    Deletes,
    BlindDeletes,
    TablesCreated,
    TablesDropped,
    TablesRenamed,
    ColumnsAdded,
    ColumnsDropped,
    ColumnsRenamed,
    ColumnsInUse,
    IndexesCreated,
    PartialIndexesCreated,
    IndexesDropped,
    SequencesCreated,
    SequencesDropped,
    ValuesDrawn,
    ProceduresDeclared,
    ProceduresRefused,
    ProceduresDropped,
    Calls,
    CallsOfFunctions,
    CallsThatGaveUp,
    CallsWithoutProcedure,
    CallsLoggedAsCommands,
    CallsLoggedAsValues,
    Missing,
    Savepoints,
    Rollbacks,
    UserAborts,
    Readers,
    ReadersOfSnapshots,
    CrashesInRun,
    CrashesInRecovery,
    CrashesInFreeze,
    CrashesInCheckpoint,
    CrashesInTruncation,
    TasksThatDied,
    Backups,
    BackupsInterrupted,
    Restores,
    RestoresInterrupted,
    RestoresGoneOnWith,
    EpochsGoneBackTo,
    TimesGoneBackTo,
    WaysBackRefused,
    WaysBackInterrupted,
    Moves,
    EarlyUses,
    MixturesRefused,
    RobbedRefused,
    LogsChanged,
    ControlsChanged,
    Salvages,
    SalvagesRefused,
    DamageSalvaged,
    Displacements,
}

/// In the order of their declaration.
const ALL: [What; 69] = [
    What::Gets,
    What::Absences,
    What::ForwardScans,
    What::BackwardScans,
    What::UniqueLookups,
    What::IndexScans,
    What::PartialScans,
    What::Inserts,
    What::Duplicates,
    What::Upserts,
    What::Replaces,
    What::Updates,
    What::Increments,
    What::Appends,
    What::Deletes,
    What::BlindDeletes,
    What::TablesCreated,
    What::TablesDropped,
    What::TablesRenamed,
    What::ColumnsAdded,
    What::ColumnsDropped,
    What::ColumnsRenamed,
    What::ColumnsInUse,
    What::IndexesCreated,
    What::PartialIndexesCreated,
    What::IndexesDropped,
    What::SequencesCreated,
    What::SequencesDropped,
    What::ValuesDrawn,
    What::ProceduresDeclared,
    What::ProceduresRefused,
    What::ProceduresDropped,
    What::Calls,
    What::CallsOfFunctions,
    What::CallsThatGaveUp,
    What::CallsWithoutProcedure,
    What::CallsLoggedAsCommands,
    What::CallsLoggedAsValues,
    What::Missing,
    What::Savepoints,
    What::Rollbacks,
    What::UserAborts,
    What::Readers,
    What::ReadersOfSnapshots,
    What::CrashesInRun,
    What::CrashesInRecovery,
    What::CrashesInFreeze,
    What::CrashesInCheckpoint,
    What::CrashesInTruncation,
    What::TasksThatDied,
    What::Backups,
    What::BackupsInterrupted,
    What::Restores,
    What::RestoresInterrupted,
    What::RestoresGoneOnWith,
    What::EpochsGoneBackTo,
    What::TimesGoneBackTo,
    What::WaysBackRefused,
    What::WaysBackInterrupted,
    What::Moves,
    What::EarlyUses,
    What::MixturesRefused,
    What::RobbedRefused,
    What::LogsChanged,
    What::ControlsChanged,
    What::Salvages,
    What::SalvagesRefused,
    What::DamageSalvaged,
    What::Displacements,
];

/// The counts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Coverage([u64; ALL.len()]);

impl Default for Coverage {
    fn default() -> Coverage {
        Coverage([0; ALL.len()])
    }
}

impl Coverage {
    pub(super) fn note(&mut self, what: What) {
        self.0[what as usize] += 1;
    }

    /// What the log got of calls in one life of a database.
    pub(super) fn note_logged(&mut self, procedures: &[ProcedureMetrics]) {
        for ProcedureMetrics { commands, values, .. } in procedures {
            self.0[What::CallsLoggedAsCommands as usize] += commands;
            self.0[What::CallsLoggedAsValues as usize] += values;
        }
    }

    /// How often this was.
    pub fn count(&self, what: What) -> u64 {
        self.0[what as usize]
    }

    pub(super) fn add(&mut self, other: &Coverage) {
        self.0.iter_mut().zip(other.0).for_each(|(sum, more)| *sum += more);
    }

    pub(super) fn note_transaction(&mut self, finished: &Finished) {
        finished.steps.iter().for_each(|(operation, outcome)| self.note_operation(operation, outcome));
        if finished.at_snapshot {
            self.note(What::ReadersOfSnapshots);
        }
        match finished.end {
            End::Aborted => self.note(What::UserAborts),
            End::Committed if !finished.marked => self.note(What::Readers),
            End::Committed => {}
        }
    }

    fn note_operation(&mut self, operation: &Operation, outcome: &Outcome) {
        let scan = |is_reverse| if is_reverse { What::BackwardScans } else { What::ForwardScans };
        self.note(match operation {
            _ if *outcome == Outcome::Duplicate => What::Duplicates,
            _ if *outcome == Outcome::Missing => What::Missing,
            _ if *outcome == Outcome::InUse => What::ColumnsInUse,
            Operation::Declare(..) if *outcome == Outcome::Invalid => What::ProceduresRefused,
            Operation::Declare(..) => What::ProceduresDeclared,
            Operation::DropProcedure(_) => What::ProceduresDropped,
            Operation::Call(invocation) => match outcome {
                Outcome::Called(called) if called.result.is_ok() && invocation.is_of_function() => {
                    What::CallsOfFunctions
                }
                Outcome::Called(called) if called.result.is_ok() => What::Calls,
                Outcome::Called(called) if called.has_begun() => What::CallsThatGaveUp,
                _ => What::CallsWithoutProcedure,
            },
            Operation::Get(..) | Operation::GetByCode(_) if *outcome == Outcome::Row(None) => What::Absences,
            Operation::Get(..) => What::Gets,
            Operation::GetByCode(_) => What::UniqueLookups,
            Operation::Scan(_, range) => scan(range.reverse),
            Operation::ScanCodes(..) | Operation::ScanTeams(..) => What::IndexScans,
            Operation::ScanPartial(..) => What::PartialScans,
            Operation::Insert(..) => What::Inserts,
            Operation::Upsert(..) => What::Upserts,
            Operation::Replace(..) => What::Replaces,
            Operation::Update(..) => What::Updates,
            Operation::Increment(..) => What::Increments,
            Operation::Append(..) => What::Appends,
            Operation::CreateTable(..) => What::TablesCreated,
            Operation::DropTable(_) => What::TablesDropped,
            Operation::RenameTable(..) => What::TablesRenamed,
            Operation::AddColumn(_) => What::ColumnsAdded,
            Operation::DropColumn(_) => What::ColumnsDropped,
            Operation::RenameColumn(_) => What::ColumnsRenamed,
            Operation::CreateIndex(_, index) if index.is_partial() => What::PartialIndexesCreated,
            Operation::CreateIndex(..) => What::IndexesCreated,
            Operation::DropIndex(..) => What::IndexesDropped,
            Operation::Delete(..) => What::Deletes,
            Operation::DeleteBlind(..) => What::BlindDeletes,
            Operation::CreateSequence(_) => What::SequencesCreated,
            Operation::DropSequence => What::SequencesDropped,
            Operation::NextValue => What::ValuesDrawn,
            Operation::Savepoint => What::Savepoints,
            Operation::RollbackTo(_) => What::Rollbacks,
        });
    }

    /// The power failed during this operation of the disk, or between two; `opened` says whether the database was open by
    /// then, `checkpoints` whether it was taking a checkpoint.
    pub(super) fn note_crash(&mut self, during: Option<(Kind, String)>, opened: bool, checkpoints: bool) {
        let is_freeze = |name: &str| name.contains("MANIFEST");
        self.note(match (opened, during) {
            (false, Some((_, name))) if is_freeze(&name) => What::CrashesInFreeze,
            (false, _) => What::CrashesInRecovery,
            (true, Some((Kind::Removal, _))) => What::CrashesInTruncation,
            _ if checkpoints => What::CrashesInCheckpoint,
            _ => What::CrashesInRun,
        });
    }
}

impl fmt::Display for Coverage {
    /// Names in words: `CrashesInFreeze` is `crashes in freeze`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (at, what) in ALL.into_iter().enumerate() {
            let camel = format!("{what:?}");
            let words = camel.chars().flat_map(|letter| {
                let space = letter.is_uppercase().then_some(' ');
                space.into_iter().chain(letter.to_lowercase())
            });
            let comma = if at == 0 { "" } else { ", " };
            write!(f, "{comma}{} {}", self.0[what as usize], words.skip(1).collect::<String>())?;
        }
        Ok(())
    }
}
