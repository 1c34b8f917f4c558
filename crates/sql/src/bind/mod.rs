//! Statements that were parsed are bound to the catalog: names become tables and columns, types are found, and plans are made.
//!
//! Invariants:
//! - A bound expression says every conversion: it is run without a look at types.
//! - A parameter whose type the client does not say has the type of the first place that asks for one; `text` if none does.

pub(crate) mod aggregate;
mod blanks;
pub(crate) mod call;
pub(crate) mod convert;
mod element;
pub(crate) mod expr;
pub(crate) mod foreign;
pub(crate) mod forms;
pub(crate) mod from;
pub(crate) mod grouping;
mod literals;
mod merge;
pub(crate) mod outputs;
pub(crate) mod places;
pub(crate) mod query;
pub(crate) mod scope;
pub(crate) mod select;
pub(crate) mod special;
mod types;
pub(crate) mod uses;
mod using;
pub(crate) mod view;
pub(crate) mod window;
pub(crate) mod write;

use std::cell::{Cell, RefCell};
use std::collections::{BTreeSet, HashMap};
use std::rc::Rc;
use std::sync::Arc;

use osier::ids::TableId;
use sqlparser::ast::ObjectName;

use crate::catalog::name::Name;
use crate::catalog::objects::{Objects, ViewEntry};
use crate::catalog::relation::Relation;
use crate::catalog::rights::Rights;
use crate::catalog::temporary::{has_number, of_other_session};
use crate::enumeration::EnumType;
use crate::error::{Result, SqlError, SqlState};
use crate::plan::{CommonTable, RowLock};
use crate::settings::Settings;
use crate::statistics::{Known, NothingKnown};
use crate::types::{Declared, Type};

/// What the catalog says of names.
pub(crate) trait Names {
    /// The table that a name means, `None` where there is none.
    fn relation(&self, name: &Name) -> Result<Option<Arc<Relation>>>;
    /// As [`Names::relation`], of a table that the statement does not name: what it writes depends on it.
    fn beside(&self, name: &Name) -> Result<Option<Arc<Relation>>>;
    /// The view that a name means.
    fn view(&self, name: &Name) -> Result<Option<Arc<ViewEntry>>>;
    /// What there is beside tables.
    fn objects(&self) -> Result<Arc<Objects>>;
    /// The type of users that a name means.
    fn user_type(&self, name: &Name) -> Result<Option<EnumType>> {
        Ok(self.objects()?.types.get(name).map(|known| known.ty))
    }
    /// The owner of the sequence that a name means.
    fn sequence_owner(&self, _name: &Name) -> Result<Option<String>> {
        Ok(None)
    }
    /// What is known of the rows of tables.
    fn statistics(&self) -> &dyn Known {
        &NothingKnown
    }
    /// Whether a procedure has this name.
    fn has_procedure(&self, _name: &str) -> Result<bool> {
        Ok(false)
    }
}

/// No table: an expression of a row names only the columns of its own, and types that are known.
pub(crate) struct RowNames<'t>(pub(crate) &'t [EnumType]);

