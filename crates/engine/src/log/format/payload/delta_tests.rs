//! Deltas between random rows, and bodies that make no sense.

use super::*;

fn body(old: &[u8], new: &[u8]) -> Option<Vec<u8>> {
    let mut out = vec![0xee];
    let is_pushed = push_body(Stamp(1 << 30), old, new, &mut out);
    assert!(is_pushed || out == [0xee], "nothing is left of a delta that is too long");
    is_pushed.then(|| out.split_off(1))
}

fn applied(old: &[u8], body: &[u8]) -> Vec<u8> {
    let delta = Delta { base: Stamp(1), body };
    let mut new = vec![0x77; delta.new_len(old.len()).expect("it fits")];
    delta.apply(old, &mut new);
    new
}

#[test]
fn what_is_made_of_the_old_row_is_the_new_one() {
    let mut rng = fastrand::Rng::with_seed(7);
    let (mut pushed, mut resized) = (0, 0);
    for _ in 0..20_000 {
        let old: Vec<u8> = (0..rng.usize(..120)).map(|_| rng.u8(..4)).collect();
        let mut new = old.clone();
        for _ in 0..rng.usize(..5) {
            let at = rng.usize(..=new.len());
            match rng.u8(..4) {
                0 => new.truncate(at),
                1 => drop(new.splice(at..at, (0..rng.usize(..9)).map(|_| 0))),
                2 => drop(new.splice(at.saturating_sub(3)..at, [])),
                _ => new[at.saturating_sub(5)..at].iter_mut().for_each(|byte| *byte ^= rng.u8(..)),
            }
        }
        if let Some(body) = body(&old, &new) {
            assert!(body.len() <= new.len() * 3 / 4 + 1);
            assert_eq!(applied(&old, &body), new, "{old:?} {body:?}");
            let delta = Delta { base: Stamp(1), body: &body };
            for at in (0..old.len()).filter(|at| old.get(*at) != new.get(*at)) {
                assert!(delta.touches(&(at..at + 1)), "{old:?} {body:?}: byte {at}");
            }
            pushed += 1;
            resized += u32::from(old.len() != new.len());
        }
    }
    assert!(pushed > 5_000 && resized > 2_000, "{pushed} and {resized} of them resized");
}

/// A counter of eight bytes and a byte far behind it.
#[test]
fn what_did_not_change_is_left_out() {
    let old = [9; 100];
    let mut new = old;
    new[16] = 10;
    new[90] = 1;
    let changed = vec![2 << 1, 16, 1, 10, 73, 1, 1];
    let delta = Delta { base: Stamp(1), body: &changed };
    assert!(delta.touches(&(12..17)) && delta.touches(&(90..98)));
    assert!(!delta.touches(&(8..16)) && !delta.touches(&(17..90)));
    assert_eq!(body(&old, &new), Some(changed));
    new[93] = 1;
    assert_eq!(
        body(&old, &new),
        Some(vec![2 << 1, 16, 1, 10, 73, 4, 1, 9, 9, 1]),
        "a gap that costs less than a range"
    );
    assert_eq!(body(&old, &old), Some(vec![0]));
}

#[test]
fn a_row_that_is_another_one_is_no_delta() {
    let (old, new): (Vec<u8>, Vec<u8>) = ((0..200).collect(), (0..200).rev().collect());
    assert_eq!(body(&old, &new), None);
    let striped: Vec<u8> = (0..2000).map(|at| u8::from(at % 8 == 0)).collect();
    assert_eq!(body(&[0; 2000], &striped), None, "too many ranges");
    assert_eq!(body(&[0; ROW_BYTES_MIN - 1], &[0; ROW_BYTES_MIN - 1]), None, "too short");
}

#[test]
fn a_delta_does_not_fit_another_row() {
    let beyond = Delta { base: Stamp(1), body: &[1 << 1, 8, 2, 1, 1] };
    assert_eq!(beyond.new_len(10), Some(10));
    assert_eq!(beyond.new_len(9), None);
    let resized = Delta { base: Stamp(1), body: &[1 << 1 | RESIZED, 10, 6, 1, 3, 7, 7, 7] };
    assert_eq!(resized.new_len(7), Some(10));
    assert_eq!(resized.new_len(20), Some(10));
    assert_eq!(resized.new_len(6), None, "a byte is unknown");
    assert_eq!(resized.new_len(5), None, "its suffix is longer than the old row");
    let unknown = Delta { base: Stamp(1), body: &[RESIZED, 10, 6] };
    assert_eq!((unknown.new_len(10), unknown.new_len(9)), (Some(10), None));
}

#[test]
fn bodies_without_sense_are_refused() {
    let sound: &[u8] = &[5, 1 << 1 | RESIZED, 10, 6, 1, 2, 7, 7, 0xaa];
    let (delta, rest) = Delta::split(sound).expect("it is sound");
    assert_eq!((delta.base, delta.body, rest), (Stamp(5), &sound[1..8], &[0xaa][..]));
    for length in 0..8 {
        assert!(Delta::split(&sound[..length]).is_err(), "cut off at {length}");
    }
    let senseless: [&[u8]; 4] =
        [&[0, 0], &[5, 1 << 1, 3, 0], &[5, RESIZED, 3, 4], &[5, 1 << 1, 0xff, 0xff, 0xff, 0xff, 0x1f, 1, 1]];
    for bytes in senseless {
        assert!(Delta::split(bytes).is_err(), "{bytes:?}");
    }
}
