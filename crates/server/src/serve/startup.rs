//! Begins the session of a connection: version, authentication, settings, and what the client is told before it may ask.
//!
//! Invariant: the first `ReadyForQuery` leaves together with all that comes before it.

use std::sync::Arc;

use osier_sql::{Session, Sql, SqlError, SqlState, scram};
use pgwire::messages::startup::{BackendKeyData, NegotiateProtocolVersion, ParameterStatus, SecretKey};

use super::authentication::authenticate;
use super::connection::Wire;
use super::errors::End;
use super::registry::Seat;
use super::server::Server;
use super::startup_packet::{Startup, settings_of_options};
use super::watch::Termination;

/// The newest version of the protocol, 3.2, in which secrets may be long.
const NEWEST_MINOR: u16 = 2;
const LONG_SECRET_BYTES: usize = 32;

/// Begins a session.
///
/// # Errors
/// A client that is not let in, or asks for what is not there.
pub async fn begin(
    server: &Server,
    wire: &mut Wire,
    startup: &Startup,
    seat: &mut Seat,
    termination: &Arc<Termination>,
) -> Result<Session, End> {
    let minor = negotiate(wire, startup);
    let sql = server.sql.get().ok_or(End::Closed)?;
    let role = authenticate(server, sql, wire, startup.user()).await?;
    wire.input.set_message_bytes_max(server.limits.message_bytes_max);
    let mut session = Session::new(sql, &role.name).map_err(End::Fatal)?;
    set(&mut session, startup).map_err(End::Fatal)?;
    report(wire, &mut session);
    let long: [u8; LONG_SECRET_BYTES] = scram::random();
    let secret = if minor >= 2 { &long[..] } else { &long[..4] };
    let number = seat.register(secret.to_vec(), session.canceller());
    session.set_backend_pid(number);
    let termination = termination.clone();
    session.register(move || termination.demand());
    wire.output.push(&BackendKeyData::new(number, SecretKey::Bytes(secret.to_vec().into())));
    Ok(session)
}

/// Agrees on a version. Returns its minor number.
fn negotiate(wire: &mut Wire, startup: &Startup) -> u16 {
    let minor = if startup.minor >= NEWEST_MINOR { NEWEST_MINOR } else { 0 };
    let unknown = startup.parameters.keys().filter(|name| name.starts_with("_pq_."));
    let unknown: Vec<String> = unknown.cloned().collect();
    if minor != startup.minor || !unknown.is_empty() {
        wire.output.push(&NegotiateProtocolVersion::new(3 << 16 | i32::from(minor), unknown));
    }
    minor
}

/// Sets what the client wishes.
fn set(session: &mut Session, startup: &Startup) -> Result<(), SqlError> {
    for (name, value) in &startup.parameters {
        match name.as_str() {
            "user" => {}
            "database" => expect_database(value, startup.user())?,
            "options" => {
                for (name, value) in settings_of_options(value)? {
                    session.set(&name, &value)?;
                }
            }
            "replication" if matches!(value.as_str(), "false" | "off" | "no" | "0") => {}
            "replication" => return Err(SqlError::unsupported("replication")),
            "client_encoding" => expect_utf8(value)?,
            name if name.starts_with("_pq_.") => {}
            name => session.set(name, value)?,
        }
    }
    Ok(())
}

/// Refuses the name of a database that there is not: whoever has mistyped it, or tests with one of its own, means no other.
/// Clients that say none send the name of the user, and tools look for a first one in `postgres`.
fn expect_database(name: &str, user: &str) -> Result<(), SqlError> {
    if ["", Sql::DATABASE, "postgres", user].contains(&name) {
        return Ok(());
    }
    Err(SqlError::new(SqlState::InvalidCatalogName, format!("database \"{name}\" does not exist"))
        .with_hint(format!("A server has one database, \"{}\". Start another server for another one.", Sql::DATABASE)))
}

fn expect_utf8(encoding: &str) -> Result<(), SqlError> {
    let letters: String = encoding.chars().filter(char::is_ascii_alphanumeric).collect();
    if ["utf8", "unicode", "auto", "sqlascii"].contains(&letters.to_ascii_lowercase().as_str()) {
        return Ok(());
    }
    let message = format!("client encoding \"{encoding}\" is not supported");
    Err(SqlError::new(SqlState::FeatureNotSupported, message).with_hint("Use UTF8."))
}

/// Tells the client of the settings that it may want to know.
fn report(wire: &mut Wire, session: &mut Session) {
    // What has changed is among all of them.
    drop(session.take_reports());
    for (name, value) in session.settings().reported() {
        wire.output.push(&ParameterStatus::new(name.to_owned(), value));
    }
}
