//! What acknowledged transactions of TPC-C prove, and looking for it after a crash.

use osier::Transaction;
use osier::table::{KeyRange, Value};

use super::schema::{history, orders};
use super::{DISTRICTS, Failure, Tables, int};
use crate::crash::{FACT_BYTES, Fact};

/// What an acknowledged transaction proves.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Evidence {
    /// An order was entered.
    Order {
        /// Its warehouse.
        w_id: u32,
        /// Its district.
        d_id: u32,
        /// Its number.
        o_id: u32,
        /// Its customer.
        c_id: u32,
        /// Its lines.
        line_count: u32,
    },
    /// A payment was booked.
    Payment {
        /// The warehouse that took it.
        w_id: u32,
        /// Its number in HISTORY.
        h_id: i64,
        /// In cents.
        amount: i64,
    },
    /// Orders were delivered.
    Delivered {
        /// The warehouse.
        w_id: u32,
        /// By whom.
        carrier_id: u32,
        /// One per district; 0 where there was none to deliver.
        o_ids: [u32; DISTRICTS as usize],
    },
    /// An order was seen: one that was not durable must not have been shown.
    Observed {
        /// Its warehouse.
        w_id: u32,
        /// Its district.
        d_id: u32,
        /// Its number.
        o_id: u32,
    },
    /// Nothing that stays.
    Nothing,
}

impl Evidence {
    /// Who read `D_NEXT_O_ID` has seen that all smaller numbers are given to orders.
    pub(super) fn observed_before(w_id: u32, d_id: u32, next_o_id: i64) -> Evidence {
        match u32::try_from(next_o_id - 1) {
            Ok(o_id) if o_id > 0 => Evidence::Observed { w_id, d_id, o_id },
            _ => Evidence::Nothing,
        }
    }
}

/// One fact.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TpccFact {
    /// See [`Evidence::Order`].
    Order {
        /// Its warehouse.
        w_id: u32,
        /// Its district.
        d_id: u32,
        /// Its number.
        o_id: u32,
        /// Its customer.
        c_id: u32,
        /// Its lines.
        line_count: u32,
    },
    /// See [`Evidence::Payment`].
    Payment {
        /// The warehouse that took it.
        w_id: u32,
        /// Its number in HISTORY.
        h_id: i64,
        /// In cents.
        amount: i64,
    },
    /// See [`Evidence::Delivered`].
    Delivered {
        /// The warehouse.
        w_id: u32,
        /// The district.
        d_id: u32,
        /// The order's number.
        o_id: u32,
        /// By whom.
        carrier_id: u32,
    },
    /// See [`Evidence::Observed`].
    Observed {
        /// Its warehouse.
        w_id: u32,
        /// Its district.
        d_id: u32,
        /// Its number.
        o_id: u32,
    },
}

impl crate::crash::Evidence for Evidence {
    type Fact = TpccFact;

    fn facts(&self, mut note: impl FnMut(TpccFact)) {
        match *self {
            Evidence::Order { w_id, d_id, o_id, c_id, line_count } => {
                note(TpccFact::Order { w_id, d_id, o_id, c_id, line_count });
            }
            Evidence::Payment { w_id, h_id, amount } => note(TpccFact::Payment { w_id, h_id, amount }),
            Evidence::Delivered { w_id, carrier_id, o_ids } => {
                for (d_id, o_id) in (1..).zip(o_ids).filter(|(_, o_id)| *o_id > 0) {
                    note(TpccFact::Delivered { w_id, d_id, o_id, carrier_id });
                }
            }
            Evidence::Observed { w_id, d_id, o_id } => note(TpccFact::Observed { w_id, d_id, o_id }),
            Evidence::Nothing => {}
        }
    }
}

impl Fact for TpccFact {
    fn encode(&self) -> [u8; FACT_BYTES] {
        let (kind, w_id, a, b, c, d) = match *self {
            TpccFact::Order { w_id, d_id, o_id, c_id, line_count } => (1, w_id, d_id, o_id, c_id, line_count),
            TpccFact::Delivered { w_id, d_id, o_id, carrier_id } => (2, w_id, d_id, o_id, carrier_id, 0),
            TpccFact::Observed { w_id, d_id, o_id } => (3, w_id, d_id, o_id, 0, 0),
            TpccFact::Payment { w_id, h_id, amount } => {
                (4, w_id, (h_id as u64 >> 32) as u32, h_id as u32, (amount as u64 >> 32) as u32, amount as u32)
            }
        };
        let mut bytes = [0; FACT_BYTES];
        for (at, word) in bytes.chunks_exact_mut(4).zip([kind, w_id, a, b, c, d]) {
            at.copy_from_slice(&u32::to_le_bytes(word));
        }
        bytes
    }

