//! `CREATE SEQUENCE`, and the sequences that belong to columns.

use osier::{Error, SequenceOptions, TransactionError};
use sqlparser::ast::{self, SequenceOptions as Parsed, Statement};

use super::authority::Taken;
use super::blueprint::Blueprint;
use super::numbers::Numbers;
use super::{Defined, Definer};
use crate::catalog::name::{Name, made_name};
use crate::error::{Result, SqlError, SqlState};
use crate::parse;
use crate::parse::objects::SequenceOption;
use crate::types::Type;

impl Definer<'_, '_> {
    pub(super) fn create_sequence(&self, statement: &Statement) -> Result<Defined> {
        let Statement::CreateSequence { name, if_not_exists, data_type, sequence_options, owned_by, temporary } =
            statement
        else {
            unreachable!("the statement makes a sequence");
        };
        let name = self.new_name(name, *temporary)?;
        if matches!(self.claim(&name)?, Some(taken) if taken != Taken::Sequence) {
            let message = format!("relation \"{}\" already exists", name.name);
            return Err(SqlError::new(SqlState::DuplicateTable, message));
        }
        self.refuse_type_name(&name)?;
        let ty = data_type.as_ref().map(parse::data_type).transpose()?.map_or(Type::Int8, |declared| declared.ty);
        let numbers = Numbers::new(ty, &given(sequence_options))?;
        match self.transaction.create_sequence(&numbers.options(&name.engine())) {
            Ok(_) => {
                let is_private = self.settings.temporary().is_own(&name.schema);
                self.own_as(&name.engine(), self.user, is_private)?;
                match owned_by.as_ref().map(parse::parts).transpose()? {
                    Some(column) if column != ["none"] => self.link(&name, Some(&column))?,
                    _ => {}
                }
                Ok(Defined { is_private, ..Defined::tagged("CREATE SEQUENCE") })
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
        given: &[SequenceOption],
    ) -> Result<String> {
        let numbers = Numbers::new(ty, given).map_err(|error| match ty.is_integer() {
            true => error,
            false => {
                let message = "identity column type must be smallint, integer, or bigint";
                SqlError::new(SqlState::InvalidParameterValue, message)
            }
        })?;
        self.own_numbered(blueprint, column, &numbers)
    }

    /// As [`Definer::own_sequence`], of a sequence that counts so.
    pub(super) fn own_numbered(&self, blueprint: &Blueprint, column: &str, numbers: &Numbers) -> Result<String> {
        let named = |number: u32| {
            let label = if number == 0 { "seq".to_owned() } else { format!("seq{number}") };
            Name::new(&blueprint.name.schema, made_name(&blueprint.name.name, Some(column), &label)).engine()
        };
        let name = self.free_sequence(&named, &|name| numbers.options(&name))?;
        self.own(&name, &blueprint.owner)?;
        Ok(name)
    }

    /// Makes the sequence of a column under the name that is given for it.
    pub(super) fn called_sequence(
        &self,
        blueprint: &Blueprint,
        mut parts: Vec<String>,
        ty: Type,
        given: &[SequenceOption],
    ) -> Result<String> {
        let own = &blueprint.name.schema;
        let called = parts.pop().unwrap_or_default();
        let schema = parts.pop().map_or_else(|| own.clone(), |schema| self.settings.temporary().meant(schema));
        if schema != *own {
            let message = "sequence must be in same schema as table it is linked to";
            return Err(SqlError::new(SqlState::ObjectNotInPrerequisiteState, message));
        }
        let name = Name::new(schema, called);
        let taken = || SqlError::new(SqlState::DuplicateTable, format!("relation \"{}\" already exists", name.name));
        if self.claim(&name)?.is_some() {
            return Err(taken());
        }
        self.refuse_type_name(&name)?;
        let numbers = Numbers::new(ty, given)?;
        match self.transaction.create_sequence(&numbers.options(&name.engine())) {
            Ok(_) => {
                self.own(&name.engine(), &blueprint.owner)?;
                Ok(name.engine())
            }
            Err(Error::Transaction(TransactionError::SequenceExists { .. })) => Err(taken()),
            Err(error) => Err(error.into()),
        }
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

/// Options as the parser has read them.
pub(super) fn given(options: &[Parsed]) -> Vec<SequenceOption> {
    let text = |expr: &ast::Expr| expr.to_string().replace([' ', '+'], "");
    let option = |option: &Parsed| match option {
        Parsed::IncrementBy(expr, _) => SequenceOption::Increment(text(expr)),
        Parsed::MinValue(expr) => SequenceOption::Minimum(expr.as_ref().map(text)),
        Parsed::MaxValue(expr) => SequenceOption::Maximum(expr.as_ref().map(text)),
        Parsed::StartWith(expr, _) => SequenceOption::Start(text(expr)),
        Parsed::Cache(expr) => SequenceOption::Cache(text(expr)),
        Parsed::Cycle(is_without) => SequenceOption::Cycle(!is_without),
    };
    options.iter().map(option).collect()
}
