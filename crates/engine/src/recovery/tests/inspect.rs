//! Printing and checking logs without opening the database.

use super::world::{World, delete, put};
use crate::config::Protocol;
use crate::error::RecoveryError;
use crate::ids::{Generation, Stamp};
use crate::io::BLOCK_BYTES;
use crate::operate::inspect::{Detail, dump, verify};

fn crashed() -> World {
    let world = World::new(Protocol::Poplar, 2);
    world.writer(0).batch(&[put(1, 0, "a", "one"), put(5, 1, "b", "five")]).rotate().flush();
    let mut other = world.writer(1);
    other.know(0, 1);
    other.batch(&[put(3, 0, "c", "three"), delete(8, 6, "d"), put(9, 0, "e", "nine")]);
    other.batch_with(&[put(11, 9, "f", "eleven"), put(12, 11, "g", "twelve")], 13, 2, &[(0, 5)]);
    other.flush();
    world
}

fn printed(world: &World, detail: Detail) -> String {
    let mut out = Vec::new();
    dump(&world.config, detail, &mut out).unwrap();
    String::from_utf8(out).unwrap()
}

#[test]
fn a_crashed_database_is_judged_as_recovery_would_and_not_touched() {
    let world = crashed();
    world.disk.take_calls();
    world.disk.set_read_only(true);
    let report = verify(&world.config).unwrap();
    assert!(!report.clean);
    assert_eq!((report.records(), report.generations.len()), (7, 1));
    let generation = &report.generations[0];
    assert_eq!((generation.cut, generation.max_seen, generation.discarded), (Stamp(5), Stamp(13), 3));
    assert_eq!((generation.generation, generation.frozen, generation.batches), (Generation(1), false, 3));
    assert_eq!(generation.streams[0].segments, 2);
    assert!(report.to_string().contains("7 records (3 beyond the cut) in 3 batches"), "{report}");
    assert!(world.disk.take_calls().is_empty());
    world.disk.set_read_only(false);
    let (recovered, _) = world.recover().unwrap();
    assert_eq!((recovered.cut, recovered.discarded), (generation.cut, generation.discarded));
    let report = verify(&world.config).unwrap();
    assert_eq!((report.generations[0].frozen, report.generations[0].discarded), (true, 3));
    assert_eq!((report.generations[0].cut, report.generations[0].max_seen), (Stamp(5), Stamp(13)));
    assert_eq!(report.generations.len(), 2);
}

#[test]
fn a_dump_shows_everything() {
    let world = crashed();
    let text = printed(&world, Detail::Records);
    for line in [
        "current generation 1: poplar, values, 2 streams, floor 0, epoch floor 0",
        "  stream 0 in /db/stream-0",
        "    segment 1: base 0, floor 0, 12288 bytes, /db/stream-0/00000001-00000001.log",
        "    segment 2: base 4096, floor 5, 36864 bytes, /db/stream-0/00000001-00000002.log",
        "      the log ends at 4096: there is no batch: the bytes are zero",
        "      batch 4096: 4096 bytes, 144 used, stamp 13, csn 2, certifies 5 at stream 0, stream 0 reaches 4096",
        "stamp 5, raw_dep 1, epoch 1, 1 write",
        "          put table 16 key 62: 4 bytes",
        "          delete table 16 key 64",
    ] {
        assert!(text.contains(line), "`{line}` is not in:\n{text}");
    }
    assert!(!printed(&world, Detail::Batches).contains("raw_dep"));
    assert!(!printed(&world, Detail::Segments).contains("batch"));
    world.recover().unwrap();
    let text = printed(&world, Detail::Records);
    assert!(text.contains("frozen generation 1"), "{text}");
    assert_eq!(text.matches("beyond the cut").count(), 3, "{text}");
}

#[test]
fn a_dump_says_where_it_stops() {
    let world = crashed();
    let path = world.path(0, 1);
    world.disk.edit(&path, |bytes| bytes[BLOCK_BYTES + 100] ^= 1);
    assert!(printed(&world, Detail::Records).contains("        ! at 80: the checksum is"));
    assert!(matches!(verify(&world.config), Err(RecoveryError::Damaged { .. })));
    world.disk.edit(&path, |bytes| bytes.truncate(BLOCK_BYTES));
    let text = printed(&world, Detail::Records);
    assert!(text.contains("  ! log segment /db/stream-0/00000001-00000001.log has 4096 bytes"), "{text}");
    assert!(
        text.contains("    segment 1: base 0, floor 0") && text.contains("stamp 12, raw_dep 11"),
        "stream 1: {text}"
    );
    world.disk.delete(world.home());
    assert!(matches!(verify(&world.config), Err(RecoveryError::NoDatabase { .. })));
}

#[test]
fn a_dump_goes_on_behind_damage_and_counts_it() {
    let world = crashed();
    world.disk.edit(&world.path(1, 1), |bytes| bytes[BLOCK_BYTES + 8] ^= 1);
    let mut out = Vec::new();
    let damages = dump(&world.config, Detail::Records, &mut out).unwrap();
    let text = String::from_utf8(out).unwrap();
    assert_eq!((damages, text.matches('!').count()), (1, 1), "{text}");
    for part in
        ["      ! at 0: the checksum", "although a sound batch follows at log offset 4096", "stamp 12, raw_dep 11"]
    {
        assert!(text.contains(part), "`{part}` is not in:\n{text}");
    }
    assert!(matches!(verify(&world.config), Err(RecoveryError::Damaged { .. })));
}

#[test]
fn a_dump_counts_damage_that_only_another_stream_shows() {
    let world = World::new(Protocol::Poplar, 2);
    world.writer(0).batch(&[put(1, 0, "a", "one")]).flush();
    world.writer(1).know(0, 1).batch(&[put(2, 0, "b", "two")]).flush();
    let dumped = |detail| dump(&world.config, detail, &mut Vec::new()).unwrap();
    assert_eq!((dumped(Detail::Segments), dumped(Detail::Batches), dumped(Detail::Records)), (0, 0, 0));
    world.disk.edit(&world.path(0, 1), |bytes| bytes[BLOCK_BYTES..2 * BLOCK_BYTES].fill(0));
    let text = printed(&world, Detail::Batches);
    assert!(
        text.contains("  ! log segment") && text.contains("another one knew it to be durable up to 4096"),
        "{text}"
    );
    assert_eq!((dumped(Detail::Segments), dumped(Detail::Batches)), (0, 1), "what is not printed is not read");
}
