//! Who listens to what, and the transactions whose notifications are to be handed out, in their order.
//!
//! Invariants:
//! - A transaction takes its turn before it commits, so that one which has seen its writes has a later turn. What comes with a
//!   later turn waits for those before it.
//! - Notifications go to those who listen when the transaction has committed. Who begins to listen is on the list before its own
//!   transaction commits: what it has not read it is told of.
//! - No lock is held while a task is woken.
//!
//! What is durable is handed out by whoever asks next: the sender, a session that looks for notifications, or the thread of the
//! exchange, which waits for it. That thread is there once somebody has listened, and ends with the exchange.

use std::collections::{HashMap, VecDeque};
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::task::Waker;
use std::thread;

use osier::Receipt;

use super::inbox::{Inbox, Load};
use super::{Notification, OVERHEAD_BYTES, QUEUE_BYTES_MAX};
use crate::error::{Result, SqlError, SqlState};

/// What a committed transaction has sent, for those that listened then. Each gets its own and keeps nothing else.
struct Batch {
    recipients: Vec<Recipient>,
    /// The sender's own, if it is among them.
    own: Option<Inbox>,
    bytes: usize,
    receipt: Receipt,
}

/// Who listened, with what is for it.
struct Recipient {
    inbox: Inbox,
    /// Shared with those that listen to the same of its channels.
    notifications: Arc<[Notification]>,
    load: Load,
}

/// Where a transaction is that notifies.
enum Stage {
    Commits,
    /// It has not committed, or nobody listened.
    Void,
    Committed(Batch),
}

#[derive(Default)]
struct Turns {
    /// The number of the first turn.
    first: u64,
    stages: VecDeque<Stage>,
    has_thread: bool,
    is_closed: bool,
}

/// The listeners of each channel, by the numbers of their inboxes.
type Listeners = HashMap<Arc<str>, HashMap<u64, Inbox>>;

#[derive(Default)]
struct Shared {
    listeners: Mutex<Listeners>,
    turns: Mutex<Turns>,
    /// How many turns there are.
    count: AtomicUsize,
    /// What is to be handed out.
    bytes: AtomicUsize,
    has_work: Condvar,
    inboxes: AtomicU64,
}

/// The exchange of a database.
#[derive(Default)]
pub(crate) struct Exchange(Arc<Shared>);

/// The turn of a transaction that commits. One that is dropped is void.
pub(crate) struct Turn {
    shared: Arc<Shared>,
    number: u64,
}

impl Exchange {
    /// Makes an inbox for a session that is about to listen.
    ///
    /// # Errors
    /// Where the thread that hands out cannot be started.
    pub(crate) fn inbox(&self) -> Result<Inbox> {
        let mut turns = self.0.turns();
        if !turns.has_thread {
            let shared = self.0.clone();
            let started = thread::Builder::new().name("notifications".to_owned()).spawn(move || shared.hand_out_all());
            started.map_err(|error| {
                let message = format!("the thread that hands out notifications cannot be started: {error}");
                SqlError::new(SqlState::IoError, message).with_hint("Close connections, or allow more threads.")
            })?;
            turns.has_thread = true;
        }
        drop(turns);
        Ok(Inbox::new(self.0.inboxes.fetch_add(1, Ordering::Relaxed)))
    }

    /// Puts an inbox on the lists of channels, all at once.
    pub(crate) fn join(&self, channels: &[Arc<str>], inbox: &Inbox) {
        let mut listeners = self.0.listeners();
        for channel in channels {
            listeners.entry(channel.clone()).or_default().insert(inbox.number(), inbox.clone());
        }
    }

