//! `ALTER SEQUENCE`: what a sequence counts by, and the column that it belongs to.
//!
//! Invariant: a sequence that is made anew keeps its name, its owner and who may use it; values that sessions have taken before
//! are not given any more.

use std::sync::Arc;

use osier::{SequenceOptions, Value};

use super::blueprint::Blueprint;
use super::{Defined, Definer};
use crate::catalog::name::Name;
use crate::catalog::relation::Relation;
use crate::error::{Result, SqlError, SqlState};
use crate::parse;
use crate::parse::objects::SequenceOption;
use crate::types::Type;

/// How many values a session takes at once: more leave larger gaps, fewer make sessions wait for each other.
const CACHE: i64 = 32;

/// What a sequence counts by.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Numbers {
    increment: i64,
    minimum: i64,
    maximum: i64,
    start: i64,
    cache: i64,
    cycles: bool,
    /// The next value; `None`: there is no value left.
    next: Option<i64>,
}

fn refused<T>(message: impl Into<String>) -> Result<T> {
    Err(SqlError::new(SqlState::InvalidParameterValue, message))
}

/// A number that stands in a statement.
fn number(text: &str) -> Result<i64> {
    text.parse().map_err(|_| {
        SqlError::new(SqlState::NumericValueOutOfRange, format!("value \"{text}\" is out of range for type bigint"))
    })
}

/// The least and the greatest value of a type.
fn range_of(ty: Type) -> Result<(i64, i64)> {
    match ty {
        Type::Int2 => Ok((i16::MIN.into(), i16::MAX.into())),
        Type::Int4 => Ok((i32::MIN.into(), i32::MAX.into())),
        Type::Int8 => Ok((i64::MIN, i64::MAX)),
        _ => refused("sequence type must be smallint, integer, or bigint"),
    }
}

/// The type whose greatest or least value bounds a sequence: the engine keeps the bounds alone.
pub(crate) fn type_of(bound: i64) -> Type {
    let is_of = |ty| range_of(ty).is_ok_and(|(least, greatest)| bound == least || bound == greatest);
    [Type::Int2, Type::Int4].into_iter().find(|ty| is_of(*ty)).unwrap_or(Type::Int8)
}

impl Numbers {
    /// What a new sequence counts by.
    pub(super) fn new(ty: Type, options: &[SequenceOption]) -> Result<Numbers> {
        let (minimum, maximum) = (1, range_of(ty)?.1);
        let mut numbers =
            Numbers { increment: 1, minimum, maximum, start: 1, cache: CACHE, cycles: false, next: Some(1) };
        let is_given = |is: fn(&SequenceOption) -> bool| options.iter().any(is);
        let mut all = vec![];
        if !is_given(|option| matches!(option, SequenceOption::Minimum(_))) {
            all.push(SequenceOption::Minimum(None));
        }
        if !is_given(|option| matches!(option, SequenceOption::Maximum(_))) {
            all.push(SequenceOption::Maximum(None));
        }
        all.extend_from_slice(options);
        numbers.take(ty, &all)?;
        if !is_given(|option| matches!(option, SequenceOption::Start(_))) {
            numbers.start = if numbers.increment < 0 { numbers.maximum } else { numbers.minimum };
        }
        numbers.next = Some(numbers.start);
        numbers.check(ty)?;
        Ok(numbers)
    }

    /// Changes what options say.
    fn take(&mut self, ty: Type, options: &[SequenceOption]) -> Result<()> {
        let increment = options.iter().find_map(|option| match option {
            SequenceOption::Increment(step) => Some(number(step)),
            _ => None,
        });
        self.increment = increment.transpose()?.unwrap_or(self.increment);
        let (least, greatest) = range_of(ty)?;
        for option in options {
            match option {
                SequenceOption::Minimum(Some(bound)) => self.minimum = number(bound)?,
                SequenceOption::Minimum(None) => self.minimum = if self.increment < 0 { least } else { 1 },
                SequenceOption::Maximum(Some(bound)) => self.maximum = number(bound)?,
                SequenceOption::Maximum(None) => self.maximum = if self.increment < 0 { -1 } else { greatest },
                SequenceOption::Start(value) => self.start = number(value)?,
                SequenceOption::Cache(count) => self.cache = number(count)?,
                SequenceOption::Cycle(cycles) => self.cycles = *cycles,
                SequenceOption::Type(_)
                | SequenceOption::Increment(_)
                | SequenceOption::OwnedBy(_)
                | SequenceOption::Restart(_) => {}
            }
        }
        Ok(())
    }