impl Names for RowNames<'_> {
    fn relation(&self, _: &Name) -> Result<Option<Arc<Relation>>> {
        Ok(None)
    }

    fn beside(&self, _: &Name) -> Result<Option<Arc<Relation>>> {
        Ok(None)
    }

    fn view(&self, _: &Name) -> Result<Option<Arc<ViewEntry>>> {
        Ok(None)
    }

    fn objects(&self) -> Result<Arc<Objects>> {
        Ok(Arc::default())
    }

    fn user_type(&self, name: &Name) -> Result<Option<EnumType>> {
        let is_it = |ty: &&EnumType| ty.schema() == name.schema && ty.name() == name.name;
        Ok(self.0.iter().find(is_it).copied())
    }
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
    /// Of the common table expressions that were named: in which list each is, and a register that it depends on.
    common_captures: RefCell<BTreeSet<(usize, usize)>>,
    /// Common table expressions that write.
    writes: RefCell<Vec<(usize, Arc<CommonTable>)>>,
    /// Whether rows that are read are locked for what follows.
    locks_rows: Cell<bool>,
    /// The tables that `FOR UPDATE` names, and how; `None`: all.
    locked: RefCell<Vec<(Option<String>, RowLock)>>,
    /// The tables of which rows are skipped that others have.
    skipping: RefCell<Vec<TableId>>,
    /// Whether `NOWAIT` stands behind it.
    waits_not: Cell<bool>,
    /// Whether functions are called that take advisory locks, or sleep.
    takes_advisory: Cell<bool>,
    /// The error of a materialized view that is read and that nothing has been put into.
    unpopulated: RefCell<Option<SqlError>>,
    /// Whether the `SELECT` that is bound next is a part of a set operation, which says the types of its literals.
    keeps_unknown: Cell<bool>,
    /// How many tables, views and subqueries were named in `FROM`, those in views among them.
    factors: Cell<usize>,
    /// The views that are being opened, one within the other.
    opened: RefCell<Vec<view::Opened>>,
    /// The tables and views that are named.
    uses: RefCell<Vec<Rc<uses::Use>>>,
    /// Where they are named, if that is wanted.
    places: RefCell<Option<Vec<places::Place>>>,
    literals: literals::Literals,
    /// The definitions of enumerations that literals of the statement were read with first.
    known_labels: RefCell<Vec<EnumType>>,
    /// Whether a literal means a label that has another text now.
    means_renamed: Cell<bool>,
    /// Whether an expression is bound that the catalog keeps.
    binds_kept: Cell<bool>,
}

/// A common table expression while the query around it is bound.
#[derive(Clone)]
pub(crate) struct Common {
    number: usize,
    columns: Vec<OutColumn>,
    meant: Meant,
}

