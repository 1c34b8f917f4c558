//! The life of a connection: begin the session, then answer what came, send the answers, and wait for more.
//!
//! Invariants:
//! - What was asked in one go is answered in one send, unless the answers are long or take long.
//! - Nothing that tells of a commit is sent before the commit is durable ([`Connection::flush`]). While the connection waits for
//!   that, or for its client, it holds no thread.
//! - A commit that will never be durable ends the connection: what the client was to be told of it is taken back, and the client
//!   is told that the log failed.
//! - After an error in the extended protocol nothing is done until the client says `Sync`.
//!
//! Absent: what the requests do (`simple.rs`, `extended.rs`, `copy.rs`); when notifications are told (`notifications.rs`).

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::pin::pin;
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use osier::Receipt;
use osier_sql::session::{Canceller, Status};
use osier_sql::{Session, SqlError, SqlState};
use pgwire::messages::startup::ParameterStatus;
use tokio::time::Instant;

use super::doorman::{Arrival, ended_by_server, refuse, too_late};
use super::errors::{End, Failure, Severity, fatal, push_error, push_notice, violation};
use super::fiber;
use super::input::Input;
use super::message::Request;
use super::notifications;
use super::output::Output;
use super::portals::Portals;
use super::server::Server;
use super::startup;
use super::statistics::Slot;
use super::stream::Stream;
use super::watch::{Interruption, Termination, Watch};

/// The longest message before a client has shown who it is.
const UNKNOWN_MESSAGE_BYTES_MAX: usize = 10_000;
/// Answers that are longer are sent although more requests are there.
const FLUSHED_BYTES: usize = 64 * 1024;
/// Answers that took longer are sent, too.
const FLUSHED_AFTER: Duration = Duration::from_millis(2);
/// How long one connection may have its thread, while it asks for one thing after the other.
const TURN: Duration = Duration::from_millis(2);

/// The two directions of a connection.
pub struct Wire {
    /// What they go through.
    pub stream: Stream,
    /// What came.
    pub input: Input,
    /// What is to be sent.
    pub output: Output,
    /// How much of it was.
    sent: usize,
}

impl Wire {
    /// Sends what there is. Safe to cancel: the next call goes on.
    ///
    /// # Errors
    /// Where the connection broke.
    pub async fn send(&mut self) -> Result<(), End> {
        if self.output.bytes.is_empty() {
            return Ok(());
        }
        while self.sent < self.output.bytes.len() {
            self.sent += self.stream.send_part(&self.output.bytes[self.sent..]).await?;
        }
        self.stream.flush().await?;
        self.output.bytes.clear();
        self.sent = 0;
        Ok(())
    }

    /// Waits for more.
    ///
    /// # Errors
    /// Where nothing will come.
    pub async fn read(&mut self) -> Result<(), End> {
        self.input.reserve();
        if self.stream.read(&mut self.input.bytes).await? == 0 { Err(End::Closed) } else { Ok(()) }
    }
}

/// A connection with its session.
pub struct Connection {
    /// What all connections share.
    pub server: Arc<Server>,
    /// What its thread counts.
    pub slot: Arc<Slot>,
    /// The two directions.
    pub wire: Wire,
    /// The session.
    pub session: Session,
    /// The commits of which the output tells, each with the place there where it is told.
    pub receipts: Vec<(usize, Receipt)>,
    /// The portals.
    pub portals: Portals,
    /// Requests are skipped until `Sync`.
    pub is_skipping: bool,
    /// A portal was executed since the last `Sync`.
    pub has_executed: bool,
    /// When the requests came that are being answered.
    came_at: Instant,
    /// When the other connections of the thread had their turn.
    turn_at: Instant,
    termination: Arc<Termination>,
    watch: Watch,
}