    /// Refuses what does not go together.
    fn check(&self, ty: Type) -> Result<()> {
        let Numbers { increment, minimum, maximum, start, cache, next, .. } = *self;
        let (least, greatest) = range_of(ty)?;
        if increment == 0 {
            return refused("INCREMENT must not be zero");
        }
        for (bound, what) in [(maximum, "MAXVALUE"), (minimum, "MINVALUE")] {
            if !(least..=greatest).contains(&bound) {
                return refused(format!("{what} ({bound}) is out of range for sequence data type {ty}"));
            }
        }
        if minimum >= maximum {
            return refused(format!("MINVALUE ({minimum}) must be less than MAXVALUE ({maximum})"));
        }
        for (value, what) in [(start, "START"), (next.unwrap_or(start), "RESTART")] {
            if value < minimum {
                return refused(format!("{what} value ({value}) cannot be less than MINVALUE ({minimum})"));
            }
            if value > maximum {
                return refused(format!("{what} value ({value}) cannot be greater than MAXVALUE ({maximum})"));
            }
        }
        if cache < 1 {
            return refused(format!("CACHE ({cache}) must be greater than zero"));
        }
        Ok(())
    }

    /// What the engine makes a sequence of.
    pub(super) fn options(&self, name: &str) -> SequenceOptions {
        SequenceOptions::new(name)
            .increment(self.increment)
            .minimum(self.minimum)
            .maximum(self.maximum)
            .start(self.start)
            .cache(self.cache)
            .cycle(self.cycles)
    }
}

impl Definer<'_, '_> {
    /// What a sequence counts by, as the engine names it.
    pub(super) fn numbers(&self, engine: &str) -> Result<Numbers> {
        let system = self.transaction.table("osier_sequences")?;
        let Some(row) = self.transaction.get(&system, &[Value::Text(engine)])? else {
            let message = format!("relation \"{}\" does not exist", Name::of_engine(engine).name);
            return Err(SqlError::new(SqlState::UndefinedTable, message));
        };
        let int = |column: &str| Ok::<i64, SqlError>(row.int(system.column(column)?));
        let next = system.column("next")?;
        Ok(Numbers {
            increment: int("increment")?,
            minimum: int("minimum")?,
            maximum: int("maximum")?,
            start: int("start")?,
            cache: int("cache")?,
            cycles: row.boolean(system.column("cycle")?),
            next: (!row.is_null(next)).then(|| row.int(next)),
        })
    }

    /// `ALTER SEQUENCE` with options.
    pub(super) fn alter_sequence(&self, name: &Name, options: &[SequenceOption]) -> Result<Defined> {
        for option in options {
            if let SequenceOption::OwnedBy(column) = option {
                self.link(name, column.as_deref())?;
            }
        }
        self.renumber(&name.engine(), options)?;
        Ok(Defined::tagged("ALTER SEQUENCE"))
    }

