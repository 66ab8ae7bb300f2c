//! Checkpoints: everything that a run needs to go on as if it had never stopped.

use super::report::{EpochReport, csv};
use super::trainer::{Run, Trainer};
use crate::data::{Data, Loader, Position};
use crate::files::NamedTensors;
use crate::optimise::Optimiser;
use crate::prelude::*;
use std::path::Path;
use std::str::FromStr;

/// The first text of every checkpoint.
const FORMAT: (&str, &str) = ("format", "wengert training 2");

/// No run takes more steps; a file that says so is damaged.
const MOST_STEPS: u64 = 1 << 53;

impl<M, B, O> Trainer<M, B, O>
where
    M: Tree + Clone + 'static,
    B: Tree + Send + 'static,
    O: Optimiser + 'static,
    O::State: Clone + 'static,
{
    /// Writes a checkpoint: parameters, what the optimiser remembers, the key, the place in the data and the epochs so far. The same run
    /// writes the same bytes.
    pub fn save<D: Data<Batch = B>>(&self, path: impl AsRef<Path>, loader: &Loader<D>) -> Result<(), Error> {
        let named = self.state.model.named_leaves();
        if let Some((path, _)) =
            named.iter().find(|(_, leaf)| leaf.dtype().is_float() && leaf.isnan().any().item() != 0.0)
        {
            let message = format!("parameter '{path}' is NaN, so the checkpoint is not replaced");
            return Err(Error::new(ErrorKind::Anomaly, "save", message)
                .help("the last step was wrong although its loss was finite: lower the rate, or clip the gradients"));
        }
        let mut file = NamedTensors::of(&self.state);
        let Position { epoch, batch } = loader.position();
        let Run { steps, epochs, sum } = &self.run;
        let texts = [
            (FORMAT.0, FORMAT.1.to_string()),
            ("data", loader.describe()),
            ("optimiser", name_of::<O>().to_string()),
            ("epoch", epoch.to_string()),
            ("batch", batch.to_string()),
            ("steps", steps.to_string()),
            ("sum", sum.0.to_string()),
            ("count", sum.1.to_string()),
            ("epochs", csv(epochs, false)),
        ];
        file.texts.extend(texts.map(|(name, text)| (name.to_string(), text)));
        file.save(path)
    }

    /// Goes on from a checkpoint: the rest of the run is the same, to the bit, as if it had not stopped.
    ///
    /// An error says what differs, and then nothing is changed. Compared are the paths, shapes and dtypes of the model, of its moving average
    /// and of what the optimiser remembers; the name of the optimiser's type; and what decides the batches, as
    /// [`Loader::describe`] says it: the number of examples, the size of batches, the seed. The loss, the rate and other settings of the
    /// optimiser and the values of the examples are not compared: those of this trainer and this loader hold from here on.
    pub fn resume<D: Data<Batch = B>>(&mut self, path: impl AsRef<Path>, loader: &mut Loader<D>) -> Result<(), Error> {
        let path = path.as_ref();
        let wrong = |reason: String| Error::new(ErrorKind::File, "resume", format!("{}: {reason}", path.display()));
        let file = NamedTensors::read(path).map_err(|error| error.renamed(|_| "resume".to_string()))?;
        if file.texts.get(FORMAT.0).map(String::as_str) != Some(FORMAT.1) {
            return Err(wrong("this is not a checkpoint of a training run".to_string()));
        }
        let text = |name: &str| file.texts.get(name).cloned().unwrap_or_default();
        fn number<T: FromStr>(text: &str) -> Option<T> {
            text.parse().ok()
        }
        let (then, now) = (text("data"), loader.describe());
        if then != now {
            return Err(wrong(format!("the run had {then}; now there are {now}")));
        }
        // Files of earlier versions do not name it.
        let (then, now) = (text("optimiser"), name_of::<O>());
        if !then.is_empty() && then != now {
            return Err(wrong(format!("the run had the optimiser {then}; now there is {now}")));
        }
        let read = || -> Option<(Position, Run)> {
            let position = Position { epoch: number(&text("epoch"))?, batch: number(&text("batch"))? };
            let (steps, sum): (u64, _) = (number(&text("steps"))?, (number(&text("sum"))?, number(&text("count"))?));
            let is_possible = MOST_STEPS >= position.epoch.max(steps);
            let epochs = EpochReport::parse_all(&text("epochs"))?;
            is_possible.then_some((position, Run { steps, epochs, sum }))
        };
        let Some((position, run)) = read() else { return Err(wrong("its texts are damaged".to_string())) };
        let problems = file.load_into(&mut self.state, true);
        if !problems.is_empty() {
            let lines: Vec<String> = problems.iter().map(|problem| format!("\n    {problem}")).collect();
            return Err(wrong(format!("the model or the optimiser differs:{}", lines.concat())));
        }
        self.run = run;
        loader.seek(position);
        Ok(())
    }
}

/// The name of a type, without its module and its parameters.
fn name_of<T>() -> &'static str {
    let whole = std::any::type_name::<T>();
    let path = whole.split('<').next().unwrap_or(whole);
    path.rsplit("::").next().unwrap_or(path)
}
