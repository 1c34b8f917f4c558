//! Which objects a scan of the catalog is about.

use super::relation::SystemRelation;
use super::snapshot::Object;
use super::{Catalog, Wanted};
use crate::catalog::name::Name;
use crate::datum::Datum;
use crate::error::Result;
use crate::parse::quote::quoted;

/// Columns that hold the number of an object of which the row is.
const KEYS: &[(&str, &str)] = &[
    ("pg_class", "oid"),
    ("pg_class", "relname"),
    ("pg_attribute", "attrelid"),
    ("pg_attrdef", "adrelid"),
    ("pg_attrdef", "oid"),
    ("pg_index", "indrelid"),
    ("pg_index", "indexrelid"),
    ("pg_constraint", "conrelid"),
    ("pg_constraint", "oid"),
    ("pg_sequence", "seqrelid"),
];

impl SystemRelation {
    /// Whether rows are found by a value of this column without a look at the others.
    pub(crate) fn is_key(&self, column: usize) -> bool {
        KEYS.contains(&(self.name, self.columns[column].name))
    }
}

/// The objects whose rows are wanted; others may be there, too.
#[derive(Clone, Copy, Debug)]
pub(super) enum Scope<'w> {
    All,
    /// That with this number.
    Number(u32),
    /// Those with this name.
    Named(&'w str),
}

impl<'w> Scope<'w> {
    pub(super) fn of(relation: &SystemRelation, wanted: Wanted<'w>) -> Scope<'w> {
        match wanted.filter(|(column, _)| relation.is_key(*column)) {
            // No object has a number that is none.
            Some((_, Datum::Int(number))) => Scope::Number(u32::try_from(*number).unwrap_or(0)),
            Some((_, Datum::Text(name))) => Scope::Named(name),
            Some(_) | None => Scope::All,
        }
    }

    /// Whether something with this number and name is wanted.
    pub(super) fn has(self, number: u32, name: &str) -> bool {
        match self {
            Scope::All => true,
            Scope::Number(wanted) => wanted == number,
            Scope::Named(wanted) => wanted == name,
        }
    }

    /// The positions of the tables of which something may be wanted.
    pub(super) fn tables(self, catalog: &Catalog<'_>) -> Result<Vec<usize>> {
        let snapshot = catalog.snapshot()?;
        Ok(match self {
            Scope::All | Scope::Named(_) => (0..snapshot.tables.len()).collect(),
            Scope::Number(number) => match snapshot.object(number) {
                Some(
                    Object::Table(at)
                    | Object::Index(at, _)
                    | Object::Key(at, _)
                    | Object::Check(at, _)
                    | Object::ForeignKey(at, _)
                    | Object::Default(at, _),
                ) => vec![at],
                Some(Object::Sequence(_) | Object::View(_) | Object::Rule) | None => Vec::new(),
            },
        })
    }
}

/// The schema and the name of what has a number in `pg_class`.
pub(super) fn class_name(catalog: &Catalog<'_>, number: u32) -> Result<Option<Name>> {
    if let Some(system) = super::relation::of_oid(number) {
        return Ok(Some(Name::new(system.schema, system.name)));
    }
    Ok(catalog.snapshot()?.name_of(number))
}

/// The number in `pg_class` of what a name means.
pub(super) fn class_number(catalog: &Catalog<'_>, parts: &[String]) -> Result<Option<u32>> {
    if let Some(system) = super::named(parts, &catalog.settings.search_path) {
        return Ok(Some(system.oid));
    }
    let snapshot = catalog.snapshot()?;
    Ok(match parts {
        [name] => catalog.schemas()?.iter().find_map(|schema| snapshot.oid_of(&Name::new(*schema, name))),
        [schema, name] => {
            let schema = catalog.settings.temporary().meant(schema.clone());
            snapshot.oid_of(&Name::new(schema, name))
        }
        [database, schema, name] if database == crate::session::DATABASE => snapshot.oid_of(&Name::new(schema, name)),
        _ => None,
    })
}

/// Whether a name without its schema means what has a number in `pg_class`.
pub(super) fn is_visible(catalog: &Catalog<'_>, number: u32) -> Result<Option<bool>> {
    let Some(name) = class_name(catalog, number)? else { return Ok(None) };
    Ok(Some(class_number(catalog, &[name.name])? == Some(number)))
}

/// A name with its schema where it is needed to be found.
pub(super) fn qualified(catalog: &Catalog<'_>, number: u32, name: &Name) -> Result<String> {
    let bare = class_number(catalog, std::slice::from_ref(&name.name))? == Some(number);
    let own = quoted(&name.name);
    Ok(if bare { own } else { format!("{}.{own}", quoted(&name.schema)) })
}
