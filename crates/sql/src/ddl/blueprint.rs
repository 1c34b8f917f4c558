//! What a table is to be: columns, keys, indexes and rules, before it is made.

use std::collections::BTreeMap;

use osier::Schema;
use sqlparser::ast::ForeignKeyConstraint;

use crate::catalog::name::{Name, made_name};
use crate::catalog::notes::{
    CheckNote, ColumnNote, Computed, ForeignKeyNote, HIDDEN_KEY, Identity, Notes, OnCommit, ReferenceNote, kept_type,
};
use crate::catalog::relation::Relation;
use crate::enumeration::EnumType;
use crate::error::{Result, SqlError, SqlState};
use crate::parse;
use crate::types::{Declared, Type};
use crate::value::storage;

/// A table that is to be made.
#[derive(Clone, Debug)]
pub(super) struct Blueprint {
    pub(super) name: Name,
    /// Those that are computed for indexes come last.
    pub(super) columns: Vec<ColumnPlan>,
    /// The name of the primary key's constraint, and its columns; `None`: rows get a hidden key.
    pub(super) key: Option<(String, Vec<String>)>,
    pub(super) indexes: Vec<IndexPlan>,
    pub(super) checks: Vec<CheckNote>,
    /// Foreign keys as they were declared, which are resolved when all else is there.
    pub(super) declared_keys: Vec<ForeignKeyConstraint>,
    pub(super) foreign_keys: Vec<ForeignKeyNote>,
    pub(super) referenced_by: Vec<ReferenceNote>,
    pub(super) owner: String,
    /// Of a temporary table: what becomes of it when a transaction commits.
    pub(super) on_commit: Option<OnCommit>,
    /// Of a materialized view: whether it has the rows of its query.
    pub(super) populated: Option<bool>,
    pub(super) comment: Option<String>,
    /// The sequence of the hidden key, if there is one already.
    pub(super) hidden_sequence: Option<String>,
    /// The number that the table has in the catalog; `None`: that of its id.
    pub(super) oid: Option<u32>,
    /// Comments on indexes and constraints.
    pub(super) comments: BTreeMap<String, String>,
    /// The types that users have made which columns have, and expressions name.
    pub(super) types: Vec<EnumType>,
    /// The defaults and checks that the statement at hand says: what their literals mean is still to be written into them.
    pub(super) unread: Vec<String>,
}

/// A column that is to be.
#[derive(Clone, Debug)]
pub(super) struct ColumnPlan {
    pub(super) name: String,
    pub(super) declared: Declared,
    pub(super) is_nullable: bool,
    pub(super) default: Option<String>,
    /// Whether the default is what each row has, computed of its other columns.
    pub(super) is_generated: bool,
    /// What it is to indexes, where statements do not see it.
    pub(super) computed: Option<Computed>,
    /// The column that says where it is computed, if it is not everywhere.
    pub(super) within: Option<String>,
    pub(super) identity: Option<Identity>,
    pub(super) sequence: Option<String>,
    pub(super) collation: Option<String>,
    pub(super) comment: Option<String>,
}

impl ColumnPlan {
    /// A column of which no more is said than its type.
    pub(super) fn new(name: String, declared: Declared) -> ColumnPlan {
        ColumnPlan {
            name,
            declared,
            is_nullable: true,
            default: None,
            is_generated: false,
            computed: None,
            within: None,
            identity: None,
            sequence: None,
            collation: None,
            comment: None,
        }
    }
}

/// An index that is to be.
#[derive(Clone, Debug)]
pub(super) struct IndexPlan {
    /// Of its keys, as they are declared; empty where nothing is said.
    pub(super) orders: Vec<u8>,
    pub(super) name: String,
    pub(super) columns: Vec<String>,
    pub(super) is_unique: bool,
    /// Whether it is a constraint of the table.
    pub(super) is_constraint: bool,
}

impl Blueprint {
    pub(super) fn new(name: Name, owner: &str) -> Blueprint {
        Blueprint {
            name,
            columns: Vec::new(),
            key: None,
            indexes: Vec::new(),
            checks: Vec::new(),
            declared_keys: Vec::new(),
            foreign_keys: Vec::new(),
            referenced_by: Vec::new(),
            owner: owner.to_owned(),
            on_commit: None,
            populated: None,
            comment: None,
            hidden_sequence: None,
            oid: None,
            comments: BTreeMap::new(),
            types: Vec::new(),
            unread: Vec::new(),
        }
    }