/// Lives the life of a connection.
pub async fn serve(server: Arc<Server>, slot: Arc<Slot>, arrival: Arrival) {
    let Arrival { mut stream, startup, rest, mut seat, deadline } = arrival;
    if stream.resume().is_err() {
        return;
    }
    let input = Input::new(rest, UNKNOWN_MESSAGE_BYTES_MAX);
    let mut wire = Wire { stream, input, output: Output::default(), sent: 0 };
    let termination = Arc::default();
    let begun = tokio::select! {
        begun = startup::begin(&server, &mut wire, &startup, &mut seat, &termination) => begun,
        () = tokio::time::sleep_until(deadline) => Err(too_late()),
        () = server.until_ending() => Err(ended_by_server()),
    };
    drop(startup);
    let end = match begun {
        Ok(session) => {
            server.statistics.connected();
            let mut connection = Connection::new(server.clone(), slot, wire, session, termination);
            let end = connection.live().await;
            let Connection { wire: own, session, .. } = connection;
            wire = own;
            // What is open is rolled back before the client hears of the end. What is temporary is dropped, which may wait.
            drop(act(&Canceller::default(), || drop(session)).await);
            end
        }
        Err(end) => {
            server.statistics.refused();
            end
        }
    };
    // The answers that are left say less than the end, but the client waits for them: they are as true as before.
    if let End::Fatal(error) = end {
        server.statistics.error(error.code());
        push_error(&mut wire.output, Severity::Fatal, &error);
        let sending = tokio::time::timeout(Duration::from_secs(2), wire.send());
        drop(sending.await);
    }
    refuse(&mut wire.stream, End::Closed).await;
    drop(seat);
}

impl Connection {
    fn new(
        server: Arc<Server>,
        slot: Arc<Slot>,
        wire: Wire,
        session: Session,
        termination: Arc<Termination>,
    ) -> Connection {
        let watch = Watch::new(&server, &termination);
        Connection {
            server,
            slot,
            wire,
            session,
            receipts: Vec::new(),
            portals: Portals::default(),
            is_skipping: false,
            has_executed: false,
            came_at: Instant::now(),
            turn_at: Instant::now(),
            termination,
            watch,
        }
    }

    async fn live(&mut self) -> End {
        self.wire.output.push_ready(self.session.status());
        loop {
            let answered = match self.next_request().await {
                Ok((kind, body)) => self.answer(kind, body).await,
                Err(end) => Err(end),
            };
            if let Err(end) = answered {
                // What is in the output may tell of commits: it goes only if they are durable.
                return match self.settle().await {
                    Ok(()) => end,
                    Err(failed) => failed,
                };
            }
        }
    }

    /// Takes the next request; sends what there is before it waits for one.
    ///
    /// # Errors
    /// Where none will come, or none is waited for any longer.
    pub async fn next_request(&mut self) -> Result<(u8, Bytes), End> {
        loop {
            if let Some(message) = self.wire.input.next().map_err(End::Fatal)? {
                if self.wire.output.bytes.len() > FLUSHED_BYTES {
                    self.flush().await?;
                }
                return Ok(message);
            }
            self.flush().await?;
            self.wire.output.shrink();
            self.wait().await?;
        }
    }

    async fn answer(&mut self, kind: u8, body: Bytes) -> Result<(), End> {
        if self.termination.is_due() {
            return Err(ended_by_server());
        }
        if self.is_skipping && !matches!(kind, b'S' | b'X') {
            return Ok(());
        }
        let is_extended = b"PBDECHS".contains(&kind);
        let answered = match Request::decode(kind, body) {
            Ok(request) => self.dispatch(request).await,
            Err(error) => Err(error.into()),
        };
        // `Bind`, `Describe`, `Close` and `Flush` take little time.
        if !b"BDCH".contains(&kind) {
            self.give_way().await;
        }
        match answered {
            Ok(()) => Ok(()),
            Err(Failure::Connection(end)) => Err(end),
            Err(Failure::Request(_)) if self.termination.is_due() => Err(ended_by_server()),
            Err(Failure::Request(error)) => {
                self.fail(error).await?;
                self.is_skipping = is_extended;
                if !is_extended {
                    self.ready().await?;
                }
                Ok(())
            }
        }
    }

