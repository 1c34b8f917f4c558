//! Statements that were parsed are bound to the catalog: names become tables and columns, types are found, and plans are made.
//!
//! Invariants:
//! - A bound expression says every conversion: it is run without a look at types.
//! - A parameter whose type the client does not say has the type of the first place that asks for one; `text` if none does.

pub(crate) mod aggregate;
pub(crate) mod call;
pub(crate) mod convert;
pub(crate) mod expr;
pub(crate) mod foreign;
pub(crate) mod from;
pub(crate) mod grouping;
pub(crate) mod query;
pub(crate) mod scope;
pub(crate) mod select;
pub(crate) mod special;
pub(crate) mod window;
pub(crate) mod write;

use std::cell::{Cell, RefCell};
use std::collections::HashMap;
use std::sync::Arc;

use sqlparser::ast::ObjectName;

use crate::catalog::name::Name;
use crate::catalog::relation::Relation;
use crate::error::{Result, SqlError, SqlState};
use crate::plan::CommonTable;
use crate::settings::Settings;
use crate::types::{Declared, Type};

/// What the catalog says of names.
pub(crate) trait Names {
    /// The table that a name means, `None` where there is none.
    fn relation(&self, name: &Name) -> Result<Option<Arc<Relation>>>;
    /// As [`Names::relation`], of a table that the statement does not name: what it writes depends on it.
    fn beside(&self, name: &Name) -> Result<Option<Arc<Relation>>>;
    /// The query of a view, with the names of its columns.
    fn view(&self, name: &Name) -> Result<Option<View>>;
    /// Whether a procedure has this name.
    fn has_procedure(&self, _name: &str) -> Result<bool> {
        Ok(false)
    }
}

/// A view.
#[derive(Clone, Debug)]
pub(crate) struct View {
    pub(crate) query: String,
    pub(crate) columns: Vec<String>,
}

/// A column that a query gives.
#[derive(Clone, Debug)]
pub(crate) struct OutColumn {
    pub(crate) name: String,
    pub(crate) declared: Declared,
    pub(crate) origin: (u32, i16),
}

/// What is bound of one statement.
pub(crate) struct Binder<'b> {
    names: &'b dyn Names,
    settings: &'b Settings,
    parameters: RefCell<Vec<Type>>,
    registers: Cell<usize>,
    slots: Cell<usize>,
    commons: Cell<usize>,
    /// Common table expressions that can be named now.
    tables: RefCell<Vec<HashMap<String, Common>>>,
    /// Common table expressions that write.
    writes: RefCell<Vec<(usize, Arc<CommonTable>)>>,
    /// Whether rows that are read are locked for what follows.
    locks_rows: Cell<bool>,
    /// Whether the `SELECT` that is bound next is a part of a set operation, which says the types of its literals.
    keeps_unknown: Cell<bool>,
    /// How many views are being opened: one within the other.
    depth: Cell<usize>,
}

/// A common table expression while the query around it is bound.
#[derive(Clone)]
pub(crate) struct Common {
    number: usize,
    columns: Vec<OutColumn>,
    /// `None` within its own definition: what the last round gave is meant.
    table: Option<Arc<CommonTable>>,
}

/// Views that refer to views that refer to views end here.
const VIEWS_MAX: usize = 32;

impl<'b> Binder<'b> {
    /// Begins with the types of parameters that the client says.
    pub(crate) fn new(names: &'b dyn Names, settings: &'b Settings, parameters: &[Option<Type>]) -> Binder<'b> {
        let parameters = parameters.iter().map(|ty| ty.unwrap_or(Type::Unknown)).collect();
        Binder {
            names,
            settings,
            parameters: RefCell::new(parameters),
            registers: Cell::default(),
            slots: Cell::default(),
            commons: Cell::default(),
            tables: RefCell::default(),
            writes: RefCell::default(),
            locks_rows: Cell::default(),
            keeps_unknown: Cell::default(),
            depth: Cell::default(),
        }
    }

    /// The types of the parameters.
    pub(crate) fn parameter_types(&self) -> Vec<Type> {
        let known = |ty: &Type| if *ty == Type::Unknown { Type::Text } else { *ty };
        self.parameters.borrow().iter().map(known).collect()
    }

    /// A query of what was bound.
    pub(crate) fn finish(&self, plan: crate::plan::Plan) -> crate::plan::Query {
        crate::plan::Query {
            plan,
            registers: self.registers.get(),
            slots: self.slots.get(),
            commons: self.commons.get(),
            writes: self.writes.take(),
            locks_rows: self.locks_rows.get(),
        }
    }

    /// Where levels take their registers from.
    pub(crate) fn registers(&self) -> &Cell<usize> {
        &self.registers
    }

    fn new_slot(&self) -> usize {
        self.slots.replace(self.slots.get() + 1)
    }

    /// Opens a view, whose query `bind` binds.
    fn within_view<T>(&self, name: &Name, bind: impl FnOnce() -> Result<T>) -> Result<T> {
        if self.depth.get() == VIEWS_MAX {
            let message = format!("views are nested too deeply at \"{name}\"");
            return Err(SqlError::new(SqlState::StatementTooComplex, message));
        }
        self.depth.set(self.depth.get() + 1);
        // A view knows nothing of the common table expressions around it.
        let tables = self.tables.take();
        let bound = bind();
        self.tables.replace(tables);
        self.depth.set(self.depth.get() - 1);
        bound
    }

    /// What a name may mean, the most likely first.
    pub(crate) fn candidates(&self, object: &ObjectName) -> Result<Vec<Name>> {
        let mut parts = crate::parse::parts(object)?;
        match parts.len() {
            1 => {
                let name = parts.remove(0);
                Ok(self.settings.search_path.iter().map(|schema| Name::new(schema, &name)).collect())
            }
            2 => Ok(vec![Name::new(parts.remove(0), parts.remove(0))]),
            _ => Err(SqlError::unsupported(format!("the name {object} with more than a schema"))),
        }
    }

    /// The table that a name means.
    pub(crate) fn find_relation(&self, object: &ObjectName) -> Result<Option<Arc<Relation>>> {
        for name in self.candidates(object)? {
            if let Some(relation) = self.names.relation(&name)? {
                return Ok(Some(relation));
            }
        }
        Ok(None)
    }

    /// The table that a name means, which must be there.
    pub(crate) fn relation(&self, object: &ObjectName) -> Result<Arc<Relation>> {
        self.find_relation(object)?.ok_or_else(|| undefined_table(object))
    }
}

/// A name that no table has.
pub(crate) fn undefined_table(object: &ObjectName) -> SqlError {
    let shown = crate::parse::parts(object).map_or_else(|_| object.to_string(), |parts| parts.join("."));
    SqlError::new(SqlState::UndefinedTable, format!("relation \"{shown}\" does not exist")).at_node(object)
}
