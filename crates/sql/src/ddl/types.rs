//! `CREATE TYPE`, `ALTER TYPE` and `DROP TYPE`.
//!
//! Invariants:
//! - A table has in its notes the definitions of all types that its columns have and that its expressions name. So who changes a
//!   type changes every such table, and conflicts with whoever reads or writes one of them.
//! - In texts that are kept, names and labels of types are [found](parse::types::in_text), and follow when they change.

use std::sync::Arc;

use sqlparser::ast::{Ident, ObjectName, Statement};

use super::alter::{Rewrite, mentions};
use super::authority::Taken;
use super::blueprint::{Blueprint, ColumnPlan};
use super::depend::Dependent;
use super::{Defined, Definer};
use crate::bind::Binder;
use crate::bind::places::edited;
use crate::catalog::name::Name;
use crate::catalog::objects::{self, Kind, TypeEntry, UserType, ViewEntry};
use crate::catalog::relation::Relation;
use crate::catalog::rights::Object;
use crate::catalog::system::{self, Commented};
use crate::catalog::temporary::ALIAS;
use crate::datum::Datum;
use crate::enumeration::{self, Definition, EnumType, Position};
use crate::error::{Result, SqlError, SqlState};
use crate::expr::Expr;
use crate::parse;
use crate::parse::enums::TypeStatement;
use crate::parse::objects::Change;
use crate::parse::quote::{literal, quoted};
use crate::settings::Settings;
use crate::types::Type;
use crate::value;

/// Numbers from here on, two for each, are those of types that users have made: above those of tables.
const FIRST_OID: u32 = 1 << 29;
/// Numbers from here on follow from the names of other objects.
const END_OID: u32 = 1 << 30;

/// What uses a type.
struct Users {
    tables: Vec<Arc<Relation>>,
    views: Vec<(Kind, Name, Arc<ViewEntry>)>,
}

/// What of a table depends on a type, and on what of it.
struct DependentPart {
    shown: String,
    on: String,
}

impl Definer<'_, '_> {
    pub(super) fn type_statement(&self, statement: &TypeStatement) -> Result<Defined> {
        match statement {
            TypeStatement::Create { name, labels } => self.create_type(name, labels),
            TypeStatement::AddLabel { name, if_not_exists, label, position } => {
                self.add_label(name, *if_not_exists, label, position)
            }
            TypeStatement::RenameLabel { name, from, to } => {
                let (_, known) = self.own_type(name)?;
                let mut definition = known.ty.definition();
                enumeration::rename(&mut definition.labels, from, to)?;
                self.change_type(&known, &definition)?;
                Ok(Defined::tagged("ALTER TYPE"))
            }
            TypeStatement::Alter { name, change } => self.alter_type(name, change),
            TypeStatement::Drop { names, if_exists, cascades } => self.drop_types(names, *if_exists, *cascades),
        }
    }

    fn create_type(&self, name: &[String], labels: &[String]) -> Result<Defined> {
        let name = self.new_name(&object_name(name), false)?;
        self.refuse_temporary_type(&name.schema)?;
        self.need_new_type(&name)?;
        let number = objects::new_number(self.transaction)?;
        let oid = number.checked_mul(2).and_then(|number| FIRST_OID.checked_add(number));
        let oid = oid.filter(|oid| *oid < END_OID).ok_or_else(|| {
            SqlError::new(SqlState::ProgramLimitExceeded, "there are no numbers left for types of users")
        })?;
        let labels = enumeration::declared(labels)?;
        let definition = Definition { oid, schema: name.schema.clone(), name: name.name.clone(), labels };
        let entry = TypeEntry { owner: self.user.to_owned(), definition };
        objects::put(self.transaction, Kind::Type, &name.engine(), &entry)?;
        Ok(Defined::tagged("CREATE TYPE"))
    }

