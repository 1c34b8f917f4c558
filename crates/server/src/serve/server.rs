//! What all connections of a server share.
//!
//! Invariant: the database is there once recovery is over, and stays.

use std::sync::{Arc, Mutex, OnceLock, PoisonError};
use std::time::Duration;

use osier::recovery::Progress;
use osier_sql::{Sql, scram};
use tokio::sync::watch;
use tokio_rustls::TlsAcceptor;

use super::registry::Registry;
use super::shutdown::Phase;
use super::statistics::Statistics;

/// How clients are treated.
#[derive(Clone, Debug)]
pub struct Limits {
    /// The longest message of a client.
    pub message_bytes_max: usize,
    /// How long a client may be silent; `None`: for ever.
    pub idle: Option<Duration>,
    /// How long it may be silent within a transaction; `None`: for ever.
    pub idle_in_transaction: Option<Duration>,
}

/// What connections share.
pub struct Server {
    /// The database; none while it recovers.
    pub sql: OnceLock<Arc<Sql>>,
    /// Who is connected.
    pub registry: Arc<Registry>,
    /// Whether the server ends.
    pub phase: watch::Sender<Phase>,
    /// How clients are treated.
    pub limits: Limits,
    /// Whether everyone is who they say.
    pub is_trusting: bool,
    /// TLS, if there is a certificate.
    pub tls: Option<TlsAcceptor>,
    /// What is counted.
    pub statistics: Statistics,
    recovering: Mutex<Option<Progress>>,
    /// What the salts of roles are made of that are not there.
    pub mock_key: [u8; 32],
}

impl Server {
    /// Makes what is shared.
    pub fn new(
        seats: usize,
        limits: Limits,
        is_trusting: bool,
        tls: Option<TlsAcceptor>,
        slow_min: Option<Duration>,
    ) -> Arc<Server> {
        Arc::new(Server {
            sql: OnceLock::new(),
            registry: Registry::new(seats),
            phase: watch::Sender::new(Phase::Serving),
            limits,
            is_trusting,
            tls,
            statistics: Statistics::new(slow_min),
            recovering: Mutex::new(None),
            mock_key: scram::random(),
        })
    }

    /// Returns how far the recovery is, while there is one.
    pub fn recovering(&self) -> Option<Progress> {
        *self.recovering.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Keeps how far the recovery is.
    pub fn set_recovering(&self, progress: Progress) {
        *self.recovering.lock().unwrap_or_else(PoisonError::into_inner) = Some(progress);
    }

    /// Whether the server ends.
    pub fn is_ending(&self) -> bool {
        *self.phase.borrow() != Phase::Serving
    }

    /// Waits until the server ends.
    pub async fn until_ending(&self) {
        let mut phase = self.phase.subscribe();
        // The sender is not dropped before `self`.
        drop(phase.wait_for(|phase| *phase != Phase::Serving).await);
    }
}
