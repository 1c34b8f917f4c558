//! Databases whose directories are moved, copied, spelled in other ways, mixed up and robbed of files between generations.
//!
//! Invariants:
//! - A copy opens as its original does, and whatever is done to it leaves every byte of the original as it was.
//! - Directories of two copies that were opened separately, of two databases, and one directory under two names are refused,
//!   and nothing in them changes.
//! - Without its newest segment a stream is refused, or nobody was promised what it held. So is one whose directory is replaced
//!   by what it was before the last open.
//! - A file with a name of ours and bytes that are not stays.
//!
//! All of that happens on copies of the disk. The simulation itself goes on with what was moved or copied.

use std::cell::{Cell, RefCell};
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use fastrand::Rng;
use osier::config::{Create, Logged};
use osier::io::Disk;
use osier::{Config, Database, DirectoryError, Error, Protocol};

use super::backups::look;
use super::coverage::What;
use super::operation::TransactionId;
use super::oracle::Recovered;
use super::plan::Ending;
use super::run::{Failure, Simulation};
use super::session::World;
use crate::clock::ManualClock;
use crate::disk::SimDisk;
use crate::spawn::SimSpawn;

/// What a file of nobody is called in a stream's directory.
const STRANGER: &str = "00000000-00000007.log";

/// Where the database lies.
pub(super) struct Moved {
    rng: RefCell<Rng>,
    root: RefCell<PathBuf>,
    /// Places that were given.
    number: Cell<u32>,
    /// The streams' directories as they were before the last open, by the number of their directory and their name.
    earlier: RefCell<BTreeMap<(usize, PathBuf), Content>>,
    /// Whether a directory of the open database is somewhere else just now: what needs it is refused.
    pub(super) is_away: Cell<bool>,
}

impl Moved {
    /// Draws from numbers of its own, so that seeds without it stay what they are.
    pub(super) fn new(seed: u64, is_moved: bool) -> Moved {
        let root = if is_moved { "/far/below/many/others" } else { "/" };
        Moved {
            rng: RefCell::new(Rng::with_seed(!seed)),
            root: RefCell::new(root.into()),
            number: Cell::new(0),
            earlier: RefCell::default(),
            is_away: Cell::new(false),
        }
    }

    fn seed(&self) -> u64 {
        self.rng.borrow_mut().u64(..)
    }

    fn chance(&self, share: f64) -> bool {
        self.rng.borrow_mut().f64() < share
    }

    fn place(&self) -> PathBuf {
        self.number.set(self.number.get() + 1);
        PathBuf::from(format!("/place-{}", self.number.get()))
    }

    /// The same path in other words.
    fn spelled(&self, path: &Path) -> PathBuf {
        let (parent, name) = (path.parent().unwrap_or(path), path.file_name().unwrap_or_default());
        match self.seed() % 4 {
            0 => parent.join(".").join(name),
            1 => parent.join(name).join("..").join(name),
            2 => Path::new("/..").join(path.strip_prefix("/").unwrap_or(path)),
            _ => path.to_owned(),
        }
    }
}

pub(super) type Content = BTreeMap<PathBuf, Vec<u8>>;