    async fn dispatch(&mut self, request: Request) -> Result<(), Failure> {
        match request {
            Request::Query(text) => return self.query(&text).await,
            Request::Parse { name, text, types } => self.parse(name, &text, &types)?,
            Request::Bind(bind) => self.bind(bind)?,
            Request::Describe(target, name) => self.describe(target, &name)?,
            Request::Execute { portal, rows_max } => return self.execute(&portal, rows_max).await,
            Request::Close(target, name) => self.close(target, &name),
            Request::Flush => self.flush().await?,
            Request::Sync => return self.sync().await,
            // What is left of a `COPY` that has failed.
            Request::CopyData(_) | Request::CopyDone | Request::CopyFail(_) => {}
            Request::FunctionCall => {
                let hint = "Call the function in a SELECT.";
                return Err(SqlError::unsupported("the function call message").with_hint(hint).into());
            }
            Request::Password(_) => return Err(End::Fatal(violation("unexpected password message")).into()),
            Request::Terminate => {
                // What it has asked for before it may still read.
                self.flush().await?;
                return Err(End::Closed.into());
            }
        }
        Ok(())
    }

    /// Does something with the session. A panic ends the connection, and no other.
    ///
    /// # Errors
    /// A panic.
    pub fn guard<T>(&mut self, action: impl FnOnce(&mut Session) -> T) -> Result<T, End> {
        guarded(|| action(&mut self.session))
    }

