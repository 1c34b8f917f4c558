//! The inputs of the six transactions, and the mix of OLTP-Bench.

use fastrand::Rng;

use super::SmallBank;
use crate::random::worker_rng;

/// The names of the transactions, in the order of [`Request::kind`].
pub const KINDS: [&str; 6] =
    ["amalgamate", "balance", "deposit_checking", "send_payment", "transact_savings", "write_check"];
/// How many of 100 transactions are of each kind.
pub const MIX: [u32; 6] = [15, 15, 15, 25, 15, 15];

/// What DepositChecking deposits, in cents.
pub const DEPOSIT_CHECKING_AMOUNT: i64 = 130;
/// What SendPayment sends, in cents.
pub const SEND_PAYMENT_AMOUNT: i64 = 500;
/// What TransactSavings withdraws or deposits, in cents.
pub const TRANSACT_SAVINGS_AMOUNT: i64 = 2020;
/// What WriteCheck takes, in cents.
pub const WRITE_CHECK_AMOUNT: i64 = 500;

/// Bytes of a customer's name.
const NAME_BYTES: usize = 64;

/// A customer's name: the number in decimal, with zeros before it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CustomerName([u8; NAME_BYTES]);

impl CustomerName {
    /// The name of the customer with this number.
    pub fn of(custid: i64) -> CustomerName {
        let mut rest = custid.unsigned_abs();
        let mut name = [b'0'; NAME_BYTES];
        for digit in name.iter_mut().rev() {
            *digit = b'0' + (rest % 10) as u8;
            rest /= 10;
        }
        CustomerName(name)
    }

    /// As text.
    pub fn as_str(&self) -> &str {
        std::str::from_utf8(&self.0).expect("digits are text")
    }
}

/// One transaction's input. Customers are named where the paper names them; OLTP-Bench takes the numbers of two.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Request {
    /// Move all that one customer has to the checking account of another.
    Amalgamate {
        /// Whose accounts are emptied.
        from: i64,
        /// Whose checking account is filled; another customer.
        to: i64,
    },
    /// Read what a customer has.
    Balance {
        /// The customer.
        name: CustomerName,
    },
    /// Deposit in a checking account.
    DepositChecking {
        /// The customer.
        name: CustomerName,
        /// In cents, not negative.
        amount: i64,
    },
    /// Send money from one checking account to another.
    SendPayment {
        /// Who pays.
        from: i64,
        /// Who is paid; another customer.
        to: i64,
        /// In cents.
        amount: i64,
    },
    /// Deposit in a savings account, or withdraw from it.
    TransactSavings {
        /// The customer.
        name: CustomerName,
        /// In cents; negative to withdraw.
        amount: i64,
    },
    /// Write a check on a checking account.
    WriteCheck {
        /// The customer.
        name: CustomerName,
        /// In cents.
        amount: i64,
    },
}

impl Request {
    /// An index into [`KINDS`].
    pub fn kind(&self) -> usize {
        match self {
            Request::Amalgamate { .. } => 0,
            Request::Balance { .. } => 1,
            Request::DepositChecking { .. } => 2,
            Request::SendPayment { .. } => 3,
            Request::TransactSavings { .. } => 4,
            Request::WriteCheck { .. } => 5,
        }
    }
}

/// Draws the requests of one worker without end.
pub(super) struct Requests {
    rng: Rng,
    accounts: i64,
    hot_accounts: i64,
    hot_percent: u32,
}

impl Requests {
    pub(super) fn new(config: &SmallBank, worker: u32, seed: u64) -> Requests {
        let SmallBank { accounts, hot_accounts, hot_percent, .. } = *config;
        assert!((2..=accounts).contains(&hot_accounts) && hot_percent <= 100, "{config:?}");
        let number = |count: u64| i64::try_from(count).expect("customers have numbers of type bigint");
        let (accounts, hot_accounts) = (number(accounts), number(hot_accounts));
        Requests { rng: worker_rng(seed, worker), accounts, hot_accounts, hot_percent }
    }

    /// From how many customers the ones of a transaction are drawn.
    fn population(&mut self) -> i64 {
        if self.rng.u32(0..100) < self.hot_percent { self.hot_accounts } else { self.accounts }
    }

    fn customer(&mut self) -> i64 {
        let population = self.population();
        self.rng.i64(1..=population)
    }

    fn name(&mut self) -> CustomerName {
        CustomerName::of(self.customer())
    }

    /// Two different customers, both hot or both not chosen for that.
    fn two_customers(&mut self) -> (i64, i64) {
        let population = self.population();
        let first = self.rng.i64(1..=population);
        let second = self.rng.i64(1..population);
        (first, if second < first { second } else { second + 1 })
    }

