//! Which procedures there are, for people.

use super::opaque::Procedures;
use crate::catalog::procedure::{ProcedureDefinition, ProcedureKind, VersionKey};
use crate::error::{Error, ProcedureError};
use crate::ids::ProcedureVersion;
use crate::procedure::program::{Field, Program, Results};
use crate::procedure::stored;
use crate::table::KeyRange;
use crate::transaction::Transaction;

/// A procedure, as [`Transaction::procedures`] lists it.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct ListedProcedure {
    /// The name.
    pub name: String,
    /// The version that calls run.
    pub version: u32,
    /// Whether it is a function of the program that opens the database; else it is a program that the database holds.
    pub is_opaque: bool,
    /// What a call gives; `None` of a function that this program has not registered.
    pub parameters: Option<Vec<Field>>,
    /// What a call returns; `None` as for the parameters.
    pub results: Option<Results>,
    /// The earlier versions that the catalog holds.
    pub kept: Vec<u32>,
}

impl ListedProcedure {
    /// Returns parameters and results as a declaration has them.
    pub fn signature(&self) -> String {
        let (Some(parameters), Some(results)) = (&self.parameters, &self.results) else {
            return "(not registered by this program)".to_owned();
        };
        let listed = |fields: &[Field]| {
            let fields: Vec<_> = fields.iter().map(|field| format!("{} {}", field.name, field.ty)).collect();
            fields.join(", ")
        };
        let returns = match results {
            Results::Nothing => String::new(),
            Results::Values(fields) => format!(" returns ({})", listed(fields)),
            Results::Set(fields) => format!(" returns set ({})", listed(fields)),
        };
        format!("({}){returns}", listed(parameters))
    }
}

impl Transaction<'_> {
    /// Returns all procedures, in the order of their names.
    ///
    /// # Errors
    /// A conflict; a definition that cannot be read.
    pub fn procedures(&self) -> Result<Vec<ListedProcedure>, Error> {
        let all = self.procedure_versions()?;
        let current = self.table("osier_procedures")?;
        let rows = self.scan(&current, KeyRange::all())?;
        let names: Result<Vec<String>, Error> =
            rows.map(|row| Ok(VersionKey::of_current(&row?).0.to_owned())).collect();
        let listed = names?.into_iter().map(|name| self.listed(name, &all));
        listed.collect()
    }

    fn listed(&self, name: String, all: &[VersionKey]) -> Result<ListedProcedure, Error> {
        let (of, definition) = self.current(&name)?;
        let (parameters, results) = match definition.kind {
            ProcedureKind::Declared => {
                let program = stored::decode(&name, &definition.definition)?;
                (Some(program.parameters), Some(program.results))
            }
            ProcedureKind::Opaque => match Procedures::of(self).find(&name, of.version) {
                Some(registered) => (Some(registered.parameters.clone()), Some((*registered.results).clone())),
                None => (None, None),
            },
        };
        let kept = all.iter().filter(|other| other.id == of.id && other.version < of.version);
        let kept = kept.map(|other| other.version.0).collect();
        let is_opaque = definition.kind == ProcedureKind::Opaque;
        Ok(ListedProcedure { name, version: of.version.0, is_opaque, parameters, results, kept })
    }

    /// Returns the program of an earlier version of a declared procedure, or of the present one.
    ///
    /// # Errors
    /// [`ProcedureError::Unknown`] where there is no such procedure; [`ProcedureError::UnknownVersion`] where the catalog does
    /// not hold the version (any more); [`ProcedureError::Opaque`] where it has no program.
    pub fn procedure_of_version(&self, name: &str, version: u32) -> Result<Program, Error> {
        let (of, _) = self.current(name)?;
        let of = VersionKey { version: ProcedureVersion(version), ..of };
        let procedure = name.to_owned();
        match self.procedure_version(of)? {
            None => Err(ProcedureError::UnknownVersion { procedure, version }.into()),
            Some(definition) if definition.kind == ProcedureKind::Opaque => {
                Err(ProcedureError::Opaque { procedure }.into())
            }
            Some(definition) => stored::decode(name, &definition.definition),
        }
    }

    fn current(&self, name: &str) -> Result<(VersionKey, ProcedureDefinition), Error> {
        let found = self.procedure_definition(name)?.map(|(handle, definition)| (handle.version(), definition));
        found.ok_or_else(|| ProcedureError::Unknown { procedure: name.to_owned() }.into())
    }
}
