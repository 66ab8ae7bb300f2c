//! Corrupted saved programs: each is rejected with a typed error, or does what its text says.

mod mutation;
mod plainly;
mod sources;
mod tally;

pub use tally::Tally;

use super::Random;
use crate::caught::panic_text;
use crate::numeric::{direction, epsilon, norm_difference};
use mutation::{mutated, words};
use plainly::{MOST_ELEMENTS, Stop};
use sources::{FileSource, Saved, sealed};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::OnceLock;
use std::time::{Duration, Instant};
use wengert::prelude::*;
use wengert::primitive::{PRIMITIVES, Spec};
use wengert::program::{ProgramAttrs, Var};

/// This many consecutive seeds change the same file.
const ROW: u64 = 32;

/// Anything that takes longer is considered to hang.
const PATIENCE: Duration = Duration::from_secs(10);

/// A file whose plain evaluation takes longer is not compared.
const SLOW: Duration = Duration::from_millis(500);

/// Outputs with more bytes than this exceed the memory of any machine.
const ABSURD: usize = 1 << 48;

/// Saved programs of all primitives and their gradients, of loops and branches, and of random compositions.
///
/// ```
/// use wengert_testkit::fuzz::SavedFiles;
/// let files = SavedFiles::new();
/// let outcome = files.try_seed(7).unwrap();
/// assert_eq!(files.try_seed(7).unwrap(), outcome);
/// ```
pub struct SavedFiles {
    sources: Vec<FileSource>,
    /// The files, created on first use.
    files: Vec<OnceLock<Option<Saved>>>,
    /// Words that may replace others: names of operations, attributes and dtypes.
    words: Vec<String>,
}

/// The outcome of one file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Outcome {
    /// Loading failed with a typed error.
    Refused,
    /// It was loaded, and a call gave what its text says: values or a typed error.
    Ran,
    /// It was loaded and planned; a call would take too long.
    Loaded,
}

/// A failure, with its seed and its text.
#[derive(Clone, Debug)]
pub enum Wrong {
    /// A panic that is not a typed error.
    Panic(String),
    /// A result that differs from the file, a missing error, or a hang.
    Difference(String),
}

impl Default for SavedFiles {
    fn default() -> SavedFiles {
        SavedFiles::new()
    }
}

impl SavedFiles {
    /// All files.
    pub fn new() -> SavedFiles {
        let sources = sources::all();
        let attributes = PRIMITIVES.iter().flat_map(|op| op.attributes()).copied();
        let dtypes = DType::ALL.iter().map(DType::to_string);
        let names = PRIMITIVES.iter().map(|op| op.name()).chain(attributes).map(String::from);
        let words = names.chain(dtypes).chain(words(b"lt le eq NaN inf data const return program body test branch"));
        SavedFiles { files: sources.iter().map(|_| OnceLock::new()).collect(), words: words.collect(), sources }
    }

    /// The number of files.
    pub fn len(&self) -> usize {
        self.sources.len()
    }

    /// Whether there are no files.
    pub fn is_empty(&self) -> bool {
        self.sources.is_empty()
    }

    /// The file that a seed changes.
    fn file(&self, seed: u64) -> &Saved {
        // Rows of seeds go through all files; neighbouring rows are far apart.
        let first = (seed / ROW).wrapping_mul(0x9E37_79B1) as usize;
        let place = |step: usize| (first + step) % self.files.len();
        let file = |place: usize| self.files[place].get_or_init(|| self.sources[place].saved()).as_ref();
        (0..).find_map(|step| file(place(step))).expect("some source can be saved")
    }

    /// The corrupted file of a seed, and whether its checksum was corrected.
    pub fn mutant(&self, seed: u64) -> (Vec<u8>, bool) {
        let mut random = Random::new(seed);
        let original = &self.file(seed).bytes;
        let corrected = random.below(2) == 0;
        let changed = match corrected {
            true => {
                let start = original.iter().position(|byte| *byte == b'\n').map_or(0, |end| end + 1);
                let body = mutated(&original[start..], &self.words, &mut random);
                // Files whose declarations match their attributes get further.
                let rounds = if random.below(2) == 0 { 0 } else { 8 };
                (0..rounds).try_fold(sealed(&body), |file, _| redeclared(&file).ok_or(file)).unwrap_or_else(|file| file)
            }
            false => mutated(original, &self.words, &mut random),
        };
        (changed, corrected)
    }

    /// Loads and runs the corrupted file of a seed.
    pub fn try_seed(&self, seed: u64) -> Result<Outcome, Wrong> {
        let (bytes, corrected) = self.mutant(seed);
        let original = self.file(seed);
        let told = |what: &str| format!("seed {seed}: {what}\n{}", String::from_utf8_lossy(&bytes));
        let result = catch_unwind(AssertUnwindSafe(|| catch(|| tried(&bytes, &original.inputs))));
        let outcome = match result {
            Err(panic) => return Err(Wrong::Panic(told(&format!("panicked: {}", panic_text(&*panic))))),
            Ok(Err(error)) => return Err(Wrong::Panic(told(&format!("raised, not returned: {error}")))),
            Ok(Ok(Err(what))) if what.contains("panicked") => return Err(Wrong::Panic(told(&what))),
            Ok(Ok(Err(what))) => return Err(Wrong::Difference(told(&what))),
            Ok(Ok(Ok(outcome))) => outcome,
        };
        if !corrected && bytes != original.bytes && outcome != Outcome::Refused {
            return Err(Wrong::Difference(told("it was loaded, and its checksum is wrong")));
        }
        Ok(outcome)
    }
}