    fn decode(bytes: &[u8; FACT_BYTES]) -> Option<TpccFact> {
        let word = |at: usize| u32::from_le_bytes([bytes[at], bytes[at + 1], bytes[at + 2], bytes[at + 3]]);
        let (w_id, d_id, o_id) = (word(4), word(8), word(12));
        let long = |high: usize| (u64::from(word(high)) << 32 | u64::from(word(high + 4))) as i64;
        Some(match word(0) {
            1 => TpccFact::Order { w_id, d_id, o_id, c_id: word(16), line_count: word(20) },
            2 => TpccFact::Delivered { w_id, d_id, o_id, carrier_id: word(16) },
            3 => TpccFact::Observed { w_id, d_id, o_id },
            4 => TpccFact::Payment { w_id, h_id: long(8), amount: long(16) },
            _ => return None,
        })
    }
}

impl TpccFact {
    /// Tells the kinds apart.
    #[cfg(test)]
    pub(super) fn encode_kind(&self) -> u8 {
        self.encode()[0]
    }

    /// Whether the database still knows it.
    pub fn is_found(&self, tx: &Transaction<'_>, tables: &Tables) -> Result<bool, Failure> {
        match *self {
            TpccFact::Order { w_id, d_id, o_id, c_id, line_count } => {
                let key = [int(w_id), int(d_id), int(o_id)];
                let Some(order) = tx.get(&tables.orders, &key)? else { return Ok(false) };
                let is_same =
                    order.value(orders::O_C_ID) == int(c_id) && order.value(orders::O_OL_CNT) == int(line_count);
                let is_waiting = tx.get(&tables.new_order, &key)?.is_some();
                let is_delivered = !order.is_null(orders::O_CARRIER_ID);
                let mut lines = 0;
                for line in tx.scan(&tables.order_line, KeyRange::prefix(&key))? {
                    line?;
                    lines += 1;
                }
                Ok(is_same && lines == line_count && is_waiting != is_delivered)
            }
            TpccFact::Delivered { w_id, d_id, o_id, carrier_id } => {
                let key = [int(w_id), int(d_id), int(o_id)];
                let Some(order) = tx.get(&tables.orders, &key)? else { return Ok(false) };
                let is_waiting = tx.get(&tables.new_order, &key)?.is_some();
                Ok(order.value(orders::O_CARRIER_ID) == int(carrier_id) && !is_waiting)
            }
            TpccFact::Observed { w_id, d_id, o_id } => {
                Ok(tx.get(&tables.orders, &[int(w_id), int(d_id), int(o_id)])?.is_some())
            }
            TpccFact::Payment { w_id, h_id, amount } => {
                let payment = tx.get(&tables.history, &[int(w_id), Value::Int(h_id)])?;
                Ok(payment.is_some_and(|row| row.numeric(history::H_AMOUNT) == amount))
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::crash::Evidence as _;

    #[test]
    fn facts_survive_encoding() {
        let facts = [
            TpccFact::Order { w_id: 1, d_id: 2, o_id: 3001, c_id: 77, line_count: 15 },
            TpccFact::Payment { w_id: u32::MAX, h_id: (9 << 44) | (3 << 32) | 12, amount: 500_000 },
            TpccFact::Payment { w_id: 1, h_id: -1, amount: -1 },
            TpccFact::Delivered { w_id: 3, d_id: 10, o_id: 5, carrier_id: 9 },
            TpccFact::Observed { w_id: 1, d_id: 1, o_id: u32::MAX },
        ];
        for fact in facts {
            assert_eq!(TpccFact::decode(&fact.encode()), Some(fact));
        }
        assert_eq!(TpccFact::decode(&[0; FACT_BYTES]), None);
    }

    #[test]
    fn a_delivery_proves_one_fact_per_delivered_order() {
        let mut o_ids = [0; DISTRICTS as usize];
        (o_ids[0], o_ids[9]) = (7, 8);
        let mut facts = Vec::new();
        Evidence::Delivered { w_id: 1, carrier_id: 4, o_ids }.facts(|fact| facts.push(fact));
        let delivered = |d_id, o_id| TpccFact::Delivered { w_id: 1, d_id, o_id, carrier_id: 4 };
        assert_eq!(facts, [delivered(1, 7), delivered(10, 8)]);
    }
}
