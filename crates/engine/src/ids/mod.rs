//! The names of things: newtypes for every identity and order number of the engine.

use std::fmt;

pub use osier_memory::{Epoch, Stamp};

mod wall_time;

pub use wall_time::{NoTime, WallTime};

macro_rules! number {
    ($(#[$doc:meta])* $name:ident($inner:ty)) => {
        $(#[$doc])*
        #[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub struct $name(pub $inner);

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                self.0.fmt(f)
            }
        }
    };
}

number!(
    /// A log stream: one buffer, one logger thread, one chain of segments. Dense from 0.
    StreamId(u32)
);
number!(
    /// One life of the database between two opens. The first is 1.
    Generation(u64)
);
number!(
    /// A byte position in the log of one stream within one generation; monotone, a multiple of
    /// [`BLOCK_BYTES`](crate::io::BLOCK_BYTES) at every batch.
    LogOffset(u64)
);
number!(
    /// A table, never reused. Ids below [`TableId::FIRST_USER`] belong to the catalog.
    TableId(u32)
);
number!(
    /// A column: its position in the schema of its table.
    ColumnId(u16)
);
number!(
    /// A secondary index of one table, never reused there.
    IndexId(u16)
);
number!(
    /// A stored procedure, never reused.
    ProcedureId(u32)
);
number!(
    /// One definition of a stored procedure: its replacement has the next version.
    ProcedureVersion(u32)
);
/// A database, drawn at random when it is created, so that files of two databases never mix. It is written in hexadecimal.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct DatabaseId(pub u128);

impl fmt::Display for DatabaseId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:032x}", self.0)
    }
}

number!(
    /// One open of a database, drawn at random: it tells apart copies of a database that were opened separately.
    Incarnation(u64)
);

impl Incarnation {
    /// Stands for no open.
    pub const NONE: Incarnation = Incarnation(0);
}

impl TableId {
    /// The smallest id that `CREATE TABLE` hands out.
    pub const FIRST_USER: TableId = TableId(16);
}