    /// What a table is.
    pub(super) fn of(relation: &Relation) -> Blueprint {
        let notes = &relation.notes;
        let note = |at: usize| notes.columns.get(at);
        let all = relation.columns[..relation.computed().end].iter().enumerate();
        let columns = all.map(|(at, column)| ColumnPlan {
            name: column.name.clone(),
            declared: column.declared,
            is_nullable: column.is_nullable,
            default: column.default.clone(),
            is_generated: column.is_generated,
            computed: column.computed,
            within: column.within.clone(),
            identity: column.identity,
            sequence: note(at).and_then(|note| note.sequence.clone()),
            collation: column.collation.clone(),
            comment: note(at).and_then(|note| note.comment.clone()),
        });
        let names = |columns: &[usize]| columns.iter().map(|at| relation.columns[*at].name.clone()).collect::<Vec<_>>();
        let indexes = relation.indexes.iter().map(|index| IndexPlan {
            orders: index.orders.clone(),
            name: index.name.clone(),
            columns: names(&index.columns),
            is_unique: index.is_unique,
            is_constraint: notes.unique.contains(&index.name),
        });
        Blueprint {
            name: relation.name.clone(),
            columns: columns.collect(),
            key: (!relation.has_hidden_key).then(|| (relation.key_name.clone(), names(&relation.key))),
            indexes: indexes.collect(),
            checks: notes.checks.clone(),
            declared_keys: Vec::new(),
            foreign_keys: notes.foreign_keys.clone(),
            referenced_by: notes.referenced_by.clone(),
            owner: notes.owner.clone(),
            on_commit: notes.on_commit,
            populated: notes.populated,
            comment: notes.comment.clone(),
            oid: Some(relation.oid()),
            comments: notes.comments.clone(),
            types: relation.types.clone(),
            unread: Vec::new(),
            hidden_sequence: if relation.has_hidden_key {
                notes.columns.last().and_then(|note| note.sequence.clone())
            } else {
                None
            },
        }
    }

    /// The column of that name that statements see.
    pub(super) fn column(&self, name: &str) -> Option<&ColumnPlan> {
        self.visible().find(|column| column.name == name)
    }

    /// The columns that statements see.
    pub(super) fn visible(&self) -> impl Iterator<Item = &ColumnPlan> {
        self.columns.iter().filter(|column| column.computed.is_none())
    }

    pub(super) fn column_mut(&mut self, name: &str) -> Result<&mut ColumnPlan> {
        let table = self.name.name.clone();
        let is_it = |column: &&mut ColumnPlan| column.computed.is_none() && column.name == name;
        self.columns.iter_mut().find(is_it).ok_or_else(|| {
            let message = format!("column \"{name}\" of relation \"{table}\" does not exist");
            SqlError::new(SqlState::UndefinedColumn, message)
        })
    }

    /// Adds a column.
    pub(super) fn add(&mut self, column: ColumnPlan) -> Result<()> {
        if self.column(&column.name).is_some() {
            return Err(SqlError::named_twice(&column.name));
        }
        if is_reserved_column(&column.name) {
            return Err(reserved_column(&column.name));
        }
        storage::stored_type(column.declared)?;
        self.columns.insert(self.visible().count(), column);
        Ok(())
    }

    /// The name of the column that has the value of an expression in each row, or in those where the column `within` is true.
    /// It is added where there is none.
    ///
    /// # Errors
    /// A type that no key has.
    pub(super) fn compute(
        &mut self,
        computed: Computed,
        text: &str,
        declared: Declared,
        within: Option<&str>,
    ) -> Result<String> {
        let is_it = |column: &&ColumnPlan| {
            let is_text = column.default.as_deref() == Some(text);
            column.computed == Some(computed) && is_text && column.within.as_deref() == within
        };
        if let Some(known) = self.columns.iter().find(is_it) {
            return Ok(known.name.clone());
        }
        let names = (1..).map(|number| format!("{}{number}", osier::table::Column::COMPUTED_PREFIX));
        let is_free = |name: &String| self.columns.iter().all(|column| column.name != *name);
        let name = names.into_iter().find(is_free).unwrap_or_default();
        let column = ColumnPlan {
            name: name.clone(),
            declared,
            is_nullable: true,
            default: Some(text.to_owned()),
            is_generated: true,
            computed: Some(computed),
            within: within.map(str::to_owned),
            identity: None,
            sequence: None,
            collation: None,
            comment: None,
        };
        refuse_as_key(&column)?;
        self.columns.push(column);
        Ok(name)
    }

