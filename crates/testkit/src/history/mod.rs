//! Is a history serializable? Asked of what transactions saw and wrote alone, after Adya and as Elle does it: whoever ran them
//! and in which order is not known here.
//!
//! Two kinds of objects. A *register* is overwritten; the order of its versions must be told (by stamps). A *list* is only
//! appended to and read whole, so that its order is in what was read; a key that is absent is an empty list, and a range is
//! a read of each of its keys, so phantoms need nothing of their own.
//!
//! Invariants:
//! - A version names its writer, and no two writes make the same one.
//! - An anomaly that is reported is one: what is not known (the order of appends that nobody read) makes no edge.
//!
//! Absent: durability. Who asks for it leaves out the transactions that were lost and adds a reader of what is left.

mod graph;
#[cfg(test)]
mod tests;

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;

use graph::{Edge, Graph, Kind};

/// Names a transaction; zero wrote the state that the history began with.
pub type Id = u64;

/// An object.
pub type Key = i64;

/// Which kind of object, and which.
type Object = (&'static str, Key);

/// What one write made: the writer, and which of its writes it was.
pub type Version = (Id, u32);

/// What one transaction did.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Transaction {
    /// Its name.
    pub id: Id,
    /// Whether it gave up.
    pub is_aborted: bool,
    /// Registers, and the versions that it saw, its own aside.
    pub reads: Vec<(Key, Version)>,
    /// Registers, and the versions that it wrote, in order.
    pub writes: Vec<(Key, Version)>,
    /// Lists as it saw them, without what it had appended itself.
    pub lists: Vec<(Key, Vec<Version>)>,
    /// Lists that it appended to, in order.
    pub appends: Vec<(Key, Version)>,
}

/// Why a history is not serializable.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Anomaly {
    /// Adya's name for it.
    pub name: &'static str,
    /// The cycle, or what was seen.
    pub what: String,
}

impl fmt::Display for Anomaly {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.name, self.what)
    }
}

impl std::error::Error for Anomaly {}

/// Judges a history; `registers` has the versions of each register, oldest first, that of the beginning included.
pub fn check(history: &[Transaction], registers: &BTreeMap<Key, Vec<Version>>) -> Result<(), Anomaly> {
    dependencies(history, registers)?.cycle().map_or(Ok(()), Err)
}

/// Judges that places in a total order follow all dependencies, anti-dependencies included, between the transactions that have
/// one.
pub fn check_places<P: Ord + fmt::Debug>(
    history: &[Transaction],
    registers: &BTreeMap<Key, Vec<Version>>,
    places: &BTreeMap<Id, P>,
) -> Result<(), Anomaly> {
    dependencies(history, registers)?.misplaced(places).map_or(Ok(()), Err)
}

/// Who depends on whom.
fn dependencies(history: &[Transaction], registers: &BTreeMap<Key, Vec<Version>>) -> Result<Graph, Anomaly> {
    let committed = || history.iter().filter(|transaction| !transaction.is_aborted);
    let finals = check_versions(history)?;
    let mut graph = Graph::default();
    for (&key, versions) in registers {
        graph.order("register", key, versions);
    }
    for transaction in committed() {
        for &(key, version) in &transaction.reads {
            finals.check_read(transaction, ("register", key), version)?;
            let versions = registers.get(&key).map_or(&[][..], Vec::as_slice);
            let Some(at) = versions.iter().position(|known| *known == version) else {
                return Err(unknown(transaction, ("register", key), version));
            };
            graph.read("register", key, transaction.id, &versions[..=at], &versions[at + 1..]);
        }
    }
    let orders = list_orders(history)?;
    for (&key, order) in &orders {
        graph.order("list", key, order);
    }
    let unread = unread_appends(history, &orders);
    for transaction in committed() {
        for (key, seen) in &transaction.lists {
            for &version in seen {
                finals.check_known(transaction, ("list", *key), version)?;
            }
            if let Some(&last) = seen.last() {
                finals.check_read(transaction, ("list", *key), last)?;
            }
            let order = &orders[key];
            graph.read("list", *key, transaction.id, seen, &order[seen.len()..]);
            // Nobody read these, so they come behind everything that was read, in an order that is not known.
            for &version in unread.get(key).into_iter().flatten() {
                graph.edge(Edge {
                    kind: Kind::Overwritten,
                    object: "list",
                    key: *key,
                    from: transaction.id,
                    to: version.0,
                });
            }
        }
    }
    for (&key, versions) in &unread {
        for version in versions {
            if let Some(last) = orders.get(&key).and_then(|order| order.last()) {
                graph.edge(Edge { kind: Kind::Replaced, object: "list", key, from: last.0, to: version.0 });
            }
        }
    }
    Ok(graph)
}

