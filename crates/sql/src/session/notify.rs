//! `LISTEN`, `UNLISTEN` and `NOTIFY` of a session: what its transaction asks for, and what counts once that has committed.
//!
//! Invariants:
//! - Nothing that a transaction asks for counts before it has committed, and nothing of what was rolled back to a savepoint.
//! - A notification that a transaction sends twice is sent once, in the place of the first.
//! - Of what comes a session takes what it listens to then; within a transaction it takes nothing.

use std::cell::RefCell;
use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use osier::Receipt;
use sqlparser::ast::Ident;

use super::{Core, Done, Session, State};
use crate::datum::Datum;
use crate::error::{Result, SqlError, SqlState};
use crate::notify::{Exchange, Inbox, Notification, SENT_BYTES_MAX, SENT_MAX, Turn};
use crate::parse::own::is_every_channel;

/// Names of channels are shorter, as all names are.
const CHANNEL_BYTES: usize = 64;
/// Payloads are shorter.
const PAYLOAD_BYTES: usize = 8_000;

/// What a transaction changes when it commits.
#[derive(Debug)]
enum Change {
    Listen(Arc<str>),
    Unlisten(Arc<str>),
    UnlistenAll,
}

/// What a transaction sends when it commits.
#[derive(Debug, Default)]
struct Outgoing {
    notifications: Vec<Notification>,
    known: HashSet<(Arc<str>, Arc<str>)>,
    bytes: usize,
}

/// What there was when a savepoint was made.
#[derive(Clone, Copy, Debug)]
pub(super) struct Mark {
    changes: usize,
    notifications: usize,
}

/// What a session listens to and what its transaction asks for.
#[derive(Debug, Default)]
pub(super) struct Notifying {
    /// The channels that it listens to, with their places in the order in which it began to.
    channels: HashMap<Arc<str>, u64>,
    /// How often it has begun to listen.
    begun: u64,
    /// Those that the transaction which commits adds: the exchange knows them already.
    joined: Vec<Arc<str>>,
    /// There since it has listened for the first time.
    inbox: Option<Inbox>,
    changes: Vec<Change>,
    outgoing: RefCell<Outgoing>,
}

/// What a transaction asks for that commits.
pub(super) struct Settled {
    left: HashSet<Arc<str>>,
    turn: Option<Turn>,
}

impl Outgoing {
    fn push(&mut self, notification: Notification) -> Result<()> {
        let key = (notification.channel.clone(), notification.payload.clone());
        if self.known.contains(&key) {
            return Ok(());
        }
        let bytes = self.bytes + notification.bytes();
        if self.notifications.len() == SENT_MAX || bytes > SENT_BYTES_MAX {
            let message = "the transaction sends too many notifications";
            let detail = format!("It may send {SENT_MAX}, and {} MiB.", SENT_BYTES_MAX >> 20);
            let hint = "Send fewer, or commit in between.";
            return Err(SqlError::new(SqlState::ProgramLimitExceeded, message).with_detail(detail).with_hint(hint));
        }
        self.bytes = bytes;
        self.known.insert(key);
        self.notifications.push(notification);
        Ok(())
    }

    fn truncate(&mut self, length: usize) {
        for undone in self.notifications.drain(length..) {
            self.bytes -= undone.bytes();
            self.known.remove(&(undone.channel, undone.payload));
        }
    }
}

impl Notifying {
    /// Forgets what the transaction asks for.
    pub(super) fn forget(&mut self) {
        self.changes.clear();
        if !self.outgoing.get_mut().notifications.is_empty() {
            self.outgoing.take();
        }
    }

    pub(super) fn mark(&self) -> Mark {
        Mark { changes: self.changes.len(), notifications: self.outgoing.borrow().notifications.len() }
    }

    pub(super) fn roll_back_to(&mut self, mark: Mark) {
        self.changes.truncate(mark.changes);
        self.outgoing.get_mut().truncate(mark.notifications);
    }

