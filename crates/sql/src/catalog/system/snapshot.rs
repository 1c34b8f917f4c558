//! All objects that a transaction sees, with their numbers.
//!
//! Invariants:
//! - A table has the number of its id, or of the id that it had before it was made anew. A sequence has one of its id, everything
//!   else one of its table's number and its own name: each is the same after a restart.
//! - Two objects never have one number. Where those of two would be the same, the later one takes the next one that is free.

use std::collections::{BTreeSet, HashMap};
use std::sync::Arc;

use super::Catalog;
use crate::catalog::listing::{self, Sequence};
use crate::catalog::name::Name;
use crate::catalog::objects::{Objects, ViewEntry};
use crate::catalog::relation::Relation;
use crate::error::Result;
use crate::types::Declared;

/// Numbers from here on are those of indexes, constraints, defaults, sequences, views, schemas and roles.
const DERIVED: u32 = 1 << 30;

/// All objects.
pub(super) struct Snapshot {
    pub(super) tables: Vec<TableObject>,
    pub(super) sequences: Vec<SequenceObject>,
    pub(super) views: Vec<ViewObject>,
    /// What the engine has no place for: views, schemas, roles and rights.
    pub(super) beside: Arc<Objects>,
    /// The schemas of temporary objects.
    pub(super) temporary: BTreeSet<String>,
    objects: HashMap<u32, Object>,
    names: HashMap<Name, u32>,
}

/// A table with the numbers of its parts.
pub(super) struct TableObject {
    pub(super) relation: Arc<Relation>,
    pub(super) oid: u32,
    pub(super) indexes: Vec<IndexObject>,
    /// Of the checks, in their order.
    pub(super) checks: Vec<u32>,
    /// Of the foreign keys, in their order.
    pub(super) foreign_keys: Vec<u32>,
    /// Of the defaults, by column.
    pub(super) defaults: Vec<u32>,
    /// Of a materialized view: its query, and the number of the rule that shows it.
    pub(super) view: Option<(Arc<ViewEntry>, u32)>,
}

/// The query of a view, or of a materialized one.
pub(super) struct Queried<'s> {
    /// The number of the view.
    pub(super) oid: u32,
    /// The number of the rule that shows the query.
    pub(super) rule: u32,
    pub(super) entry: &'s ViewEntry,
    /// How many columns the view has.
    pub(super) columns: usize,
}

/// An index; the primary key is the first one.
pub(super) struct IndexObject {
    pub(super) oid: u32,
    pub(super) name: String,
    /// The number of the constraint that it is; 0 where it is none.
    pub(super) constraint: u32,
    /// Without the one that is its condition.
    pub(super) columns: Vec<usize>,
    /// Of its columns, as they were declared; empty where nothing was said.
    pub(super) orders: Vec<u8>,
    /// The text of its condition.
    pub(super) predicate: Option<String>,
    pub(super) is_unique: bool,
    pub(super) is_primary: bool,
}

/// A sequence.
pub(super) struct SequenceObject {
    pub(super) oid: u32,
    pub(super) listed: Sequence,
    /// The table and the column that it belongs to.
    pub(super) owner: Option<(usize, usize)>,
}

/// A view.
pub(super) struct ViewObject {
    pub(super) oid: u32,
    /// The number of the rule that shows its query.
    pub(super) rule: u32,
    pub(super) name: Name,
    pub(super) entry: Arc<ViewEntry>,
    pub(super) columns: Vec<Declared>,
}

/// What a number means: the position of a table or a sequence, and of its part.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Object {
    Table(usize),
    Index(usize, usize),
    /// The constraint that an index is.
    Key(usize, usize),
    Check(usize, usize),
    ForeignKey(usize, usize),
    Default(usize, usize),
    Sequence(usize),
    View(usize),
    /// The rule that shows the query of a view.
    Rule,
}

/// What an object is, for its number.
#[derive(Clone, Copy)]
pub(super) enum Sort {
    Index = 1,
    Key,
    Check,
    Default,
    Sequence,
    Role,
    ForeignKey,
    View,
    Rule,
    Schema,
    Label,
    Extension,
}

/// A number for an object: the same for the same owner and name, forever (FNV-1a).
pub(super) fn derived_oid(sort: Sort, owner: u32, name: &str) -> u32 {
    const BASIS: u64 = 0xcbf2_9ce4_8422_2325;
    const PRIME: u64 = 0x0100_0000_01b3;
    let bytes = [sort as u8].into_iter().chain(owner.to_le_bytes()).chain(name.bytes());
    let hash = bytes.fold(BASIS, |hash, byte| (hash ^ u64::from(byte)).wrapping_mul(PRIME));
    DERIVED | (hash >> 32) as u32 & (DERIVED - 1)
}

