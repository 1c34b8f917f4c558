//! `pg_namespace`, `pg_class`, `pg_attribute`, `pg_attrdef`, `pg_sequence`.

use super::object::Scope;
use super::relation::ALL;
use super::snapshot::{SequenceObject, Sort, TableObject, derived_oid};
use super::{
    BTREE, Catalog, FIRST_ROLE, HEAP, INFORMATION_SCHEMA, PG_CATALOG, PUBLIC, acl, array, kind, oid, role, text, view,
};
use crate::bind::select::index_label;
use crate::catalog::listing::Sequence;
use crate::catalog::name::Name;
use crate::catalog::notes::Identity;
use crate::catalog::relation::Relation;
use crate::catalog::rights::Object as Rights;
use crate::datum::Datum;
use crate::datum::Datum::{Bool, Float, Int, Null};
use crate::error::Result;
use crate::parse;
use crate::run::Row;
use crate::types::{Declared, Type};

/// What is always so of a relation, and what is not.
struct Class<'c> {
    oid: u32,
    name: &'c str,
    namespace: u32,
    is_temporary: bool,
    owner: u32,
    kind: &'static str,
    method: u32,
    has_index: bool,
    columns: usize,
    /// About how many rows it has; -1: that is not known.
    rows: f64,
    checks: usize,
    has_triggers: bool,
    has_rules: bool,
    /// Whether it can be read.
    is_populated: bool,
    acl: Datum,
    options: Datum,
}

impl Class<'_> {
    fn row(&self) -> Row {
        let is_stored = matches!(self.kind, "r" | "m" | "i" | "S");
        let (zero, no) = (|| Int(0), || Bool(false));
        vec![
            oid(self.oid),
            text(self.name),
            oid(self.namespace),
            // Nothing lists the types of rows, but tools take a relation without one for none.
            oid(if matches!(self.kind, "r" | "v" | "m") { self.oid } else { 0 }),
            zero(),
            oid(self.owner),
            oid(self.method),
            oid(if is_stored { self.oid } else { 0 }),
            zero(),
            zero(),
            Float(f64::from(self.rows as f32)),
            zero(),
            zero(),
            Bool(self.has_index),
            no(),
            text(if self.is_temporary { "t" } else { "p" }),
            text(self.kind),
            Int(self.columns as i64),
            Int(self.checks as i64),
            Bool(self.has_rules),
            Bool(self.has_triggers),
            no(),
            no(),
            no(),
            Bool(self.is_populated),
            text(if matches!(self.kind, "r" | "m") { "d" } else { "n" }),
            no(),
            zero(),
            zero(),
            zero(),
            self.acl.clone(),
            self.options.clone(),
            Null,
        ]
    }
}

/// The schemas, with their owners and names.
pub(super) fn schemas(catalog: &Catalog<'_>) -> Result<Vec<(u32, String, u32)>> {
    let own = |number, name: &str| (number, name.to_owned(), FIRST_ROLE);
    let objects = &catalog.snapshot()?.beside;
    let public = role::number_of(catalog, objects.schema_owner("public"))?;
    let mut schemas = vec![
        own(PG_CATALOG, "pg_catalog"),
        (PUBLIC, "public".to_owned(), public),
        own(INFORMATION_SCHEMA, "information_schema"),
    ];
    for (name, entry) in objects.schemas.iter().filter(|(name, _)| *name != "public") {
        let number = derived_oid(Sort::Schema, 0, &entry.number.to_string());
        schemas.push((number, name.clone(), role::number_of(catalog, &entry.owner)?));
    }
    schemas.extend(catalog.snapshot()?.temporary.iter().map(|name| own(derived_oid(Sort::Schema, 0, name), name)));
    Ok(schemas)
}

/// Whether a number is that of a temporary schema of another session.
pub(super) fn is_other_temporary(catalog: &Catalog<'_>, number: u32) -> Result<bool> {
    let mut temporary = catalog.snapshot()?.temporary.iter();
    let is_own = |name: &str| catalog.settings.temporary().is_own(name);
    Ok(temporary.any(|name| derived_oid(Sort::Schema, 0, name) == number && !is_own(name)))
}

/// The number of a schema.
pub(super) fn schema_number(catalog: &Catalog<'_>, name: &str) -> Result<Option<u32>> {
    Ok(schemas(catalog)?.into_iter().find(|(_, own, _)| own == name).map(|(number, ..)| number))
}

