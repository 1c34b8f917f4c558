//! Procedures as the catalog knows them: which version is the current one of a name, and the definitions of all versions. What a
//! definition means is not the catalog's business.
//!
//! Invariant: an id is one procedure's for ever. Versions outlive the procedure, as long as a log may name them.

use std::sync::Arc;

use super::handles::{Handle, RowStamp};
use crate::ids::{ProcedureId, ProcedureVersion, Stamp};
use crate::log::format::payload::command::Command;
use crate::table::{ColumnId, Row, SchemaError, Value};

/// Columns of `osier_procedures`.
const NAME: ColumnId = ColumnId(0);
const ID: ColumnId = ColumnId(1);
const VERSION: ColumnId = ColumnId(2);
/// Columns of `osier_procedure_versions`.
const KIND: ColumnId = ColumnId(3);
const DEFINITION: ColumnId = ColumnId(4);

/// What the definition of a procedure is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ProcedureKind {
    /// Its text in the procedure language.
    Declared,
    /// Code of the program that embeds the database; the definition says which.
    Opaque,
}

impl ProcedureKind {
    fn name(self) -> &'static str {
        match self {
            ProcedureKind::Declared => "declared",
            ProcedureKind::Opaque => "opaque",
        }
    }

    fn named(name: &str) -> Option<ProcedureKind> {
        [ProcedureKind::Declared, ProcedureKind::Opaque].into_iter().find(|kind| kind.name() == name)
    }
}

/// Names a version of a procedure.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) struct VersionKey {
    pub(crate) id: ProcedureId,
    pub(crate) version: ProcedureVersion,
}

impl VersionKey {
    /// What a command runs.
    pub(crate) fn of_command(command: &Command<'_>) -> VersionKey {
        VersionKey { id: command.procedure, version: command.version }
    }

    /// The row of `osier_procedures` that makes it the current one of `name`.
    pub(crate) fn current_values(self, name: &str) -> [Value<'_>; 3] {
        [Value::Text(name), Value::Int(self.id.0.into()), Value::Int(self.version.0.into())]
    }

    /// Its key in `osier_procedure_versions`.
    pub(crate) fn key(self) -> [Value<'static>; 2] {
        [Value::Int(self.id.0.into()), Value::Int(self.version.0.into())]
    }

    /// Its row there.
    pub(crate) fn values<'r>(self, name: &'r str, kind: ProcedureKind, definition: &'r [u8]) -> [Value<'r>; 5] {
        let [id, version] = self.key();
        [id, version, Value::Text(name), Value::Text(kind.name()), Value::Bytes(definition)]
    }

    /// Reads the name and the current version from a row of `osier_procedures`.
    pub(crate) fn of_current<'r>(row: &'r Row<'_>) -> (&'r str, VersionKey) {
        (row.text(NAME), VersionKey::read(row, ID, VERSION))
    }

    fn read(row: &Row<'_>, id: ColumnId, version: ColumnId) -> VersionKey {
        VersionKey { id: ProcedureId(row.int(id) as u32), version: ProcedureVersion(row.int(version) as u32) }
    }

    /// Reads a row of `osier_procedure_versions`.
    pub(crate) fn of_version(row: &Row<'_>) -> VersionKey {
        VersionKey::read(row, ColumnId(0), ColumnId(1))
    }
}

/// What a version of a procedure is made of.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct ProcedureDefinition {
    /// The name that it had.
    pub(crate) name: String,
    pub(crate) kind: ProcedureKind,
    pub(crate) definition: Vec<u8>,
}

impl ProcedureDefinition {
    /// Reads it from a row of `osier_procedure_versions`.
    pub(crate) fn of(row: &Row<'_>) -> Result<ProcedureDefinition, SchemaError> {
        let Some(kind) = ProcedureKind::named(row.text(KIND)) else {
            let reason = format!("there is no kind of procedures `{}`", row.text(KIND));
            return Err(SchemaError::CorruptRow { table: row.schema().name().to_owned(), reason });
        };
        let name = row.text(ColumnId(2)).to_owned();
        Ok(ProcedureDefinition { name, kind, definition: row.bytes(DEFINITION).to_vec() })
    }
}

/// A handle on the current version of a procedure: good until the procedure is replaced or dropped.
#[derive(Clone)]
pub(crate) struct Procedure {
    parts: Arc<ProcedureParts>,
}

struct ProcedureParts {
    name: String,
    of: VersionKey,
    stamp: RowStamp,
}

impl Procedure {
    /// A handle made from a committed row, or (without a stamp) by the transaction that writes it.
    pub(crate) fn new(name: &str, of: VersionKey, stamp: Option<Stamp>) -> Procedure {
        Procedure { parts: Arc::new(ProcedureParts { name: name.to_owned(), of, stamp: RowStamp::new(stamp) }) }
    }

    /// Returns which version it is.
    pub(crate) fn version(&self) -> VersionKey {
        self.parts.of
    }

    /// Returns the stamp of the row that it was made from; `None` where that has not committed.
    pub(crate) fn stamp(&self) -> Option<Stamp> {
        self.parts.stamp.get()
    }

    /// The transaction that wrote the row has committed with `stamp`.
    pub(crate) fn committed(&self, stamp: Stamp) {
        self.parts.stamp.commit(stamp);
    }
}

impl Handle for Procedure {
    fn name(&self) -> &str {
        &self.parts.name
    }

    fn is_same(&self, other: &Procedure) -> bool {
        Arc::ptr_eq(&self.parts, &other.parts)
    }

    fn is_of_same_object(&self, other: &Procedure) -> bool {
        self.parts.of.id == other.parts.of.id
    }
}
