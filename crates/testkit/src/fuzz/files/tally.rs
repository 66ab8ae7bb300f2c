//! Runs many seeds and counts the outcomes.

use super::{Outcome, SavedFiles, Wrong};
use crate::parallel;
use std::fmt;
use std::ops::Range;
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

/// Anything that takes longer is considered an endless loop.
const ENDLESS: Duration = Duration::from_secs(60);

/// The number of seeds between two reports.
const REPORTED: usize = 20_000;

/// The number of files of each kind.
#[derive(Clone, Debug, Default)]
pub struct Tally {
    /// All files.
    pub tried: usize,
    /// Files that were rejected.
    pub refused: usize,
    /// Files that were loaded and run.
    pub ran: usize,
    /// Files that were loaded but would take too long to run.
    pub loaded: usize,
    /// Panics, with seed and file.
    pub panics: Vec<String>,
    /// Results that differ from the file, files that should have been rejected, and calls that take too long.
    pub differences: Vec<String>,
}

impl fmt::Display for Tally {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Tally { tried, refused, ran, loaded, panics, differences } = self;
        let (panics, differences) = (panics.len(), differences.len());
        write!(
            f,
            "saved files: {tried} tried, {refused} refused, {ran} loaded and run, {loaded} loaded and too long "
        )?;
        write!(f, "to run, {panics} panics, {differences} differences")
    }
}

impl Tally {
    /// Whether there were no failures.
    pub fn is_clean(&self) -> bool {
        self.panics.is_empty() && self.differences.is_empty()
    }

    /// Counts one file.
    fn count(&mut self, result: Result<Outcome, Wrong>) {
        self.tried += 1;
        match result {
            Ok(Outcome::Refused) => self.refused += 1,
            Ok(Outcome::Ran) => self.ran += 1,
            Ok(Outcome::Loaded) => self.loaded += 1,
            Err(Wrong::Panic(text)) => self.panics.push(text),
            Err(Wrong::Difference(text)) => self.differences.push(text),
        }
    }
}

impl SavedFiles {
    /// Tries many seeds on all cores; `told` receives the counts periodically. A file that hangs terminates the process.
    pub fn run(&self, seeds: Range<u64>, mut told: impl FnMut(&Tally)) -> Tally {
        let (watch, done, mut tally) = (Watch::default(), AtomicBool::new(false), Tally::default());
        std::thread::scope(|scope| {
            scope.spawn(|| watch.until(&done));
            for first in seeds.clone().step_by(REPORTED) {
                let count = (seeds.end - first).min(REPORTED as u64) as usize;
                let tried = |seed: u64| watch.over(seed, || self.try_seed(seed));
                let results = parallel(count, |place| tried(first + place as u64));
                results.into_iter().for_each(|result| tally.count(result));
                told(&tally);
            }
            done.store(true, Ordering::Relaxed);
        });
        tally
    }
}

/// The seeds being tried, with their start times.
#[derive(Default)]
struct Watch(Mutex<Vec<(u64, Instant)>>);

impl Watch {
    fn over<T>(&self, seed: u64, f: impl FnOnce() -> T) -> T {
        let running = || self.0.lock().expect("nothing panics while it is locked");
        running().push((seed, Instant::now()));
        let result = f();
        running().retain(|(other, _)| *other != seed);
        result
    }

    /// Terminates the process if a seed takes too long.
    fn until(&self, done: &AtomicBool) {
        while !done.load(Ordering::Relaxed) {
            std::thread::sleep(Duration::from_millis(100));
            let running = self.0.lock().expect("nothing panics while it is locked");
            if let Some((seed, _)) = running.iter().find(|(_, start)| start.elapsed() > ENDLESS) {
                eprintln!("saved file of seed {seed} does not end");
                std::process::exit(1);
            }
        }
    }
}