pub(super) fn namespaces(catalog: &Catalog<'_>) -> Result<Vec<Row>> {
    let row = |(number, name, owner): (u32, String, u32)| {
        let acl = acl::list(catalog, &Rights::Schema(name.clone()), None)?;
        Ok(vec![oid(number), text(name), oid(owner), acl])
    };
    schemas(catalog)?.into_iter().map(row).collect()
}

pub(super) fn classes(catalog: &Catalog<'_>, scope: Scope<'_>) -> Result<Vec<Row>> {
    let snapshot = catalog.snapshot()?;
    let is_temporary = |name: &Name| snapshot.temporary.contains(&name.schema);
    let mut rows = Vec::new();
    for at in scope.tables(catalog)? {
        table_classes(catalog, &snapshot.tables[at], scope, &mut rows)?;
    }
    for sequence in snapshot.sequences.iter().filter(|sequence| scope.has(sequence.oid, &sequence.listed.name.name)) {
        let class = Class {
            oid: sequence.oid,
            name: &sequence.listed.name.name,
            namespace: schema_number(catalog, &sequence.listed.name.schema)?.unwrap_or(PUBLIC),
            is_temporary: is_temporary(&sequence.listed.name),
            owner: owner_of(catalog, sequence)?,
            kind: "S",
            method: 0,
            has_index: false,
            columns: SEQUENCE_COLUMNS.len(),
            rows: 1.0,
            checks: 0,
            has_triggers: false,
            has_rules: false,
            is_populated: true,
            acl: acl::list(catalog, &Rights::Sequence(sequence.listed.name.clone()), None)?,
            options: Null,
        };
        rows.push(class.row());
    }
    for view in snapshot.views.iter().filter(|view| scope.has(view.oid, &view.name.name)) {
        let class = Class {
            oid: view.oid,
            name: &view.name.name,
            namespace: schema_number(catalog, &view.name.schema)?.unwrap_or(PUBLIC),
            is_temporary: is_temporary(&view.name),
            owner: role::number_of(catalog, &view.entry.owner)?,
            kind: "v",
            method: 0,
            has_index: false,
            columns: view.columns.len(),
            rows: 0.0,
            checks: 0,
            has_triggers: false,
            has_rules: true,
            is_populated: true,
            acl: acl::list(catalog, &Rights::View(view.name.clone()), None)?,
            options: view::options(view),
        };
        rows.push(class.row());
    }
    system_classes(scope, &mut rows);
    Ok(rows)
}

fn system_classes(scope: Scope<'_>, rows: &mut Vec<Row>) {
    for system in ALL.iter().filter(|system| scope.has(system.oid, system.name)) {
        let class = Class {
            oid: system.oid,
            name: system.name,
            namespace: system.namespace(),
            is_temporary: false,
            owner: FIRST_ROLE,
            kind: if system.is_view() { "v" } else { "r" },
            method: if system.is_view() { 0 } else { HEAP },
            has_index: false,
            columns: system.columns.len(),
            rows: -1.0,
            checks: 0,
            has_triggers: false,
            has_rules: system.is_view(),
            is_populated: true,
            acl: Null,
            options: Null,
        };
        rows.push(class.row());
    }
}

fn table_classes(catalog: &Catalog<'_>, table: &TableObject, scope: Scope<'_>, rows: &mut Vec<Row>) -> Result<()> {
    let relation = &table.relation;
    let name = &relation.name;
    let namespace = schema_number(catalog, &name.schema)?.unwrap_or(PUBLIC);
    let owner = role::number_of(catalog, &relation.notes.owner)?;
    let rows_of = || catalog.store.estimate_rows(&relation.table).round();
    if scope.has(table.oid, &name.name) {
        let class = Class {
            oid: table.oid,
            name: &name.name,
            namespace,
            is_temporary: relation.is_temporary(),
            owner,
            kind: if relation.is_materialized() { "m" } else { "r" },
            method: HEAP,
            has_index: !table.indexes.is_empty(),
            columns: relation.visible(),
            rows: rows_of(),
            checks: table.checks.len(),
            // PostgreSQL keeps foreign keys by triggers, and tools look for keys only where there are some.
            has_triggers: !relation.notes.foreign_keys.is_empty() || !relation.notes.referenced_by.is_empty(),
            has_rules: table.view.is_some(),
            is_populated: relation.need_populated().is_ok(),
            acl: acl::list(catalog, &relation.object(), None)?,
            options: Null,
        };
        rows.push(class.row());
    }
    for index in table.indexes.iter().filter(|index| scope.has(index.oid, &index.name)) {
        let class = Class {
            oid: index.oid,
            name: &index.name,
            namespace,
            is_temporary: relation.is_temporary(),
            owner,
            kind: "i",
            method: BTREE,
            has_index: false,
            columns: index.columns.len(),
            rows: rows_of(),
            checks: 0,
            has_triggers: false,
            has_rules: false,
            is_populated: true,
            acl: Null,
            options: Null,
        };
        rows.push(class.row());
    }
    Ok(())
}

