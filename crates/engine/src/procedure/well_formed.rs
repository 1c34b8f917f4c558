//! placeholder until the language part is merged
use super::program::{Program, Statement};
use crate::error::ProcedureError;
pub(crate) fn place(_statement: &Statement, number: u32) -> String {
    format!("statement {number}")
}
impl Program {
    pub fn check_form(&self) -> Result<(), ProcedureError> {
        Ok(())
    }
}