    /// Whether an index begins with a condition.
    fn is_partial(&self, index: &IndexPlan) -> bool {
        let is_first = |column: &&ColumnPlan| index.columns.first() == Some(&column.name);
        self.columns.iter().find(is_first).is_some_and(|first| first.computed == Some(Computed::Predicate))
    }

    /// Leaves out the computed columns that no index has.
    pub(super) fn forget_unused(&mut self) {
        let indexes = &self.indexes;
        let is_used = |name: &String| indexes.iter().any(|index| index.columns.contains(name));
        self.columns.retain(|column| column.computed.is_none() || is_used(&column.name));
    }

    /// Makes columns the primary key.
    pub(super) fn set_key(&mut self, name: String, columns: Vec<String>) -> Result<()> {
        if self.key.is_some() {
            let message = format!("multiple primary keys for table \"{}\" are not allowed", self.name.name);
            return Err(SqlError::new(SqlState::InvalidTableDefinition, message));
        }
        self.need_columns(&columns)?;
        for column in &columns {
            self.column_mut(column)?.is_nullable = false;
        }
        self.key = Some((name, columns));
        Ok(())
    }

    /// Refuses columns that are not there, or that cannot be a key.
    pub(super) fn need_columns(&self, columns: &[String]) -> Result<()> {
        for name in columns {
            let Some(column) = self.column(name) else {
                let message = format!("column \"{name}\" named in key does not exist");
                return Err(SqlError::new(SqlState::UndefinedColumn, message));
            };
            refuse_as_key(column)?;
        }
        Ok(())
    }

    /// The names of its indexes, that of the primary key among them.
    pub(super) fn index_names(&self) -> impl Iterator<Item = &str> {
        let key = self.key.iter().map(|(name, _)| name.as_str());
        key.chain(self.indexes.iter().map(|index| index.name.as_str()))
    }

    /// A name that no check of the table has yet.
    pub(super) fn check_name(&self, column: Option<&str>) -> String {
        let is_free = |name: &String| self.checks.iter().all(|check| check.name != *name);
        self.numbered(column, "check").find(is_free).unwrap_or_default()
    }

    /// The names with a label that may be given, with numbers behind it from the second one on.
    pub(super) fn numbered(&self, columns: Option<&str>, label: &str) -> impl Iterator<Item = String> {
        let labels = std::iter::once(label.to_owned()).chain((1..).map(move |number| format!("{label}{number}")));
        labels.map(move |label| made_name(&self.name.name, columns, &label))
    }

    /// Refuses two constraints of one name.
    pub(super) fn refuse_same_names(&self) -> Result<()> {
        let key = self.key.iter().map(|(name, _)| name.as_str());
        let unique = self.indexes.iter().filter(|index| index.is_constraint).map(|index| index.name.as_str());
        let checks = self.checks.iter().map(|check| check.name.as_str());
        let mut names: Vec<&str> = key.chain(unique).chain(checks).collect();
        names.extend(self.foreign_keys.iter().map(|key| key.name.as_str()));
        names.sort_unstable();
        let Some(same) = names.windows(2).find(|pair| pair[0] == pair[1]) else { return Ok(()) };
        let message = format!("constraint \"{}\" for relation \"{}\" already exists", same[0], self.name.name);
        Err(SqlError::new(SqlState::DuplicateObject, message))
    }

    /// Whether something that can have a comment is there: `index NAME` or `constraint NAME`.
    pub(super) fn has_part(&self, part: &str) -> bool {
        let is_key = |name: &str| self.key.as_ref().is_some_and(|(key, _)| key == name);
        let index = |name: &str| self.indexes.iter().find(|index| index.name == name);
        match part.split_once(' ') {
            Some(("index", name)) => is_key(name) || index(name).is_some(),
            Some(("constraint", name)) => {
                let is_index_alone = index(name).is_some_and(|index| !index.is_constraint);
                self.has_constraint(name) && !is_index_alone
            }
            _ => false,
        }
    }

