//! Calls of procedures: their arguments as the parameters are declared.

use osier::call::Signature;
use sqlparser::ast::{self, FunctionArg, FunctionArgExpr};

use super::Binder;
use super::scope::{Level, Typed};
use crate::error::{Result, SqlError, SqlState};
use crate::expr::Expr;
use crate::parse;
use crate::types::{Declared, Type};
use crate::value::Conversion;
use crate::value::storage::declared_of;

/// How a call of a procedure is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Written {
    /// `CALL f()`.
    Call,
    /// `SELECT f()`.
    Value,
    /// `SELECT * FROM f()`.
    Table,
}

/// How SQL declares a parameter or a result.
pub(crate) fn declared(ty: osier::procedure::program::DataType) -> Result<Declared> {
    let element: Declared = declared_of(ty.ty);
    if !ty.is_array {
        return Ok(element);
    }
    let array = element.ty.array().ok_or_else(|| SqlError::unsupported(format!("an array of {}", element.ty)))?;
    Ok(Declared { ty: array, modifier: element.modifier })
}

/// The type of the elements of an array, or of the value itself.
pub(crate) fn element_of(declared: Declared) -> Declared {
    Declared { ty: declared.ty.element().unwrap_or(declared.ty), modifier: declared.modifier }
}

impl Binder<'_> {
    /// Binds the arguments of a call.
    pub(crate) fn procedure_arguments(
        &self,
        signature: &Signature,
        call: &ast::Function,
        written: Written,
    ) -> Result<Vec<Expr>> {
        let level = Level::new(None, &self.registers);
        level.refuse_aggregates("CALL arguments");
        let given = match &call.args {
            ast::FunctionArguments::List(list) if list.duplicate_treatment.is_none() && list.clauses.is_empty() => {
                &list.args[..]
            }
            ast::FunctionArguments::None => &[],
            _ => return Err(SqlError::new(SqlState::SyntaxError, "a call takes expressions").at_node(&call.name)),
        };
        let parameters = signature.parameters();
        let mut bound: Vec<Option<Typed>> = vec![None; parameters.len().max(given.len())];
        for (at, argument) in given.iter().enumerate() {
            let (at, expr) = match argument {
                FunctionArg::Unnamed(FunctionArgExpr::Expr(expr)) => (Some(at), expr),
                FunctionArg::Named { name, arg: FunctionArgExpr::Expr(expr), .. } => {
                    (parameters.iter().position(|field| field.name == parse::name(name)), expr)
                }
                FunctionArg::ExprNamed {
                    name: ast::Expr::Identifier(name), arg: FunctionArgExpr::Expr(expr), ..
                } => (parameters.iter().position(|field| field.name == parse::name(name)), expr),
                _ => return Err(SqlError::new(SqlState::SyntaxError, "a call takes expressions").at_node(&call.name)),
            };
            let typed = self.expr(expr, &level)?;
            if typed.expr.any(&|part| matches!(part, Expr::Subquery(_))) {
                return Err(SqlError::unsupported("a subquery in an argument of a call")
                    .with_hint("Query the value first, or let the procedure read it.")
                    .at_node(expr));
            }
            match at.and_then(|at| bound.get_mut(at)) {
                Some(place @ None) => *place = Some(typed),
                _ => return Err(self.no_procedure(signature.name(), &[typed.declared.ty], call, written)),
            }
        }
        let types: Vec<Type> = bound.iter().flatten().map(|typed| typed.declared.ty).collect();
        if given.len() != parameters.len() {
            return Err(self.no_procedure(signature.name(), &types, call, written));
        }
        let mut arguments = Vec::with_capacity(parameters.len());
        for (typed, field) in bound.into_iter().flatten().zip(parameters) {
            let converted = self.convert(typed, declared(field.ty)?, Conversion::Implicit);
            arguments.push(converted.map_err(|error| match error.state {
                SqlState::DatatypeMismatch => self.no_procedure(signature.name(), &types, call, written),
                _ => error,
            })?);
        }
        Ok(arguments)
    }

    /// The error of a call that no procedure fits.
    pub(crate) fn no_procedure(&self, name: &str, types: &[Type], call: &ast::Function, written: Written) -> SqlError {
        let kind = if written == Written::Call { "procedure" } else { "function" };
        let types: Vec<String> = types.iter().map(ToString::to_string).collect();
        let message = format!("{kind} {name}({}) does not exist", types.join(", "));
        let hint =
            format!("No {kind} matches the given name and argument types. You might need to add explicit type casts.");
        SqlError::new(SqlState::UndefinedFunction, message).with_hint(hint).at_node(&call.name)
    }

    /// The types that arguments of a call have by themselves, for the error of one that means nothing.
    pub(crate) fn types_of(&self, call: &ast::Function) -> Result<Vec<Type>> {
        let level = Level::new(None, &self.registers);
        level.refuse_aggregates("CALL arguments");
        match &call.args {
            ast::FunctionArguments::List(list) => {
                Ok(self.arguments(list, &level)?.iter().map(|typed| typed.declared.ty).collect())
            }
            _ => Ok(Vec::new()),
        }
    }

    /// Whether there is a procedure of this name.
    pub(crate) fn has_procedure(&self, name: &str) -> Result<bool> {
        self.names.has_procedure(name)
    }

    /// Says of a function that is not there that it is a procedure, if it is one.
    pub(crate) fn undefined(&self, name: &str, error: SqlError) -> SqlError {
        match self.names.has_procedure(name) {
            Ok(true) => SqlError::unsupported(format!("a call of the procedure \"{name}\" within a larger statement"))
                .with_hint(format!(
                    "Call it by itself: CALL {name}(...), SELECT {name}(...), or SELECT * FROM {name}(...)."
                )),
            Ok(false) => error,
            Err(failed) => failed,
        }
    }
}
