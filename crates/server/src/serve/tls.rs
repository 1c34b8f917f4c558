//! TLS: the certificate and the key of the server, read from PEM files.
//!
//! Absent: certificates of clients; a change of the files is not noticed before the next start.

use std::path::Path;
use std::sync::Arc;

use osier_bench::error::BenchError;
use tokio_rustls::TlsAcceptor;
use tokio_rustls::rustls::ServerConfig;
use tokio_rustls::rustls::crypto::ring::default_provider;
use tokio_rustls::rustls::pki_types::pem::PemObject;
use tokio_rustls::rustls::pki_types::{CertificateDer, PrivateKeyDer};

/// Reads a certificate, with those that vouch for it behind it, and its key.
///
/// # Errors
/// Files that cannot be read, hold something else, or do not fit together.
pub fn acceptor(certificate: &Path, key: &Path) -> Result<TlsAcceptor, BenchError> {
    let wrong = |path: &Path, why: String| BenchError::Usage(format!("cannot use {} for TLS: {why}", path.display()));
    let chain = CertificateDer::pem_file_iter(certificate)
        .and_then(Iterator::collect::<Result<Vec<_>, _>>)
        .map_err(|error| wrong(certificate, error.to_string()))?;
    if chain.is_empty() {
        return Err(wrong(certificate, "it holds no certificate".to_owned()));
    }
    let private = PrivateKeyDer::from_pem_file(key).map_err(|error| wrong(key, error.to_string()))?;
    let config = ServerConfig::builder_with_provider(Arc::new(default_provider()))
        .with_safe_default_protocol_versions()
        .map_err(|error| wrong(certificate, error.to_string()))?
        .with_no_client_auth()
        .with_single_cert(chain, private)
        .map_err(|error| wrong(key, error.to_string()))?;
    Ok(TlsAcceptor::from(Arc::new(config)))
}