    fn refuse_temporary_type(&self, schema: &str) -> Result<()> {
        match schema == ALIAS || self.settings.temporary().is_own(schema) {
            true => Err(SqlError::unsupported("a temporary type").with_hint("Make it in another schema.")),
            false => Ok(()),
        }
    }

    /// Refuses a name that a type, or a relation whose rows are of a type, has already.
    fn need_new_type(&self, name: &Name) -> Result<()> {
        let taken = self.claim(name)?.filter(|taken| *taken != Taken::Index);
        match taken.is_some() || self.objects()?.types.contains_key(name) {
            true => Err(type_exists(name)),
            false => Ok(()),
        }
    }

    /// Refuses a name for a relation that a type has.
    pub(super) fn refuse_type_name(&self, name: &Name) -> Result<()> {
        match self.objects()?.types.contains_key(name) {
            true => Err(type_exists(name).with_hint(
                "A relation has an associated type of the same name, so you must use a name that doesn't conflict \
                 with any existing type.",
            )),
            false => Ok(()),
        }
    }

    /// The type that a name means; `None` where there is none.
    pub(super) fn find_type(&self, parts: &[String]) -> Result<Option<(Name, UserType)>> {
        let names = self.names();
        let found = Binder::new(&names, self.settings, &[]).find_type(&object_name(parts))?;
        let Some(found) = found else { return Ok(None) };
        let name = Name::new(found.schema(), found.name());
        let known = self.objects()?.types.get(&name).cloned();
        Ok(known.map(|known| (name, known)))
    }

    /// The type that a name means, which must be there and be the user's own.
    pub(super) fn own_type(&self, parts: &[String]) -> Result<(Name, UserType)> {
        if let Some((name, known)) = self.find_type(parts)? {
            self.objects()?.need_owner(self.user, &Object::Type(name.clone()), &known.owner)?;
            return Ok((name, known));
        }
        match parse::declared(&parts.join(".")) {
            Ok(system) => Err(SqlError::new(SqlState::WrongObjectType, format!("{} is not an enum", system.ty))),
            Err(_) => Err(no_type(parts)),
        }
    }

    fn add_label(&self, name: &[String], if_not_exists: bool, label: &str, position: &Position) -> Result<Defined> {
        let (_, known) = self.own_type(name)?;
        if known.ty.find(label).is_some() {
            let message = format!("enum label \"{label}\" already exists");
            return match if_not_exists {
                true => Ok(Defined::noticed("ALTER TYPE", SqlState::DuplicateObject, format!("{message}, skipping"))),
                false => Err(SqlError::new(SqlState::DuplicateObject, message)),
            };
        }
        let mut definition = known.ty.definition();
        enumeration::add(&mut definition.labels, label, position, &known.ty.numbers_beside(label))?;
        self.change_type(&known, &definition)?;
        Ok(Defined::tagged("ALTER TYPE"))
    }

    fn alter_type(&self, parts: &[String], change: &Change) -> Result<Defined> {
        let (name, known) = self.own_type(parts)?;
        match change {
            Change::Owner(role) => {
                let (object, new) = (Object::Type(name.clone()), self.role_of(role)?);
                self.need_owner_change(&object, &known.owner, &new, Some(&name.schema))?;
                let entry = TypeEntry { owner: new, definition: known.ty.definition() };
                objects::put(self.transaction, Kind::Type, &name.engine(), &entry)?;
            }
            Change::Name(new) => self.move_type(&known, &Name::new(&name.schema, new))?,
            Change::Schema(schema) => {
                self.refuse_temporary_type(schema)?;
                self.need_create(schema)?;
                self.move_type(&known, &Name::new(schema, &name.name))?;
            }
            Change::Options(_) | Change::Column { .. } => {
                return Err(SqlError::new(SqlState::SyntaxError, "a type has no such options"));
            }
        }
        Ok(Defined::tagged("ALTER TYPE"))
    }