    /// Has a sequence count in another way.
    pub(super) fn renumber(&self, engine: &str, options: &[SequenceOption]) -> Result<()> {
        let old = self.numbers(engine)?;
        let mut new = old.clone();
        let bound = if old.increment < 0 { old.minimum } else { old.maximum };
        let mut ty = type_of(bound);
        let mut all = Vec::new();
        for option in options {
            let SequenceOption::Type(named) = option else { continue };
            // Bounds that are those of the old type become those of the new one.
            let is_of_type = range_of(ty).is_ok_and(|(least, greatest)| bound == least || bound == greatest);
            ty = parse::declared(named)?.ty;
            range_of(ty)?;
            if is_of_type {
                let reset = if old.increment < 0 { SequenceOption::Minimum } else { SequenceOption::Maximum };
                all.push(reset(None));
            }
        }
        all.extend_from_slice(options);
        new.take(ty, &all)?;
        let restart = options.iter().find_map(|option| match option {
            SequenceOption::Restart(value) => Some(value.as_deref()),
            _ => None,
        });
        match restart {
            Some(Some(value)) => new.next = Some(number(value)?),
            Some(None) => new.next = Some(new.start),
            // It goes on behind the bound that it has reached, where that is moved.
            None if old.next.is_none() => {
                let next = bound.checked_add(new.increment).filter(|next| (new.minimum..=new.maximum).contains(next));
                let other_bound = if new.increment < 0 { new.maximum } else { new.minimum };
                new.next = next.or(new.cycles.then_some(other_bound));
            }
            None => {}
        }
        new.check(ty)?;
        let sequence = self.transaction.sequence(engine)?;
        if (Numbers { next: old.next, ..new.clone() }) == old {
            return match new.next.filter(|_| new.next != old.next || restart.is_some()) {
                Some(next) => Ok(self.transaction.restart_sequence(&sequence, Some(next))?),
                None => Ok(()),
            };
        }
        self.transaction.drop_sequence(&sequence)?;
        let sequence = self.transaction.create_sequence(&new.options(engine))?;
        let is_exhausted = new.next.is_none();
        let last = if new.increment < 0 { new.minimum } else { new.maximum };
        self.transaction.restart_sequence(&sequence, Some(new.next.unwrap_or(last)))?;
        if is_exhausted {
            self.transaction.next_value(&sequence)?;
        }
        Ok(())
    }

    /// Makes a sequence belong to a column, which is named with its table, or to none.
    pub(super) fn link(&self, sequence: &Name, column: Option<&[String]>) -> Result<()> {
        let engine = sequence.engine();
        let before = self.column_of_sequence(sequence)?;
        if let Some((relation, at)) = &before
            && relation.columns[*at].identity.is_some()
        {
            let message = "cannot change ownership of identity sequence";
            let detail = format!("Sequence \"{}\" is linked to table \"{}\".", sequence.name, relation.name.name);
            return Err(SqlError::new(SqlState::FeatureNotSupported, message).with_detail(detail));
        }
        let target = match column {
            None => None,
            Some([_]) => {
                return Err(SqlError::new(SqlState::SyntaxError, "invalid OWNED BY option")
                    .with_hint("Specify OWNED BY table.column or OWNED BY NONE."));
            }
            Some([table @ .., column]) => Some((table, column)),
            Some([]) => None,
        };
        let owner = self.sequence_owner(sequence)?;
        if let Some((relation, at)) = &before {
            let mut blueprint = Blueprint::of(relation);
            blueprint.columns[*at].sequence = None;
            self.transaction.annotate_table(&relation.table, blueprint.schema()?.notes().to_owned())?;
        }
        let Some((table, column)) = target else { return self.on_its_own(sequence, before.as_ref()) };
        let idents = table.iter().map(|part| sqlparser::ast::Ident::with_quote('"', part));
        let relation = self.relation(&idents.collect::<Vec<_>>().into())?;
        if relation.is_materialized() {
            let message = format!("sequence cannot be owned by relation \"{}\"", relation.name.name);
            return Err(SqlError::new(SqlState::WrongObjectType, message)
                .with_detail("This operation is not supported for materialized views."));
        }
        let refused = |what: &str| {
            let message = format!("sequence must {what} table it is linked to");
            Err(SqlError::new(SqlState::ObjectNotInPrerequisiteState, message))
        };
        if relation.notes.owner != owner {
            return refused("have same owner as");
        }
        if relation.name.schema != sequence.schema {
            return refused("be in same schema as");
        }
        let mut blueprint = Blueprint::of(&relation);
        let plan = blueprint.column_mut(column)?;
        if plan.sequence.as_ref().is_some_and(|known| *known != engine) {
            return Err(SqlError::unsupported(format!("a second sequence that belongs to column \"{column}\""))
                .with_hint("Give up the first one with ALTER SEQUENCE ... OWNED BY NONE."));
        }
        plan.sequence = Some(engine);
        self.transaction.annotate_table(&relation.table, blueprint.schema()?.notes().to_owned())?;
        Ok(())
    }

    /// A sequence belongs to no table any more: a temporary one is so by itself from now on.
    fn on_its_own(&self, sequence: &Name, before: Option<&(Arc<Relation>, usize)>) -> Result<()> {
        match before {
            Some((relation, _)) if self.settings.temporary().is_own(&sequence.schema) => {
                self.own_as(&sequence.engine(), &relation.notes.owner, true)
            }
            _ => Ok(()),
        }
    }
}