impl Snapshot {
    /// Reads the catalog of the engine.
    pub(super) fn read(catalog: &Catalog<'_>) -> Result<Snapshot> {
        let beside = catalog.store.objects(catalog.sql)?;
        let (tables, sequences, views) = Default::default();
        let (temporary, objects, names) = Default::default();
        let mut snapshot = Snapshot { tables, sequences, views, beside, temporary, objects, names };
        for table in listing::tables_now(catalog.store)? {
            let relation = catalog.sql.relation(&table)?;
            let oid = relation.oid();
            let (indexes, checks, foreign_keys, defaults) = Default::default();
            let view = None;
            snapshot.tables.push(TableObject { relation, oid, indexes, checks, foreign_keys, defaults, view });
        }
        snapshot.tables.sort_by_key(|table| table.oid);
        for at in 0..snapshot.tables.len() {
            snapshot.number(at);
        }
        snapshot.read_sequences(catalog)?;
        snapshot.read_views()?;
        let own = catalog.settings.temporary().schema().map(str::to_owned);
        let schemas = snapshot.names.keys().map(|name| &name.schema);
        let temporary = schemas.filter(|schema| snapshot.beside.is_temporary(schema));
        snapshot.temporary = temporary.cloned().chain(own).collect();
        Ok(snapshot)
    }

    /// Gives a table and its parts their numbers.
    fn number(&mut self, at: usize) {
        let (relation, own) = (self.tables[at].relation.clone(), self.tables[at].oid);
        let schema = &relation.name.schema;
        self.objects.insert(own, Object::Table(at));
        self.names.insert(relation.name.clone(), own);
        let primary = (!relation.has_hidden_key).then(|| (relation.key_name.clone(), relation.key.clone(), true, None));
        let others = relation.indexes.iter();
        let others =
            others.map(|index| (index.name.clone(), index.columns.clone(), index.is_unique, Some(&index.orders)));
        let mut indexes = Vec::new();
        for (place, (name, columns, is_unique, orders)) in primary.into_iter().chain(others).enumerate() {
            let is_primary = orders.is_none();
            let orders = orders.cloned().unwrap_or_default();
            let oid = self.take(derived_oid(Sort::Index, own, &name), Object::Index(at, place));
            self.names.insert(Name::new(schema, &name), oid);
            let is_constraint = is_primary || relation.notes.unique.contains(&name);
            let constraint = match is_constraint {
                true => self.take(derived_oid(Sort::Key, own, &name), Object::Key(at, place)),
                false => 0,
            };
            let predicate = relation.predicate(&columns).map(str::to_owned);
            let columns = relation.keys(&columns).to_vec();
            indexes.push(IndexObject { oid, name, constraint, columns, orders, predicate, is_unique, is_primary });
        }
        let mut checks = Vec::new();
        for (place, check) in relation.notes.checks.iter().enumerate() {
            checks.push(self.take(derived_oid(Sort::Check, own, &check.name), Object::Check(at, place)));
        }
        let mut foreign_keys = Vec::new();
        for (place, key) in relation.notes.foreign_keys.iter().enumerate() {
            foreign_keys.push(self.take(derived_oid(Sort::ForeignKey, own, &key.name), Object::ForeignKey(at, place)));
        }
        let mut defaults = Vec::new();
        for (place, column) in relation.columns.iter().enumerate() {
            defaults.push(match column.default.as_ref().filter(|_| column.computed.is_none()) {
                Some(_) => self.take(derived_oid(Sort::Default, own, &column.name), Object::Default(at, place)),
                None => 0,
            });
        }
        let table = &mut self.tables[at];
        (table.indexes, table.checks, table.foreign_keys, table.defaults) = (indexes, checks, foreign_keys, defaults);
    }

    /// Takes the number, or the next one that is free.
    fn take(&mut self, mut oid: u32, object: Object) -> u32 {
        while self.objects.contains_key(&oid) {
            oid = if oid + 1 < 2 * DERIVED { oid + 1 } else { DERIVED };
        }
        self.objects.insert(oid, object);
        oid
    }