impl Simulation<'_> {
    /// The directories of the database, spelled in some way.
    pub(super) fn directories(&self) -> Vec<PathBuf> {
        let (root, home) = (self.moved.root.borrow(), self.copied.home());
        let directories = (0..self.plan.streams.min(2)).map(|dir| root.join(format!("disk{dir}/{home}")));
        directories.map(|path| if self.plan.is_moved { self.moved.spelled(&path) } else { path }).collect()
    }

    fn directories_below(&self, root: &Path) -> Vec<PathBuf> {
        (0..self.plan.streams.min(2)).map(|dir| root.join(format!("disk{dir}/{}", self.copied.home()))).collect()
    }

    /// Tries what must not work, and then moves the database, or goes on with a copy of it.
    pub(super) fn move_about(&self, disk: SimDisk) -> Result<SimDisk, Failure> {
        let dirs = self.directories_below(&self.moved.root.borrow());
        let is_there = |dir: &PathBuf| disk.exists(&dir.join("MANIFEST")).unwrap_or(false);
        if !self.plan.is_moved || !is_there(&dirs[0]) {
            return Ok(disk);
        }
        self.copy_and_mix(&disk.kill(self.moved.seed()), &dirs)?;
        let streams = (0..).zip(&dirs).flat_map(|(at, dir)| {
            streams(&disk, std::slice::from_ref(dir)).into_iter().map(move |stream| (at, stream))
        });
        let content = |(at, stream): (usize, PathBuf)| {
            let relative =
                |(path, bytes): (PathBuf, _)| (path.file_name().map(PathBuf::from).unwrap_or_default(), bytes);
            let name = stream.file_name().map(PathBuf::from).unwrap_or_default();
            ((at, name), disk.content(&stream).into_iter().map(relative).collect())
        };
        self.moved.earlier.replace(streams.map(content).collect());
        let to = self.moved.place();
        let goes_on = |change: &dyn Fn(&Path, &Path)| {
            self.trace.line(|| format!("-- goes on in {}", to.display()));
            dirs.iter().zip(self.directories_below(&to)).for_each(|(from, to)| change(from, &to));
            self.moved.root.replace(to.clone());
        };
        match self.moved.seed() % 3 {
            0 => goes_on(&|from, to| disk.move_tree(from, to)),
            1 => goes_on(&|from, to| disk.copy_tree(from, to)),
            _ => {}
        }
        self.note(What::Moves);
        Ok(disk)
    }

    /// Whether somebody moves a directory of the open database.
    pub(super) fn is_displaced(&self, disk: &SimDisk) -> bool {
        let home = &self.directories_below(&self.moved.root.borrow())[0];
        let is_there = || disk.exists(&home.join("MANIFEST")).unwrap_or(false);
        self.plan.is_moved && !disk.is_crashed() && is_there() && self.moved.chance(0.5)
    }

    /// Moves a directory of the open database away, and perhaps puts a copy in its place, and goes on: nothing changes at that
    /// place. Then everything is as it was before, for a crash.
    pub(super) fn displace(&self, world: &World<'_>, disk: &SimDisk) -> Result<(), Failure> {
        let dirs = self.directories_below(&self.moved.root.borrow());
        let place = &dirs[self.moved.seed() as usize % dirs.len()];
        let (away, trash) = (self.moved.place().join("away"), self.moved.place().join("trash"));
        if !disk.exists(place).unwrap_or(false) {
            return Ok(());
        }
        disk.move_tree(place, &away);
        let is_copied = self.moved.chance(0.5);
        if is_copied {
            disk.copy_tree(&away, place);
        }
        self.trace.line(|| format!("-- {} is moved, copied {is_copied}", place.display()));
        let found = || if disk.exists(place).unwrap_or(false) { disk.content(place) } else { Content::new() };
        let before = found();
        world.database.request_checkpoint();
        self.moved.is_away.set(true);
        self.interleave(world, disk, Ending::Close)?;
        self.moved.is_away.set(false);
        let after = found();
        if disk.exists(place).unwrap_or(false) {
            disk.move_tree(place, &trash);
        }
        disk.move_tree(&away, place);
        self.note(What::Displacements);
        expect(after == before, "what lies in the place of a directory has changed")
    }

    fn copy_and_mix(&self, disk: &SimDisk, dirs: &[PathBuf]) -> Result<(), Failure> {
        self.put_strangers(disk, dirs);
        let place = self.moved.place();
        let copy = self.directories_below(&place);
        dirs.iter().zip(&copy).for_each(|(from, to)| disk.copy_tree(from, to));
        let before = content(disk, dirs);
        let found = self.look_in(disk, &copy)?;
        self.rob(disk, &copy, dirs, &found)?;
        self.put_back(disk, dirs, &found)?;
        for _ in 0..2 {
            let again = self.look_in(disk, &copy)?;
            expect(again.transactions == found.transactions, "a copy that was closed opens with other transactions")?;
        }
        expect(content(disk, dirs) == before, "what was done to a copy changed its original")?;
        self.refuse_mixtures(disk, dirs, &copy)?;
        let original = self.look_in(disk, dirs)?;
        expect(original.transactions == found.transactions, "a copy holds other transactions than its original")?;
        self.refuse_mixtures(disk, dirs, &copy)?;
        let strangers = content(disk, dirs).into_keys().filter(|path| path.ends_with(STRANGER)).count();
        let were = before.keys().filter(|path| path.ends_with(STRANGER)).count();
        expect(strangers == were, "a file that is not ours is gone")
    }

    /// Puts a file with a name of ours and other bytes where there are segments.
    fn put_strangers(&self, disk: &SimDisk, dirs: &[PathBuf]) {
        for stream in streams(disk, dirs) {
            disk.put(&stream.join(STRANGER), &[0xa5; 8192]);
        }
    }

    /// Takes the newest segment from a copy of a copy: what opens then holds what it held with it.
    fn rob(&self, disk: &SimDisk, copy: &[PathBuf], original: &[PathBuf], found: &Recovered) -> Result<(), Failure> {
        let (disk, robbed) = self.copied_of(disk, original);
        let streams = streams(&disk, &robbed);
        if streams.is_empty() {
            return Ok(());
        }
        let stream = &streams[self.moved.seed() as usize % streams.len()];
        let files = disk.list(stream).map_err(|error| Failure::engine("list", &error))?;
        // Generation and number, each with leading zeros.
        let is_segment = |path: &&PathBuf| {
            let name = path.file_name().unwrap_or_default().to_string_lossy();
            name.starts_with('0') && name.ends_with(".log") && name != STRANGER
        };
        let Some(newest) = files.iter().filter(is_segment).max() else { return Ok(()) };
        assert_ne!(copy, robbed, "another copy");
        disk.remove(newest).map_err(|error| Failure::engine("remove", &error))?;
        self.trace.line(|| format!("-- without {}", newest.display()));
        self.expect_missed(&disk, &robbed, found, || format!("{} is gone", newest.display()))
    }

    /// Replaces a stream's directory, in a copy of a copy, by what it was before the last open.
    fn put_back(&self, disk: &SimDisk, original: &[PathBuf], found: &Recovered) -> Result<(), Failure> {
        let earlier = self.moved.earlier.borrow();
        let (disk, mixed) = self.copied_of(disk, original);
        let streams = earlier.iter().filter_map(|((at, name), content)| Some((mixed.get(*at)?.join(name), content)));
        let there: Vec<_> = streams.filter(|(stream, _)| disk.exists(stream).unwrap_or(false)).collect();
        if there.is_empty() {
            return Ok(());
        }
        let (stream, content) = &there[self.moved.seed() as usize % there.len()];
        let removed = disk.content(stream).into_keys().try_for_each(|path| disk.remove(&path));
        removed.map_err(|error| Failure::engine("remove", &error))?;
        content.iter().for_each(|(name, bytes)| disk.put(&stream.join(name), bytes));
        self.trace.line(|| format!("-- with an earlier {}", stream.display()));
        self.expect_missed(&disk, &mixed, found, || format!("{} is an earlier one", stream.display()))
    }

    /// A copy of the disk, and in it one of the database.
    fn copied_of(&self, disk: &SimDisk, original: &[PathBuf]) -> (SimDisk, Vec<PathBuf>) {
        let disk = disk.kill(self.moved.seed());
        let copied = self.directories_below(&self.moved.place());
        original.iter().zip(&copied).for_each(|(from, to)| disk.copy_tree(from, to));
        (disk, copied)
    }

    /// What was done to a copy is refused, or nothing that was promised is lost.
    fn expect_missed(
        &self,
        disk: &SimDisk,
        dirs: &[PathBuf],
        found: &Recovered,
        what: impl Fn() -> String,
    ) -> Result<(), Failure> {
        match self.look(disk, dirs) {
            Ok(left) if found.transactions.difference(&left.transactions).any(|id| self.is_promised(*id)) => {
                Err(Failure::Forgotten(format!("{}, and what it held with it, without a word", what())))
            }
            Ok(_) => Ok(()),
            Err(_) => {
                self.note(What::RobbedRefused);
                Ok(())
            }
        }
    }

    /// Whether a transaction that is there must be there: nobody was told of one that only a recovery that failed made durable.
    fn is_promised(&self, id: TransactionId) -> bool {
        let oracle = self.oracle.borrow();
        oracle.finished().iter().find(|finished| finished.id == id).is_none_or(|finished| finished.acknowledged)
    }

    /// Directories that do not belong together.
    fn refuse_mixtures(&self, disk: &SimDisk, dirs: &[PathBuf], copy: &[PathBuf]) -> Result<(), Failure> {
        let stranger = self.moved.place();
        let other =
            Config { streams: 1, logged: Logged::Values, ..self.config_of(disk, std::slice::from_ref(&stranger)) };
        let protocol = if self.plan.protocol == Protocol::None { Protocol::Serial } else { self.plan.protocol };
        let made = Database::open(other.protocol(protocol)).and_then(|other| other.close());
        made.map_err(|error| Failure::engine("another database", &error))?;
        let all: Vec<PathBuf> = dirs.iter().chain(copy).chain([&stranger]).cloned().collect();
        let before = content(disk, &all);
        let twice: Vec<_> = dirs.iter().cloned().chain([self.moved.spelled(&dirs[0])]).collect();
        let joined: Vec<_> = dirs.iter().chain([&stranger]).cloned().collect();
        let mut mixtures = vec![twice, joined];
        if dirs.len() > 1 {
            mixtures.push(vec![dirs[0].clone(), copy[1].clone()]);
            mixtures.push(vec![copy[0].clone(), dirs[1].clone()]);
        }
        if dirs.len() > 1 && protocol == self.plan.protocol {
            mixtures.push(vec![stranger, dirs[1].clone()]);
        }
        for mixture in mixtures {
            match self.look(disk, &mixture) {
                Err(Error::Directory(
                    DirectoryError::SameDirectory { .. }
                    | DirectoryError::OtherCopy { .. }
                    | DirectoryError::OtherDatabase { .. }
                    // Of a directory that an open was to add which did not end.
                    | DirectoryError::Missing { .. }
                    | DirectoryError::ForeignFile { .. },
                )) => self.note(What::MixturesRefused),
                Err(error) => return Err(Failure::engine(format!("{mixture:?}"), &error)),
                Ok(_) => return Err(Failure::Forgotten(format!("{mixture:?} opened as one database"))),
            }
            expect(content(disk, &all) == before, "a mixture that was refused was changed")?;
        }
        Ok(())
    }

    fn look_in(&self, disk: &SimDisk, dirs: &[PathBuf]) -> Result<Recovered, Failure> {
        self.look(disk, dirs).map_err(|error| Failure::engine(format!("{dirs:?}"), &error))
    }

    fn look(&self, disk: &SimDisk, dirs: &[PathBuf]) -> Result<Recovered, Error> {
        let mut config = self.config_of(disk, dirs);
        config.create = Create::IfMissing;
        config.checkpoint_at_close = self.moved.chance(0.5);
        look(self.opened(config))
    }

    fn config_of(&self, disk: &SimDisk, dirs: &[PathBuf]) -> Config {
        let clock = Arc::new(ManualClock::new());
        clock.advance(self.copied.now.get());
        let spawn = SimSpawn::new(self.moved.seed(), Arc::clone(&clock));
        self.config(disk, &clock, &spawn).dirs(dirs)
    }
}

fn expect(is_so: bool, what: &str) -> Result<(), Failure> {
    if is_so { Ok(()) } else { Err(Failure::Forgotten(what.to_owned())) }
}

/// The directories of streams.
fn streams(disk: &SimDisk, dirs: &[PathBuf]) -> Vec<PathBuf> {
    let entries = dirs.iter().flat_map(|dir| disk.list(dir).unwrap_or_default());
    let is_stream = |path: &PathBuf| path.file_name().is_some_and(|name| name.to_string_lossy().starts_with("stream-"));
    entries.filter(is_stream).collect()
}

/// Every file of the directories but the locks.
pub(super) fn content(disk: &SimDisk, dirs: &[PathBuf]) -> Content {
    let files = dirs.iter().flat_map(|dir| disk.content(dir));
    files.filter(|(path, _)| !path.ends_with("LOCK")).collect()
}