    /// The channels that the transaction adds to what the session listens to, and those that it takes away.
    fn changed(&self) -> (Vec<Arc<str>>, HashSet<Arc<str>>) {
        let (mut listened, mut added, mut left) = (Vec::new(), HashSet::new(), HashSet::new());
        for change in &self.changes {
            match change {
                Change::Listen(channel) => {
                    let is_known = self.channels.contains_key(channel);
                    if !left.remove(channel) && !is_known && added.insert(channel) {
                        listened.push(channel);
                    }
                }
                Change::Unlisten(channel) => {
                    added.remove(channel);
                    left.extend(self.channels.get_key_value(channel).map(|(channel, _)| channel.clone()));
                }
                Change::UnlistenAll => {
                    added.clear();
                    left.extend(self.channels.keys().cloned());
                }
            }
        }
        // Once each: what was taken away may have been added again.
        (listened.into_iter().filter(|channel| added.remove(*channel)).cloned().collect(), left)
    }

    /// Checks that the transaction may send what it is about to.
    pub(super) fn check(&self, exchange: &Exchange) -> Result<()> {
        if self.outgoing.borrow().notifications.is_empty() { Ok(()) } else { exchange.check() }
    }

    /// Says to the exchange what the transaction asks for that is about to commit. `None` where it asks for nothing.
    pub(super) fn settle(&mut self, exchange: &Exchange) -> Option<Settled> {
        let sends = !self.outgoing.get_mut().notifications.is_empty();
        if self.changes.is_empty() && !sends {
            return None;
        }
        let left;
        (self.joined, left) = self.changed();
        if let Some(inbox) = &self.inbox {
            exchange.join(&self.joined, inbox);
        }
        Some(Settled { left, turn: sends.then(|| exchange.take_turn()) })
    }

    /// The transaction has ended, and has committed if there is a receipt.
    pub(super) fn end(&mut self, exchange: &Exchange, settled: Option<Settled>, receipt: Option<&Receipt>) {
        let Some(Settled { left, turn }) = settled else { return };
        let joined = std::mem::take(&mut self.joined);
        match (receipt, &self.inbox) {
            (Some(_), Some(inbox)) => {
                for channel in joined {
                    self.channels.insert(channel, self.begun);
                    self.begun += 1;
                }
                exchange.leave(&left, inbox);
                self.channels.retain(|channel, _| !left.contains(channel));
            }
            (None, Some(inbox)) => exchange.leave(&joined, inbox),
            (_, None) => {}
        }
        if let (Some(turn), Some(receipt)) = (turn, receipt) {
            let sent = self.outgoing.take().notifications;
            turn.committed(sent, receipt.another(), self.inbox.as_ref());
        }
        self.forget();
    }

    /// The session listens to nothing any more.
    pub(super) fn leave(&mut self, exchange: &Exchange) {
        let joined = std::mem::take(&mut self.joined);
        let channels = std::mem::take(&mut self.channels);
        if let Some(inbox) = self.inbox.take() {
            exchange.leave(channels.keys().chain(&joined), &inbox);
        }
    }

    /// Those that listen, the one first that was first.
    fn listed(&self) -> Vec<Datum> {
        let mut channels: Vec<_> = self.channels.iter().collect();
        channels.sort_unstable_by_key(|(_, place)| **place);
        channels.into_iter().map(|(channel, _)| Datum::Text(channel.clone())).collect()
    }
}

impl Core {
    /// `LISTEN`.
    pub(super) fn listen(&mut self, channel: &Ident) -> Result<Done> {
        if self.notifying.inbox.is_none() {
            self.notifying.inbox = Some(self.sql.exchange().inbox()?);
        }
        self.notifying.changes.push(Change::Listen(crate::parse::name(channel).into()));
        Ok(Done::tagged("LISTEN"))
    }