    /// Does something with the session that may wait for other sessions, as a statement does.
    ///
    /// # Errors
    /// As those of [`Connection::guard`].
    pub async fn act<T: 'static>(&mut self, action: impl FnOnce(&mut Session) -> T) -> Result<T, End> {
        let canceller = self.session.canceller();
        act(&canceller, || action(&mut self.session)).await
    }

    /// Rolls back what a request had begun that failed, and tells the client.
    ///
    /// # Errors
    /// A panic.
    pub async fn fail(&mut self, error: SqlError) -> Result<(), End> {
        let error = self.act(|session| session.fail(error)).await?;
        self.push_notices();
        // An error may tell of rows: it is sent when these are durable, unless a savepoint keeps the transaction open.
        let observed = self.guard(Session::take_observed)?;
        self.keep(observed);
        self.server.statistics.error(error.code());
        push_error(&mut self.wire.output, Severity::Error, &error);
        Ok(())
    }

    /// Tells the client that the next request may come.
    ///
    /// # Errors
    /// A panic; those of [`Connection::push_notifications`].
    pub async fn ready(&mut self) -> Result<(), End> {
        let status = self.guard(|session| session.status())?;
        if status == Status::Idle {
            self.portals.clear();
        }
        self.push_notices();
        self.push_notifications().await?;
        Connection::push_reports(&mut self.wire.output, &mut self.session);
        self.wire.output.push_ready(status);
        self.session.rests();
        self.has_executed = false;
        Ok(())
    }

    /// Sends the answers of a sequence of requests that is over, if they took long. Otherwise they go with the next ones.
    ///
    /// # Errors
    /// Where the connection broke.
    pub async fn flush_late(&mut self) -> Result<(), End> {
        if self.has_more() && self.came_at.elapsed() > FLUSHED_AFTER { self.flush().await } else { Ok(()) }
    }

    /// Whether the client has sent something that is not answered yet.
    fn has_more(&self) -> bool {
        !self.wire.input.bytes.is_empty()
    }

    /// Lets the other connections of the thread go on, where this one has had it for long: it may have asked for much at once.
    pub async fn give_way(&mut self) {
        if self.has_more() && self.turn_at.elapsed() > TURN {
            tokio::task::yield_now().await;
            self.turn_at = Instant::now();
        }
    }

    /// Appends the notices that there are.
    pub fn push_notices(&mut self) {
        for notice in self.session.take_notices() {
            push_notice(&mut self.wire.output, &notice);
        }
    }

    /// Appends the settings that have changed.
    pub fn push_reports(output: &mut Output, session: &mut Session) {
        for (name, value) in session.take_reports() {
            output.push(&ParameterStatus::new(name.to_owned(), value));
        }
    }

    /// Keeps the receipt of a commit of which the output tells from here on.
    pub fn keep(&mut self, receipt: Option<Receipt>) {
        let mark = self.wire.output.bytes.len();
        self.receipts.extend(receipt.map(|receipt| (mark, receipt)));
    }

    /// Waits until everything is durable of which the output tells.
    ///
    /// # Errors
    /// Where it never will be.
    pub async fn settle(&mut self) -> Result<(), End> {
        if self.receipts.is_empty() {
            return Ok(());
        }
        let begun = std::time::Instant::now();
        for (mark, receipt) in std::mem::take(&mut self.receipts) {
            if let Err(error) = receipt.await {
                self.wire.output.bytes.truncate(mark);
                let error = SqlError::from(osier::Error::from(error));
                return Err(End::Fatal(error.with_hint("Whether the transaction is in the database is not known.")));
            }
        }
        self.server.statistics.commit(&self.slot, begun.elapsed());
        Ok(())
    }

    /// Sends what there is, when it is durable.
    ///
    /// # Errors
    /// Where the log failed or the connection broke.
    pub async fn flush(&mut self) -> Result<(), End> {
        self.settle().await?;
        let limit = self.silence_max();
        let Connection { wire, session, termination, .. } = self;
        let sending = async {
            match limit {
                None => Ok(wire.send().await),
                Some(limit) => tokio::time::timeout(limit, wire.send()).await,
            }
        };
        let sent = tokio::select! {
            biased;
            sent = sending => sent,
            end = notifications::overflow(session) => Ok(Err(end)),
            () = termination.demanded() => Ok(Err(ended_by_server())),
        };
        sent.unwrap_or_else(|_| Err(self.too_silent()))
    }

    /// Waits for the client, and tells it of notifications meanwhile.
    async fn wait(&mut self) -> Result<(), End> {
        let limit = self.silence_max();
        let Connection { wire, session, watch, .. } = self;
        let waited = {
            let mut interruption = pin!(watch.interruption(limit));
            loop {
                tokio::select! {
                    biased;
                    read = wire.read() => break Ok(read),
                    interruption = interruption.as_mut() => break Err(interruption),
                    () = notifications::arrival(session) => {}
                }
                tokio::select! {
                    biased;
                    told = notifications::tell(wire, session) => if told.is_err() { break Ok(told) },
                    interruption = interruption.as_mut() => break Err(interruption),
                }
            }
        };
        let read = waited.unwrap_or_else(|interruption| {
            Err(match interruption {
                Interruption::Ending => ended_by_server(),
                Interruption::Silence => self.too_silent(),
            })
        });
        self.came_at = Instant::now();
        self.turn_at = self.came_at;
        // One that never falls silent hears it, too.
        if read.is_ok() && self.server.is_ending() && self.session.status() == Status::Idle {
            return Err(ended_by_server());
        }
        read
    }

    /// Returns how long the client may be silent.
    fn silence_max(&self) -> Option<Duration> {
        let limits = &self.server.limits;
        let [idle, within] = self.session.settings().idle_timeouts;
        let limits = match self.session.status() {
            Status::Idle => [limits.idle, idle],
            Status::Open | Status::Failed => [limits.idle_in_transaction, within],
        };
        limits.into_iter().flatten().min()
    }

    /// Returns how the connection ends where the client was silent for longer.
    #[cold]
    fn too_silent(&self) -> End {
        let (code, what) = match self.session.status() {
            Status::Idle => ("57P05", "idle-session timeout"),
            Status::Open | Status::Failed => ("25P03", "idle-in-transaction timeout"),
        };
        let message = format!("terminating connection due to {what}");
        End::Fatal(SqlError::new(SqlState::AdminShutdown, message).with_code(code))
    }
}

/// Calls `action`; a panic of it ends the connection.
///
/// # Errors
/// A panic.
pub fn guarded<T>(action: impl FnOnce() -> T) -> Result<T, End> {
    catch_unwind(AssertUnwindSafe(action)).map_err(|_| defect())
}

/// As [`guarded`], for what may wait for other sessions: the thread goes on with their connections meanwhile.
///
/// # Errors
/// A panic.
pub async fn act<T: 'static>(canceller: &Canceller, action: impl FnOnce() -> T) -> Result<T, End> {
    fiber::run(canceller, action).await.map_err(|_| defect())
}

fn defect() -> End {
    fatal(SqlState::InternalError, "the statement ran into a defect of the server, which its log describes")
}
