//! Finds out whether a client is who it says.
//!
//! Rules, the first one that fits: with `--auth trust` everyone is; through the Unix socket a process of the server's own user
//! (or the superuser) is the first role; all others prove that they know the password.
//!
//! Invariant: a client that does not know the password is told the same whether the role exists, has a password, or may log in.

use osier_sql::scram::{Exchange, MECHANISM, Verifier};
use osier_sql::sql::Role;
use osier_sql::{Sql, SqlError, SqlState};
use pgwire::messages::startup::Authentication;

use super::connection::Wire;
use super::errors::{End, violation};
use super::message::{Fields, Request, check_text};
use super::server::Server;

/// Checks who a client is. Returns the role.
///
/// # Errors
/// A client that is not let in.
pub async fn authenticate(server: &Server, sql: &Sql, wire: &mut Wire, user: &str) -> Result<Role, End> {
    let role = sql.role(user).map_err(End::Fatal)?;
    let is_own = user == Sql::FIRST_ROLE && wire.stream.is_of_own_user();
    if !server.is_trusting && !is_own {
        let secret = role.as_ref().and_then(|role| role.secret.as_deref());
        let verifier = secret.and_then(Verifier::of_secret);
        prove(wire, user, verifier.unwrap_or_else(|| Verifier::mock(&server.mock_key, user))).await?;
    }
    let refused = |message: String| End::Fatal(SqlError::new(SqlState::InvalidPassword, message).with_code("28000"));
    let role = role.ok_or_else(|| refused(format!("role \"{user}\" does not exist")))?;
    if !role.can_login {
        return Err(refused(format!("role \"{user}\" is not permitted to log in")));
    }
    wire.output.push(&Authentication::Ok);
    Ok(role)
}

/// Lets the client prove that it knows the password.
async fn prove(wire: &mut Wire, user: &str, verifier: Verifier) -> Result<(), End> {
    let failed = || {
        let message = format!("password authentication failed for user \"{user}\"");
        End::Fatal(SqlError::new(SqlState::InvalidPassword, message))
    };
    wire.output.push(&Authentication::SASL(vec![MECHANISM.to_owned()]));
    let mut first = password(wire).await?;
    let mechanism = first.text().map_err(End::Fatal)?;
    if mechanism != MECHANISM {
        return Err(End::Fatal(violation("client selected an invalid SASL authentication mechanism")));
    }
    let first = first.value().map_err(End::Fatal)?.unwrap_or_default();
    let first = check_text(&first).map_err(End::Fatal)?;
    let malformed = || End::Fatal(violation("malformed SCRAM message"));
    let (exchange, answer) = Exchange::begin(verifier, first).ok_or_else(malformed)?;
    wire.output.push(&Authentication::SASLContinue(answer.into()));
    let last = password(wire).await?;
    let last = check_text(&last.0).map_err(End::Fatal)?;
    let proof = exchange.finish(last).ok_or_else(failed)?;
    wire.output.push(&Authentication::SASLFinal(proof.into()));
    Ok(())
}

/// Sends what there is and waits for a message of the exchange.
async fn password(wire: &mut Wire) -> Result<Fields, End> {
    wire.send().await?;
    loop {
        match wire.input.next().map_err(End::Fatal)? {
            Some((kind, body)) => match Request::decode(kind, body).map_err(End::Fatal)? {
                Request::Password(body) => return Ok(Fields(body)),
                Request::Terminate => return Err(End::Closed),
                _ => return Err(End::Fatal(violation("expected SASL response"))),
            },
            None => wire.read().await?,
        }
    }
}
