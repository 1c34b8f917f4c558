//! `CREATE INDEX`: of columns, of expressions, and of the rows that a condition holds of.
//!
//! Expressions and conditions are columns that statements do not see, generated of the others: an index on an expression has the
//! column of its value, and one with a condition begins with a column that is true where the condition is, and NULL elsewhere.
//! Its expressions are computed where the condition holds: elsewhere they may have no value at all.
//!
//! Invariants:
//! - A computed column is there as long as some index has it, and there is one for each expression and condition.
//! - Its value follows from its row alone, whoever writes it.

use sqlparser::ast::{self, CreateIndex};

use super::blueprint::{Blueprint, IndexPlan, refuse_as_key};
use super::{Defined, Definer};
use crate::bind::Binder;
use crate::bind::forms::collated;
use crate::bind::from::columns_of;
use crate::bind::scope::{Level, Typed};
use crate::bind::select::index_label;
use crate::catalog::name::Name;
use crate::catalog::notes::{Computed, DESCENDING, NULLS_FIRST};
use crate::catalog::relation::Relation;
use crate::error::{Result, SqlError, SqlState};
use crate::expr::Expr;
use crate::parse;
use crate::types::{Declared, Type};

/// What an index is made of.
enum Part<'p> {
    Column(String),
    Expression(&'p ast::Expr),
}

impl Definer<'_, '_> {
    pub(super) fn create_index(&self, create: &CreateIndex) -> Result<Defined> {
        refuse_forms(create)?;
        let relation = self.relation(&create.table_name)?;
        self.need_table(&relation)?;
        let mut blueprint = Blueprint::of(&relation);
        let orders = orders(&create.columns);
        let parts = parts(&create.columns)?;
        for part in &parts {
            if let Part::Column(name) = part {
                if blueprint.column(name).is_none() {
                    let message = format!("column \"{name}\" does not exist");
                    return Err(SqlError::new(SqlState::UndefinedColumn, message));
                }
                blueprint.need_columns(std::slice::from_ref(name))?;
            }
        }
        let name = match &create.name {
            Some(name) => {
                let name = parse::parts(name)?.pop().unwrap_or_default();
                Name::new(&relation.name.schema, &name).check()?;
                name
            }
            None => self.index_name(&blueprint, None, Some(&labels(&parts)), "idx")?,
        };
        if self.claim(&Name::new(&relation.name.schema, &name))?.is_some() {
            let message = format!("relation \"{name}\" already exists");
            if create.if_not_exists {
                let message = format!("{message}, skipping");
                return Ok(Defined::noticed("CREATE INDEX", SqlState::DuplicateTable, message));
            }
            return Err(SqlError::new(SqlState::DuplicateTable, message));
        }
        let mut columns = Vec::with_capacity(parts.len() + 1);
        let condition = create.predicate.as_ref();
        let condition = condition.map(|expr| self.compute(&mut blueprint, expr, (Computed::Predicate, None)));
        let condition = condition.transpose()?;
        for part in parts {
            let column = match part {
                Part::Column(name) => name,
                Part::Expression(expr) => {
                    self.compute(&mut blueprint, expr, (Computed::Expression, condition.as_deref()))?
                }
            };
            if columns.contains(&column) && blueprint.column(&column).is_none() {
                return Err(SqlError::unsupported("an index that has an expression twice")
                    .with_hint("Leave it out the second time."));
            }
            columns.push(column);
        }
        columns.splice(0..0, condition);
        let had = Blueprint::of(&relation).columns.len();
        if blueprint.columns.len() > had {
            let is_unique = create.unique;
            blueprint.indexes.push(IndexPlan { name, columns, orders, is_unique, is_constraint: false });
            self.reach(&relation, &mut blueprint, &[])?;
        } else {
            let columns: Vec<&str> = columns.iter().map(String::as_str).collect();
            let kind = (create.unique, create.predicate.is_some());
            let table = self.add_index(&relation.table, &name, &columns, kind)?;
            if !orders.is_empty() {
                let mut blueprint = Blueprint::of(&*Relation::of(&table)?);
                for index in blueprint.indexes.iter_mut().filter(|index| index.name == name) {
                    index.orders.clone_from(&orders);
                }
                self.transaction.annotate_table(&table, blueprint.schema()?.notes().to_owned())?;
            }
        }
        Ok(Defined { is_private: relation.is_temporary(), ..Defined::tagged("CREATE INDEX") })
    }

