//! What a dump has beside tables and sequences: schemas, views, owners and rights.
//!
//! Invariant: views come behind those that they read. Where views read each other in a circle, the first one is made with other
//! rows before, and again with its own query at the end.

use std::collections::{BTreeMap, BTreeSet};

use super::{AFTER, BEFORE, Definition, comment_on, shown};
use crate::catalog::name::{Name, PUBLIC};
use crate::catalog::objects::{CheckOption, ExtensionEntry, Objects, UserType, ViewColumn, ViewEntry};
use crate::catalog::relation::Relation;
use crate::catalog::rights::{Grant, Object, Rights, initial};
use crate::parse::quote::{literal, quoted};
use crate::sql::Sql;
use crate::types::Declared;

fn define(section: &'static str, name: &Name, text: String) -> Definition {
    Definition { section, name: shown(name), text }
}

/// The schemas but `public`; `used` are those of tables and sequences.
pub(super) fn schemas(objects: &Objects, used: BTreeSet<String>) -> Vec<Definition> {
    let all: BTreeSet<String> = objects.schemas.keys().cloned().chain(used).collect();
    let of = all.iter().filter(|schema| *schema != PUBLIC);
    of.map(|schema| define(BEFORE, &Name::new(schema, ""), format!("CREATE SCHEMA {};", quoted(schema)))).collect()
}

/// The extensions that were created.
pub(super) fn extensions(objects: &Objects) -> Vec<Definition> {
    let of = |(name, entry): (&String, &ExtensionEntry)| {
        let (extension, schema) = (quoted(name), quoted(&entry.schema));
        let text = format!("CREATE EXTENSION IF NOT EXISTS {extension} WITH SCHEMA {schema};");
        define(BEFORE, &Name::new(name, ""), text)
    };
    objects.extensions.iter().map(of).collect()
}

/// The types that users have made.
pub(super) fn types(objects: &Objects) -> Vec<Definition> {
    let of = |(name, known): (&Name, &UserType)| {
        let labels: Vec<String> = known.ty.labels().iter().map(|label| literal(&label.text)).collect();
        define(BEFORE, name, format!("CREATE TYPE {} AS ENUM ({});", shown(name), labels.join(", ")))
    };
    objects.types.iter().map(of).collect()
}

fn create(name: &Name, view: &ViewEntry, replaces: bool) -> String {
    let columns: Vec<String> = view.columns.iter().map(|column| quoted(&column.name)).collect();
    let check = match view.check {
        None => "",
        Some(CheckOption::Local) => " WITH LOCAL CHECK OPTION",
        Some(CheckOption::Cascaded) => " WITH CASCADED CHECK OPTION",
    };
    let or_replace = if replaces { "OR REPLACE " } else { "" };
    let list = if columns.is_empty() { String::new() } else { format!(" ({})", columns.join(", ")) };
    format!("CREATE {or_replace}VIEW {}{list} AS {}{check};", shown(name), view.definition(&shown))
}

/// A view with the same columns that reads nothing.
fn placeholder(objects: &Objects, name: &Name, view: &ViewEntry) -> String {
    let ty =
        |column: &ViewColumn| objects.read_type(&column.ty).map_or_else(|_| column.ty.clone(), Declared::qualified);
    let columns: Vec<String> =
        view.columns.iter().map(|column| format!("NULL::{} AS {}", ty(column), quoted(&column.name))).collect();
    format!("CREATE VIEW {} AS SELECT {};", shown(name), columns.join(", "))
}

/// The views, with what is said of them.
pub(super) fn views(objects: &Objects) -> Vec<Definition> {
    let mut made = Vec::new();
    let mut left: BTreeMap<&Name, &ViewEntry> = objects.views.iter().map(|(name, view)| (name, &**view)).collect();
    let mut again = Vec::new();
    while !left.is_empty() {
        let waits = |view: &ViewEntry| {
            let reads = view.tables.iter().map(|reference| Name::new(&reference.schema, &reference.name));
            reads.into_iter().any(|read| left.contains_key(&read))
        };
        let next = left.iter().find(|(_, view)| !waits(view)).map(|(name, view)| (*name, *view, false));
        let first = left.iter().next().map(|(name, view)| (*name, *view, true));
        let Some((name, view, is_in_circle)) = next.or(first) else { break };
        left.remove(name);
        if is_in_circle {
            made.push(define(AFTER, name, placeholder(objects, name, view)));
            again.push(define(AFTER, name, create(name, view, true)));
        } else {
            made.push(define(AFTER, name, create(name, view, false)));
        }
    }
    made.extend(again);
    for (name, view) in &objects.views {
        if let Some(comment) = &view.comment {
            made.push(define(AFTER, name, comment_on(&format!("VIEW {}", shown(name)), comment)));
        }
        for column in &view.columns {
            let what = format!("COLUMN {}.{}", shown(name), quoted(&column.name));
            made.extend(column.comment.iter().map(|comment| define(AFTER, name, comment_on(&what, comment))));
        }
    }
    made
}