    /// Gives a type another name, in the same schema or another one.
    pub(super) fn move_type(&self, known: &UserType, new: &Name) -> Result<()> {
        new.check()?;
        let old = Name::new(known.ty.schema(), known.ty.name());
        if *new == old {
            return Ok(());
        }
        self.need_new_type(new)?;
        let Definition { oid, labels, .. } = known.ty.definition();
        let definition = Definition { oid, schema: new.schema.clone(), name: new.name.clone(), labels };
        self.change_type(known, &definition)?;
        self.move_comment(Commented::Type, &old.engine(), &new.engine())
    }

    /// Makes a type another one, wherever it is.
    fn change_type(&self, known: &UserType, definition: &Definition) -> Result<()> {
        let (old, new) = (known.ty, EnumType::of(definition));
        let Users { tables, views } = self.users_of_type(old)?;
        let names = [old, new].map(|ty| Name::new(ty.schema(), ty.name()).engine());
        if names[0] != names[1] {
            objects::remove(self.transaction, Kind::Type, &names[0])?;
        }
        let entry = TypeEntry { owner: known.owner.clone(), definition: definition.clone() };
        objects::put(self.transaction, Kind::Type, &names[1], &entry)?;
        for relation in tables {
            let mut blueprint = Blueprint::of(&relation);
            blueprint.change_type(old, new)?;
            let table = self.transaction.annotate_table(&relation.table, blueprint.schema()?.notes().to_owned())?;
            // A text that says something else now ends the statement, and not the table.
            self.check_expressions(&table).map_err(SqlError::without_place)?;
        }
        for (kind, view, entry) in &views {
            let mut entry = ViewEntry::clone(entry);
            let edits = edits(&entry.query, old, new)?;
            entry.edit(edits);
            objects::put(self.transaction, *kind, &view.engine(), &entry)?;
        }
        views.iter().try_for_each(|(_, view, _)| self.read_view(view))
    }

    /// Binds the query of a view.
    fn read_view(&self, view: &Name) -> Result<()> {
        let names = self.names();
        let binder = Binder::new(&names, self.settings, &[]);
        if let Some(entry) = self.objects()?.materialized.get(view) {
            return binder.query_of_view(view, entry).map(drop).map_err(SqlError::without_place);
        }
        let text = format!("SELECT * FROM {}", parse::sequence::quoted(&view.schema, &view.name));
        for statement in parse::statements(&text)? {
            if let Statement::Query(query) = statement {
                binder.query(&query, None).map_err(SqlError::without_place)?;
            }
        }
        Ok(())
    }

    /// The tables whose columns have a type, or whose expressions name it, and the views whose queries do.
    fn users_of_type(&self, ty: EnumType) -> Result<Users> {
        let mut tables = Vec::new();
        for name in self.table_names()? {
            let relation = self.sql.find(self.transaction, &Name::of_engine(&name))?;
            tables.extend(relation.filter(|relation| relation.types.contains(&ty)));
        }
        let objects = self.objects()?;
        let has = |name: &Name| tables.iter().any(|relation| relation.name == *name);
        let views = objects.queries().filter(|(_, name, view)| has(name) || names(&view.query, ty));
        let views = views.map(|(kind, name, view)| (kind, name.clone(), view.clone())).collect();
        Ok(Users { tables, views })
    }

    fn drop_types(&self, names: &[Vec<String>], if_exists: bool, cascades: bool) -> Result<Defined> {
        let mut defined = Defined::tagged("DROP TYPE");
        for parts in names {
            let Some((name, known)) = self.find_type(parts)? else {
                if let Ok(system) = parse::declared(&parts.join(".")) {
                    let message =
                        format!("cannot drop type {} because it is required by the database system", system.ty);
                    return Err(SqlError::new(SqlState::DependentObjectsStillExist, message));
                }
                if !if_exists {
                    return Err(no_type(parts));
                }
                let message = format!("{}, skipping", no_type(parts).message);
                defined.notices.push(SqlError::new(SqlState::SuccessfulCompletion, message));
                continue;
            };
            self.need_to_drop(&Object::Type(name.clone()), &known.owner, &name.schema)?;
            self.release_type(&name, known.ty, cascades, &mut defined)?;
            self.remove_type(&name)?;
        }
        Ok(defined)
    }

