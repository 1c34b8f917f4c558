//! The scheme of an open database, erased: sessions and transactions are not generic.
//!
//! An access pays one match, which a scheme that is the same in every transaction makes predictable; a commit pays one, for its
//! scheme and its protocol together.

use osier_memory::Stamp;

#[cfg(feature = "mutations")]
use super::faulty_scheme::Built;
use super::optimistic::Optimistic;
#[cfg(test)]
use super::watched_for_tests::Watched;
use crate::config::{ConcurrencyControlKind, Protocol};

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
}

impl Scheme {
    /// Returns the state of a first transaction, for one of the pairs of [`with_pair`].
    pub(crate) fn new(kind: ConcurrencyControlKind, protocol: Protocol) -> Scheme {
        match (kind, protocol) {
            (
                ConcurrencyControlKind::Optimistic,
                Protocol::None | Protocol::Serial | Protocol::Poplar | Protocol::Gsn,
            ) => Scheme::Optimistic(Default::default()),
        }
    }
}

/// Evaluates `$body` with `$control` bound to whichever [`ConcurrencyControl`](super::ConcurrencyControl) there is.
macro_rules! with_scheme {
    ($scheme:expr, $control:ident => $body:expr) => {
        match $scheme {
            $crate::concurrency::Scheme::Optimistic($control) => $body,
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
        }
    }};
}
pub(crate) use with_pair;