    /// Adds the column that an expression or a condition is, if there is none yet; returns its name.
    fn compute(
        &self,
        blueprint: &mut Blueprint,
        expr: &ast::Expr,
        (computed, within): (Computed, Option<&str>),
    ) -> Result<String> {
        let names = self.names();
        let binder = Binder::new(&names, self.settings, &[]);
        // As it is written, so that an error has its place.
        bind_computed(&binder, blueprint, expr, computed)?;
        self.refuse_whole_row(blueprint, expr, computed)?;
        let text = parse::columns::unqualified(&self.kept(blueprint, expr)?, &blueprint.name.name);
        // They are read here.
        blueprint.unread.clear();
        let text = self.with_index_literals(blueprint, &text, computed)?;
        let place = parse::expression(&text)?;
        let bound = binder.keeping(|| bind_computed(&binder, blueprint, &place, computed));
        let bound = bound.map_err(SqlError::without_place)?;
        refuse_meaning(&bound.expr, computed)?;
        blueprint.compute(computed, &text, settled(bound.declared), within)
    }

    /// Refuses what has the row of the table as a whole: another column would change it, and no row is looked at then.
    fn refuse_whole_row(&self, blueprint: &Blueprint, expr: &ast::Expr, computed: Computed) -> Result<()> {
        let names = self.names();
        let binder = Binder::new(&names, self.settings, &[]);
        let text = parse::columns::unqualified(&expr.to_string(), &blueprint.name.name);
        let mut nameless = blueprint.clone();
        nameless.name.name = String::new();
        let bound = bind_computed(&binder, &nameless, &parse::expression(&text)?, computed);
        bound.map(drop).map_err(|_| {
            SqlError::unsupported("a row of the table as a whole in an index").with_hint("Name its columns.")
        })
    }

    /// Gives computed columns the types that their expressions have now.
    pub(super) fn retype_computed(&self, blueprint: &mut Blueprint) -> Result<()> {
        let names = self.names();
        let binder = Binder::new(&names, self.settings, &[]);
        for at in 0..blueprint.columns.len() {
            let (Some(computed), Some(text)) = (blueprint.columns[at].computed, &blueprint.columns[at].default) else {
                continue;
            };
            let expr = parse::expression(text)?;
            let bound = binder.keeping(|| bind_computed(&binder, blueprint, &expr, computed));
            let bound = bound.map_err(SqlError::without_place)?;
            refuse_meaning(&bound.expr, computed)?;
            blueprint.columns[at].declared = settled(bound.declared);
            refuse_as_key(&blueprint.columns[at])?;
        }
        Ok(())
    }

    /// The computed columns that read a column.
    pub(super) fn computed_of(&self, relation: &Relation, name: &str) -> Result<Vec<String>> {
        let generated = self.generated_columns_of(relation, name)?.into_iter();
        Ok(generated
            .filter(|at| relation.computed().contains(at))
            .map(|at| relation.columns[at].name.clone())
            .collect())
    }
}

/// Binds the expression of a computed column over the columns that are to be.
pub(super) fn bind_computed(
    binder: &Binder<'_>,
    blueprint: &Blueprint,
    expr: &ast::Expr,
    computed: Computed,
) -> Result<Typed> {
    let mut level = Level::new(None, binder.registers());
    let columns = blueprint.visible().map(|column| (column.name.as_str(), column.declared));
    level.columns = columns_of(&blueprint.name.name, columns);
    level.refuse_aggregates(match computed {
        Computed::Expression => "index expressions",
        Computed::Predicate => "index predicates",
    });
    match computed {
        Computed::Expression => binder.expr(expr, &level),
        Computed::Predicate => Ok(Typed::new(binder.condition(expr, "WHERE", &level)?, Type::Bool)),
    }
}