/// The owner of a sequence.
pub(super) fn owner_of(catalog: &Catalog<'_>, sequence: &SequenceObject) -> Result<u32> {
    role::number_of(catalog, catalog.snapshot()?.owner_of(sequence))
}

/// A column of a relation.
struct Attribute<'a> {
    relation: u32,
    name: &'a str,
    number: usize,
    declared: Declared,
    is_nullable: bool,
    has_default: bool,
    identity: Option<Identity>,
    is_generated: bool,
    collation: Option<&'a str>,
    acl: Datum,
}

impl Attribute<'_> {
    fn row(&self) -> Row {
        let ty = self.declared.ty;
        let shape = kind::shape(ty);
        vec![
            oid(self.relation),
            text(self.name),
            oid(ty.oid()),
            Int(-1),
            Int(shape.length),
            Int(self.number as i64),
            Int(i64::from(matches!(ty, Type::Array(_)))),
            Int(-1),
            Int(self.declared.modifier.wire().into()),
            Bool(shape.is_by_value),
            text(shape.alignment),
            text(shape.storage),
            text(""),
            Bool(!self.is_nullable),
            Bool(self.has_default),
            Bool(false),
            text(match self.identity {
                Some(Identity::Always) => "a",
                Some(Identity::ByDefault) => "d",
                None => "",
            }),
            text(if self.is_generated { "s" } else { "" }),
            Bool(false),
            Bool(true),
            Int(0),
            oid(self.collation.map_or(shape.collation, kind::collation_number)),
            self.acl.clone(),
            Null,
            Null,
            Null,
        ]
    }
}

/// The columns that a sequence has as a relation.
const SEQUENCE_COLUMNS: [(&str, Type); 3] =
    [("last_value", Type::Int8), ("log_cnt", Type::Int8), ("is_called", Type::Bool)];

pub(super) fn attributes(catalog: &Catalog<'_>, scope: Scope<'_>) -> Result<Vec<Row>> {
    let snapshot = catalog.snapshot()?;
    let mut rows = Vec::new();
    for at in scope.tables(catalog)? {
        table_attributes(catalog, &snapshot.tables[at], scope, &mut rows)?;
    }
    let plain = |relation, name, number, ty: Type, is_nullable| {
        let (has_default, identity, is_generated) = (false, None, false);
        let declared = ty.into();
        let (collation, acl) = (None, Null);
        Attribute { relation, name, number, declared, is_nullable, has_default, identity, is_generated, collation, acl }
            .row()
    };
    for sequence in snapshot.sequences.iter().filter(|sequence| scope.has(sequence.oid, "")) {
        let columns = SEQUENCE_COLUMNS.iter().enumerate();
        rows.extend(columns.map(|(at, (name, ty))| plain(sequence.oid, name, at + 1, *ty, false)));
    }
    for view in snapshot.views.iter().filter(|view| scope.has(view.oid, "")) {
        let object = Rights::View(view.name.clone());
        for (at, (column, declared)) in view.entry.columns.iter().zip(&view.columns).enumerate() {
            let attribute = Attribute {
                relation: view.oid,
                name: &column.name,
                number: at + 1,
                declared: *declared,
                is_nullable: true,
                has_default: false,
                identity: None,
                is_generated: false,
                collation: None,
                acl: acl::list(catalog, &object, Some(&column.name))?,
            };
            rows.push(attribute.row());
        }
    }
    for system in ALL.iter().filter(|system| scope.has(system.oid, "")) {
        let columns = system.columns.iter().enumerate();
        rows.extend(columns.map(|(at, column)| plain(system.oid, column.name, at + 1, column.ty, column.is_nullable)));
    }
    Ok(rows)
}

