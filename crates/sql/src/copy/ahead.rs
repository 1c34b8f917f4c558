//! Taking data apart ahead of the rows that are written.
//!
//! To write a row takes longer than to find it in the data, and both can go on at the same time. So once a statement has had much
//! data it lends its [`Reader`] to another thread, the helper, while it writes the rows of the piece before.
//!
//! Invariants:
//! - Rows are written in the order of the data, and errors come where they would come without a helper: at most one piece is with
//!   the helper, and none while the client is waited for.
//! - Nothing but the data goes to the helper: it knows no transaction, no settings and no table.
//! - There is a helper only while much data comes without a pause, and only where there is a second processor. It ends before the
//!   client is waited for, and with the statement.

use std::sync::LazyLock;
use std::sync::mpsc::{Receiver, SyncSender, TryRecvError, sync_channel};
use std::task::Waker;
use std::thread;
use std::time::Duration;

use super::Options;
use super::read::Reader;
use super::split::{Fields, Split};
use crate::error::Result;

/// A helper is worth its thread where more data than this comes without a pause.
const HELPED_BYTES: usize = 256 << 10;

/// The helper is asked for its piece at least that often.
const LOOK: Duration = Duration::from_millis(100);

/// Whether two threads run at the same time.
static HAS_PROCESSORS: LazyLock<bool> =
    LazyLock::new(|| thread::available_parallelism().is_ok_and(|processors| processors.get() > 1));

/// What comes after the data that is there.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Comes {
    /// More, which is on its way.
    More,
    /// Perhaps more: the client is waited for.
    Later,
    /// Nothing: what is left is a record, too.
    Nothing,
}

/// Takes data apart, here or on another thread.
pub(crate) struct Splitter {
    /// `None` while the helper has it.
    reader: Option<Reader>,
    /// Data that has come meanwhile.
    waiting: Vec<u8>,
    /// Memory for the next piece.
    spare: Split,
    /// How much data has come since the last pause, or since a helper was asked for.
    bytes: usize,
    helper: Option<Helper>,
}

impl Splitter {
    /// `columns` are the names that a header must have.
    pub(crate) fn new(options: Options, columns: Vec<String>) -> Splitter {
        let (reader, waiting, spare) = (Some(Reader::new(options, columns)), Vec::new(), Split::new());
        Splitter { reader, waiting, spare, bytes: 0, helper: None }
    }

    /// Adds data.
    pub(crate) fn add(&mut self, bytes: &[u8]) {
        self.bytes = self.bytes.saturating_add(bytes.len());
        match &mut self.reader {
            Some(reader) => reader.add(bytes),
            None => self.waiting.extend_from_slice(bytes),
        }
    }

    /// Gives records to `take`, each with its line: all that are there, but for those of a piece that the helper gets.
    ///
    /// # Errors
    /// Of `take`, and what is wrong with the data.
    pub(crate) fn run(&mut self, comes: Comes, take: &mut dyn FnMut(u64, Fields<'_>) -> Result<()>) -> Result<()> {
        let (mut reader, before) = self.fetch();
        reader.add(&self.waiting);
        self.waiting.clear();
        let mut split = std::mem::take(&mut self.spare);
        if comes == Comes::More
            && let Some(helper) = self.helper()
        {
            helper.send(Piece { reader, split });
            return before.map_or(Ok(()), |split| self.take(split, take));
        }
        if comes != Comes::More {
            (self.helper, self.bytes) = (None, 0);
        }
        before.map_or(Ok(()), |split| self.take(split, take))?;
        reader.split(comes == Comes::Nothing, &mut split);
        self.reader = Some(reader);
        self.take(split, take)
    }

    fn take(&mut self, split: Split, take: &mut dyn FnMut(u64, Fields<'_>) -> Result<()>) -> Result<()> {
        let taken = split.each(take);
        self.spare = split;
        taken
    }

    /// Takes the reader back, with the piece that the helper had, if it had one.
    fn fetch(&mut self) -> (Reader, Option<Split>) {
        if let Some(reader) = self.reader.take() {
            return (reader, None);
        }
        let helper = self.helper.as_ref().expect("only a helper has the reader");
        let Piece { reader, split } = helper.receive();
        (reader, Some(split))
    }

    /// The helper, which begins as soon as it is worth it.
    fn helper(&mut self) -> Option<&Helper> {
        if self.helper.is_none() && self.bytes > HELPED_BYTES && *HAS_PROCESSORS {
            self.bytes = 0;
            self.helper = Helper::start();
        }
        self.helper.as_ref()
    }
}

/// Data with the memory for what it is taken apart into, and afterwards with that.
struct Piece {
    reader: Reader,
    split: Split,
}

/// A thread that takes one piece apart after the other.
struct Helper {
    pieces: SyncSender<(Piece, Option<Waker>)>,
    done: Receiver<Piece>,
}

impl Helper {
    /// `None`: the system gives no thread.
    fn start() -> Option<Helper> {
        let (pieces, coming) = sync_channel::<(Piece, Option<Waker>)>(1);
        let (finished, done) = sync_channel(1);
        let work = move || {
            for (mut piece, waker) in coming {
                piece.reader.split(false, &mut piece.split);
                if finished.send(piece).is_err() {
                    return;
                }
                waker.into_iter().for_each(Waker::wake);
            }
        };
        thread::Builder::new().name("copy".to_owned()).spawn(work).ok()?;
        Some(Helper { pieces, done })
    }

    fn send(&self, piece: Piece) {
        let sent = self.pieces.send((piece, osier::task::waker()));
        assert!(sent.is_ok(), "the helper takes pieces until there are no more");
    }

    /// Waits for the piece that the helper has; other statements of the thread go on meanwhile.
    fn receive(&self) -> Piece {
        loop {
            match self.done.try_recv() {
                Ok(piece) => return piece,
                Err(TryRecvError::Empty) if osier::task::pause(LOOK) => {}
                Err(_) => return self.done.recv().expect("a helper that has a piece gives it back"),
            }
        }
    }
}