/// The rows that the name of a common table expression means.
#[derive(Clone)]
enum Meant {
    All(Arc<CommonTable>),
    /// Within its own definition: what the last round gave, which writes this register.
    LastRound(usize),
}

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
            common_captures: RefCell::default(),
            writes: RefCell::default(),
            locks_rows: Cell::default(),
            locked: RefCell::default(),
            skipping: RefCell::default(),
            waits_not: Cell::default(),
            takes_advisory: Cell::default(),
            unpopulated: RefCell::default(),
            keeps_unknown: Cell::default(),
            factors: Cell::default(),
            opened: RefCell::default(),
            uses: RefCell::default(),
            places: RefCell::default(),
            literals: literals::Literals::default(),
            known_labels: RefCell::default(),
            means_renamed: Cell::default(),
            binds_kept: Cell::default(),
        }
    }

    /// The types of the parameters.
    pub(crate) fn parameter_types(&self) -> Vec<Type> {
        let known = |ty: &Type| if *ty == Type::Unknown { Type::Text } else { *ty };
        self.parameters.borrow().iter().map(known).collect()
    }

    /// A query of what was bound.
    pub(crate) fn finish(&self, plan: crate::plan::Plan) -> crate::plan::Query {
        let mut query = crate::plan::Query {
            plan,
            registers: self.registers.get(),
            slots: self.slots.get(),
            commons: self.commons.get(),
            writes: self.writes.take(),
            writes_first: 0,
            reread: Vec::new(),
            locks_rows: self.locks_rows.get(),
            waits_not: self.waits_not.get(),
            takes_advisory: self.takes_advisory.get(),
            unpopulated: self.unpopulated.take(),
        };
        query.order_writes();
        query.find_reread();
        query
    }

    /// Where levels take their registers from.
    pub(crate) fn registers(&self) -> &Cell<usize> {
        &self.registers
    }

    fn new_slot(&self) -> usize {
        self.slots.replace(self.slots.get() + 1)
    }

    /// The tables and views that were named.
    pub(crate) fn uses(&self) -> Vec<Rc<uses::Use>> {
        self.uses.borrow().clone()
    }

    /// What the statement needs rights for.
    pub(crate) fn needs(&self) -> Vec<uses::Need> {
        self.uses.borrow().iter().map(|one| one.need()).collect()
    }

    /// What functions need that look at rights while the statement runs; `None`: the user may do everything.
    pub(crate) fn objects_for_rights(&self) -> Result<Option<Arc<Objects>>> {
        if self.settings.is_superuser() { Ok(None) } else { self.names.objects().map(Some) }
    }

    /// Whether a common table expression writes.
    pub(crate) fn writes_something(&self) -> bool {
        !self.writes.borrow().is_empty()
    }

    /// Refuses what the user has no rights for.
    pub(crate) fn check_rights(&self) -> Result<()> {
        let needs = self.needs();
        if self.settings.is_superuser() && !needs.iter().any(uses::Need::is_of_other) {
            return Ok(());
        }
        let objects = self.names.objects()?;
        needs.iter().try_for_each(|need| need.check(&objects, self.settings.user()))
    }

    /// What a name may mean, the most likely first.
    pub(crate) fn candidates(&self, object: &ObjectName) -> Result<Vec<Name>> {
        let mut parts = crate::parse::parts(object)?;
        if let Some(reference) = self.reference(&parts) {
            return Ok(vec![Name::new(reference.schema, reference.name)]);
        }
        match parts.len() {
            1 => {
                let name = parts.remove(0);
                let mut names = Vec::new();
                for schema in self.settings.schemas() {
                    if self.may_use(schema)? {
                        names.push(Name::new(schema, &name));
                    }
                }
                Ok(names)
            }
            2 => {
                let temporary = self.settings.temporary();
                let name = Name::new(temporary.meant(parts.remove(0)), parts.remove(0));
                if !self.settings.is_superuser() && !temporary.is_own(&name.schema) {
                    let objects = self.names.objects()?;
                    if objects.has_schema(&name.schema) || objects.is_temporary(&name.schema) {
                        objects.need_schema(self.settings.user(), &name.schema, Rights::USAGE)?;
                    }
                }
                Ok(vec![name])
            }
            3 if parts[0] == crate::session::DATABASE => Ok(vec![Name::new(parts.remove(1), parts.remove(1))]),
            _ => Err(SqlError::unsupported(format!("the name {object} with more than a schema"))),
        }
    }

    /// Whether the user sees what is in a schema.
    fn may_use(&self, schema: &str) -> Result<bool> {
        if self.settings.is_superuser() || self.settings.temporary().is_own(schema) {
            return Ok(true);
        }
        Ok(self.names.objects()?.need_schema(self.settings.user(), schema, Rights::USAGE).is_ok())
    }

    /// The view that a name means.
    pub(crate) fn find_view(&self, object: &ObjectName) -> Result<Option<(Name, Arc<ViewEntry>)>> {
        for name in self.candidates(object)? {
            if let Some(view) = self.names.view(&name)? {
                return Ok(Some((name, view)));
            }
        }
        Ok(None)
    }

    /// The sequence that a name means, with its owner.
    pub(crate) fn find_sequence(&self, object: &ObjectName) -> Result<Option<(Name, String)>> {
        for name in self.candidates(object)? {
            let Some(owner) = self.names.sequence_owner(&name)? else { continue };
            let temporary = self.settings.temporary();
            if temporary.is_own(&name.schema) {
                return Ok(Some((name, self.settings.user().to_owned())));
            }
            if has_number(&name.schema) && self.names.objects()?.is_temporary(&name.schema) {
                return Err(of_other_session());
            }
            return Ok(Some((name, owner)));
        }
        Ok(None)
    }

    /// The table that a name means.
    pub(crate) fn find_relation(&self, object: &ObjectName) -> Result<Option<Arc<Relation>>> {
        let found = self.find_any_relation(object)?;
        found.iter().try_for_each(|relation| self.settings.temporary().refuse_other(relation))?;
        Ok(found)
    }

    /// As [`Binder::find_relation`], of a temporary table of another session, too.
    pub(crate) fn find_any_relation(&self, object: &ObjectName) -> Result<Option<Arc<Relation>>> {
        let candidates = self.candidates(object)?;
        for (at, name) in candidates.iter().enumerate() {
            if let Some(relation) = self.names.relation(name)? {
                // A view in a schema before it hides the table.
                for earlier in candidates[..at].iter().filter(|earlier| !earlier.is_own()) {
                    if self.names.view(earlier)?.is_some() {
                        return Ok(None);
                    }
                }
                return Ok(Some(relation));
            }
        }
        Ok(None)
    }
}

/// A name that no table has.
pub(crate) fn undefined_table(object: &ObjectName) -> SqlError {
    let shown = crate::parse::parts(object).map_or_else(|_| object.to_string(), |parts| parts.join("."));
    SqlError::new(SqlState::UndefinedTable, format!("relation \"{shown}\" does not exist")).at_node(object)
}