    /// Removes a type that nothing depends on any more.
    pub(super) fn remove_type(&self, name: &Name) -> Result<()> {
        objects::remove(self.transaction, Kind::Type, &name.engine())?;
        system::forget(self.transaction, Commented::Type, &name.engine())
    }

    /// Refuses to drop a type that something depends on, or drops that.
    pub(super) fn release_type(&self, name: &Name, ty: EnumType, cascades: bool, defined: &mut Defined) -> Result<()> {
        let Users { tables, views } = self.users_of_type(ty)?;
        let what = format!("type {}", self.shown(&Name::new(&name.schema, quoted(&name.name))));
        let (mut parts, mut found) = (Vec::new(), Vec::new());
        for relation in tables.iter().filter(|relation| !relation.is_materialized()) {
            self.parts_with(relation, ty, &what, &mut parts, &mut found)?;
        }
        for (kind, view, _) in &views {
            let shown = format!("{} {}", kind.text(), self.shown(view));
            let line = format!("{shown} depends on {what}");
            found.push(Dependent { view: view.clone(), kind: *kind, line });
            self.dependents(&shown, view, None, &mut found)?;
        }
        found.sort_by(|one, other| one.view.cmp(&other.view));
        found.dedup_by(|one, other| one.view == other.view);
        if parts.is_empty() && found.is_empty() {
            return Ok(());
        }
        if !cascades {
            let lines = parts.iter().map(|part| format!("{} depends on {}", part.shown, part.on));
            let lines: Vec<String> = lines.chain(found.into_iter().map(|dependent| dependent.line)).collect();
            let message = format!("cannot drop {what} because other objects depend on it");
            return Err(SqlError::new(SqlState::DependentObjectsStillExist, message)
                .with_detail(lines.join("\n"))
                .with_hint("Use DROP ... CASCADE to drop the dependent objects too."));
        }
        let mut gone: Vec<String> = parts.iter().map(|part| part.shown.clone()).collect();
        gone.extend(found.iter().map(|dependent| self.shown_dependent(dependent)));
        // Whoever owns them.
        found.iter().try_for_each(|dependent| self.remove_dependent(dependent))?;
        for table in &tables {
            // Foreign keys of one are noted in another one.
            if let Some(relation) = self.sql.find(self.transaction, &table.name)? {
                self.drop_parts(&relation, ty, defined)?;
            }
        }
        self.say_gone(&gone, defined);
        Ok(())
    }

