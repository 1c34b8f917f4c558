//! An open transaction together with the engine's session that runs it.

use osier::{Error, Receipt, Transaction, TransactionOptions};
use self_cell::{MutBorrow, self_cell};

/// The transaction, until it ends.
type Running<'s> = Option<Transaction<'s>>;

self_cell! {
    struct Pair {
        owner: MutBorrow<Box<osier::Session>>,
        #[not_covariant]
        dependent: Running,
    }
}

/// An open transaction.
pub(super) struct OpenTransaction(Pair);

impl OpenTransaction {
    /// Begins a transaction.
    pub(super) fn begin(session: Box<osier::Session>, options: TransactionOptions) -> OpenTransaction {
        OpenTransaction(Pair::new(MutBorrow::new(session), |session| Some(session.borrow_mut().begin_with(options))))
    }

    /// Does something in the transaction.
    pub(super) fn with<T>(&self, act: impl for<'s> FnOnce(&Transaction<'s>) -> T) -> T {
        self.0.with_dependent(|_, running| act(running.as_ref().expect("it ends with what holds it")))
    }

    /// Commits.
    pub(super) fn commit(self) -> (Box<osier::Session>, Result<Receipt, Error>) {
        self.end(|transaction| transaction.commit())
    }

    /// Rolls back, and says whether what was seen holds.
    pub(super) fn abort(self) -> (Box<osier::Session>, Result<Receipt, Error>) {
        self.end(|transaction| transaction.abort())
    }

    /// Rolls back.
    pub(super) fn roll_back(self) -> Box<osier::Session> {
        self.end(|transaction| std::mem::drop(transaction)).0
    }

    fn end<T>(mut self, end: impl for<'s> FnOnce(Transaction<'s>) -> T) -> (Box<osier::Session>, T) {
        let ended = self.0.with_dependent_mut(|_, running| end(running.take().expect("it ends once")));
        (self.0.into_owner().into_inner(), ended)
    }
}
