//! Rights on objects: who was granted what, by whom.
//!
//! Invariants:
//! - An object without a list of its own has the list that it has from the start: all to its owner, and what everybody has.
//! - The owner's own rights are entries as all others are: they can be revoked.

use std::collections::BTreeSet;

use serde::{Deserialize, Serialize};

use super::name::{Name, PUBLIC};
use super::objects::Objects;
use crate::error::{Result, SqlError, SqlState};

/// Some rights, one bit each.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(transparent)]
pub(crate) struct Rights(pub(crate) u16);

impl Rights {
    pub(crate) const NONE: Rights = Rights(0);
    pub(crate) const SELECT: Rights = Rights(1);
    pub(crate) const INSERT: Rights = Rights(2);
    pub(crate) const UPDATE: Rights = Rights(4);
    pub(crate) const DELETE: Rights = Rights(8);
    pub(crate) const TRUNCATE: Rights = Rights(16);
    pub(crate) const REFERENCES: Rights = Rights(32);
    pub(crate) const TRIGGER: Rights = Rights(64);
    pub(crate) const USAGE: Rights = Rights(128);
    pub(crate) const CREATE: Rights = Rights(256);
    pub(crate) const EXECUTE: Rights = Rights(512);

    /// All of them, with their words.
    pub(crate) const WORDS: [(Rights, &str); 10] = [
        (Rights::SELECT, "SELECT"),
        (Rights::INSERT, "INSERT"),
        (Rights::UPDATE, "UPDATE"),
        (Rights::DELETE, "DELETE"),
        (Rights::TRUNCATE, "TRUNCATE"),
        (Rights::REFERENCES, "REFERENCES"),
        (Rights::TRIGGER, "TRIGGER"),
        (Rights::USAGE, "USAGE"),
        (Rights::CREATE, "CREATE"),
        (Rights::EXECUTE, "EXECUTE"),
    ];

    /// The right with that name.
    pub(crate) fn named(word: &str) -> Option<Rights> {
        Rights::WORDS.iter().find(|(_, known)| known.eq_ignore_ascii_case(word)).map(|(right, _)| *right)
    }

    pub(crate) fn has(self, other: Rights) -> bool {
        self.0 & other.0 == other.0
    }

    pub(crate) fn meets(self, other: Rights) -> bool {
        self.0 & other.0 != 0
    }

    pub(crate) fn and(self, other: Rights) -> Rights {
        Rights(self.0 | other.0)
    }

    pub(crate) fn without(self, other: Rights) -> Rights {
        Rights(self.0 & !other.0)
    }

    pub(crate) fn common(self, other: Rights) -> Rights {
        Rights(self.0 & other.0)
    }
}

/// An object that rights are on.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Object {
    Table(Name),
    View(Name),
    Materialized(Name),
    Sequence(Name),
    Schema(String),
    Procedure(String),
    /// Everybody may use it.
    Type(Name),
}

impl Object {
    /// What there is to grant.
    pub(crate) fn all(&self) -> Rights {
        match self {
            Object::Table(_) | Object::View(_) | Object::Materialized(_) => Rights(127),
            Object::Sequence(_) => Rights::SELECT.and(Rights::UPDATE).and(Rights::USAGE),
            Object::Schema(_) => Rights::USAGE.and(Rights::CREATE),
            Object::Procedure(_) => Rights::EXECUTE,
            Object::Type(_) => Rights::USAGE,
        }
    }

    /// What everybody has from the start. A procedure runs with all rights, so that nobody may call it by itself.
    fn of_all(&self) -> Rights {
        match self {
            Object::Schema(name) if name == PUBLIC => Rights::USAGE,
            Object::Type(_) => Rights::USAGE,
            _ => Rights::NONE,
        }
    }

    /// The row in which its list is kept. Tables, views and sequences share their names.
    pub(crate) fn key(&self) -> String {
        match self {
            Object::Table(name) | Object::View(name) | Object::Materialized(name) | Object::Sequence(name) => {
                format!("relation {}", name.engine())
            }
            Object::Schema(name) => format!("schema {name}"),
            Object::Procedure(name) => format!("procedure {name}"),
            Object::Type(name) => format!("type {}", name.engine()),
        }
    }

    pub(crate) fn kind(&self) -> &'static str {
        match self {
            Object::Table(_) => "table",
            Object::View(_) => "view",
            Object::Materialized(_) => "materialized view",
            Object::Sequence(_) => "sequence",
            Object::Schema(_) => "schema",
            Object::Procedure(_) => "procedure",
            Object::Type(_) => "type",
        }
    }

    pub(crate) fn name(&self) -> &str {
        match self {
            Object::Table(name)
            | Object::View(name)
            | Object::Materialized(name)
            | Object::Sequence(name)
            | Object::Type(name) => &name.name,
            Object::Schema(name) | Object::Procedure(name) => name,
        }
    }

    /// The error of one who lacks a right.
    pub(crate) fn denied(&self) -> SqlError {
        let message = format!("permission denied for {} {}", self.kind(), self.name());
        SqlError::new(SqlState::InsufficientPrivilege, message)
    }

    /// The error of one who is not the owner.
    pub(crate) fn not_owned(&self) -> SqlError {
        let message = format!("must be owner of {} {}", self.kind(), self.name());
        SqlError::new(SqlState::InsufficientPrivilege, message)
    }
}

