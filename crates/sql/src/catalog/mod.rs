//! What the catalog knows: tables with their notes, and other objects in a table of their own.

pub(crate) mod listing;
pub(crate) mod name;
pub(crate) mod notes;
pub(crate) mod numbers;
pub(crate) mod objects;
pub(crate) mod relation;
pub(crate) mod rights;
pub(crate) mod roles;
pub(crate) mod system;
pub(crate) mod temporary;

use osier::ids::TableId;

/// PostgreSQL gives numbers from here on to what users make.
const FIRST_USER_OID: u32 = 16_384;

/// The number of a table in `pg_class`.
pub(crate) fn table_oid(id: TableId) -> u32 {
    FIRST_USER_OID + id.0
}
