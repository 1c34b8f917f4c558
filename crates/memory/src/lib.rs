//! Osier's concurrent structures: everything that many threads touch at once, and all unsafe code of the project.
//!
//! Invariants that the whole crate keeps:
//! - A pointer into shared memory leaves this crate only as a [`Held`], and is followed only through the [`Pin`] it was
//!   obtained under; the pin announces an epoch and nothing retired since is freed while it lives.
//! - Every atomic and every thread primitive comes from [`sync`], so that the models run the shipped code.
//!
//! Deliberately absent: files, clocks, transactions. This crate knows keys, stamps and bytes.

mod ids;

pub use ids::{Epoch, Stamp};
