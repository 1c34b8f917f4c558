//! The random values of TPC-C: clause 2.1.5 (NURand), 4.3.2 (strings and last names), 4.3.3.1 (zip codes, data).

use std::sync::LazyLock;

use fastrand::Rng;

/// The constants of NURand. Those of the run differ from those of the load as clause 2.1.6.1 wants: for last names by
/// 65 to 119, not 96 nor 112.
const C_LAST_LOAD: u32 = 157;
const C_LAST_RUN: u32 = C_LAST_LOAD + 86;
const C_CUSTOMER: u32 = 259;
const C_ITEM: u32 = 7911;

/// How many last names there are.
pub const LAST_NAMES: u32 = 1000;

/// Non-uniform random over `[x, y]`.
fn nurand(rng: &mut Rng, a: u32, c: u32, x: u32, y: u32) -> u32 {
    assert!(x <= y, "an empty range");
    ((rng.u32(0..=a) | rng.u32(x..=y)) + c) % (y - x + 1) + x
}

/// A customer number of `1..=customers`.
pub fn customer_id(rng: &mut Rng, customers: u32) -> u32 {
    nurand(rng, 1023, C_CUSTOMER, 1, customers)
}

/// An item number of `1..=items`.
pub fn item_id(rng: &mut Rng, items: u32) -> u32 {
    nurand(rng, 8191, C_ITEM, 1, items)
}

/// The number of a last name for a transaction; only the first `customers` names are taken.
pub fn last_name_number_run(rng: &mut Rng, customers: u32) -> u32 {
    nurand(rng, 255, C_LAST_RUN, 0, customers.min(LAST_NAMES) - 1)
}

/// The number of a last name for a customer beyond the first thousand of a district.
pub fn last_name_number_load(rng: &mut Rng) -> u32 {
    nurand(rng, 255, C_LAST_LOAD, 0, LAST_NAMES - 1)
}

/// The last name of a number below [`LAST_NAMES`]: a syllable for each digit.
pub fn last_name(number: u32) -> &'static str {
    static NAMES: LazyLock<Vec<String>> = LazyLock::new(|| (0..LAST_NAMES).map(spell).collect());
    &NAMES[number as usize]
}

fn spell(number: u32) -> String {
    const SYLLABLES: [&str; 10] = ["BAR", "OUGHT", "ABLE", "PRI", "PRES", "ESE", "ANTI", "CALLY", "ATION", "EING"];
    [number / 100, number / 10 % 10, number % 10].map(|digit| SYLLABLES[digit as usize]).concat()
}

/// A random string of letters and digits with a length in the range (an "a-string").
pub fn a_string(rng: &mut Rng, min: usize, max: usize) -> String {
    let length = rng.usize(min..=max);
    (0..length).map(|_| rng.alphanumeric()).collect()
}

/// A random string of digits with a length in the range (an "n-string").
pub fn n_string(rng: &mut Rng, min: usize, max: usize) -> String {
    let length = rng.usize(min..=max);
    (0..length).map(|_| rng.digit(10)).collect()
}

/// Four random digits and `11111`.
pub fn zip(rng: &mut Rng) -> String {
    n_string(rng, 4, 4) + "11111"
}

/// 26 to 50 characters; one in ten contains `ORIGINAL`.
pub fn data(rng: &mut Rng) -> String {
    const MARK: &str = "ORIGINAL";
    let mut data = a_string(rng, 26, 50);
    if rng.u8(0..10) == 0 {
        let at = rng.usize(0..=data.len() - MARK.len());
        data.replace_range(at..at + MARK.len(), MARK);
    }
    data
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::random::worker_rng;

    #[test]
    fn last_names_are_those_of_the_specification() {
        assert_eq!(last_name(371), "PRICALLYOUGHT");
        assert_eq!(last_name(40), "BARPRESBAR");
        assert_eq!(last_name(0), "BARBARBAR");
        assert_eq!(last_name(999), "EINGEINGEING");
        assert!((0..LAST_NAMES).all(|number| last_name(number).len() <= 16));
    }

    #[test]
    fn nurand_stays_in_its_range_and_is_not_uniform() {
        let mut rng = worker_rng(1, 0);
        let draws = 200_000;
        let mut seen = vec![0_u32; 3001];
        for _ in 0..draws {
            seen[customer_id(&mut rng, 3000) as usize] += 1;
        }
        assert_eq!(seen[0], 0);
        seen.sort_unstable_by(|a, b| b.cmp(a));
        let hot: u32 = seen[..300].iter().sum();
        assert!(hot > draws / 5, "a tenth of the customers draws {hot} of {draws}");
        for _ in 0..10_000 {
            assert!((1..=100_000).contains(&item_id(&mut rng, 100_000)));
            assert!((1..=7).contains(&item_id(&mut rng, 7)));
            assert!(last_name_number_run(&mut rng, 30) < 30);
            assert!(last_name_number_run(&mut rng, 3000) < 1000);
        }
    }

    #[test]
    fn the_constants_of_load_and_run_differ_as_specified() {
        let delta = C_LAST_RUN.abs_diff(C_LAST_LOAD);
        assert!((65..=119).contains(&delta) && delta != 96 && delta != 112, "{delta}");
    }

    #[test]
    fn strings_have_their_lengths() {
        let mut rng = worker_rng(2, 0);
        let mut originals = 0;
        for _ in 0..10_000 {
            let data = data(&mut rng);
            assert!((26..=50).contains(&data.len()));
            originals += u32::from(data.contains("ORIGINAL"));
            assert!(zip(&mut rng).len() == 9 && zip(&mut rng).ends_with("11111"));
            assert!((8..=16).contains(&a_string(&mut rng, 8, 16).len()));
            assert!(n_string(&mut rng, 16, 16).bytes().all(|byte| byte.is_ascii_digit()));
        }
        assert!((800..1200).contains(&originals), "{originals}");
    }
}
