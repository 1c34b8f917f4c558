//! Osier and what a user would take instead: the same workload, driver and clock, in one run.
//!
//! A peer is a [`store::Store`]; [`store::Peer`] makes a target of it (seam 6), so that Osier and all of its peers answer the
//! requests of [`osier_bench::ycsb::Ycsb`]. Each peer is a feature of the package, none of them built by default.
//!
//! Invariants:
//! - Every transaction is durable when it is acknowledged, by the peer's own documented means, named in [`store::Store::SYNCS`].
//! - No figure without a check: the [`witness`] reads back what a run wrote, also after the store was closed and opened again.
//!
//! Deliberately absent: starting servers (`scripts/bench-compare` does), and settings of peers beyond those that durability or
//! the number of threads asks for.

pub mod comparison;
pub mod osier;
pub mod store;
pub mod stores;
pub mod subject;
pub mod witness;