/// The type of a column that has such values.
fn settled(declared: Declared) -> Declared {
    if declared.ty == Type::Unknown { Type::Text.into() } else { declared }
}

/// Refuses what does not follow from the row.
fn refuse_meaning(expr: &Expr, computed: Computed) -> Result<()> {
    let what = match computed {
        Computed::Expression => "index expression",
        Computed::Predicate => "index predicate",
    };
    if expr.any(&|part| matches!(part, Expr::Subquery(_))) {
        return Err(SqlError::new(SqlState::FeatureNotSupported, format!("cannot use subquery in {what}")));
    }
    if !expr.is_immutable() {
        let message = format!("functions in {what} must be marked IMMUTABLE");
        return Err(SqlError::new(SqlState::InvalidObjectDefinition, message).with_hint(
            "Its value must follow from the row alone, whatever is set: give times their zone, for example.",
        ));
    }
    Ok(())
}

fn refuse_forms(create: &CreateIndex) -> Result<()> {
    if !create.include.is_empty() {
        return Err(
            SqlError::unsupported("INCLUDE in an index").with_hint("Leave it out: rows are read by their keys.")
        );
    }
    if create.nulls_distinct == Some(false) {
        return Err(SqlError::unsupported("NULLS NOT DISTINCT").with_hint("Declare the columns NOT NULL."));
    }
    Ok(())
}

/// How the keys of an index are declared; empty where nothing is said.
fn orders(columns: &[ast::IndexColumn]) -> Vec<u8> {
    let order = |column: &ast::IndexColumn| {
        let options = &column.column.options;
        let is_descending = options.asc == Some(false);
        let nulls_first = options.nulls_first.unwrap_or(is_descending);
        (u8::from(is_descending) * DESCENDING) | (u8::from(nulls_first) * NULLS_FIRST)
    };
    let orders: Vec<u8> = columns.iter().map(order).collect();
    if orders.iter().all(|order| *order == 0) { Vec::new() } else { orders }
}

/// What an index is made of, as it is written.
fn parts(columns: &[ast::IndexColumn]) -> Result<Vec<Part<'_>>> {
    columns.iter().map(|column| part(&column.column.expr)).collect()
}

fn part(expr: &ast::Expr) -> Result<Part<'_>> {
    match expr {
        ast::Expr::Identifier(ident) => Ok(Part::Column(parse::name(ident))),
        ast::Expr::Collate { expr, collation } => {
            collated(Typed::new(Expr::NULL, Type::Text), collation)?;
            part(expr)
        }
        ast::Expr::Nested(within) => match part(within)? {
            column @ Part::Column(_) => Ok(column),
            Part::Expression(_) => Ok(Part::Expression(within)),
        },
        other => Ok(Part::Expression(other)),
    }
}

/// What the name of an index says of its parts.
fn labels(parts: &[Part<'_>]) -> Vec<String> {
    let label = |part: &Part<'_>| match part {
        Part::Column(name) => name.clone(),
        Part::Expression(expr) => index_label(expr),
    };
    let mut labels: Vec<String> = Vec::with_capacity(parts.len());
    for label in parts.iter().map(label) {
        let numbered = |number: u32| if number == 0 { label.clone() } else { format!("{label}{number}") };
        labels.extend((0..).map(numbered).find(|label| !labels.contains(label)));
    }
    labels
}

/// The columns of a constraint, which must be named.
pub(super) fn key_columns(columns: &[ast::IndexColumn]) -> Result<Vec<String>> {
    let name = |part: Part<'_>| match part {
        Part::Column(name) => Ok(name),
        Part::Expression(expr) => Err(SqlError::unsupported(format!("a constraint on the expression {expr}"))
            .with_hint("CREATE UNIQUE INDEX takes expressions.")),
    };
    parts(columns)?.into_iter().map(name).collect()
}
