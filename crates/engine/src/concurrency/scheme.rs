//! The scheme of an open database, erased: sessions and transactions are not generic.
//!
//! An access pays one match, which a scheme that is the same in every transaction makes predictable; a commit pays one, for its
//! scheme and its protocol together.

use osier_memory::sync::Arc;
use osier_memory::{Locks, Stamp};

#[cfg(feature = "mutations")]
use super::faulty_scheme::Built;
use super::optimistic::Optimistic;
use super::two_phase_locking::TwoPhaseLocking;
#[cfg(test)]
use super::watched_for_tests::Watched;
use crate::config::{ConcurrencyControlKind, Config, Protocol};

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
}

impl Scheme {
    /// Returns the state of a first transaction, for one of the pairs of [`with_pair`].
    ///
    /// `locks` are those of the database.
    #[allow(clippy::useless_conversion, reason = "what ships is not wrapped")]
    pub(crate) fn new(config: &Config, locks: &Arc<Locks>) -> Scheme {
        match (config.concurrency_control, config.protocol) {
            (
                ConcurrencyControlKind::Optimistic,
                Protocol::None | Protocol::Serial | Protocol::Poplar | Protocol::Gsn,
            ) => Scheme::Optimistic(Built::<Optimistic<Stamp>>::from(Optimistic::default()).into()),
            (
                ConcurrencyControlKind::TwoPhaseLocking,
                Protocol::None | Protocol::Serial | Protocol::Poplar | Protocol::Gsn,
            ) => Scheme::TwoPhaseLocking(
                Built::<TwoPhaseLocking<Stamp>>::from(TwoPhaseLocking::new(locks, config.lock_timeout)).into(),
            ),
        }
    }
}

/// Evaluates `$body` with `$control` bound to whichever [`ConcurrencyControl`](super::ConcurrencyControl) there is.
macro_rules! with_scheme {
    ($scheme:expr, $control:ident => $body:expr) => {
        match $scheme {
            $crate::concurrency::Scheme::Optimistic($control) => $body,
            $crate::concurrency::Scheme::TwoPhaseLocking($control) => $body,
        }
    };
}
pub(crate) use with_scheme;

/// Evaluates `$body` with `$control` bound to the scheme and `$protocol` to the protocol of a database. These are all the pairs
/// that there are: in each both have the same [`Dependency`](crate::log::format::dependency::Dependency). A protocol with
/// another one joins with a line here for each scheme over that, and with a last line by which what [`Scheme::new`] never makes
/// is unreachable.
macro_rules! with_pair {
    ($scheme:expr, $log:expr, ($control:ident, $protocol:ident) => $body:expr) => {{
        use $crate::concurrency::Scheme;
        use $crate::log::ActiveProtocol;
        match ($scheme, $log.protocol()) {
            (Scheme::Optimistic($control), ActiveProtocol::None($protocol)) => $body,
            (Scheme::Optimistic($control), ActiveProtocol::Serial($protocol)) => $body,
            (Scheme::Optimistic($control), ActiveProtocol::Poplar($protocol)) => $body,
            (Scheme::Optimistic($control), ActiveProtocol::Gsn($protocol)) => $body,
            (Scheme::Optimistic($control), ActiveProtocol::Replayed($protocol)) => $body,
            (Scheme::TwoPhaseLocking($control), ActiveProtocol::None($protocol)) => $body,
            (Scheme::TwoPhaseLocking($control), ActiveProtocol::Serial($protocol)) => $body,
            (Scheme::TwoPhaseLocking($control), ActiveProtocol::Poplar($protocol)) => $body,
            (Scheme::TwoPhaseLocking($control), ActiveProtocol::Gsn($protocol)) => $body,
            (Scheme::TwoPhaseLocking(_), ActiveProtocol::Replayed(_)) => {
                unreachable!("what is run again has no others beside it")
            }
        }
    }};
}
pub(crate) use with_pair;
