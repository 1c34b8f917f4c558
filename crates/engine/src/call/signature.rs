//! What a procedure takes and returns, for whoever prepares calls of it.

use super::compiled::{Body, Compiled};
use crate::catalog::handles::Handle;
use crate::catalog::procedure::VersionKey;
use crate::procedure::program::{Field, Results};

/// What one version of a procedure takes and returns.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Signature {
    pub(super) name: String,
    pub(super) version: VersionKey,
    parameters: Vec<Field>,
    results: Results,
}

impl Signature {
    /// Returns the name of the procedure.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Returns the parameters, in the order in which a call gives them.
    pub fn parameters(&self) -> &[Field] {
        &self.parameters
    }

    /// Returns what the procedure returns: nothing, one row, or rows.
    pub fn results(&self) -> &Results {
        &self.results
    }
}

impl Compiled {
    /// What it takes and returns.
    pub(super) fn signature(&self) -> Signature {
        let (parameters, results) = match &self.body {
            Body::Declared { code, .. } => (&code.program.parameters, &code.program.results),
            Body::Opaque(function) => (&function.parameters, &*function.results),
        };
        let (name, version) = (self.handle.name().to_owned(), self.handle.version());
        Signature { name, version, parameters: parameters.clone(), results: results.clone() }
    }
}
