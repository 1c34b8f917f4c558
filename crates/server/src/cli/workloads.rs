//! The options of workloads, and the workloads that they make.

use std::num::{NonZeroU32, NonZeroU64};

use clap::{Args, ValueEnum};
use osier_bench::bank::Bank;
use osier_bench::error::BenchError;
use osier_bench::fixture::WorkloadConfig;
use osier_bench::smallbank::SmallBank;
use osier_bench::tpcc::{Mix, Scale, Tpcc};
use osier_bench::voter::Voter;
use osier_bench::voter::input::{NO_CONTESTANT, PHONES_MAX};
use osier_bench::ycsb::content::STAMP_BYTES;
use osier_bench::ycsb::{FIELDS_MAX, Variant, YcsbConfig};

#[derive(Debug, Args)]
pub struct YcsbArgs {
    /// Which transactions to run [default: write-only; in crash tests two-access]
    #[arg(long, value_enum)]
    pub variant: Option<VariantArg>,
    /// Rows
    #[arg(long, default_value = "100000")]
    pub records: NonZeroU64,
    /// Fields of a row
    #[arg(long, default_value = "10", value_parser = clap::value_parser!(u32).range(1..=i64::from(FIELDS_MAX)))]
    pub fields: u32,
    /// Bytes of a field
    #[arg(long, default_value = "100", value_parser = clap::value_parser!(u32).range(1..=65536))]
    pub field_bytes: u32,
    /// Skew of the keys, up to 2; 0 is uniform [default: 0.6 for two-access, otherwise 0]
    #[arg(long, value_parser = theta)]
    pub theta: Option<f64>,
    /// Fraction of reads, for the variants with reads
    #[arg(long, default_value = "0.5", value_parser = fraction)]
    pub reads: f64,
    /// Rows of a scan, for hybrid
    #[arg(long, default_value = "10")]
    pub scan_length: NonZeroU32,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum VariantArg {
    /// Overwrite all fields of one row without reading it (Poplar)
    WriteOnly,
    /// Overwrite one row and scan others (Poplar)
    Hybrid,
    /// Read or overwrite one row (Silo)
    OneAccess,
    /// Read or overwrite two rows (Taurus)
    TwoAccess,
}

#[derive(Debug, Args)]
pub struct TpccArgs {
    /// Warehouses
    #[arg(long, default_value = "2")]
    pub warehouses: NonZeroU32,
    /// Which transactions to run
    #[arg(long, value_enum, default_value = "standard")]
    pub mix: MixArg,
    /// Items; fewer than 100,000 are not TPC-C
    #[arg(long, default_value = "100000", value_parser = clap::value_parser!(u32).range(100..=100_000))]
    pub items: u32,
    /// Customers and first orders of a district; fewer than 3,000 are not TPC-C
    #[arg(long, default_value = "3000", value_parser = clap::value_parser!(u32).range(30..=3000))]
    pub customers: u32,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum MixArg {
    /// 45 % new orders, 43 % payments, 4 % order status, delivery and stock level
    Standard,
    /// Half payments, half new orders
    PaymentNeworder,
}

#[derive(Debug, Args)]
pub struct SmallBankArgs {
    /// Customers [default: 1000000; in crash tests 100000]
    #[arg(long, value_parser = clap::value_parser!(u64).range(2..=i64::MAX as u64 >> 20))]
    pub accounts: Option<u64>,
    /// How many of 100 transactions are about hot customers
    #[arg(long, value_name = "PERCENT", default_value = "0", value_parser = clap::value_parser!(u32).range(0..=100))]
    pub hot_percent: u32,
    /// Hot customers
    #[arg(long, value_name = "ACCOUNTS", default_value = "1000", value_parser = clap::value_parser!(u64).range(2..))]
    pub hot_accounts: u64,
    #[command(flatten)]
    pub journal: JournalArgs,
}

#[derive(Debug, Args)]
pub struct JournalArgs {
    /// Write a row more in each transaction that changes a balance, so that sums can be checked; crash tests always do
    #[arg(long)]
    pub journal: bool,
}

#[derive(Debug, Args)]
pub struct VoterArgs {
    /// Contestants
    #[arg(long, default_value = "6", value_parser = clap::value_parser!(u32).range(1..NO_CONTESTANT))]
    pub contestants: u32,
    /// Votes of one telephone at most
    #[arg(long, value_name = "VOTES", default_value = "2", value_parser = clap::value_parser!(u32).range(1..))]
    pub votes_max: u32,
    /// Telephones of an area code [default: 10000000; in crash tests 10000, so that some vote too often]
    #[arg(long, value_parser = clap::value_parser!(u32).range(1..=i64::from(PHONES_MAX)))]
    pub phones: Option<u32>,
}

#[derive(Debug, Args)]
pub struct BankArgs {
    /// People, most of them with a spouse
    #[arg(long, default_value = "100000", value_parser = clap::value_parser!(u64).range(1..=i64::MAX as u64 >> 20))]
    pub people: u64,
    /// Nations that large deposits are counted by
    #[arg(long, default_value = "25", value_parser = clap::value_parser!(u32).range(1..=1_000_000))]
    pub nations: u32,
    #[command(flatten)]
    pub journal: JournalArgs,
}

impl YcsbArgs {
    /// The workload; in crash tests rows are stamped.
    pub fn workload(&self, is_crash: bool) -> Result<WorkloadConfig, BenchError> {
        let chosen = self.variant.unwrap_or(if is_crash { VariantArg::TwoAccess } else { VariantArg::WriteOnly });
        let variant = match chosen {
            VariantArg::WriteOnly => Variant::WriteOnly,
            VariantArg::Hybrid => Variant::Hybrid { scan: self.scan_length.get() },
            VariantArg::OneAccess => Variant::OneAccess,
            VariantArg::TwoAccess => Variant::TwoAccess,
        };
        let theta = self.theta.unwrap_or(if chosen == VariantArg::TwoAccess { 0.6 } else { 0.0 });
        let config = YcsbConfig {
            variant,
            records: self.records.get(),
            fields: self.fields,
            field_bytes: self.field_bytes,
            theta,
            read_fraction: self.reads,
            is_stamped: is_crash,
        };
        if is_crash && config.row_bytes() < STAMP_BYTES {
            let text =
                format!("rows of a crash test carry {STAMP_BYTES} bytes of their own; raise --fields or --field-bytes");
            return Err(BenchError::Usage(text));
        }
        Ok(WorkloadConfig::Ycsb(config))
    }
}

impl TpccArgs {
    /// The workload.
    pub fn workload(&self) -> WorkloadConfig {
        let mix = match self.mix {
            MixArg::Standard => Mix::Standard,
            MixArg::PaymentNeworder => Mix::PaymentNewOrder,
        };
        let scale = Scale { warehouses: self.warehouses.get(), items: self.items, customers: self.customers };
        WorkloadConfig::Tpcc(Tpcc { scale, mix })
    }
}

impl SmallBankArgs {
    /// The workload; in crash tests it keeps a journal.
    pub fn workload(&self, is_crash: bool) -> Result<WorkloadConfig, BenchError> {
        let accounts = self.accounts.unwrap_or(if is_crash { 100_000 } else { 1_000_000 });
        let SmallBankArgs { hot_percent, hot_accounts, .. } = *self;
        if hot_percent > 0 && hot_accounts > accounts {
            let text = format!("{hot_accounts} hot customers are more than {accounts}; lower --hot-accounts");
            return Err(BenchError::Usage(text));
        }
        let (hot_accounts, has_journal) = (hot_accounts.min(accounts), self.journal.journal || is_crash);
        Ok(WorkloadConfig::SmallBank(SmallBank { accounts, hot_accounts, hot_percent, has_journal }))
    }
}

impl VoterArgs {
    /// The workload.
    pub fn workload(&self, is_crash: bool) -> WorkloadConfig {
        let phones = self.phones.unwrap_or(if is_crash { 10_000 } else { PHONES_MAX });
        WorkloadConfig::Voter(Voter { contestants: self.contestants, votes_max: self.votes_max, phones })
    }
}

impl BankArgs {
    /// The workload; in crash tests it keeps a journal.
    pub fn workload(&self, is_crash: bool) -> WorkloadConfig {
        let has_journal = self.journal.journal || is_crash;
        WorkloadConfig::Bank(Bank { people: self.people, nations: self.nations, has_journal })
    }
}

fn theta(text: &str) -> Result<f64, String> {
    match text.parse::<f64>() {
        Ok(theta) if (0.0..=2.0).contains(&theta) => Ok(theta),
        _ => Err("a number from 0 to 2 is needed".to_owned()),
    }
}

fn fraction(text: &str) -> Result<f64, String> {
    match text.parse::<f64>() {
        Ok(fraction) if (0.0..=1.0).contains(&fraction) => Ok(fraction),
        _ => Err("a number from 0 to 1 is needed".to_owned()),
    }
}
