//! What a statement does with each table and view that it names, so that rights can be checked, and what a view depends on.

use std::cell::{Cell, RefCell};
use std::collections::BTreeSet;
use std::rc::Rc;

use crate::catalog::name::Name;
use crate::catalog::objects::Objects;
use crate::catalog::rights::{Object, Rights};
use crate::error::Result;

/// What has rows that a statement names.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum UseKind {
    Table,
    View,
    Materialized,
    Sequence,
}

/// A table, a view or a sequence in a statement, while that is bound.
#[derive(Debug)]
pub(crate) struct Use {
    /// The parts of the name in the statement.
    pub(crate) text: Vec<String>,
    pub(crate) name: Name,
    /// Whether the query of a view names it, and not the statement itself.
    pub(crate) is_within_view: bool,
    kind: UseKind,
    owner: String,
    /// The role whose rights count; `None`: who runs the statement.
    on_behalf_of: Option<String>,
    /// What it is called here, and what it is called; all columns in their order.
    pub(crate) columns: Vec<(String, String)>,
    /// Positions of columns that are read.
    pub(crate) read: RefCell<BTreeSet<usize>>,
    inserted: RefCell<BTreeSet<usize>>,
    updated: RefCell<BTreeSet<usize>>,
    /// What is needed on the whole.
    needed: Cell<Rights>,
    /// Whether columns are named by their position in a list of aliases.
    pub(crate) pins_all: Cell<bool>,
}

/// What a plan needs, when it is bound.
#[derive(Clone, Debug)]
pub(crate) struct Need {
    object: Object,
    owner: String,
    on_behalf_of: Option<String>,
    needed: Rights,
    read: Vec<String>,
    inserted: Vec<String>,
    updated: Vec<String>,
}

impl Use {
    pub(crate) fn new(
        text: Vec<String>,
        name: &Name,
        kind: UseKind,
        owner: &str,
        on_behalf_of: Option<String>,
        columns: Vec<(String, String)>,
    ) -> Rc<Use> {
        Rc::new(Use {
            text,
            name: name.clone(),
            is_within_view: on_behalf_of.is_some(),
            kind,
            owner: owner.to_owned(),
            on_behalf_of,
            columns,
            read: RefCell::default(),
            inserted: RefCell::default(),
            updated: RefCell::default(),
            needed: Cell::new(Rights::SELECT),
            pins_all: Cell::new(false),
        })
    }

    /// It is what the statement writes: reading it is needed where a column is read.
    pub(crate) fn is_target(&self, right: Rights) {
        self.needed.set(right);
    }

    /// It needs another right, too.
    pub(crate) fn also(&self, right: Rights) {
        self.needed.set(self.needed.get().and(right));
    }

    pub(crate) fn reads(&self, at: usize) {
        self.read.borrow_mut().insert(at);
    }

    pub(crate) fn inserts(&self, at: usize) {
        self.inserted.borrow_mut().insert(at);
    }

    pub(crate) fn updates(&self, at: usize) {
        self.updated.borrow_mut().insert(at);
    }

    /// What it needs.
    pub(crate) fn need(&self) -> Need {
        let names = |positions: &RefCell<BTreeSet<usize>>| {
            let positions = positions.borrow();
            let known = positions.iter().filter_map(|at| self.columns.get(*at));
            known.map(|(_, name)| name.clone()).collect::<Vec<_>>()
        };
        let object = match self.kind {
            UseKind::Table => Object::Table(self.name.clone()),
            UseKind::View => Object::View(self.name.clone()),
            UseKind::Materialized => Object::Materialized(self.name.clone()),
            UseKind::Sequence => Object::Sequence(self.name.clone()),
        };
        let read = names(&self.read);
        let needed = if read.is_empty() { self.needed.get() } else { self.needed.get().and(Rights::SELECT) };
        Need {
            object,
            owner: self.owner.clone(),
            on_behalf_of: self.on_behalf_of.clone(),
            needed,
            read,
            inserted: names(&self.inserted),
            updated: names(&self.updated),
        }
    }
}

impl Need {
    /// Whether the rights of another role than the user count.
    pub(crate) fn is_of_other(&self) -> bool {
        self.on_behalf_of.is_some()
    }

    /// Refuses a role that lacks a right.
    pub(crate) fn check(&self, objects: &Objects, user: &str) -> Result<()> {
        let role = self.on_behalf_of.as_deref().unwrap_or(user);
        if objects.is_superuser(role) {
            return Ok(());
        }
        let (object, owner) = (&self.object, &self.owner);
        let missing = self.needed.without(objects.rights(role, object, owner, None));
        for (right, columns) in
            [(Rights::SELECT, &self.read), (Rights::INSERT, &self.inserted), (Rights::UPDATE, &self.updated)]
        {
            if !missing.has(right) {
                continue;
            }
            let has_all = match &columns[..] {
                [] => objects.has_on_any_column(role, object, right),
                columns => columns.iter().all(|column| objects.rights(role, object, owner, Some(column)).has(right)),
            };
            if !has_all {
                return Err(object.denied());
            }
        }
        let by_column = Rights::SELECT.and(Rights::INSERT).and(Rights::UPDATE);
        match missing.without(by_column) {
            Rights::NONE => Ok(()),
            _ => Err(object.denied()),
        }
    }
}