    /// Takes it off again.
    pub(crate) fn leave<'c>(&self, channels: impl IntoIterator<Item = &'c Arc<str>>, inbox: &Inbox) {
        let mut listeners = self.0.listeners();
        for channel in channels {
            if let Some(of_channel) = listeners.get_mut(channel) {
                of_channel.remove(&inbox.number());
                if of_channel.is_empty() {
                    listeners.remove(channel);
                }
            }
        }
    }

    /// Checks that more may be sent.
    ///
    /// # Errors
    /// Where too much waits for commits to be durable.
    pub(crate) fn check(&self) -> Result<()> {
        self.hand_out();
        if self.0.bytes.load(Ordering::Relaxed) < QUEUE_BYTES_MAX {
            return Ok(());
        }
        let message = "too many notifications in the NOTIFY queue";
        let detail = format!("{} MiB of them wait until commits are durable.", QUEUE_BYTES_MAX >> 20);
        let hint = "Send again when the log has caught up.";
        Err(SqlError::new(SqlState::ProgramLimitExceeded, message).with_detail(detail).with_hint(hint))
    }

    /// Takes a turn for a transaction that is about to commit.
    pub(crate) fn take_turn(&self) -> Turn {
        let mut turns = self.0.turns();
        let number = turns.first + turns.stages.len() as u64;
        turns.stages.push_back(Stage::Commits);
        self.0.count.store(turns.stages.len(), Ordering::Release);
        Turn { shared: self.0.clone(), number }
    }

    /// Hands out what is durable by now.
    pub(crate) fn hand_out(&self) {
        if self.0.count.load(Ordering::Acquire) > 0 {
            self.0.hand_out();
        }
    }

    /// The part of the fullest inbox that is taken.
    pub(crate) fn usage(&self) -> f64 {
        let listeners = self.0.listeners();
        listeners.values().flat_map(HashMap::values).map(Inbox::usage).fold(0.0, f64::max)
    }
}

impl Drop for Exchange {
    fn drop(&mut self) {
        self.0.turns().is_closed = true;
        self.0.has_work.notify_all();
    }
}

impl Turn {
    /// The transaction has committed. `own` is the inbox of its session, if that has one.
    pub(crate) fn committed(self, notifications: Vec<Notification>, receipt: Receipt, own: Option<&Inbox>) {
        let (recipients, bytes) = self.shared.recipients(&notifications);
        if recipients.is_empty() {
            return;
        }
        let own = own.filter(|own| recipients.iter().any(|one| one.inbox.number() == own.number())).cloned();
        own.iter().for_each(Inbox::expect_own);
        self.shared.bytes.fetch_add(bytes, Ordering::Relaxed);
        let batch = Batch { recipients, own, bytes, receipt };
        self.end(Stage::Committed(batch));
    }

    fn end(&self, stage: Stage) {
        let mut turns = self.shared.turns();
        let first = turns.first;
        // It may be over already: where it is ended it is dropped, too.
        let place = self.number.checked_sub(first).and_then(|at| turns.stages.get_mut(usize::try_from(at).ok()?));
        match place {
            Some(place @ Stage::Commits) => *place = stage,
            _ => return,
        }
        drop(turns);
        self.shared.hand_out();
        if self.shared.count.load(Ordering::Acquire) > 0 {
            self.shared.has_work.notify_one();
        }
    }
}

impl Drop for Turn {
    fn drop(&mut self) {
        self.end(Stage::Void);
    }
}

impl Shared {
    fn listeners(&self) -> MutexGuard<'_, Listeners> {
        self.listeners.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn turns(&self) -> MutexGuard<'_, Turns> {
        self.turns.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Who listens now to what was sent, and how many bytes that takes.
    fn recipients(&self, sent: &[Notification]) -> (Vec<Recipient>, usize) {
        let mut numbers: HashMap<&str, usize> = HashMap::new();
        let mut channels: Vec<usize> = Vec::with_capacity(sent.len());
        let mut of_inbox: HashMap<u64, (Inbox, Vec<usize>)> = HashMap::new();
        let listeners = self.listeners();
        for notification in sent {
            let next = numbers.len();
            let number = *numbers.entry(&notification.channel).or_insert(next);
            if number == next {
                for (inbox_number, inbox) in listeners.get(&notification.channel).into_iter().flatten() {
                    of_inbox.entry(*inbox_number).or_insert_with(|| (inbox.clone(), Vec::new())).1.push(number);
                }
            }
            channels.push(number);
        }
        drop(listeners);
        let mut groups: HashMap<Vec<usize>, Vec<Inbox>> = HashMap::new();
        of_inbox.into_values().for_each(|(inbox, heard)| groups.entry(heard).or_default().push(inbox));
        let (mut recipients, mut bytes, mut is_heard) = (Vec::new(), 0, vec![false; numbers.len()]);
        for (heard, inboxes) in groups {
            let has = |number: &usize| heard.binary_search(number).is_ok();
            let own = sent.iter().zip(&channels).filter(|(_, number)| has(number)).map(|(one, _)| one.clone());
            let notifications: Arc<[Notification]> = own.collect();
            let load = Load { count: notifications.len(), bytes: notifications.iter().map(Notification::bytes).sum() };
            bytes += load.count * OVERHEAD_BYTES;
            heard.into_iter().for_each(|number| is_heard[number] = true);
            let recipient = |inbox| Recipient { inbox, notifications: notifications.clone(), load };
            recipients.extend(inboxes.into_iter().map(recipient));
        }
        let payloads = sent.iter().zip(&channels).filter(|(_, number)| is_heard[**number]);
        bytes += payloads.map(|(one, _)| one.bytes()).sum::<usize>();
        (recipients, bytes)
    }

