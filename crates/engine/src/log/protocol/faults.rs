//! Where the simulation makes protocols wrong: a wrapper for a protocol and for a frontier, and the cuts of SiloR and Plover.
//! What ships has no wrapper.

#[cfg(not(feature = "mutations"))]
mod none {
    use crate::ids::Stamp;

    /// A protocol as it is.
    pub(crate) type Built<P> = P;
    /// A frontier as it is.
    pub(crate) type BuiltFrontier<F> = F;

    /// Returns the protocol.
    pub(crate) fn build<P>(protocol: P) -> P {
        protocol
    }

    /// The stamp up to which records live under SiloR: the cut.
    pub(crate) fn whole_epochs(cut: Stamp) -> Stamp {
        cut
    }

    /// Whether a record of Plover lives: where its transaction is sure to be whole.
    pub(crate) fn is_whole(is_whole: bool) -> bool {
        is_whole
    }
}
#[cfg(not(feature = "mutations"))]
pub(crate) use none::{Built, BuiltFrontier, build, is_whole, whole_epochs};

#[cfg(feature = "mutations")]
pub(crate) use wrapped::{Built, BuiltFrontier, build, is_whole, whole_epochs};

#[cfg(feature = "mutations")]
mod wrapped {
    use std::marker::PhantomData;

    use osier_memory::KeyStamps;

    use crate::error::LogError;
    use crate::failpoint::{Mutation, has, stamps_early};
    use crate::ids::{Epoch, LogOffset, Stamp, StreamId};
    use crate::io::BLOCK_BYTES;
    use crate::log::acknowledge::Requirement;
    use crate::log::format::batch::Certificate;
    use crate::log::format::dependency::Dependency;
    use crate::log::persist::frontier::{Frontier, Lag};
    use crate::log::persist::tid;
    use crate::log::persist::{Log, Slot};
    use crate::log::protocol::plover::Partitions;
    use crate::log::protocol::{Committed, LogProtocol, SourceOf, StampOrder};

    /// A protocol with the faults that are built into the calling thread.
    pub(crate) struct Built<P>(P);

    /// Wraps a protocol.
    pub(crate) fn build<P>(protocol: P) -> Built<P> {
        Built(protocol)
    }

    /// The stamp up to which records live under SiloR: the cut, or the end of the epoch behind it
    /// ([`Mutation::OpenEpochLives`]).
    pub(crate) fn whole_epochs(cut: Stamp) -> Stamp {
        if has(Mutation::OpenEpochLives) { tid::end_of_epoch(Stamp(cut.0 + 1)) } else { cut }
    }

    /// Whether a record of Plover lives: where its transaction is sure to be whole, or wherever it was read
    /// ([`Mutation::StreamsApart`]).
    pub(crate) fn is_whole(is_whole: bool) -> bool {
        is_whole || has(Mutation::StreamsApart)
    }

    impl<P: LogProtocol> LogProtocol for Built<P> {
        type Dependency = P::Dependency;
        type Rule = P::Rule;
        const IS_LOGGED: bool = P::IS_LOGGED;

        /// The simulation runs protocols in either order: the later one is what this one allows, not what it needs.
        fn stamp_order(&self) -> StampOrder {
            if has(Mutation::StampDrawnLate) {
                return StampOrder::AfterValidation;
            }
            if stamps_early() { StampOrder::BeforeValidation } else { self.0.stamp_order() }
        }

        fn read_stamps(&self) -> Option<&KeyStamps> {
            self.0.read_stamps()
        }

        fn source(&self) -> &SourceOf<P::Dependency> {
            self.0.source()
        }

        fn counted(&self, base: Stamp, of_rows: impl FnOnce() -> Stamp) -> Stamp {
            if has(Mutation::PurgedCounted) { base } else { self.0.counted(base, of_rows) }
        }

        fn epoch(&self, epoch: Epoch) -> Epoch {
            if has(Mutation::BacklogOfNow) { epoch } else { self.0.epoch(epoch) }
        }

        fn stamp(&self, stream: StreamId, base: Stamp, record_bytes: usize) -> Result<Option<Slot<'_>>, LogError> {
            self.0.stamp(stream, base, record_bytes)
        }

        fn partitions(&self) -> Option<&Partitions> {
            self.0.partitions()
        }

        fn stamp_shares(&self, shares: &[(StreamId, usize)], base: Stamp) -> Result<Option<Vec<Slot<'_>>>, LogError> {
            self.0.stamp_shares(shares, base)
        }

        fn requirement(&self, committed: &Committed<P::Dependency>) -> Requirement {
            let requirement = self.0.requirement(committed);
            if committed.stamp == Stamp::ZERO && has(Mutation::ReadersAtOnce) {
                return Requirement::none(committed.stream);
            }
            if has(Mutation::PrefixUnawaited) {
                return Requirement { csn: committed.raw_dep.greatest(), ..requirement };
            }
            match has(Mutation::NoCsnWait) {
                true => Requirement { dsn: requirement.dsn, ..Requirement::none(requirement.stream) },
                false => requirement,
            }
        }
    }

    /// A frontier with the faults that are built into the calling thread.
    pub(crate) struct BuiltFrontier<F>(PhantomData<F>);

    impl<F: Frontier> Frontier for BuiltFrontier<F> {
        fn is_due(log: &Log, own: StreamId) -> bool {
            F::is_due(log, own)
        }

        fn reached(stamp: Stamp) -> Stamp {
            if has(Mutation::OpenEpochClaimed) { tid::end_of_epoch(stamp) } else { F::reached(stamp) }
        }

        fn raise(log: &Log) -> Stamp {
            F::raise(log)
        }

        fn certify(log: &Log, own: StreamId, stamp: Stamp, certificates: &mut Vec<Certificate>) {
            if has(Mutation::NoHeartbeat) {
                let others = log.streams.iter().filter(|stream| stream.id() != own);
                return certificates.extend(others.map(|stream| Certificate {
                    stream: stream.id(),
                    stamp: Stamp::ZERO,
                    reach: LogOffset(stream.ring.durable_end()),
                }));
            }
            F::certify(log, own, stamp, certificates);
            for certificate in certificates {
                if has(Mutation::BusyCertified) {
                    certificate.stamp = stamp;
                }
                if has(Mutation::EarlyReach) {
                    let pending = log.stream(certificate.stream).ring.pending_bytes();
                    certificate.reach.0 += pending.next_multiple_of(BLOCK_BYTES as u64);
                }
            }
        }

        fn lag(log: &Log, own: StreamId) -> Lag {
            if has(Mutation::NoHeartbeat) { Lag::None } else { F::lag(log, own) }
        }
    }
}
