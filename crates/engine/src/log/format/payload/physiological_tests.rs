//! Groups of images round trip, have one encoding, and are refused where a byte is missing or says something else.

use proptest::collection::vec;
use proptest::prelude::*;

use super::*;
use crate::ids::Stamp;
use crate::log::format::payload::delta::{Delta, push_body, push_inverse};
use crate::log::format::payload::values::Change;

/// A write that owns what it is made of: key, row before and row; how much is logged of both.
type Owned = (u8, Vec<u8>, Option<Vec<u8>>, Option<Vec<u8>>, bool);

fn row() -> impl Strategy<Value = Vec<u8>> {
    prop_oneof![vec(0..3_u8, 0..60), vec(any::<u8>(), 0..200)]
}

fn owned() -> impl Strategy<Value = Owned> {
    let rows = (proptest::option::of(row()), proptest::option::of(row()), any::<bool>());
    (any::<u8>(), vec(any::<u8>(), 0..9), rows)
        .prop_map(|(table, key, (old, new, before))| (table, key, old, new, before))
}

/// The write as it is logged; `bodies` keeps the ranges of both directions.
fn imaged<'a>(owned: &'a Owned, bodies: &'a mut (Vec<u8>, Vec<u8>)) -> ImagedWrite<'a> {
    let (table, key, old, new, with_before) = owned;
    let (forward, back) = bodies;
    let is_changed = match (old, new) {
        (Some(old), Some(new)) => push_body(Stamp(3), old, new, forward) && push_inverse(old, new, back),
        _ => false,
    };
    let change = match is_changed {
        true => Change::Delta(Delta { base: Stamp(3), body: forward }),
        false => Change::from(new.as_deref()),
    };
    let before = match (with_before, old) {
        (false, _) => Before::NotLogged,
        (true, Some(_)) if is_changed => Before::Ranges(back),
        (true, Some(old)) => Before::Image(old),
        (true, None) => Before::Absent,
    };
    ImagedWrite { write: LoggedWrite { table: TableId(u32::from(*table)), key, change }, before }
}

fn encoded(writes: &[ImagedWrite<'_>]) -> Vec<u8> {
    let mut bytes = vec![0; writes.iter().map(ImagedWrite::encoded_len).sum()];
    assert_eq!(encode(&mut bytes, writes.iter().copied()), bytes.len());
    bytes
}

proptest! {
    #[test]
    fn a_group_round_trips_and_its_ranges_lead_both_ways(owned in vec(owned(), 0..6)) {
        let mut bodies = vec![(Vec::new(), Vec::new()); owned.len()];
        let writes: Vec<_> = owned.iter().zip(&mut bodies).map(|(owned, bodies)| imaged(owned, bodies)).collect();
        let bytes = encoded(&writes);
        prop_assert_eq!(check(&bytes, writes.len() as u32), Ok(bytes.len()));
        let read: Vec<_> = ImagedWrites::new(&bytes, writes.len() as u32).collect();
        prop_assert_eq!(&read, &writes);
        for (imaged, (.., old, new, _)) in read.iter().zip(&owned) {
            if let (Change::Delta(forward), Before::Ranges(body)) = (imaged.write.change, imaged.before) {
                let (old, new) = (old.as_ref().unwrap(), new.as_ref().unwrap());
                let mut made = vec![0; forward.new_len(old.len()).unwrap()];
                forward.apply(old, &mut made);
                prop_assert_eq!(&made, new);
                let back = Delta { base: Stamp(3), body };
                let mut made = vec![0; back.new_len(new.len()).unwrap()];
                back.apply(new, &mut made);
                prop_assert_eq!(&made, old);
            }
        }
    }

    /// What is accepted is what encoding it gives.
    #[test]
    fn a_group_that_is_accepted_has_no_other_encoding(owned in owned(), at in any::<prop::sample::Index>(), byte: u8) {
        let mut bodies = (Vec::new(), Vec::new());
        let mut bytes = encoded(&[imaged(&owned, &mut bodies)]);
        let at = at.index(bytes.len());
        bytes[at] = byte;
        if let Ok(length) = check(&bytes, 1) {
            let read: Vec<_> = ImagedWrites::new(&bytes, 1).collect();
            prop_assert_eq!(encoded(&read), &bytes[..length]);
        }
    }

    #[test]
    fn a_group_that_is_cut_short_is_refused(owned in owned()) {
        let mut bodies = (Vec::new(), Vec::new());
        let bytes = encoded(&[imaged(&owned, &mut bodies)]);
        for length in 0..bytes.len() {
            prop_assert!(check(&bytes[..length], 1).is_err(), "{length} of {} bytes", bytes.len());
        }
    }
}

/// Nothing was changed where there was no row, and ranges lead back from a change alone.
#[test]
fn images_before_that_cannot_be_are_refused() {
    let delta = Change::Delta(Delta { base: Stamp(1), body: &[0] });
    for (change, before) in
        [(delta, Before::Absent), (Change::Put(b"row"), Before::Ranges(&[0])), (Change::Delete, Before::Ranges(&[0]))]
    {
        let bytes = encoded(&[ImagedWrite { write: LoggedWrite { table: TableId(1), key: b"k", change }, before }]);
        check(&bytes, 1).expect_err("it cannot be");
    }
}

/// The bytes of docs/log-format.md.
#[test]
fn the_encoding_is_the_documented_one() {
    let write = |change, before| ImagedWrite { write: LoggedWrite { table: TableId(17), key: b"k", change }, before };
    let put = write(Change::Put(b"new"), Before::Image(b"old"));
    assert_eq!(encoded(&[put]), b"\x99\x02\x01k\x03new\x03old");
    assert_eq!(encoded(&[write(Change::Delete, Before::Absent)]), b"\x96\x02\x01k");
    let changed = Change::Delta(Delta { base: Stamp(5), body: b"\x02\x01\x01x" });
    assert_eq!(
        encoded(&[write(changed, Before::Ranges(b"\x02\x01\x01y"))]),
        b"\x9f\x02\x01k\x05\x02\x01\x01x\x02\x01\x01y"
    );
    assert_eq!(encoded(&[write(Change::Put(b""), Before::NotLogged)]), b"\x91\x02\x01k\x00");
}