/// Something with an owner and rights, and how statements name it.
struct Owned {
    object: Object,
    name: Name,
    owner: String,
    /// The kind in `ALTER` and in `GRANT`.
    kinds: (&'static str, &'static str),
    /// Whether it has an owner of its own, and not that of a table.
    is_free: bool,
}

/// A sequence as it is dumped.
pub(super) struct DumpedSequence {
    pub(super) name: Name,
    /// What it is called where the dump is read.
    pub(super) new_name: Name,
    /// Whether it is made there with its column.
    pub(super) comes_with_column: bool,
}

/// Who owns what, and who may do what with it.
pub(super) fn owners_and_rights(
    objects: &Objects,
    tables: &[std::sync::Arc<Relation>],
    sequences: &[DumpedSequence],
) -> Vec<Definition> {
    let mut all: Vec<Owned> = Vec::new();
    let schemas = objects.schemas.keys().map(String::as_str).chain([PUBLIC]).collect::<BTreeSet<_>>();
    all.extend(schemas.into_iter().map(|schema| Owned {
        object: Object::Schema(schema.to_owned()),
        name: Name::new(schema, ""),
        owner: objects.schema_owner(schema).to_owned(),
        kinds: ("SCHEMA", "SCHEMA"),
        is_free: true,
    }));
    all.extend(tables.iter().map(|table| Owned {
        object: Object::Table(table.name.clone()),
        name: table.name.clone(),
        owner: table.notes.owner.clone(),
        kinds: ("TABLE", "TABLE"),
        is_free: true,
    }));
    all.extend(sequences.iter().map(|sequence| Owned {
        object: Object::Sequence(sequence.name.clone()),
        name: sequence.new_name.clone(),
        owner: objects.sequence_owner(&sequence.name).to_owned(),
        kinds: ("SEQUENCE", "SEQUENCE"),
        is_free: !sequence.comes_with_column,
    }));
    all.extend(objects.views.iter().map(|(name, view)| Owned {
        object: Object::View(name.clone()),
        name: name.clone(),
        owner: view.owner.clone(),
        kinds: ("VIEW", "TABLE"),
        is_free: true,
    }));
    all.extend(objects.types.iter().map(|(name, known)| Owned {
        object: Object::Type(name.clone()),
        name: name.clone(),
        owner: known.owner.clone(),
        kinds: ("TYPE", "TYPE"),
        is_free: true,
    }));
    let mut made = Vec::new();
    for owned in all.iter().filter(|owned| owned.is_free && owned.owner != Sql::FIRST_ROLE) {
        let text = format!("ALTER {} {} OWNER TO {};", owned.kinds.0, shown(&owned.name), quoted(&owned.owner));
        made.push(define(AFTER, &owned.name, text));
    }
    for owned in &all {
        let Some(list) = objects.lists.get(&owned.object.key()) else { continue };
        made.extend(rights(owned, list).into_iter().map(|text| define(AFTER, &owned.name, text)));
    }
    made
}

fn words(rights: Rights, column: Option<&str>) -> String {
    let column = column.map_or_else(String::new, |column| format!(" ({})", quoted(column)));
    let of = Rights::WORDS.iter().filter(|(right, _)| rights.has(*right)).map(|(_, word)| format!("{word}{column}"));
    of.collect::<Vec<_>>().join(", ")
}

/// The statements that make the list of rights of what has been made anew.
fn rights(owned: &Owned, list: &[Grant]) -> Vec<String> {
    let on = format!("{} {}", owned.kinds.1, shown(&owned.name));
    let role = |to: Option<&str>| to.map_or_else(|| "PUBLIC".to_owned(), quoted);
    let mut texts = Vec::new();
    // What it has from the start and lacks here.
    for start in initial(&owned.object, &owned.owner) {
        let kept = list.iter().find(|grant| grant.to == start.to && grant.by == start.by && grant.column.is_none());
        let lost = start.rights.without(kept.map_or(Rights::NONE, |kept| kept.rights));
        if lost != Rights::NONE {
            texts.push(format!("REVOKE {} ON {on} FROM {};", words(lost, None), role(start.to.as_deref())));
        }
    }
    for grant in list {
        let is_owners = grant.to.as_deref() == Some(&owned.owner) && grant.column.is_none();
        let had = initial(&owned.object, &owned.owner)
            .into_iter()
            .find(|start| start.to == grant.to && start.by == grant.by && grant.column.is_none());
        let had = had.map_or(Rights::NONE, |start| start.rights);
        let to = role(grant.to.as_deref());
        let column = grant.column.as_deref();
        let with_option = if is_owners { Rights::NONE } else { grant.rights.common(grant.options) };
        let plain = grant.rights.without(with_option).without(had);
        for (rights, option) in [(plain, ""), (with_option, " WITH GRANT OPTION")] {
            if rights == Rights::NONE {
                continue;
            }
            let text = format!("GRANT {} ON {on} TO {to}{option};", words(rights, column));
            texts.push(match grant.by == owned.owner {
                true => text,
                false => {
                    let by = quoted(&grant.by);
                    format!("SET SESSION AUTHORIZATION {by};\n{text}\nRESET SESSION AUTHORIZATION;")
                }
            });
        }
    }
    texts
}