/// Whether what has a number in `pg_class` has a column with a name.
pub(super) fn has_column(catalog: &Catalog<'_>, number: u32, name: &str) -> Result<bool> {
    // The second column of a row is its name.
    let is_it = |row: &Row| matches!(&row[1], Datum::Text(column) if **column == *name);
    Ok(attributes(catalog, Scope::Number(number))?.iter().any(is_it))
}

fn table_attributes(catalog: &Catalog<'_>, table: &TableObject, scope: Scope<'_>, rows: &mut Vec<Row>) -> Result<()> {
    let relation = &table.relation;
    let object = Rights::Table(relation.name.clone());
    if scope.has(table.oid, "") {
        for (at, column) in relation.columns[..relation.visible()].iter().enumerate() {
            let attribute = Attribute {
                relation: table.oid,
                name: &column.name,
                number: at + 1,
                declared: column.declared,
                is_nullable: column.is_nullable,
                has_default: column.default.is_some(),
                identity: column.identity,
                is_generated: column.is_generated,
                collation: column.collation.as_deref(),
                acl: acl::list(catalog, &object, Some(&column.name))?,
            };
            rows.push(attribute.row());
        }
    }
    for index in table.indexes.iter().filter(|index| scope.has(index.oid, "")) {
        for (at, column) in index.columns.iter().enumerate() {
            let label = key_label(relation, *column);
            let column = &relation.columns[*column];
            let attribute = Attribute {
                relation: index.oid,
                name: &label,
                number: at + 1,
                declared: column.declared,
                is_nullable: true,
                has_default: false,
                identity: None,
                is_generated: false,
                collation: column.collation.as_deref(),
                acl: Null,
            };
            rows.push(attribute.row());
        }
    }
    Ok(())
}

/// What an index calls a column of its key.
fn key_label(relation: &Relation, at: usize) -> String {
    let expr = relation.expression(at).and_then(|text| parse::expression(text).ok());
    expr.map_or_else(|| relation.columns[at].name.clone(), |expr| index_label(&expr))
}

pub(super) fn defaults(catalog: &Catalog<'_>, scope: Scope<'_>) -> Result<Vec<Row>> {
    let snapshot = catalog.snapshot()?;
    let mut rows = Vec::new();
    for at in scope.tables(catalog)? {
        let table = &snapshot.tables[at];
        for (at, column) in table.relation.columns[..table.relation.visible()].iter().enumerate() {
            let Some(default) = &column.default else { continue };
            let kept = text(super::deparse::tree(at, default));
            rows.push(vec![oid(table.defaults[at]), oid(table.oid), Int(at as i64 + 1), kept]);
        }
    }
    Ok(rows)
}

/// The type of the values of a sequence: the widest that its bounds show.
pub(super) fn sequence_type(sequence: &Sequence) -> Type {
    let is_within = |least: i64, greatest: i64| match sequence.increment {
        ..0 => sequence.minimum == least,
        _ => sequence.maximum == greatest,
    };
    match () {
        () if is_within(i16::MIN.into(), i16::MAX.into()) => Type::Int2,
        () if is_within(i32::MIN.into(), i32::MAX.into()) => Type::Int4,
        () => Type::Int8,
    }
}

pub(super) fn sequences(catalog: &Catalog<'_>, scope: Scope<'_>) -> Result<Vec<Row>> {
    let row = |sequence: &SequenceObject| {
        vec![
            oid(sequence.oid),
            oid(sequence_type(&sequence.listed).oid()),
            Int(sequence.listed.start),
            Int(sequence.listed.increment),
            Int(sequence.listed.maximum),
            Int(sequence.listed.minimum),
            Int(sequence.listed.cache),
            Bool(sequence.listed.cycles),
        ]
    };
    let all = &catalog.snapshot()?.sequences;
    Ok(all.iter().filter(|sequence| scope.has(sequence.oid, &sequence.listed.name.name)).map(row).collect())
}

/// The numbers of the columns of a key.
pub(super) fn numbers(columns: &[usize]) -> Datum {
    array(columns.iter().map(|at| Int(*at as i64 + 1)))
}