    fn read_sequences(&mut self, catalog: &Catalog<'_>) -> Result<()> {
        let mut owners = HashMap::new();
        for (at, table) in self.tables.iter().enumerate() {
            for (place, note) in table.relation.notes.columns.iter().enumerate() {
                if let Some(sequence) = &note.sequence {
                    owners.insert(sequence.clone(), (at, place));
                }
            }
        }
        let mut sequences = listing::sequences_now(catalog.store)?;
        sequences.sort_by_key(|sequence| sequence.id);
        for (at, listed) in sequences.into_iter().enumerate() {
            let number = derived_oid(Sort::Sequence, 0, &listed.id.to_string());
            let oid = self.take(number, Object::Sequence(at));
            let owner = owners.get(&listed.name.engine()).copied();
            self.names.insert(listed.name.clone(), oid);
            self.sequences.push(SequenceObject { oid, listed, owner });
        }
        Ok(())
    }

    /// The owner of a sequence: of a temporary one that is a part of its table, that of the table.
    pub(super) fn owner_of(&self, sequence: &SequenceObject) -> &str {
        let name = &sequence.listed.name;
        let is_part = self.beside.is_temporary(&name.schema) && !self.beside.sequences.contains_key(name);
        match sequence.owner.filter(|_| is_part) {
            Some((table, _)) => &self.tables[table].relation.notes.owner,
            None => self.beside.sequence_owner(name),
        }
    }

    fn read_views(&mut self) -> Result<()> {
        let beside = self.beside.clone();
        let mut all: Vec<(Name, Arc<ViewEntry>)> =
            self.beside.views.iter().map(|(name, entry)| (name.clone(), entry.clone())).collect();
        all.sort_by_key(|(_, entry)| entry.number);
        for (at, (name, entry)) in all.into_iter().enumerate() {
            let number = entry.number.to_string();
            let oid = self.take(derived_oid(Sort::View, 0, &number), Object::View(at));
            let rule = self.take(derived_oid(Sort::Rule, 0, &number), Object::Rule);
            self.names.insert(name.clone(), oid);
            let columns = entry.columns.iter().map(|column| beside.read_type(&column.ty));
            let columns = columns.collect::<Result<_>>()?;
            self.views.push(ViewObject { oid, rule, name, entry, columns });
        }
        for at in 0..self.tables.len() {
            let relation = self.tables[at].relation.clone();
            if let Some(entry) = beside.materialized.get(&relation.name).filter(|_| relation.is_materialized()) {
                let number = derived_oid(Sort::Rule, 0, &entry.number.to_string());
                self.tables[at].view = Some((entry.clone(), self.take(number, Object::Rule)));
            }
        }
        Ok(())
    }

    /// The queries of all views, and of materialized ones.
    pub(super) fn queries(&self) -> impl Iterator<Item = Queried<'_>> {
        let views = self.views.iter().map(|view| {
            let ViewObject { oid, rule, ref entry, ref columns, .. } = *view;
            Queried { oid, rule, entry, columns: columns.len() }
        });
        let materialized = self.tables.iter().filter_map(|table| {
            let (entry, rule) = table.view.as_ref()?;
            Some(Queried { oid: table.oid, rule: *rule, entry, columns: table.relation.visible() })
        });
        views.chain(materialized)
    }

    /// What a number means.
    pub(super) fn object(&self, oid: u32) -> Option<Object> {
        self.objects.get(&oid).copied()
    }

    /// The number of the table, index, sequence or view with a name.
    pub(super) fn oid_of(&self, name: &Name) -> Option<u32> {
        self.names.get(name).copied()
    }

    /// The table, index, sequence or view with a number: its name.
    pub(super) fn name_of(&self, oid: u32) -> Option<Name> {
        Some(match self.object(oid)? {
            Object::Table(at) => self.tables[at].relation.name.clone(),
            Object::Index(at, place) => {
                let table = &self.tables[at];
                Name::new(&table.relation.name.schema, &table.indexes[place].name)
            }
            Object::Sequence(at) => self.sequences[at].listed.name.clone(),
            Object::View(at) => self.views[at].name.clone(),
            Object::Key(..) | Object::Check(..) | Object::ForeignKey(..) | Object::Default(..) | Object::Rule => {
                return None;
            }
        })
    }

    /// The position of a column of the table or view with a number.
    pub(super) fn column_of(&self, number: u32, column: &str) -> Option<usize> {
        match self.object(number)? {
            Object::Table(at) => self.tables[at].relation.position(column),
            Object::View(at) => self.views[at].entry.columns.iter().position(|own| own.name == column),
            _ => None,
        }
    }

    /// The table with this name of the engine.
    pub(super) fn table_named(&self, engine: &str) -> Option<&TableObject> {
        match self.object(self.oid_of(&Name::of_engine(engine))?)? {
            Object::Table(at) => Some(&self.tables[at]),
            _ => None,
        }
    }
}
