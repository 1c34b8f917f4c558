//! `COPY ... FROM STDIN`: the client sends its data while the statement is open.
//!
//! Invariants:
//! - The data goes to the session as it comes. Clients send a message for each row, so what has come at once is run at once.
//! - `Sync` and `Flush` within the data mean nothing, as in PostgreSQL; any other request gives the statement up.
//!
//! Absent: what the client sends of the data after the statement has failed (`connection.rs` passes over it); what
//! `COPY ... TO STDOUT` writes (`rows.rs`).

use osier_sql::session::Done;
use pgwire::messages::copy::CopyInResponse;

use super::connection::Connection;
use super::errors::{End, Failure, violation};
use super::message::Request;
use super::rows::copy_formats;

/// So much of the data is run at once, about.
const RUN_BYTES: usize = 64 << 10;

impl Connection {
    /// Takes the data of a statement that waits for some. Returns what the statement has done.
    ///
    /// # Errors
    /// What it fails with; a client that gives it up.
    pub async fn copy_in(&mut self, done: Done) -> Result<Done, Failure> {
        let Some(shape) = done.copy_in else { return Ok(done) };
        let (format, formats) = copy_formats(shape);
        self.wire.output.push(&CopyInResponse::new(format, shape.columns as i16, formats));
        // The client waits for this before it sends anything.
        self.flush().await?;
        let mut waiting = 0;
        loop {
            let (kind, body) = self.next_request().await?;
            match Request::decode(kind, body) {
                Ok(Request::CopyData(bytes)) => {
                    self.guard(|session| session.copy_add(&bytes))?;
                    waiting += bytes.len();
                    let is_coming = self.wire.input.is_next(b'd');
                    if waiting >= RUN_BYTES || !is_coming {
                        waiting = 0;
                        self.act(|session| session.copy_run(is_coming)).await??;
                    }
                }
                Ok(Request::CopyDone) => return Ok(self.act(|session| session.copy_done()).await??),
                Ok(Request::CopyFail(reason)) => return Err(self.guard(|session| session.copy_fail(&reason))?.into()),
                Ok(Request::Flush | Request::Sync) => {}
                Ok(Request::Terminate) => return Err(End::Closed.into()),
                Ok(_) | Err(_) => {
                    let reason = format!("unexpected message type 0x{kind:02x} during COPY from stdin");
                    self.guard(|session| session.copy_fail(&reason))?;
                    return Err(violation(reason).into());
                }
            }
        }
    }
}