/// What was granted to one role.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Grant {
    /// `None`: everybody.
    pub(crate) to: Option<String>,
    pub(crate) by: String,
    /// `None`: the whole object.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) column: Option<String>,
    pub(crate) rights: Rights,
    /// Which of them it may grant.
    pub(crate) options: Rights,
}

/// The list that an object has from the start.
pub(crate) fn initial(object: &Object, owner: &str) -> Vec<Grant> {
    let all = object.all();
    let grant = |to: Option<String>, rights: Rights, options: Rights| Grant {
        to,
        by: owner.to_owned(),
        column: None,
        rights,
        options,
    };
    let mut list = vec![grant(Some(owner.to_owned()), all, all)];
    let public = object.of_all();
    if public != Rights::NONE {
        list.push(grant(None, public, Rights::NONE));
    }
    list
}

impl Objects {
    /// Whether a role may do everything.
    pub(crate) fn is_superuser(&self, role: &str) -> bool {
        self.roles.get(role).is_some_and(|role| role.is_superuser)
    }

    /// The roles whose rights a role has: itself, and those that it is a member of.
    pub(crate) fn roles_of<'o>(&'o self, role: &'o str, needs_inherit: bool) -> BTreeSet<&'o str> {
        let mut found = BTreeSet::from([role]);
        let mut open = vec![role];
        while let Some(next) = open.pop() {
            let Some(entry) = self.roles.get(next) else { continue };
            if needs_inherit && !entry.inherits {
                continue;
            }
            for of in entry.member_of.keys() {
                if found.insert(of) {
                    open.push(of);
                }
            }
        }
        found
    }

    /// Whether a role may do what the owner may.
    pub(crate) fn is_owner(&self, role: &str, owner: &str) -> bool {
        role == owner || self.is_superuser(role) || self.roles_of(role, true).contains(owner)
    }

    /// The list of an object.
    pub(crate) fn grants(&self, object: &Object, owner: &str) -> Vec<Grant> {
        self.lists.get(&object.key()).cloned().unwrap_or_else(|| initial(object, owner))
    }

    /// What a role may do with an object, or with one of its columns alone.
    pub(crate) fn rights(&self, role: &str, object: &Object, owner: &str, column: Option<&str>) -> Rights {
        self.held(role, object, owner, column, false)
    }

    /// As [`Objects::rights`]; `is_option`: which of them the role may grant.
    pub(crate) fn held(
        &self,
        role: &str,
        object: &Object,
        owner: &str,
        column: Option<&str>,
        is_option: bool,
    ) -> Rights {
        if self.is_superuser(role) {
            return object.all();
        }
        let roles = self.roles_of(role, true);
        let start;
        let list = match self.lists.get(&object.key()) {
            Some(list) => list,
            None => {
                start = initial(object, owner);
                &start
            }
        };
        let is_meant = |grant: &&Grant| {
            grant.to.as_deref().is_none_or(|to| roles.contains(to)) && grant.column.as_deref() == column
        };
        let of = |grant: &Grant| if is_option { grant.options } else { grant.rights };
        list.iter().filter(is_meant).fold(Rights::NONE, |sum, grant| sum.and(of(grant)))
    }

    /// Whether a role has a right on any column of a table.
    pub(crate) fn has_on_any_column(&self, role: &str, object: &Object, right: Rights) -> bool {
        let roles = self.roles_of(role, true);
        self.lists.get(&object.key()).is_some_and(|list| {
            list.iter().any(|grant| {
                grant.column.is_some()
                    && grant.to.as_deref().is_none_or(|to| roles.contains(to))
                    && grant.rights.has(right)
            })
        })
    }

    /// Refuses one who lacks a right on a whole object.
    pub(crate) fn need(&self, role: &str, object: &Object, owner: &str, right: Rights) -> Result<()> {
        match self.rights(role, object, owner, None).has(right) {
            true => Ok(()),
            false => Err(object.denied()),
        }
    }

    /// Refuses one who lacks a right on a schema.
    pub(crate) fn need_schema(&self, role: &str, schema: &str, right: Rights) -> Result<()> {
        self.need(role, &Object::Schema(schema.to_owned()), self.schema_owner(schema), right)
    }

    /// Refuses who is not the owner.
    pub(crate) fn need_owner(&self, role: &str, object: &Object, owner: &str) -> Result<()> {
        match self.is_owner(role, owner) {
            true => Ok(()),
            false => Err(object.not_owned()),
        }
    }
}
