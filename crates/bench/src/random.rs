//! Skewed keys, drawn the way the published benchmarks draw them.

/// A Zipf distribution over `[0, n)`, by the method of Gray 1994, as YCSB and DBx1000 use it. `theta` 0 is uniform; the hottest
/// keys are spread over the key space by a bijection, so that skew is not locality.
#[derive(Clone, Debug)]
pub struct Zipf {
    n: u64,
    theta: f64,
    alpha: f64,
    zeta_n: f64,
    eta: f64,
    /// Multiplying by it modulo `n` is a bijection.
    spread: u64,
}

impl Zipf {
    /// A distribution over `n` keys, `0 <= theta <= 2`. Takes time proportional to `n` unless `theta` is 0.
    pub fn new(n: u64, theta: f64) -> Zipf {
        assert!(n > 0, "a distribution needs a key");
        assert!((0.0..=2.0).contains(&theta), "a skew is from 0 to 2");
        // The formula has no value at 1; beside it, on both sides, it holds.
        let theta = if (theta - 1.0).abs() < 1e-6 { 1.0 - 1e-6 } else { theta };
        let zeta = |n: u64| (1..=n).map(|i| (i as f64).powf(-theta)).sum::<f64>();
        let zeta_n = if theta == 0.0 { n as f64 } else { zeta(n) };
        let eta = (1.0 - (2.0 / n as f64).powf(1.0 - theta)) / (1.0 - zeta(2.min(n)) / zeta_n);
        let mut spread = 0x9e37_79b9_7f4a_7c15 % n;
        while gcd(spread.max(1), n) != 1 || spread == 0 {
            spread += 1;
        }
        Zipf { n, theta, alpha: 1.0 / (1.0 - theta), zeta_n, eta, spread }
    }

    /// Draws a key.
    pub fn key(&self, rng: &mut fastrand::Rng) -> u64 {
        if self.theta == 0.0 {
            return rng.u64(0..self.n);
        }
        let rank = self.rank(rng);
        match u32::try_from(self.n) {
            Ok(_) => rank * self.spread % self.n,
            Err(_) => (u128::from(rank) * u128::from(self.spread) % u128::from(self.n)) as u64,
        }
    }

    /// Draws a rank: 0 is the most frequent.
    fn rank(&self, rng: &mut fastrand::Rng) -> u64 {
        let u = rng.f64();
        let uz = u * self.zeta_n;
        if uz < 1.0 {
            return 0;
        }
        if uz < 1.0 + 0.5_f64.powf(self.theta) {
            return 1.min(self.n - 1);
        }
        let rank = (self.n as f64 * (self.eta * u - self.eta + 1.0).powf(self.alpha)) as u64;
        rank.min(self.n - 1)
    }
}

fn gcd(mut a: u64, mut b: u64) -> u64 {
    while b != 0 {
        (a, b) = (b, a % b);
    }
    a
}

/// The generator of one worker: different for each, repeated by the same seed.
pub fn worker_rng(seed: u64, worker: u32) -> fastrand::Rng {
    let mut mixer = fastrand::Rng::with_seed(seed ^ (u64::from(worker) + 1).wrapping_mul(0x9e37_79b9_7f4a_7c15));
    mixer.fork()
}

/// A seed that nobody has chosen, short enough to be typed again.
pub fn any_seed() -> u64 {
    u64::from(fastrand::u32(1..))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn uniform_reaches_every_key() {
        let zipf = Zipf::new(100, 0.0);
        let mut rng = worker_rng(1, 0);
        let mut seen = [0u32; 100];
        (0..100_000).for_each(|_| seen[zipf.key(&mut rng) as usize] += 1);
        assert!(seen.iter().all(|&n| (800..1200).contains(&n)), "{seen:?}");
    }

    #[test]
    fn skew_follows_the_law() {
        for theta in [0.6, 0.99, 1.0, 1.2] {
            let n = 10_000;
            let zipf = Zipf::new(n, theta);
            let mut rng = worker_rng(7, 3);
            let draws = 1_000_000;
            let mut counts = vec![0u64; n as usize];
            (0..draws).for_each(|_| counts[zipf.key(&mut rng) as usize] += 1);
            counts.sort_unstable_by(|a, b| b.cmp(a));
            let zeta: f64 = (1..=n).map(|i| (i as f64).powf(-theta)).sum();
            for hottest in [1, 10, 100, 1000] {
                let drawn = counts[..hottest].iter().sum::<u64>() as f64 / f64::from(draws);
                let share: f64 = (1..=hottest).map(|i| (i as f64).powf(-theta)).sum::<f64>() / zeta;
                assert!((drawn - share).abs() < 0.03, "the {hottest} hottest of {theta}: {drawn}, {share} expected");
            }
        }
    }

    #[test]
    fn tiny_key_spaces_work() {
        for n in 1..10 {
            for theta in [0.0, 0.6, 0.99, 1.0, 1.2] {
                let zipf = Zipf::new(n, theta);
                let mut rng = worker_rng(n, 0);
                assert!((0..1000).all(|_| zipf.key(&mut rng) < n));
            }
        }
    }

    #[test]
    fn workers_draw_differently_and_repeatably() {
        let draw = |worker| worker_rng(42, worker).u64(..);
        assert_eq!(draw(0), draw(0));
        assert_ne!(draw(0), draw(1));
    }
}
