//! What literals in defaults, generation expressions and checks mean is decided when these are made: see
//! `bind/literals.rs`. It stays so when a column gets another type.

use sqlparser::ast;

use super::Definer;
use super::alter::may_mention;
use super::blueprint::{Blueprint, ColumnPlan};
use super::index::bind_computed;
use crate::bind::Binder;
use crate::bind::from::columns_of;
use crate::bind::places::edited;
use crate::bind::scope::Level;
use crate::catalog::notes::Computed;
use crate::error::{Result, SqlError, SqlState};
use crate::parse;
use crate::types::Declared;

/// What an expression is for.
enum Place<'p> {
    Default(&'p str, Declared),
    Generated(&'p str, Declared),
    Check,
    Index(Computed),
}

impl Definer<'_, '_> {
    /// Writes into new defaults and checks what their literals mean.
    pub(super) fn read_literals(&self, blueprint: &mut Blueprint) -> Result<()> {
        let unread = std::mem::take(&mut blueprint.unread);
        if unread.is_empty() {
            return Ok(());
        }
        for at in 0..blueprint.columns.len() {
            let column = &blueprint.columns[at];
            let Some(text) = column.default.as_ref().filter(|text| unread.contains(text)) else { continue };
            let (name, declared) = (column.name.as_str(), column.declared);
            let place = match column.is_generated {
                true => Place::Generated(name, declared),
                false => Place::Default(name, declared),
            };
            let text = self.with_literals(blueprint, text, &place, &format!("the expression of column \"{name}\""))?;
            blueprint.columns[at].default = Some(text);
        }
        for at in 0..blueprint.checks.len() {
            let check = &blueprint.checks[at];
            if unread.contains(&check.expression) {
                let what = format!("check constraint \"{}\"", check.name);
                blueprint.checks[at].expression =
                    self.with_literals(blueprint, &check.expression, &Place::Check, &what)?;
            }
        }
        Ok(())
    }

    /// A column is to have another type: writes their types to the literals of its default, and of the checks that name it.
    ///
    /// # Errors
    /// A default that cannot become of the new type.
    pub(super) fn type_literals(&self, blueprint: &mut Blueprint, name: &str, to: Declared) -> Result<()> {
        let Some(at) = blueprint.columns.iter().position(|column| column.name == name) else { return Ok(()) };
        let ColumnPlan { declared, default, is_generated, .. } = blueprint.columns[at].clone();
        if let Some(text) = default {
            let place = match is_generated {
                true => Place::Generated(name, declared),
                false => Place::Default(name, declared),
            };
            let text = self.with_types(blueprint, &text, &place)?;
            self.refuse_default(blueprint, &text, &place, to)?;
            blueprint.columns[at].default = Some(text);
        }
        for at in 0..blueprint.checks.len() {
            let expression = &blueprint.checks[at].expression;
            if may_mention(expression, name) {
                blueprint.checks[at].expression = self.with_types(blueprint, expression, &Place::Check)?;
            }
        }
        for at in 0..blueprint.columns.len() {
            let ColumnPlan { computed, default, .. } = &blueprint.columns[at];
            if let (Some(computed), Some(text)) = (computed, default)
                && may_mention(text, name)
            {
                let text = self.with_types(blueprint, text, &Place::Index(*computed))?;
                blueprint.columns[at].default = Some(text);
            }
        }
        Ok(())
    }

    /// The text of what an index computes, whose literals say by themselves what they mean now.
    pub(super) fn with_index_literals(&self, blueprint: &Blueprint, text: &str, computed: Computed) -> Result<String> {
        let what = match computed {
            Computed::Expression => "the expression of an index",
            Computed::Predicate => "the condition of an index",
        };
        self.with_literals(blueprint, text, &Place::Index(computed), what)
    }

    /// The text of an expression whose literals have their types beside them.
    fn with_types(&self, blueprint: &Blueprint, text: &str, place: &Place<'_>) -> Result<String> {
        let names = self.names();
        let binder = Binder::new(&names, self.settings, &[]);
        binder.record_literals();
        let expr = parse::placed_expression(text)?;
        binder.keeping(|| bind(&binder, blueprint, &expr, place)).map_err(SqlError::without_place)?;
        Ok(edited(text, binder.typed_literals()))
    }

    /// Refuses a default that an assignment does not make one of a type.
    fn refuse_default(&self, blueprint: &Blueprint, text: &str, place: &Place<'_>, to: Declared) -> Result<()> {
        let (name, what) = match place {
            Place::Default(name, _) => (name, "default for column"),
            Place::Generated(name, _) => (name, "generation expression for column"),
            Place::Check | Place::Index(_) => return Ok(()),
        };
        let is_refused = |error: &SqlError| error.state == SqlState::DatatypeMismatch;
        let names = self.names();
        let binder = Binder::new(&names, self.settings, &[]);
        let place = match place {
            Place::Generated(..) => Place::Generated(name, to),
            _ => Place::Default(name, to),
        };
        let expr = parse::expression(text)?;
        binder.keeping(|| bind(&binder, blueprint, &expr, &place)).map_err(|error| match is_refused(&error) {
            true => {
                let message = format!("{what} \"{name}\" cannot be cast automatically to type {}", to.ty);
                SqlError::new(SqlState::DatatypeMismatch, message)
            }
            false => error.without_place(),
        })
    }

    /// The text of an expression whose literals say by themselves what they mean now.
    fn with_literals(&self, blueprint: &Blueprint, text: &str, place: &Place<'_>, what: &str) -> Result<String> {
        let names = self.names();
        let binder = Binder::new(&names, self.settings, &[]);
        binder.record_literals();
        // Where something stands in the text that is kept, the client cannot see.
        bind(&binder, blueprint, &parse::placed_expression(text)?, place).map_err(SqlError::without_place)?;
        Ok(edited(text, binder.literals(what)?))
    }
}

fn bind(binder: &Binder<'_>, blueprint: &Blueprint, expr: &ast::Expr, place: &Place<'_>) -> Result<()> {
    if let Place::Index(computed) = place {
        return bind_computed(binder, blueprint, expr, *computed).map(drop);
    }
    let mut level = Level::new(None, binder.registers());
    if !matches!(place, Place::Default(..)) {
        let columns = blueprint.visible().map(|column| (column.name.as_str(), column.declared));
        level.columns = columns_of(&blueprint.name.name, columns);
    }
    level.refuse_aggregates(match place {
        Place::Default(..) => "DEFAULT expressions",
        Place::Generated(..) => "column generation expressions",
        Place::Check | Place::Index(_) => "check constraints",
    });
    match place {
        Place::Default(name, declared) | Place::Generated(name, declared) => {
            binder.assign(binder.expr(expr, &level)?, name, *declared).map(drop)
        }
        Place::Check | Place::Index(_) => binder.condition(expr, "CHECK", &level).map(drop),
    }
}