    /// What of a table depends on a type, and the views that use columns of it. What goes with a column is left out.
    fn parts_with(
        &self,
        relation: &Relation,
        ty: EnumType,
        what: &str,
        parts: &mut Vec<DependentPart>,
        views: &mut Vec<Dependent>,
    ) -> Result<()> {
        let shown = self.shown(&relation.name);
        let mut add = |shown: String, on: &str| parts.push(DependentPart { shown, on: on.to_owned() });
        let mut going = Vec::new();
        for (at, column) in relation.columns[..relation.visible()].iter().enumerate() {
            let uses = column.default.as_deref().is_some_and(|text| names(text, ty));
            if column.declared.ty.enumeration() == Some(ty) || (column.is_generated && uses) {
                going.push(at);
                let column_shown = format!("column {} of table {shown}", column.name);
                self.dependents(&column_shown, &relation.name, Some(&column.name), views)?;
                let on = if let Type::Array(_) = column.declared.ty { &format!("{what}[]") } else { what };
                for derived in self.generated_of(relation, &column.name)? {
                    let derived_shown = format!("column {derived} of table {shown}");
                    let own = relation.columns[relation.need(&derived)?].default.as_deref();
                    if !own.is_some_and(|text| names(text, ty)) {
                        self.dependents(&derived_shown, &relation.name, Some(&derived), views)?;
                        add(derived_shown, &column_shown);
                    }
                }
                add(column_shown, on);
            } else if uses {
                add(format!("default value for column {} of table {shown}", column.name), what);
            }
        }
        let catalog = self.names();
        let binder = Binder::new(&catalog, self.settings, &[]);
        for check in relation.notes.checks.iter().filter(|check| names(&check.expression, ty)) {
            let condition = binder.check(relation, check)?;
            if !going.iter().any(|at| condition.any(&|part| *part == Expr::Column(*at))) {
                add(format!("constraint {} on table {shown}", check.name), what);
            }
        }
        for index in &relation.indexes {
            let computed = index.columns.iter().filter(|at| relation.columns[**at].computed.is_some());
            let texts: Vec<&str> = computed.filter_map(|at| relation.columns[*at].default.as_deref()).collect();
            let is_going = |at: &usize| texts.iter().any(|text| mentions(text, &relation.columns[*at].name));
            if texts.iter().any(|text| names(text, ty)) && !going.iter().any(is_going) {
                add(format!("index {}", index.name), what);
            }
        }
        Ok(())
    }

    /// Drops what of a table depends on a type.
    fn drop_parts(&self, relation: &Relation, ty: EnumType, defined: &mut Defined) -> Result<()> {
        let mut blueprint = Blueprint::of(relation);
        let uses = |column: &ColumnPlan| column.default.as_deref().is_some_and(|text| names(text, ty));
        let computed = blueprint.columns.iter().filter(|column| column.computed.is_some() && uses(column));
        let computed: Vec<String> = computed.map(|column| column.name.clone()).collect();
        blueprint.indexes.retain(|index| !index.columns.iter().any(|column| computed.contains(column)));
        blueprint.checks.retain(|check| !names(&check.expression, ty));
        let is_going = |column: &&ColumnPlan| {
            column.declared.ty.enumeration() == Some(ty) || (column.is_generated && uses(column))
        };
        let going: Vec<String> = blueprint.visible().filter(is_going).map(|column| column.name.clone()).collect();
        let mut rewrite = Rewrite::default();
        // What goes with the columns is said already. One may have gone with another one.
        let mut unsaid = Defined::tagged("DROP TYPE");
        for name in going {
            self.drop_named_column(relation, &mut blueprint, &mut rewrite, &name, (true, true), &mut unsaid)?;
        }
        for column in blueprint.columns.iter_mut().filter(|column| column.computed.is_none()) {
            if uses(column) {
                column.default = None;
            }
        }
        self.reach(relation, &mut blueprint, &[])?;
        defined.notices.extend(rewrite.notices);
        Ok(())
    }

    /// Finds the types that a table is to know.
    pub(super) fn note_types(&self, blueprint: &mut Blueprint) -> Result<()> {
        let mut types: Vec<EnumType> = Vec::new();
        let objects = self.objects()?;
        let named = blueprint.texts().flat_map(parse::types::in_text).filter_map(|named| match &named.parts[..] {
            [schema, name] => objects.types.get(&Name::new(schema, name)).map(|known| known.ty),
            _ => None,
        });
        let declared = blueprint.columns.iter().filter_map(|column| column.declared.ty.enumeration());
        for ty in declared.chain(named) {
            if !types.contains(&ty) {
                types.push(ty);
            }
        }
        blueprint.types = types;
        Ok(())
    }

