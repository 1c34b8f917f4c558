//! The scheme of an open database, erased: sessions and transactions are not generic.
//!
//! An access pays one match, which a scheme that is the same in every transaction makes predictable; a commit pays one, for its
//! scheme and its protocol together.

use std::time::Duration;

use osier_memory::sync::Arc;
use osier_memory::{Locks, Stamp, Timestamps};

#[cfg(feature = "mutations")]
use super::faulty_scheme::Built;
use super::multiversion::Multiversion;
use super::optimistic::Optimistic;
use super::two_phase_locking::TwoPhaseLocking;
#[cfg(test)]
use super::watched_for_tests::Watched;
use crate::config::{ConcurrencyControlKind, Config, Protocol};
use crate::log::format::dependency::LsnVector;
use crate::log::gathering::Gathered;

/// A scheme as it is.
#[cfg(not(feature = "mutations"))]
type Built<C> = C;

/// A scheme whose callers nobody watches.
#[cfg(not(test))]
type Watched<C> = C;

/// A scheme over what a protocol's transactions depend on.
pub(crate) enum Scheme {
    /// Optimistic control over scalar stamps.
    Optimistic(Watched<Built<Optimistic<Stamp>>>),
    /// Two-phase locking over scalar stamps.
    TwoPhaseLocking(Watched<Built<TwoPhaseLocking<Stamp>>>),
    /// Multiversion control over scalar stamps.
    Multiversion(Watched<Built<Multiversion<Stamp>>>),
    /// Optimistic control over LSN vectors.
    OptimisticVector(Watched<Built<Optimistic<LsnVector>>>),
    /// Two-phase locking over LSN vectors.
    TwoPhaseLockingVector(Watched<Built<TwoPhaseLocking<LsnVector>>>),
    /// Multiversion control over LSN vectors.
    MultiversionVector(Watched<Built<Multiversion<LsnVector>>>),
}

impl Scheme {
    /// Returns the state of a first transaction, for one of the pairs of [`with_pair`].
    ///
    /// `locks` and `timestamps` are those of the database.
    pub(crate) fn new(config: &Config, locks: &Arc<Locks>, timestamps: &Arc<Timestamps>) -> Scheme {
        use ConcurrencyControlKind::{Multiversion, Optimistic, TwoPhaseLocking};
        let timeout = config.lock_timeout;
        match (config.concurrency_control, config.protocol) {
            (Optimistic, Protocol::Taurus) => Scheme::OptimisticVector(optimistic()),
            (Optimistic, _) => Scheme::Optimistic(optimistic()),
            (TwoPhaseLocking, Protocol::Taurus) => Scheme::TwoPhaseLockingVector(locking(locks, timeout)),
            (TwoPhaseLocking, _) => Scheme::TwoPhaseLocking(locking(locks, timeout)),
            (Multiversion, Protocol::Taurus) => Scheme::MultiversionVector(multiversion(timestamps)),
            (Multiversion, _) => Scheme::Multiversion(multiversion(timestamps)),
        }
    }
}

#[allow(clippy::useless_conversion, reason = "what ships is not wrapped")]
fn optimistic<D: Gathered>() -> Watched<Built<Optimistic<D>>> {
    Built::<Optimistic<D>>::from(Optimistic::default()).into()
}

#[allow(clippy::useless_conversion, reason = "what ships is not wrapped")]
fn locking<D: Gathered>(locks: &Arc<Locks>, timeout: Duration) -> Watched<Built<TwoPhaseLocking<D>>> {
    Built::<TwoPhaseLocking<D>>::from(TwoPhaseLocking::new(locks, timeout)).into()
}

#[allow(clippy::useless_conversion, reason = "what ships is not wrapped")]
fn multiversion<D: Gathered>(timestamps: &Arc<Timestamps>) -> Watched<Built<Multiversion<D>>> {
    Built::<Multiversion<D>>::from(Multiversion::new(timestamps)).into()
}

/// Evaluates `$body` with `$control` bound to whichever [`ConcurrencyControl`](super::ConcurrencyControl) there is.
macro_rules! with_scheme {
    ($scheme:expr, $control:ident => $body:expr) => {
        match $scheme {
            $crate::concurrency::Scheme::Optimistic($control) => $body,
            $crate::concurrency::Scheme::TwoPhaseLocking($control) => $body,
            $crate::concurrency::Scheme::Multiversion($control) => $body,
            $crate::concurrency::Scheme::OptimisticVector($control) => $body,
            $crate::concurrency::Scheme::TwoPhaseLockingVector($control) => $body,
            $crate::concurrency::Scheme::MultiversionVector($control) => $body,
        }
    };
}
pub(crate) use with_scheme;

/// Evaluates `$body` with `$control` bound to the scheme and `$protocol` to the protocol of a database. These are all the pairs
/// that there are: in each both have the same [`Dependency`](crate::log::format::dependency::Dependency).
macro_rules! with_pair {
    ($scheme:expr, $log:expr, ($control:ident, $protocol:ident) => $body:expr) => {{
        use $crate::concurrency::Scheme;
        use $crate::log::ActiveProtocol;
        match ($scheme, $log.protocol()) {
            (Scheme::Optimistic($control), ActiveProtocol::None($protocol)) => $body,
            (Scheme::Optimistic($control), ActiveProtocol::Serial($protocol)) => $body,
            (Scheme::Optimistic($control), ActiveProtocol::Poplar($protocol)) => $body,
            (Scheme::Optimistic($control), ActiveProtocol::Gsn($protocol)) => $body,
            (Scheme::Optimistic($control), ActiveProtocol::Plover($protocol)) => $body,
            (Scheme::Optimistic($control), ActiveProtocol::Silo($protocol)) => $body,
            (Scheme::Optimistic($control), ActiveProtocol::Replayed($protocol)) => $body,
            (Scheme::TwoPhaseLocking($control), ActiveProtocol::None($protocol)) => $body,
            (Scheme::TwoPhaseLocking($control), ActiveProtocol::Serial($protocol)) => $body,
            (Scheme::TwoPhaseLocking($control), ActiveProtocol::Poplar($protocol)) => $body,
            (Scheme::TwoPhaseLocking($control), ActiveProtocol::Gsn($protocol)) => $body,
            (Scheme::TwoPhaseLocking($control), ActiveProtocol::Plover($protocol)) => $body,
            (Scheme::TwoPhaseLocking($control), ActiveProtocol::Silo($protocol)) => $body,
            (Scheme::Multiversion($control), ActiveProtocol::None($protocol)) => $body,
            (Scheme::Multiversion($control), ActiveProtocol::Serial($protocol)) => $body,
            (Scheme::Multiversion($control), ActiveProtocol::Poplar($protocol)) => $body,
            (Scheme::Multiversion($control), ActiveProtocol::Gsn($protocol)) => $body,
            (Scheme::Multiversion($control), ActiveProtocol::Plover($protocol)) => $body,
            (Scheme::Multiversion($control), ActiveProtocol::Silo($protocol)) => $body,
            (Scheme::OptimisticVector($control), ActiveProtocol::Taurus($protocol)) => $body,
            (Scheme::TwoPhaseLockingVector($control), ActiveProtocol::Taurus($protocol)) => $body,
            (Scheme::MultiversionVector($control), ActiveProtocol::Taurus($protocol)) => $body,
            _ => unreachable!("a scheme gathers what its protocol asks for, and what is run again reads the present"),
        }
    }};
}
pub(crate) use with_pair;