    /// Hands out the notifications of the first turns, up to one that is not durable.
    fn hand_out(&self) {
        let mut wakers = Vec::new();
        let mut turns = self.turns();
        loop {
            match turns.stages.front() {
                None | Some(Stage::Commits) => break,
                Some(Stage::Void) => {}
                Some(Stage::Committed(batch)) => match batch.receipt.is_acknowledged() {
                    Ok(false) => break,
                    Ok(true) => batch.hand_out(&mut wakers),
                    // The log has failed: whether it is in the database is not known, and nobody is told that it is.
                    Err(_) => {}
                },
            }
            turns.first += 1;
            if let Some(Stage::Committed(Batch { own, bytes, .. })) = turns.stages.pop_front() {
                self.bytes.fetch_sub(bytes, Ordering::Relaxed);
                wakers.extend(own.as_ref().and_then(Inbox::end_own));
            }
        }
        self.count.store(turns.stages.len(), Ordering::Release);
        drop(turns);
        wakers.into_iter().for_each(Waker::wake);
    }

    /// Waits for what is to be durable and hands it out, until the exchange is closed.
    fn hand_out_all(&self) {
        loop {
            let mut turns = self.turns();
            let receipt = loop {
                match turns.stages.front() {
                    _ if turns.is_closed => return,
                    Some(Stage::Committed(batch)) => break batch.receipt.another(),
                    _ => turns = self.has_work.wait(turns).unwrap_or_else(PoisonError::into_inner),
                }
            };
            drop(turns);
            // Where the log has failed `hand_out` sees it, too.
            drop(receipt.wait());
            self.hand_out();
        }
    }
}

impl Batch {
    fn hand_out(&self, wakers: &mut Vec<Waker>) {
        wakers.extend(self.recipients.iter().filter_map(|one| one.inbox.put(&one.notifications, one.load)));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn who_listens_keeps_its_own_alone() {
        let exchange = Exchange::default();
        let channel = |name: &str| -> Arc<str> { name.into() };
        let inboxes: Vec<Inbox> = (0..4).map(Inbox::new).collect();
        exchange.join(&[channel("a")], &inboxes[0]);
        exchange.join(&[channel("a")], &inboxes[1]);
        exchange.join(&[channel("b"), channel("a")], &inboxes[2]);
        exchange.join(&[channel("other")], &inboxes[3]);
        let junk: Arc<str> = "x".repeat(7000).into();
        let sent = ["junk", "a", "b", "junk", "a"].map(|name| Notification {
            pid: 1,
            channel: channel(name),
            payload: if name == "junk" { junk.clone() } else { "p".into() },
        });
        let (recipients, bytes) = exchange.0.recipients(&sent);
        drop(sent);
        assert_eq!(Arc::strong_count(&junk), 1, "nobody listens to it");
        assert!(bytes < 2000, "{bytes}");
        let mut heard: Vec<(u64, String)> = Vec::new();
        for Recipient { inbox, notifications, load } in &recipients {
            assert_eq!(load.count, notifications.len());
            assert!(inbox.put(notifications, *load).is_none());
            let names: Vec<&str> = notifications.iter().map(|one| &*one.channel).collect();
            heard.push((inbox.number(), names.join(" ")));
        }
        heard.sort();
        assert_eq!(heard, [(0, "a a".to_owned()), (1, "a a".to_owned()), (2, "a b a".to_owned())]);
    }
}