    /// Makes a text name the types of users with their schemas.
    pub(super) fn with_types_named(&self, text: &str) -> Result<String> {
        let catalog = self.names();
        let binder = Binder::new(&catalog, self.settings, &[]);
        let mut edits = Vec::new();
        for named in parse::types::in_text(text) {
            let first = named.parts[0].as_str();
            let is_of_system = match named.is_quoted {
                true => Type::of_catalog_name(first).is_some(),
                false => parse::declared(first).is_ok(),
            };
            if named.parts.len() == 1 && is_of_system {
                continue;
            }
            if let Some((found, is_array)) = binder.find_type_or_array(&object_name(&named.parts))? {
                let brackets = if is_array && !named.is_array { "[]" } else { "" };
                edits.push((named.start, named.end, format!("{}{brackets}", found.qualified())));
            }
        }
        Ok(edited(text, edits))
    }
}

impl Blueprint {
    /// The expressions that are kept of the table.
    fn texts(&self) -> impl Iterator<Item = &str> {
        let defaults = self.columns.iter().filter_map(|column| column.default.as_deref());
        defaults.chain(self.checks.iter().map(|check| check.expression.as_str()))
    }

    /// Puts another definition of a type in the place of one.
    fn change_type(&mut self, old: EnumType, new: EnumType) -> Result<()> {
        for column in &mut self.columns {
            if column.declared.ty.enumeration() == Some(old) {
                let is_array = matches!(column.declared.ty, Type::Array(_));
                column.declared.ty = if is_array { new.array() } else { Type::Enum(new) };
            }
        }
        for ty in self.types.iter_mut().filter(|ty| **ty == old) {
            *ty = new;
        }
        let defaults = self.columns.iter_mut().filter_map(|column| column.default.as_mut());
        for text in defaults.chain(self.checks.iter_mut().map(|check| &mut check.expression)) {
            *text = edited(text, edits(text, old, new)?);
        }
        Ok(())
    }
}

/// Whether a text that is kept names a type.
fn names(text: &str, ty: EnumType) -> bool {
    parse::types::in_text(text).iter().any(|named| named.parts == [ty.schema(), ty.name()])
}

/// What a kept text is to say of a type that is called otherwise now, or has other labels: where, and how.
fn edits(text: &str, old: EnumType, new: EnumType) -> Result<Vec<(usize, usize, String)>> {
    let mut edits = Vec::new();
    for named in parse::types::in_text(text).into_iter().filter(|named| named.parts == [old.schema(), old.name()]) {
        if new.qualified() != old.qualified() {
            edits.push((named.start, named.end, new.qualified()));
        }
        let Some((start, end, said)) = named.literal else { continue };
        let ty = if named.is_array { old.array() } else { Type::Enum(old) };
        let value = value::parse(&said, ty.into(), &Settings::default())?;
        let now = relabelled(&value, new);
        if now != said {
            edits.push((start, end, literal(&now)));
        }
    }
    Ok(edits)
}

/// A value as text, with the labels of another definition of its type.
fn relabelled(value: &Datum, new: EnumType) -> String {
    let label = |label: &'static enumeration::Label| Datum::Enum(new.numbered(label.number).unwrap_or(label));
    let (value, ty) = match value {
        Datum::Enum(own) => (label(own), Type::Enum(new)),
        Datum::Array(elements) => {
            let renamed = |element: &Datum| if let Datum::Enum(own) = element { label(own) } else { element.clone() };
            (Datum::Array(elements.iter().map(renamed).collect()), new.array())
        }
        other => (other.clone(), Type::Enum(new)),
    };
    let mut text = Vec::new();
    value::push_text(&value, ty.into(), &Settings::default(), &mut text);
    String::from_utf8_lossy(&text).into_owned()
}

fn object_name(parts: &[String]) -> ObjectName {
    parts.iter().map(|part| Ident::with_quote('"', part)).collect::<Vec<_>>().into()
}

fn type_exists(name: &Name) -> SqlError {
    SqlError::new(SqlState::DuplicateObject, format!("type \"{}\" already exists", name.name))
}

fn no_type(parts: &[String]) -> SqlError {
    SqlError::new(SqlState::UndefinedObject, format!("type \"{}\" does not exist", parts.join(".")))
}
