//! Salvages of copies of the disk, between generations.
//!
//! Invariants:
//! - Of a sound copy a salvage takes what an open finds, or leaves out what nobody was told is durable: it does not count the
//!   front of a torn batch.
//! - Of a damaged one it is refused, or what it writes opens and holds transactions of the sound one, each with those
//!   that it read from, and what they leave.
//! - Whatever becomes of it, every byte that it read stays as it was.

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use fastrand::Rng;
use osier::io::{BLOCK_BYTES, Disk, Environment};
use osier::{Config, Error, salvage_with};

use super::backups::look;
use super::coverage::What;
use super::directories::content;
use super::executor::Executor;
use super::oracle::{Oracle, Recovered};
use super::run::{Failure, Simulation};
use crate::clock::ManualClock;
use crate::disk::SimDisk;
use crate::spawn::SimSpawn;

/// Copies of a disk that are damaged and salvaged.
const DAMAGES: usize = 4;

impl Simulation<'_> {
    /// After a generation: salvages copies of what it left. The simulation goes on with the original.
    pub(super) fn salvage_some(&self, disk: &SimDisk) -> Result<(), Failure> {
        if self.plan.salvaged_share == 0.0 {
            return Ok(());
        }
        // The rest of the plan does not depend on it.
        let rng = self.rng.borrow().clone();
        let salvaged = if self.is_drawn(self.plan.salvaged_share) { self.salvage_copies(disk) } else { Ok(()) };
        self.rng.replace(rng);
        salvaged
    }

    fn salvage_copies(&self, disk: &SimDisk) -> Result<(), Failure> {
        let home = self.copied.number();
        let copy = disk.kill(self.seed());
        let dirs = self.at_home(&copy, |config| config.dirs);
        if !copy.exists(&dirs[0].join("MANIFEST")).unwrap_or(false) {
            return Ok(());
        }
        let opened = disk.kill(self.seed());
        let sound = self.at_home(&opened, |config| look(self.opened(config)));
        let sound = sound.map_err(|error| Failure::engine("opening what is salvaged next", &error))?;
        let salvaged = self.salvaged(&copy, home);
        let found = salvaged.map_err(|error| Failure::engine("salvage, without damage", &error))?;
        self.trace.line(|| format!("salvaged {:?}", found.transactions));
        expect_some(&found, &sound, "a sound database")?;
        let pending = self.copied.pending.get();
        self.copied.check_recovery(&mut Oracle::clone(&self.oracle.borrow()), &found)?;
        self.copied.pending.set(pending);
        self.note(What::Salvages);
        (0..DAMAGES).try_for_each(|_| self.salvage_damaged(disk, &dirs, &sound))
    }

    fn salvage_damaged(&self, disk: &SimDisk, dirs: &[PathBuf], sound: &Recovered) -> Result<(), Failure> {
        let copy = disk.kill(self.seed());
        let damage = damage(&copy, dirs, &mut self.rng.borrow_mut());
        self.trace.line(|| format!("-- salvages a copy with {damage}"));
        let found = match self.salvaged(&copy, self.copied.number()) {
            Ok(found) => found,
            Err(error @ (Error::Salvage(_) | Error::Directory(_) | Error::Recovery(_) | Error::Checkpoint(_))) => {
                self.trace.line(|| format!("refused: {error}"));
                self.note(What::SalvagesRefused);
                return Ok(());
            }
            Err(error) => return Err(Failure::engine(format!("salvage of {damage}"), &error)),
        };
        self.trace.line(|| format!("salvaged {:?}", found.transactions));
        self.note(What::DamageSalvaged);
        expect_some(&found, sound, &damage)?;
        Ok(self.oracle.borrow().check_part(&found)?)
    }

    /// Salvages a disk's database to another place of it; what opens there.
    fn salvaged(&self, disk: &SimDisk, home: u32) -> Result<Recovered, Error> {
        let from = self.at_home(disk, |config| config);
        let before = content(disk, &from.dirs);
        let report = self.beside_tasks(disk, home, |to| salvage_with(&from, to, false, self.functions()));
        assert!(content(disk, &from.dirs) == before, "a salvage changed what it read");
        report?;
        let disk = disk.kill(self.seed());
        self.on(&disk, home, |config| look(self.opened(config)))
    }

    /// Does something with the configuration of another database, while the tasks that it starts go on.
    fn beside_tasks<T>(&self, disk: &SimDisk, home: u32, body: impl FnOnce(Config) -> T) -> T {
        let clock = Arc::new(ManualClock::new());
        let spawn = SimSpawn::new(self.seed(), Arc::clone(&clock));
        let mut executor = Executor::default();
        let config = self.on(disk, home, |config| config);
        let environment = Environment {
            clock: Arc::<ManualClock>::clone(&clock),
            spawn: Arc::new(spawn.clone()),
            ..config.environment
        };
        let config = Config { environment, ..config };
        executor.spawn(async { body(config) });
        loop {
            let mut rng = self.rng.borrow_mut().fork();
            if let Some(Some(ended)) = executor.step(&mut rng) {
                return ended;
            }
            if spawn.step().is_none() {
                clock.advance(Duration::from_micros(100));
            }
        }
    }
}

/// Nothing may be found that an open of the sound database does not find.
fn expect_some(found: &Recovered, sound: &Recovered, of: &str) -> Result<(), Failure> {
    match found.transactions.difference(&sound.transactions).next() {
        Some(id) => Err(Failure::Forgotten(format!("a salvage of {of} has {id}, and an open has not"))),
        None => Ok(()),
    }
}

/// Damages one file, in words.
fn damage(disk: &SimDisk, dirs: &[PathBuf], rng: &mut Rng) -> String {
    let files: Vec<_> = content(disk, dirs).into_iter().collect();
    let (path, bytes) = &files[rng.usize(0..files.len())];
    let name = path.display();
    let kind = rng.usize(0..5);
    if bytes.is_empty() || kind == 4 {
        disk.remove(path).expect("no faults");
        return format!("{name} gone");
    }
    let byte = rng.usize(0..bytes.len());
    let at = if rng.bool() { byte } else { byte & !(BLOCK_BYTES - 1) };
    disk.corrupt(path, |bytes| match kind {
        0 => bytes[at] ^= 1 << rng.u8(0..8),
        1 => bytes[at..].iter_mut().take(BLOCK_BYTES).for_each(|byte| *byte = 0),
        2 => bytes[at..].fill(0),
        _ => bytes.truncate(at),
    });
    format!("{name} {} at {at}", ["another bit", "a block of zeros", "zeros to its end", "its end"][kind])
}
