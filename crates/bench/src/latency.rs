//! How long acknowledged transactions took.
//!
//! Reading the clock twice costs more than 2 % of a transaction of one microsecond, so the driver may time one in
//! `every` transactions; reports say which.

use std::time::Duration;

use hdrhistogram::Histogram;
use serde::Serialize;

/// The largest latency told apart from longer ones.
const LATENCY_MAX: Duration = Duration::from_secs(600);

/// A histogram of latencies in nanoseconds, three significant digits.
#[derive(Clone, Debug)]
pub struct Latencies {
    histogram: Histogram<u64>,
}

impl Default for Latencies {
    fn default() -> Self {
        Latencies::new()
    }
}

impl Latencies {
    /// An empty histogram.
    pub fn new() -> Latencies {
        let highest = LATENCY_MAX.as_nanos() as u64;
        let histogram = Histogram::new_with_bounds(1, highest, 3).expect("the bounds are constant and valid");
        Latencies { histogram }
    }

    /// Adds one; what is longer than ten minutes counts as ten minutes.
    pub fn record(&mut self, latency: Duration) {
        let nanos = u64::try_from(latency.as_nanos()).unwrap_or(u64::MAX);
        self.histogram.saturating_record(nanos.max(1));
    }

    /// Adds all of `other`.
    pub fn add(&mut self, other: &Latencies) {
        self.histogram.add(&other.histogram).expect("all histograms have the same bounds");
    }

    /// How many were recorded.
    pub fn count(&self) -> u64 {
        self.histogram.len()
    }

    /// The usual percentiles.
    pub fn percentiles(&self) -> Percentiles {
        let us = |quantile: f64| self.histogram.value_at_quantile(quantile) as f64 / 1e3;
        Percentiles { p50: us(0.5), p99: us(0.99), p999: us(0.999), max: self.histogram.max() as f64 / 1e3 }
    }
}

/// Latencies in microseconds.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
pub struct Percentiles {
    /// The median.
    pub p50: f64,
    /// 99 of 100 were not longer.
    pub p99: f64,
    /// 999 of 1000 were not longer.
    pub p999: f64,
    /// The longest.
    pub max: f64,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn percentiles_of_a_known_distribution() {
        let mut one = Latencies::new();
        let mut two = Latencies::new();
        for us in 1..=1000 {
            if us % 2 == 0 { one.record(Duration::from_micros(us)) } else { two.record(Duration::from_micros(us)) }
        }
        one.add(&two);
        assert_eq!(one.count(), 1000);
        let p = one.percentiles();
        assert!((p.p50 - 500.0).abs() < 2.0, "{p:?}");
        assert!((p.p99 - 990.0).abs() < 2.0, "{p:?}");
        assert!((p.p999 - 999.0).abs() < 2.0, "{p:?}");
        assert!((p.max - 1000.0).abs() < 2.0, "{p:?}");
    }

    #[test]
    fn absurd_latencies_saturate() {
        let mut latencies = Latencies::new();
        latencies.record(Duration::ZERO);
        latencies.record(Duration::from_secs(10_000));
        assert_eq!(latencies.count(), 2);
        assert!(latencies.percentiles().max >= 599e6);
    }
}