    /// `UNLISTEN`.
    pub(super) fn unlisten(&mut self, channel: &Ident) -> Done {
        match is_every_channel(channel) {
            true => self.unlisten_all(),
            false => self.notifying.changes.push(Change::Unlisten(crate::parse::name(channel).into())),
        }
        Done::tagged("UNLISTEN")
    }

    /// `UNLISTEN *`.
    pub(super) fn unlisten_all(&mut self) {
        self.notifying.changes.push(Change::UnlistenAll);
    }

    /// `NOTIFY`.
    pub(super) fn notify_statement(&self, channel: &Ident, payload: Option<&str>) -> Result<Done> {
        self.notify(&crate::parse::name(channel), payload.unwrap_or_default())?;
        Ok(Done::tagged("NOTIFY"))
    }

    fn notify(&self, channel: &str, payload: &str) -> Result<()> {
        let invalid = |message: &str| SqlError::new(SqlState::InvalidParameterValue, message);
        if channel.is_empty() {
            return Err(invalid("channel name cannot be empty"));
        }
        if channel.len() >= CHANNEL_BYTES {
            return Err(invalid("channel name too long").with_detail("A name has less than 64 bytes."));
        }
        if payload.len() >= PAYLOAD_BYTES {
            let hint = "Keep what is to be told in a table, and send its key.";
            let detail = format!("It has {} bytes, and may have {}.", payload.len(), PAYLOAD_BYTES - 1);
            return Err(invalid("payload string too long").with_detail(detail).with_hint(hint));
        }
        let (channel, payload) = (channel.into(), payload.into());
        self.notifying.outgoing.borrow_mut().push(Notification { pid: self.backend_pid, channel, payload })
    }

    /// Calls a function about notifications.
    pub(super) fn ask_notifying(&self, function: &str, arguments: &[Datum]) -> Result<Datum> {
        let text = |at: usize| match arguments.get(at) {
            Some(Datum::Text(text)) => &**text,
            _ => "",
        };
        match function {
            "pg_notify" => self.notify(text(0), text(1)).map(|()| Datum::text("")),
            "pg_listening_channels" => Ok(Datum::Array(self.notifying.listed().into())),
            _ => Ok(Datum::Float(self.sql.exchange().usage())),
        }
    }
}

impl Session {
    /// Returns the next notification of a channel that the session listens to, in the order in which they come. There is none
    /// while a transaction is open: [`Session::is_idle`].
    ///
    /// A notification comes once the commit of its transaction is durable, at once where the transaction has
    /// `synchronous_commit = off`. To wait for one is what [`Session::inbox`] is for.
    ///
    /// # Errors
    /// Where more have come than an inbox holds. They are lost, and the session listens to nothing any more.
    pub fn next_notification(&mut self) -> Result<Option<Notification>> {
        let Session { core, state: State::Idle(_) } = self else { return Ok(None) };
        let Core { sql, notifying, .. } = core;
        let Some(inbox) = &notifying.inbox else { return Ok(None) };
        sql.exchange().hand_out();
        if let Err(full) = inbox.check() {
            notifying.leave(sql.exchange());
            return Err(full);
        }
        Ok(inbox.take(|channel| notifying.channels.contains_key(channel)))
    }

    /// Returns all notifications that there are.
    ///
    /// # Errors
    /// As those of [`Session::next_notification`].
    pub fn take_notifications(&mut self) -> Result<Vec<Notification>> {
        let mut taken = Vec::new();
        while let Some(notification) = self.next_notification()? {
            taken.push(notification);
        }
        Ok(taken)
    }

    /// Returns where the session's notifications wait, if it has ever listened.
    pub fn inbox(&self) -> Option<&Inbox> {
        self.core.notifying.inbox.as_ref()
    }

    /// Whether no transaction is open, also none that a statement has begun.
    pub fn is_idle(&self) -> bool {
        matches!(self.state, State::Idle(_))
    }
}
