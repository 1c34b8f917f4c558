//! YCSB: one table of rows with equal fields, under the mixes that the papers and their peers report.
//!
//! [`Variant`] names them. What is written comes from a [`Pool`] of random bytes, so that a transaction is not measured
//! together with the making of its data. For crash tests rows are *stamped*: see [`content`].

pub mod calls;
pub mod content;
pub mod ledger;
pub mod target;

use serde::{Deserialize, Serialize};

use crate::Workload;
use crate::random::{Zipf, worker_rng};
pub use content::Pool;
pub use ledger::{Evidence, YcsbFact};

/// The most accesses of one transaction.
pub const ACCESSES_MAX: usize = 2;
/// The most fields of a row.
pub const FIELDS_MAX: u32 = 16;

/// Which transactions run.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Variant {
    /// Overwrites all fields of one row without reading it (Poplar, section 6: write-only).
    WriteOnly,
    /// Overwrites all fields of one row and scans so many rows from another (Poplar: hybrid).
    Hybrid {
        /// Rows of the scan.
        scan: u32,
    },
    /// One access: a read of all fields or an overwrite of all fields (Silo's mix).
    OneAccess,
    /// Two accesses, each a read or an overwrite (Taurus).
    TwoAccess,
}

/// The workload.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct YcsbConfig {
    /// Which transactions run.
    pub variant: Variant,
    /// Rows.
    pub records: u64,
    /// Fields of a row.
    pub fields: u32,
    /// Bytes of a field.
    pub field_bytes: u32,
    /// Skew of the keys: 0 is uniform.
    pub theta: f64,
    /// Of an access being a read, where the variant has reads.
    pub read_fraction: f64,
    /// Rows carry who wrote them and a checksum, and updates read before they write.
    pub is_stamped: bool,
}

impl YcsbConfig {
    /// Bytes of all fields of a row.
    pub fn row_bytes(&self) -> usize {
        self.fields as usize * self.field_bytes as usize
    }

    /// Which transactions run, as reports say it.
    pub fn mix(&self) -> String {
        let reads = self.read_fraction * 100.0;
        match self.variant {
            Variant::WriteOnly => "write-only".to_owned(),
            Variant::Hybrid { scan } => format!("hybrid, scans of {scan}"),
            Variant::OneAccess => format!("one access, {reads:.0} % reads"),
            Variant::TwoAccess => format!("two accesses, {reads:.0} % reads"),
        }
    }
}

/// One access of a transaction.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Access {
    /// The row.
    pub key: u64,
    /// Whether it is overwritten, not read.
    pub is_write: bool,
}

/// One transaction's input.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Request {
    /// Overwrite a row without reading it.
    Overwrite {
        /// The row.
        key: u64,
        /// Where in the pool its new fields are.
        payload: u32,
    },
    /// Overwrite a row, scan others.
    UpdateAndScan {
        /// The row.
        key: u64,
        /// Where in the pool its new fields are.
        payload: u32,
        /// The first row of the scan.
        from: u64,
        /// Its length.
        length: u32,
    },
    /// Read or overwrite some rows, each another one.
    Accesses {
        /// The first `count` count.
        accesses: [Access; ACCESSES_MAX],
        /// How many.
        count: u8,
        /// Where in the pool the new fields are.
        payload: u32,
    },
}

/// The workload with its distribution worked out.
#[derive(Clone, Debug)]
pub struct Ycsb {
    config: YcsbConfig,
    zipf: Zipf,
}

impl Ycsb {
    /// Takes time proportional to the number of records where keys are skewed.
    pub fn new(config: YcsbConfig) -> Ycsb {
        assert!((1..=FIELDS_MAX).contains(&config.fields) && config.field_bytes > 0, "{config:?}");
        Ycsb { zipf: Zipf::new(config.records, config.theta), config }
    }

    /// What it was made from.
    pub fn config(&self) -> &YcsbConfig {
        &self.config
    }
}

impl Workload for Ycsb {
    type Request = Request;
    type Evidence = Evidence;

    fn name(&self) -> &'static str {
        "ycsb"
    }

    fn kinds(&self) -> &'static [&'static str] {
        &["overwrite", "update_and_scan", "accesses"]
    }

    fn kind(&self, request: &Request) -> usize {
        match request {
            Request::Overwrite { .. } => 0,
            Request::UpdateAndScan { .. } => 1,
            Request::Accesses { .. } => 2,
        }
    }

    fn requests(&self, worker: u32, workers: u32, seed: u64) -> impl Iterator<Item = Request> + Send {
        let YcsbConfig { variant, records, read_fraction, is_stamped, .. } = self.config;
        let zipf = self.zipf.clone();
        let mut rng = worker_rng(seed, worker);
        let own = move |key: u64| {
            // Blind writes of stamped rows: each worker has its own keys, so that versions have an order.
            let key = key - key % u64::from(workers) + u64::from(worker);
            if key < records { key } else { u64::from(worker) % records }
        };
        std::iter::repeat_with(move || {
            let payload = rng.u32(..Pool::OFFSETS);
            match variant {
                Variant::WriteOnly => {
                    let key = zipf.key(&mut rng);
                    Request::Overwrite { key: if is_stamped { own(key) } else { key }, payload }
                }
                Variant::Hybrid { scan } => {
                    let (key, from) = (zipf.key(&mut rng), zipf.key(&mut rng));
                    Request::UpdateAndScan { key, payload, from, length: scan }
                }
                Variant::OneAccess | Variant::TwoAccess => {
                    let count = if variant == Variant::OneAccess || records == 1 { 1 } else { 2 };
                    let mut accesses = [Access::default(); ACCESSES_MAX];
                    for at in 0..count {
                        let mut key = zipf.key(&mut rng);
                        while at == 1 && key == accesses[0].key {
                            key = zipf.key(&mut rng);
                        }
                        accesses[at] = Access { key, is_write: rng.f64() >= read_fraction };
                    }
                    Request::Accesses { accesses, count: count as u8, payload }
                }
            }
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn config(variant: Variant) -> YcsbConfig {
        YcsbConfig {
            variant,
            records: 1000,
            fields: 10,
            field_bytes: 100,
            theta: 0.6,
            read_fraction: 0.5,
            is_stamped: false,
        }
    }

    #[test]
    fn two_accesses_differ_and_half_of_them_read() {
        let ycsb = Ycsb::new(config(Variant::TwoAccess));
        let mut writes = 0;
        for request in ycsb.requests(0, 2, 5).take(10_000) {
            let Request::Accesses { accesses: [a, b], count: 2, .. } = request else { panic!("{request:?}") };
            assert_ne!(a.key, b.key);
            writes += u32::from(a.is_write) + u32::from(b.is_write);
        }
        assert!((9_500..10_500).contains(&writes), "{writes}");
    }

    #[test]
    fn stamped_blind_writes_keep_to_the_workers_own_keys() {
        for records in [1000, 1001, 7] {
            let config = YcsbConfig { is_stamped: true, records, ..config(Variant::WriteOnly) };
            let ycsb = Ycsb::new(config);
            for worker in 0..3 {
                for request in ycsb.requests(worker, 3, 5).take(1000) {
                    let Request::Overwrite { key, .. } = request else { panic!("{request:?}") };
                    assert!(key < records && key % 3 == u64::from(worker), "{key} of worker {worker}");
                }
            }
        }
    }
}
