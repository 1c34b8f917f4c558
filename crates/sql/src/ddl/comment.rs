//! `COMMENT ON`.

use sqlparser::ast::{CommentObject, ObjectName, Statement};

use super::blueprint::Blueprint;
use super::{Defined, Definer};
use crate::bind::Binder;
use crate::catalog::relation::Relation;
use crate::catalog::system::{self, Commented};
use crate::error::{Result, SqlError, SqlState};
use crate::parse;

impl Definer<'_, '_> {
    pub(super) fn comment(&self, statement: &Statement) -> Result<Defined> {
        let Statement::Comment { object_type, object_name, comment, .. } = statement else {
            unreachable!("the statement is a comment");
        };
        // An empty comment is none.
        let comment = comment.as_deref().filter(|comment| !comment.is_empty());
        match object_type {
            CommentObject::Table => self.comment_on_table(object_name, comment)?,
            CommentObject::Column => self.comment_on_column(object_name, comment)?,
            CommentObject::Index => self.comment_on_index(object_name, comment)?,
            // See `adapt` of the parser: a constraint and its table.
            CommentObject::Domain if object_name.0.len() > 1 => self.comment_on_constraint(object_name, comment)?,
            CommentObject::Sequence => self.comment_on_sequence(object_name, comment)?,
            CommentObject::Schema => {
                let name = parse::parts(object_name)?.join(".");
                let is_there =
                    name == crate::catalog::name::PUBLIC || matches!(&*name, "pg_catalog" | "information_schema");
                let missing =
                    || SqlError::new(SqlState::InvalidSchemaName, format!("schema \"{name}\" does not exist"));
                is_there.then_some(()).ok_or_else(missing)?;
                system::remark(self.transaction, Commented::Schema, &name, comment)?;
            }
            CommentObject::Database => {
                let name = parse::parts(object_name)?.join(".");
                if name != crate::session::DATABASE {
                    let message = format!("database \"{name}\" does not exist");
                    return Ok(Defined::noticed("COMMENT", SqlState::InvalidCatalogName, message));
                }
                system::remark(self.transaction, Commented::Database, &name, comment)?;
            }
            CommentObject::Role | CommentObject::User => {
                let name = parse::parts(object_name)?.join(".");
                if self.sql.role(&name)?.is_none() {
                    return Err(SqlError::new(SqlState::UndefinedObject, format!("role \"{name}\" does not exist")));
                }
                system::remark(self.transaction, Commented::Role, &name, comment)?;
            }
            other => return Err(SqlError::unsupported(format!("COMMENT ON {other}"))),
        }
        Ok(Defined::tagged("COMMENT"))
    }

    /// Changes what the notes of a table say.
    fn annotate(&self, relation: &Relation, change: impl FnOnce(&mut Blueprint) -> Result<()>) -> Result<()> {
        let mut blueprint = Blueprint::of(relation);
        change(&mut blueprint)?;
        let notes = blueprint.schema()?.notes().to_owned();
        self.transaction.annotate_table(&relation.table, notes)?;
        Ok(())
    }

    fn comment_on_table(&self, name: &ObjectName, comment: Option<&str>) -> Result<()> {
        let relation = self.writable(name)?;
        self.annotate(&relation, |blueprint| {
            blueprint.comment = comment.map(str::to_owned);
            Ok(())
        })
    }

    fn comment_on_column(&self, name: &ObjectName, comment: Option<&str>) -> Result<()> {
        let mut parts = name.0.clone();
        let column = parts.pop().map(|part| parse::parts(&ObjectName(vec![part]))).transpose()?.unwrap_or_default();
        if parts.is_empty() {
            return Err(SqlError::new(SqlState::SyntaxError, "column name must be qualified"));
        }
        let relation = self.writable(&ObjectName(parts))?;
        self.annotate(&relation, |blueprint| {
            blueprint.column_mut(&column.concat())?.comment = comment.map(str::to_owned);
            Ok(())
        })
    }

    fn comment_on_index(&self, name: &ObjectName, comment: Option<&str>) -> Result<()> {
        let index = parse::parts(name)?.pop().unwrap_or_default();
        let found = match self.table_of_index(&index)? {
            Some(table) => Some(Relation::of(&table)?),
            None => self.table_of_key(&index)?,
        };
        let Some(relation) = found else {
            return Err(SqlError::new(SqlState::UndefinedTable, format!("relation \"{index}\" does not exist")));
        };
        self.annotate(&relation, |blueprint| {
            note(blueprint, format!("index {index}"), comment);
            Ok(())
        })
    }

    /// The table whose primary key has a name.
    fn table_of_key(&self, name: &str) -> Result<Option<std::sync::Arc<Relation>>> {
        for table in self.table_names()? {
            let Ok(table) = self.transaction.table(&table) else { continue };
            let relation = Relation::of(&table)?;
            if !relation.has_hidden_key && relation.key_name == name && !relation.name.is_own() {
                return Ok(Some(relation));
            }
        }
        Ok(None)
    }

    fn comment_on_constraint(&self, name: &ObjectName, comment: Option<&str>) -> Result<()> {
        let constraint = parse::parts(&ObjectName(name.0[..1].to_vec()))?.concat();
        let relation = self.writable(&ObjectName(name.0[1..].to_vec()))?;
        self.annotate(&relation, |blueprint| {
            let part = format!("constraint {constraint}");
            if !blueprint.has_part(&part) {
                let message =
                    format!("constraint \"{constraint}\" for table \"{}\" does not exist", blueprint.name.name);
                return Err(SqlError::new(SqlState::UndefinedObject, message));
            }
            note(blueprint, part, comment);
            Ok(())
        })
    }

    fn comment_on_sequence(&self, name: &ObjectName, comment: Option<&str>) -> Result<()> {
        let names = self.names();
        for candidate in Binder::new(&names, self.settings, &[]).candidates(name)? {
            if self.transaction.sequence(&candidate.engine()).is_ok() {
                return system::remark(self.transaction, Commented::Sequence, &candidate.engine(), comment);
            }
        }
        Err(crate::bind::undefined_table(name))
    }

    /// The table that a name means, which must be there and be none of the catalog's.
    fn writable(&self, name: &ObjectName) -> Result<std::sync::Arc<Relation>> {
        self.relation(name)
    }
}

/// Says what is commented on a part of a table.
fn note(blueprint: &mut Blueprint, part: String, comment: Option<&str>) {
    match comment {
        Some(comment) => drop(blueprint.comments.insert(part, comment.to_owned())),
        None => drop(blueprint.comments.remove(&part)),
    }
}