/// The file with the declaration of the first wrong equation replaced by the result of the shape rule, if that is the error.
fn redeclared(file: &[u8]) -> Option<Vec<u8>> {
    let error = Loaded::parse(file).err()?;
    let (line, rest) = error.message().strip_prefix("line ")?.split_once(": ")?;
    let (_, specs) = rest.split_once(" gives ")?;
    let (inferred, _) = specs.split_once(", declared as ")?;
    let text = std::str::from_utf8(file).ok()?;
    let mut lines: Vec<String> = text.split('\n').skip(1).map(String::from).collect();
    let line = lines.get_mut(line.parse::<usize>().ok()?.checked_sub(2)?)?;
    let (declared, call) = line.split_once(" = ")?;
    let names: Vec<&str> =
        declared.split(", ").filter_map(|part| part.split_once(": ").map(|(name, _)| name)).collect();
    let specs: Vec<String> = inferred.split("], ").map(|spec| format!("{}]", spec.trim_end_matches(']'))).collect();
    let pairs: Vec<String> = names.iter().zip(&specs).map(|(name, spec)| format!("{name}: {spec}")).collect();
    *line = format!("{} = {call}", pairs.join(", "));
    Some(sealed(lines.join("\n").as_bytes())).filter(|changed| changed != file)
}

/// Loads a file, plans it, and compares a call with what its text says; an error here is a failure.
fn tried(bytes: &[u8], known: &[Tensor]) -> Result<Outcome, String> {
    let start = Instant::now();
    let loaded = match Loaded::parse(bytes) {
        Ok(loaded) => loaded,
        Err(error) if error.message().contains("panicked") => return Err(error.to_string()),
        Err(error) if *error.kind() != ErrorKind::File => return Err(format!("not an error of a file: {error}")),
        Err(_) => return Ok(Outcome::Refused),
    };
    loaded.plan();
    if start.elapsed() > PATIENCE {
        return Err(format!("to load and plan it took {:?}", start.elapsed()));
    }
    let program = loaded.program();
    let specs = |vars: &[Var]| vars.iter().map(|var| program.spec(*var).clone()).collect::<Vec<_>>();
    let inputs =
        specs(program.inputs()).iter().enumerate().map(|(place, spec)| input(spec, known.get(place))).collect();
    let Some(inputs): Option<Vec<Tensor>> = inputs else { return Ok(Outcome::Loaded) };
    if !plainly::is_small(program) {
        // If no machine has the memory, a call fails without computing anything, unless the large result is unused.
        return Ok(match is_absurd(program) && loaded.call(&inputs).is_err() {
            true => Outcome::Ran,
            false => Outcome::Loaded,
        });
    }
    let start = Instant::now();
    let expected = plainly::evaluate(program, &inputs);
    if matches!(expected, Err(Stop::TooMuch)) || start.elapsed() > SLOW {
        return Ok(Outcome::Loaded);
    }
    let got = loaded.call(&inputs);
    if start.elapsed() > PATIENCE {
        return Err(format!("it took {:?}", start.elapsed()));
    }
    match (expected, got) {
        // Unused results are not computed, so they cannot fail.
        (Err(_), Ok(_)) if plainly::reads_everything(program) => Err("equations stop, a call does not".into()),
        (Err(_), _) => Ok(Outcome::Ran),
        (Ok(_), Err(error)) => Err(format!("a call stops, equations by themselves do not: {error}")),
        (Ok(expected), Ok(got)) => {
            let tolerance = tolerance(program);
            let differs = |(expected, got): (&Tensor, &Tensor)| norm_difference(got, expected, tolerance);
            match expected.iter().zip(&got).find_map(differs) {
                Some(found) => Err(format!("the result {found}")),
                None => Ok(Outcome::Ran),
            }
        }
    }
}

/// Whether some tensors of a program are too large for any machine, and none of them is reduced to a small one.
fn is_absurd(program: &Program) -> bool {
    let spec = |var: &Var| program.spec(*var);
    let large = |var: &Var| spec(var).bytes() > ABSURD;
    let vars: Vec<Var> = (0..program.variables()).map(Var::new).collect();
    let small = |var: &Var| spec(var).shape.elements() <= MOST_ELEMENTS;
    vars.iter().all(|var| small(var) || large(var))
        && program.equations().iter().all(|equation| {
            equation.attrs.bodies().len() == 0
                && (equation.outputs.iter().any(large) || !equation.inputs.iter().any(large))
        })
}

/// The allowed rounding difference of results: that of the narrowest float in the program.
fn tolerance(program: &Program) -> f64 {
    let dtypes = (0..program.variables()).map(|var| program.spec(Var::new(var)).dtype);
    let epsilon = dtypes.filter(|dtype| dtype.is_float()).map(epsilon).fold(f64::EPSILON, f64::max);
    1e4 * epsilon
}

/// An input with this spec: the known one if it fits, otherwise another small one.
fn input(spec: &Spec, known: Option<&Tensor>) -> Option<Tensor> {
    if let Some(known) = known.filter(|known| known.spec() == *spec) {
        return Some(known.clone());
    }
    if spec.shape.elements() > MOST_ELEMENTS {
        return None;
    }
    Some(match spec.dtype.is_float() {
        true => direction(spec, 0.4),
        false => {
            let numbers: Vec<f64> = (0..spec.shape.elements()).map(|i| (i % 2) as f64).collect();
            Tensor::from_vec(numbers, spec.shape.clone()).cast(spec.dtype)
        }
    })
}
