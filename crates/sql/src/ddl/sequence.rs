//! `CREATE SEQUENCE`, and the sequences that belong to columns.

use osier::{Error, SequenceOptions, TransactionError};
use sqlparser::ast::{self, SequenceOptions as Option_, Statement};

use super::authority::Taken;
use super::blueprint::Blueprint;
use super::{Defined, Definer};
use crate::catalog::name::{Name, made_name};
use crate::error::{Result, SqlError, SqlState};
use crate::parse;
use crate::types::Type;

/// How many values a session takes at once: more leave larger gaps, fewer make sessions wait for each other.
const CACHE: i64 = 32;

impl Definer<'_, '_> {
    pub(super) fn create_sequence(&self, statement: &Statement) -> Result<Defined> {
        let Statement::CreateSequence { name, if_not_exists, data_type, sequence_options, .. } = statement else {
            unreachable!("the statement makes a sequence");
        };
        let name = self.new_name(name)?;
        if matches!(self.taken(&name)?, Some(taken) if taken != Taken::Sequence) {
            let message = format!("relation \"{}\" already exists", name.name);
            return Err(SqlError::new(SqlState::DuplicateTable, message));
        }
        let ty = data_type.as_ref().map(parse::data_type).transpose()?.map_or(Type::Int8, |declared| declared.ty);
        match self.transaction.create_sequence(&options(name.engine(), ty, sequence_options)?) {
            Ok(_) => {
                self.own(&name.engine(), self.user)?;
                Ok(Defined::tagged("CREATE SEQUENCE"))
            }
            Err(Error::Transaction(TransactionError::SequenceExists { .. })) => {
                let message = format!("relation \"{}\" already exists", name.name);
                if *if_not_exists {
                    let message = format!("{message}, skipping");
                    return Ok(Defined::noticed("CREATE SEQUENCE", SqlState::DuplicateTable, message));
                }
                Err(SqlError::new(SqlState::DuplicateTable, message))
            }
            Err(error) => Err(error.into()),
        }
    }

    /// Makes the sequence of a column, and returns its name.
    pub(super) fn own_sequence(
        &self,
        blueprint: &Blueprint,
        column: &str,
        ty: Type,
        given: &[Option_],
    ) -> Result<String> {
        if !ty.is_integer() {
            let message = "identity column type must be smallint, integer, or bigint";
            return Err(SqlError::new(SqlState::InvalidParameterValue, message));
        }
        let named = |number: u32| {
            let label = if number == 0 { "seq".to_owned() } else { format!("seq{number}") };
            Name::new(&blueprint.name.schema, made_name(&blueprint.name.name, Some(column), &label)).engine()
        };
        options(named(0), ty, given)?;
        let make = |name| options(name, ty, given).expect("they were good under another name");
        let name = self.free_sequence(&named, &make)?;
        self.own(&name, &blueprint.owner)?;
        Ok(name)
    }

    /// Makes a sequence under the first of numbered names that is free, and returns it.
    pub(super) fn free_sequence(
        &self,
        named: &dyn Fn(u32) -> String,
        make: &dyn Fn(String) -> SequenceOptions,
    ) -> Result<String> {
        for number in 0_u32.. {
            let name = named(number);
            if self.transaction.table(&name).is_ok() || self.objects()?.views.contains_key(&Name::of_engine(&name)) {
                continue;
            }
            match self.transaction.create_sequence(&make(name.clone())) {
                Ok(_) => return Ok(name),
                Err(Error::Transaction(TransactionError::SequenceExists { .. })) => {}
                Err(error) => return Err(error.into()),
            }
        }
        unreachable!("one of all numbers is free")
    }
}

/// What the engine makes a sequence of.
fn options(name: String, ty: Type, given: &[Option_]) -> Result<SequenceOptions> {
    let (least, greatest) = match ty {
        Type::Int2 => (i64::from(i16::MIN), i64::from(i16::MAX)),
        Type::Int4 => (i64::from(i32::MIN), i64::from(i32::MAX)),
        _ => (i64::MIN, i64::MAX),
    };
    let mut options = SequenceOptions::new(name).cache(CACHE);
    let is_descending = given.iter().any(|option| match option {
        Option_::IncrementBy(expr, _) => number(expr).is_ok_and(|step| step < 0),
        _ => false,
    });
    options = if is_descending { options.minimum(least) } else { options.maximum(greatest) };
    for option in given {
        options = match option {
            Option_::IncrementBy(expr, _) => options.increment(number(expr)?),
            Option_::MinValue(Some(expr)) => options.minimum(number(expr)?),
            Option_::MaxValue(Some(expr)) => options.maximum(number(expr)?),
            Option_::MinValue(None) | Option_::MaxValue(None) => options,
            Option_::StartWith(expr, _) => options.start(number(expr)?),
            Option_::Cache(expr) => options.cache(number(expr)?),
            Option_::Cycle(is_without) => options.cycle(!is_without),
        };
    }
    Ok(options)
}

/// A number that stands in a statement.
fn number(expr: &ast::Expr) -> Result<i64> {
    let text = expr.to_string().replace(' ', "");
    text.parse().map_err(|_| SqlError::new(SqlState::SyntaxError, format!("\"{text}\" is no whole number")))
}
