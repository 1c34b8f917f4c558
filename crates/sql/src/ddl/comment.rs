//! `COMMENT ON`.

use sqlparser::ast::{CommentObject, ObjectName, Statement};

use super::authority::Taken;
use super::blueprint::Blueprint;
use super::{Defined, Definer};
use crate::catalog::name::Name;
use crate::catalog::relation::Relation;
use crate::catalog::rights::Object;
use crate::catalog::system::{self, Commented};
use crate::error::{Result, SqlError, SqlState};
use crate::parse;
use crate::sql::Sql;

impl Definer<'_, '_> {
    pub(super) fn comment(&self, statement: &Statement) -> Result<Defined> {
        let Statement::Comment { object_type, object_name, comment, .. } = statement else {
            unreachable!("the statement is a comment");
        };
        // An empty comment is none.
        let comment = comment.as_deref().filter(|comment| !comment.is_empty());
        match object_type {
            CommentObject::Table => self.comment_on_rows(object_name, comment, Taken::Table)?,
            CommentObject::Column => self.comment_on_column(object_name, comment)?,
            CommentObject::Index => self.comment_on_index(object_name, comment)?,
            // See `adapt` of the parser: a constraint and its table.
            CommentObject::Domain if object_name.0.len() > 1 => self.comment_on_constraint(object_name, comment)?,
            CommentObject::Sequence => self.comment_on_sequence(object_name, comment)?,
            CommentObject::View => self.comment_on_view(object_name, comment)?,
            CommentObject::MaterializedView => self.comment_on_rows(object_name, comment, Taken::Materialized)?,
            CommentObject::Schema => {
                let name = super::schema::schema_name(object_name)?;
                let objects = self.objects()?;
                if !objects.has_schema(&name) && !matches!(&*name, "pg_catalog" | "information_schema") {
                    let message = format!("schema \"{name}\" does not exist");
                    return Err(SqlError::new(SqlState::InvalidSchemaName, message));
                }
                objects.need_owner(self.user, &Object::Schema(name.clone()), objects.schema_owner(&name))?;
                system::remark(self.transaction, Commented::Schema, &name, comment)?;
            }
            CommentObject::Extension => {
                let name = parse::parts(object_name)?.join(".");
                self.own_extension(&name)?;
                system::remark(self.transaction, Commented::Extension, &name, comment)?;
            }
            CommentObject::Type => {
                let (name, _) = self.own_type(&parse::parts(object_name)?)?;
                system::remark(self.transaction, Commented::Type, &name.engine(), comment)?;
            }
            CommentObject::Database => {
                let name = parse::parts(object_name)?.join(".");
                if name != crate::session::DATABASE {
                    let message = format!("database \"{name}\" does not exist");
                    return Ok(Defined::noticed("COMMENT", SqlState::InvalidCatalogName, message));
                }
                let objects = self.objects()?;
                if !objects.is_owner(self.user, Sql::FIRST_ROLE) {
                    let message = format!("must be owner of database {name}");
                    return Err(SqlError::new(SqlState::InsufficientPrivilege, message));
                }
                system::remark(self.transaction, Commented::Database, &name, comment)?;
            }
            CommentObject::Role | CommentObject::User => {
                let name = parse::parts(object_name)?.join(".");
                self.need_role_comment(&name)?;
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

    /// Of a table, or of a materialized view.
    fn comment_on_rows(&self, name: &ObjectName, comment: Option<&str>, wanted: Taken) -> Result<()> {
        if let Some((found, taken)) = self.named(&parse::parts(name)?)?
            && taken != wanted
        {
            let message = format!("\"{}\" is not a {}", found.name, wanted.word());
            return Err(SqlError::new(SqlState::WrongObjectType, message));
        }
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
        let table = ObjectName(parts);
        if let Some((name, Taken::View)) = self.named(&parse::parts(&table)?)? {
            return self.comment_on_view_column(&name, &column.concat(), comment);
        }
        let relation = self.writable(&table)?;
        self.annotate(&relation, |blueprint| {
            blueprint.column_mut(&column.concat())?.comment = comment.map(str::to_owned);
            Ok(())
        })
    }

    fn comment_on_index(&self, name: &ObjectName, comment: Option<&str>) -> Result<()> {
        let parts = parse::parts(name)?;
        let mut found = None;
        for index in self.candidates(&parts)? {
            found = self.table_of_index(&index)?.map(|table| Relation::of(&table)).transpose()?;
            if found.is_some() {
                break;
            }
        }
        let index = parts.last().map_or("", String::as_str);
        let Some(relation) = found else {
            let message = format!("relation \"{}\" does not exist", parts.join("."));
            return Err(SqlError::new(SqlState::UndefinedTable, message));
        };
        if !self.objects()?.is_owner(self.user, &relation.notes.owner) {
            let message = format!("must be owner of index {index}");
            return Err(SqlError::new(SqlState::InsufficientPrivilege, message));
        }
        self.annotate(&relation, |blueprint| {
            note(blueprint, format!("index {index}"), comment);
            Ok(())
        })
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
        for candidate in self.candidates(&parse::parts(name)?)? {
            if candidate.is_sound() && !candidate.is_own() && self.transaction.sequence(&candidate.engine()).is_ok() {
                let owner = self.sequence_owner(&candidate)?;
                self.objects()?.need_owner(self.user, &Object::Sequence(candidate.clone()), &owner)?;
                return system::remark(self.transaction, Commented::Sequence, &candidate.engine(), comment);
            }
        }
        Err(crate::bind::undefined_table(name))
    }

    fn comment_on_view(&self, name: &ObjectName, comment: Option<&str>) -> Result<()> {
        let parts = parse::parts(name)?;
        match self.named(&parts)? {
            None => Err(crate::bind::undefined_table(name)),
            Some((name, Taken::View)) => {
                self.need_view(&name)?;
                self.change_view(&name, |view| view.comment = comment.map(str::to_owned))
            }
            Some((name, _)) => {
                let message = format!("\"{}\" is not a view", name.name);
                Err(SqlError::new(SqlState::WrongObjectType, message))
            }
        }
    }

    fn comment_on_view_column(&self, name: &Name, column: &str, comment: Option<&str>) -> Result<()> {
        self.need_view(name)?;
        let objects = self.objects()?;
        let known = objects.views.get(name).is_some_and(|view| view.columns.iter().any(|own| own.name == column));
        if !known {
            let message = format!("column \"{column}\" of relation \"{}\" does not exist", name.name);
            return Err(SqlError::new(SqlState::UndefinedColumn, message));
        }
        self.change_view(name, |view| {
            for own in view.columns.iter_mut().filter(|own| own.name == column) {
                own.comment = comment.map(str::to_owned);
            }
        })
    }

    fn need_view(&self, name: &Name) -> Result<()> {
        let (object, owner) = self.object_of(name, Taken::View)?;
        self.objects()?.need_owner(self.user, &object, &owner)
    }

    fn need_role_comment(&self, name: &str) -> Result<()> {
        let objects = self.objects()?;
        let Some(role) = objects.roles.get(name) else {
            return Err(SqlError::new(SqlState::UndefinedObject, format!("role \"{name}\" does not exist")));
        };
        let denied = |message: &str| Err(SqlError::new(SqlState::InsufficientPrivilege, message));
        if objects.is_superuser(self.user) {
            return Ok(());
        }
        if role.is_superuser {
            return denied("must be superuser to comment on superuser role");
        }
        match objects.roles.get(self.user).is_some_and(|own| own.create_role) {
            true => Ok(()),
            false => denied("must have CREATEROLE privilege"),
        }
    }

    /// The table that a name means, which must be there, be none of the catalog's, and be the user's own.
    fn writable(&self, name: &ObjectName) -> Result<std::sync::Arc<Relation>> {
        let relation = self.relation(name)?;
        self.need_table(&relation)?;
        Ok(relation)
    }
}

/// Says what is commented on a part of a table.
fn note(blueprint: &mut Blueprint, part: String, comment: Option<&str>) {
    match comment {
        Some(comment) => drop(blueprint.comments.insert(part, comment.to_owned())),
        None => drop(blueprint.comments.remove(&part)),
    }
}