    /// Leaves the name of the table out of its checks.
    pub(super) fn unqualify_checks(&mut self) {
        for check in &mut self.checks {
            check.expression = parse::columns::unqualified(&check.expression, &self.name.name);
        }
    }

    /// The schema of the engine. `hidden_sequence` gives the hidden keys, where there are some.
    pub(super) fn schema(&self) -> Result<Schema> {
        let mut builder = Schema::builder(self.name.engine());
        let mut notes = Notes::new(&self.owner);
        for column in &self.columns {
            let ty = storage::stored_type(column.declared)?;
            builder = match column.is_nullable {
                true => builder.nullable_column(&column.name, ty),
                false => builder.column(&column.name, ty),
            };
            notes.columns.push(ColumnNote {
                ty: kept_type(column.declared),
                default: column.default.clone(),
                is_generated: column.is_generated,
                computed: column.computed,
                within: column.within.clone(),
                identity: column.identity,
                sequence: column.sequence.clone(),
                collation: column.collation.clone(),
                comment: column.comment.clone(),
            });
        }
        builder = match &self.key {
            Some((name, columns)) => {
                notes.primary_key = Some(name.clone());
                builder.primary_key(columns)
            }
            None => {
                notes.columns.push(ColumnNote {
                    ty: Type::Int8.to_string(),
                    default: None,
                    is_generated: false,
                    computed: None,
                    within: None,
                    identity: None,
                    sequence: self.hidden_sequence.clone(),
                    collation: None,
                    comment: None,
                });
                builder.column(HIDDEN_KEY, osier::table::Type::Int64).primary_key([HIDDEN_KEY])
            }
        };
        for index in &self.indexes {
            builder = match (self.is_partial(index), index.is_unique) {
                (true, unique) => builder.partial_index(&index.name, &index.columns, unique),
                (false, true) => builder.unique_index(&index.name, &index.columns),
                (false, false) => builder.index(&index.name, &index.columns),
            };
            if index.is_constraint {
                notes.unique.push(index.name.clone());
            }
            if !index.orders.is_empty() {
                notes.orders.insert(index.name.clone(), index.orders.clone());
            }
        }
        notes.checks.clone_from(&self.checks);
        notes.foreign_keys.clone_from(&self.foreign_keys);
        notes.referenced_by.clone_from(&self.referenced_by);
        notes.comment.clone_from(&self.comment);
        notes.on_commit = self.on_commit;
        notes.populated = self.populated;
        notes.oid = self.oid;
        notes.types = self.types.iter().map(|ty| ty.definition()).collect();
        notes.comments.clone_from(&self.comments);
        notes.comments.retain(|of, _| self.has_part(of));
        Ok(builder.build()?.with_notes(notes.text())?)
    }
}

/// Whether a column cannot be called so.
pub(super) fn is_reserved_column(name: &str) -> bool {
    name == HIDDEN_KEY || name.starts_with(osier::table::Column::COMPUTED_PREFIX)
}

pub(super) fn reserved_column(name: &str) -> SqlError {
    SqlError::new(SqlState::ReservedName, format!("the column name \"{name}\" is reserved"))
}

/// Refuses a column of a type that no key has.
pub(super) fn refuse_as_key(column: &ColumnPlan) -> Result<()> {
    let declared = column.declared;
    let what = if column.computed.is_some() { "an expression" } else { "a column" };
    let unsupported = || SqlError::unsupported(format!("a key with {what} of type {declared}"));
    let is_inexact = match declared.ty {
        Type::Json | Type::Jsonb | Type::Array(_) => return Err(unsupported()),
        Type::Numeric => !matches!(storage::stored_type(declared)?, osier::table::Type::Numeric { .. }),
        ty => ty == Type::Interval,
    };
    match (is_inexact, column.computed.is_some()) {
        (false, _) => Ok(()),
        (true, false) => Err(unsupported().with_hint("Declare numeric with up to 18 digits, as numeric(18,2).")),
        (true, true) => Err(unsupported().with_hint("Cast it to numeric with up to 18 digits, as numeric(18,2).")),
    }
}