    fn draw(&mut self) -> Request {
        let mut share = self.rng.u32(0..100);
        let mut kind = 0;
        while share >= MIX[kind] {
            share -= MIX[kind];
            kind += 1;
        }
        match kind {
            0 => {
                let (from, to) = self.two_customers();
                Request::Amalgamate { from, to }
            }
            1 => Request::Balance { name: self.name() },
            2 => Request::DepositChecking { name: self.name(), amount: DEPOSIT_CHECKING_AMOUNT },
            3 => {
                let (from, to) = self.two_customers();
                Request::SendPayment { from, to, amount: SEND_PAYMENT_AMOUNT }
            }
            4 => {
                let sign = if self.rng.bool() { 1 } else { -1 };
                Request::TransactSavings { name: self.name(), amount: sign * TRANSACT_SAVINGS_AMOUNT }
            }
            _ => Request::WriteCheck { name: self.name(), amount: WRITE_CHECK_AMOUNT },
        }
    }
}

impl Iterator for Requests {
    type Item = Request;

    fn next(&mut self) -> Option<Request> {
        Some(self.draw())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const UNIFORM: SmallBank = SmallBank { accounts: 1000, hot_accounts: 10, hot_percent: 0, has_journal: false };

    fn draw(config: &SmallBank) -> Vec<Request> {
        Requests::new(config, 0, 11).take(20_000).collect()
    }

    /// The customers of a request, by number.
    fn customers(request: &Request) -> Vec<i64> {
        match request {
            Request::Amalgamate { from, to } | Request::SendPayment { from, to, .. } => vec![*from, *to],
            Request::Balance { name }
            | Request::DepositChecking { name, .. }
            | Request::TransactSavings { name, .. }
            | Request::WriteCheck { name, .. } => vec![name.as_str().parse().unwrap()],
        }
    }

    #[test]
    fn the_mix_is_that_of_oltp_bench() {
        assert_eq!(MIX.iter().sum::<u32>(), 100);
        let mut counts = [0; 6];
        draw(&UNIFORM).iter().for_each(|request| counts[request.kind()] += 1);
        for (count, expected) in counts.iter().zip(MIX) {
            assert!((count / 200_u32).abs_diff(expected) <= 1, "{counts:?}");
        }
    }

    #[test]
    fn customers_exist_and_two_of_a_transaction_differ() {
        for config in [UNIFORM, SmallBank { accounts: 2, hot_accounts: 2, hot_percent: 50, ..UNIFORM }] {
            for request in draw(&config) {
                let customers = customers(&request);
                assert!(customers.iter().all(|id| (1..=config.accounts as i64).contains(id)), "{request:?}");
                assert!(customers.len() == 1 || customers[0] != customers[1], "{request:?}");
            }
        }
    }

    #[test]
    fn hot_customers_have_the_share_that_is_asked_for() {
        let hot_share = |hot_percent| {
            let requests = draw(&SmallBank { accounts: 1_000_000, hot_percent, ..UNIFORM });
            let hot = requests.iter().filter(|request| customers(request).iter().all(|id| *id <= 10)).count();
            hot as f64 / requests.len() as f64
        };
        assert!(hot_share(0) < 0.001 && (hot_share(90) - 0.9).abs() < 0.02 && hot_share(100) > 0.999);
    }

    #[test]
    fn amounts_are_those_of_oltp_bench_and_savings_go_both_ways() {
        let (mut deposits, mut withdrawals) = (0, 0);
        for request in draw(&UNIFORM) {
            match request {
                Request::DepositChecking { amount, .. } => assert_eq!(amount, 130),
                Request::SendPayment { amount, .. } | Request::WriteCheck { amount, .. } => assert_eq!(amount, 500),
                Request::TransactSavings { amount, .. } => {
                    assert_eq!(amount.abs(), 2020);
                    *(if amount > 0 { &mut deposits } else { &mut withdrawals }) += 1;
                }
                Request::Amalgamate { .. } | Request::Balance { .. } => {}
            }
        }
        assert!(i32::abs(deposits - withdrawals) < 300, "{deposits} deposits, {withdrawals} withdrawals");
    }

    #[test]
    fn names_are_numbers_with_zeros_before() {
        assert_eq!(CustomerName::of(1_000_000).as_str(), format!("{:064}", 1_000_000));
        assert_eq!(CustomerName::of(i64::MAX).as_str(), format!("{:064}", i64::MAX));
    }
}