/// What each transaction left of each object, and who gave up.
struct Finals {
    last: BTreeMap<(Object, Id), Version>,
    committed: BTreeSet<Id>,
    aborted: BTreeSet<Id>,
}

impl Finals {
    fn check_known(&self, reader: &Transaction, object: Object, version: Version) -> Result<(), Anomaly> {
        if self.aborted.contains(&version.0) {
            let what =
                format!("T{} read {} {} as T{} wrote it, which gave up", reader.id, object.0, object.1, version.0);
            return Err(Anomaly { name: "G1a, an aborted read", what });
        }
        match version.0 == 0 || self.committed.contains(&version.0) {
            true => Ok(()),
            false => Err(unknown(reader, object, version)),
        }
    }

    fn check_read(&self, reader: &Transaction, object: Object, version: Version) -> Result<(), Anomaly> {
        self.check_known(reader, object, version)?;
        match self.last.get(&(object, version.0)) {
            Some(last) if *last != version => {
                let what =
                    format!("T{} read {} {} before T{} had done with it", reader.id, object.0, object.1, version.0);
                Err(Anomaly { name: "G1b, an intermediate read", what })
            }
            _ => Ok(()),
        }
    }
}

fn unknown(reader: &Transaction, object: Object, (writer, part): Version) -> Anomaly {
    let what = format!("T{} read {} {} as T{writer} (write {part}) never left it", reader.id, object.0, object.1);
    Anomaly { name: "a read of nothing", what }
}

fn check_versions(history: &[Transaction]) -> Result<Finals, Anomaly> {
    let (mut last, mut seen) = (BTreeMap::new(), BTreeSet::new());
    let named = |is_aborted| history.iter().filter(move |one| one.is_aborted == is_aborted).map(|one| one.id).collect();
    for transaction in history {
        let registers = transaction.writes.iter().map(|&(key, version)| (("register", key), version));
        let lists = transaction.appends.iter().map(|&(key, version)| (("list", key), version));
        for (object, version) in registers.chain(lists) {
            last.insert((object, transaction.id), version);
            if !seen.insert((object, version)) || version.0 != transaction.id {
                let what = format!("T{} wrote {version:?} to {object:?}, which is not its own alone", transaction.id);
                return Err(Anomaly { name: "a version of two writes", what });
            }
        }
    }
    Ok(Finals { last, committed: named(false), aborted: named(true) })
}

/// The order of each list that was read: the longest that anybody saw, of which every other one must be the beginning.
fn list_orders(history: &[Transaction]) -> Result<BTreeMap<Key, Vec<Version>>, Anomaly> {
    let mut orders: BTreeMap<Key, Vec<Version>> = BTreeMap::new();
    let seen =
        || history.iter().filter(|one| !one.is_aborted).flat_map(|one| one.lists.iter().map(move |seen| (one, seen)));
    for (_, (key, seen)) in seen() {
        let order = orders.entry(*key).or_default();
        if seen.len() > order.len() {
            order.clone_from(seen);
        }
    }
    for (reader, (key, seen)) in seen() {
        if !orders[key].starts_with(seen) {
            let what = format!("T{} read list {key} as {seen:?}, another read it as {:?}", reader.id, orders[key]);
            return Err(Anomaly { name: "incompatible orders", what });
        }
    }
    Ok(orders)
}

/// Appends that committed and that nobody read.
fn unread_appends(history: &[Transaction], orders: &BTreeMap<Key, Vec<Version>>) -> BTreeMap<Key, Vec<Version>> {
    let mut unread: BTreeMap<Key, Vec<Version>> = BTreeMap::new();
    for transaction in history.iter().filter(|transaction| !transaction.is_aborted) {
        for &(key, version) in &transaction.appends {
            if orders.get(&key).is_none_or(|order| !order.contains(&version)) {
                unread.entry(key).or_default().push(version);
            }
        }
    }
    unread
}
