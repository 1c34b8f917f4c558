//! The dependency graphs of the procedures that a database has.

use super::compiled::Body;
use crate::catalog::procedure::ProcedureKind;
use crate::error::{Error, ProcedureError};
use crate::procedure::analysis::{Analysed, Decomposition, Dependencies, ProcedureGraph};
use crate::procedure::code::Code;
use crate::transaction::Transaction;

impl Transaction<'_> {
    /// Divides procedures into slices, and returns their local dependency graphs and the global one (PACMAN, section 4.1).
    /// `names` are the procedures; all that there are where it is empty. Of a procedure that another one calls the statements
    /// are a part of that one, too. A function of the program is one slice, which may access anything.
    ///
    /// # Errors
    /// [`ProcedureError::Unknown`]; [`ProcedureError::Invalid`] where a procedure does not fit the tables and procedures that
    /// there are any more.
    pub fn procedure_graph(
        &self,
        names: &[String],
        by: Dependencies,
        decomposition: Decomposition,
    ) -> Result<ProcedureGraph, Error> {
        let names = match names {
            [] => self.procedures()?.into_iter().map(|of| of.name).collect(),
            names => names.to_vec(),
        };
        let codes = names.iter().map(|name| self.code(name)).collect::<Result<Vec<_>, _>>()?;
        let analysed: Vec<Analysed<'_>> = names.into_iter().zip(codes.iter().map(Option::as_ref)).collect();
        Ok(ProcedureGraph::of(&analysed, by, decomposition))
    }

    /// Returns the code of a procedure; `None` of a function of the program.
    fn code(&self, name: &str) -> Result<Option<Code>, Error> {
        let Some((handle, definition)) = self.procedure_definition(name)? else {
            return Err(ProcedureError::Unknown { procedure: name.to_owned() }.into());
        };
        if definition.kind == ProcedureKind::Opaque {
            return Ok(None);
        }
        match Body::of(self, name, &handle, &definition)? {
            Body::Declared { code, .. } => Ok(Some(code)),
            Body::Opaque(_) => Ok(None),
        }
    }
}
