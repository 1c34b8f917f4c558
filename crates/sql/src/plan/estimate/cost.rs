//! What operators cost, in the unit of PostgreSQL: to read a row of a table in order costs 0.01.
//!
//! Invariant: the same formulas choose a plan and are shown for it.
//!
//! Deliberately absent: devices. All rows are in memory.

/// A row of the tree that is walked.
const ROW: f64 = 0.01;
/// The row that an entry of a secondary index leads to.
const ENTRY: f64 = 0.02;
/// The way down to a key or to the begin of a range.
const DESCENT: f64 = 0.025;
/// The lock of a row. Whoever reads fewer of them holds fewer up.
const LOCK: f64 = 0.05;
/// A condition that is evaluated.
const CONDITION: f64 = 0.0025;
/// A row that is made of two.
const JOINED: f64 = 0.005;
/// A row that is put into a table of hashes, and one that is looked up there.
const KEPT: f64 = 0.025;
const LOOKED_UP: f64 = 0.0125;
/// A comparison of two rows while they are sorted.
const SORTED: f64 = 0.004;
/// A step of a merge.
const MERGED: f64 = 0.006;
/// What is added where rows are kept that `work_mem` has no room for: the statement fails then.
const NO_ROOM: f64 = 1e8;
/// What is added for what a setting asks to avoid.
const AVOIDED: f64 = 1e10;
/// What a value takes of memory beside its bytes.
const VALUE_BYTES: f64 = 32.0;

/// What a plan costs before its first row, and until its last one.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Cost {
    pub(crate) startup: f64,
    pub(crate) total: f64,
}

/// What is known of the rows of an operator that others keep or read again.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Input {
    pub(crate) cost: Cost,
    pub(crate) rows: f64,
    /// How many bytes its values have, and how many values there are.
    pub(crate) width: f64,
    pub(crate) columns: usize,
}

impl Input {
    /// How much memory it takes to keep its rows.
    fn bytes(&self) -> f64 {
        self.rows * (self.width + VALUE_BYTES * (self.columns + 1) as f64)
    }
}

/// Which ways of joining and reading are to be avoided, and how much memory operators may take.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Preferences {
    pub(crate) work_bytes_max: usize,
    pub(crate) allows_hash: bool,
    pub(crate) allows_merge: bool,
    pub(crate) allows_nested: bool,
    pub(crate) allows_index: bool,
    pub(crate) allows_sequence: bool,
}

impl Default for Preferences {
    fn default() -> Preferences {
        Preferences {
            work_bytes_max: 256 << 20,
            allows_hash: true,
            allows_merge: true,
            allows_nested: true,
            allows_index: true,
            allows_sequence: true,
        }
    }
}

fn avoided(is_allowed: bool) -> f64 {
    if is_allowed { 0.0 } else { AVOIDED }
}

/// How a table is read.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Read {
    /// How many rows are looked at.
    pub(crate) rows: f64,
    /// How many keys or ranges are gone down to.
    pub(crate) descents: f64,
    pub(crate) is_secondary: bool,
    /// Whether all rows are looked at.
    pub(crate) is_all: bool,
    /// Whether each row that is looked at is locked.
    pub(crate) is_locked: bool,
    pub(crate) conditions: usize,
}

impl Preferences {
    pub(crate) fn read(&self, read: Read) -> Cost {
        let entry = if read.is_secondary { ENTRY } else { 0.0 };
        let lock = if read.is_locked { LOCK } else { 0.0 };
        let each = ROW + CONDITION * read.conditions as f64 + entry + lock;
        let startup = if read.is_all { 0.0 } else { DESCENT };
        let avoided = avoided(if read.is_all { self.allows_sequence } else { self.allows_index });
        let total = avoided + read.descents * DESCENT + read.rows * each;
        Cost { startup: avoided + startup.min(total), total }
    }

    /// The right is opened for each row of the left.
    pub(crate) fn nested(&self, left: Input, right: Cost, (matched, rows): (f64, f64), conditions: usize) -> Cost {
        let own = matched * CONDITION * conditions as f64 + rows * JOINED;
        let total = left.cost.total + left.rows * right.total + own + avoided(self.allows_nested);
        Cost { startup: left.cost.startup + right.startup, total }
    }

    /// The right is kept and looked up by its keys.
    pub(crate) fn hash(&self, left: Input, right: Input, (matched, rows): (f64, f64), conditions: usize) -> Cost {
        let before = right.cost.total + right.rows * KEPT + self.room(&right) + avoided(self.allows_hash);
        let own = left.rows * LOOKED_UP + matched * CONDITION * conditions as f64 + rows * JOINED;
        Cost { startup: before + left.cost.startup, total: before + left.cost.total + own }
    }

    /// The right is kept and looked through for each row of the left.
    pub(crate) fn looked_through(&self, left: Input, right: Input, rows: f64, conditions: usize) -> Cost {
        let before = right.cost.total + right.rows * ROW + self.room(&right) + avoided(self.allows_nested);
        let pairs = left.rows * right.rows * (JOINED + CONDITION * conditions as f64);
        Cost { startup: before + left.cost.startup, total: before + left.cost.total + pairs + rows * JOINED }
    }

    /// Both come in the order of their keys.
    pub(crate) fn merge(&self, left: Input, right: Input, (matched, rows): (f64, f64), conditions: usize) -> Cost {
        let own = (left.rows + right.rows) * MERGED + matched * CONDITION * conditions as f64 + rows * JOINED;
        let startup = left.cost.startup + right.cost.startup + avoided(self.allows_merge);
        Cost { startup, total: startup + left.cost.total + right.cost.total + own }
    }

    fn room(&self, kept: &Input) -> f64 {
        if kept.bytes() > self.work_bytes_max as f64 { NO_ROOM } else { 0.0 }
    }
}

/// Rows are sorted.
pub(crate) fn sorted(input: Cost, rows: f64) -> Cost {
    let total = input.total + rows * rows.max(2.0).log2() * SORTED;
    Cost { startup: total, total: total + rows * ROW / 2.0 }
}

/// Rows are put into groups.
pub(crate) fn grouped(input: Cost, rows: f64, (groups, calls): (f64, usize)) -> Cost {
    let total = input.total + rows * (LOOKED_UP + CONDITION * calls as f64);
    Cost { startup: total, total: total + groups * ROW }
}

/// Something is done with each row.
pub(crate) fn each(input: Cost, rows: f64, conditions: usize) -> Cost {
    Cost { startup: input.startup, total: input.total + rows * CONDITION * conditions as f64 }
}

/// Rows that are there already are given.
pub(crate) fn given(rows: f64) -> Cost {
    Cost { startup: 0.0, total: rows * ROW }
}
