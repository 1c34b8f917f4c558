//! Creating, replacing and dropping procedures: ordinary writes of the catalog.

use std::sync::Arc;

use super::compiled::Lookup;
use super::opaque::{OpaqueProcedure, Procedures};
use crate::catalog::procedure::{ProcedureDefinition, ProcedureKind, VersionKey};
use crate::error::{Error, ProcedureError};
use crate::ids::ProcedureVersion;
use crate::procedure::compile::compile;
use crate::procedure::program::Program;
use crate::procedure::stored;
use crate::transaction::Transaction;

impl Transaction<'_> {
    /// Creates a procedure. It can be called at once, by this transaction.
    ///
    /// # Errors
    /// [`ProcedureError::Exists`]; [`ProcedureError::Invalid`] where it makes no sense with the tables, sequences and procedures
    /// that there are.
    pub fn create_procedure(&self, program: &Program) -> Result<(), Error> {
        self.refuse_at_snapshot("change a procedure")?;
        if self.procedure_definition(&program.name)?.is_some() {
            return Err(ProcedureError::Exists { procedure: program.name.clone() }.into());
        }
        self.replace_procedure(program)
    }

    /// Creates a procedure, or puts it in place of the one with its name. Calls that began before finish with what they began
    /// with, or run again with the new one.
    ///
    /// # Errors
    /// [`ProcedureError::Invalid`], as for [`Transaction::create_procedure`]; [`ProcedureError::FunctionExists`] where the name
    /// is that of a function.
    pub fn replace_procedure(&self, program: &Program) -> Result<(), Error> {
        self.refuse_at_snapshot("change a procedure")?;
        if let Some((_, definition)) = self.procedure_definition(&program.name)?
            && definition.kind == ProcedureKind::Opaque
        {
            return Err(ProcedureError::FunctionExists { procedure: program.name.clone() }.into());
        }
        compile(Arc::new(program.clone()), &Lookup::new(self))?;
        self.define_procedure(&program.name, ProcedureKind::Declared, &stored::encode(program), None)
    }

    /// Removes a procedure. Procedures that call it cannot be called any more.
    ///
    /// # Errors
    /// [`ProcedureError::Unknown`].
    pub fn drop_procedure(&self, name: &str) -> Result<(), Error> {
        self.refuse_at_snapshot("change a procedure")?;
        match self.erase_procedure(name)? {
            true => Ok(()),
            false => Err(ProcedureError::Unknown { procedure: name.to_owned() }.into()),
        }
    }

    /// Returns the program of a declared procedure.
    ///
    /// # Errors
    /// [`ProcedureError::Unknown`]; [`ProcedureError::Opaque`] where it has no program.
    pub fn procedure(&self, name: &str) -> Result<Program, Error> {
        match self.procedure_definition(name)? {
            None => Err(ProcedureError::Unknown { procedure: name.to_owned() }.into()),
            Some((_, definition)) if definition.kind == ProcedureKind::Opaque => {
                Err(ProcedureError::Opaque { procedure: name.to_owned() }.into())
            }
            Some((_, definition)) => stored::decode(name, &definition.definition),
        }
    }

    /// Makes the newest version of each registered function that of the catalog.
    pub(crate) fn define_registered(&self, registered: &Procedures) -> Result<(), Error> {
        for procedure in registered.newest() {
            let OpaqueProcedure { name, version, .. } = &*procedure;
            match self.procedure_definition(name)? {
                // Calls of the function that was dropped may be in the log; the name is the declared one's.
                Some((_, definition)) if definition.kind == ProcedureKind::Declared => {
                    if !self.has_had_function(name)? {
                        return Err(ProcedureError::DeclaredExists { procedure: name.clone() }.into());
                    }
                }
                Some((handle, _)) if handle.version().version == *version => {}
                Some((handle, _)) if handle.version().version > *version => {
                    let (procedure, version) = (name.clone(), handle.version().version.0);
                    return Err(ProcedureError::NotRegistered { procedure, version }.into());
                }
                _ => self.define_procedure(name, ProcedureKind::Opaque, &[], Some(*version))?,
            }
        }
        Ok(())
    }

    /// Whether the catalog keeps a version of a procedure of this name that is a function.
    fn has_had_function(&self, name: &str) -> Result<bool, Error> {
        for version in self.procedure_versions()? {
            let is_one = |of: ProcedureDefinition| of.kind == ProcedureKind::Opaque && of.name == name;
            if self.procedure_version(version)?.is_some_and(is_one) {
                return Ok(true);
            }
        }
        Ok(false)
    }

    fn define_procedure(
        &self,
        name: &str,
        kind: ProcedureKind,
        definition: &[u8],
        version: Option<ProcedureVersion>,
    ) -> Result<(), Error> {
        self.collect_versions()?;
        let of = match self.procedure_definition(name)? {
            Some((handle, _)) => {
                let VersionKey { id, version } = handle.version();
                VersionKey { id, version: ProcedureVersion(version.0 + 1) }
            }
            None => VersionKey { id: self.next_procedure_id(), version: ProcedureVersion(1) },
        };
        let of = VersionKey { version: version.unwrap_or(of.version), ..of };
        self.write_procedure(name, of, kind, definition).map(|_| ())
    }
}
