//! One run of a loss, forward and backward, with everything that it recorded.

use rustc_hash::FxHashMap;
use wengert_engine::autograd::{Backward, GradientStop, Tape, TapeRow, record_stops, record_values};
use wengert_engine::{Error, ErrorKind, Line, Tensor, Tree, TreePath, catch};

/// A leaf of the tree.
pub(super) struct Parameter {
    pub name: String,
    /// As it was given.
    pub given: Tensor,
    /// The leaf of the run, which requires a gradient unless it is an integer.
    pub leaf: Tensor,
    pub is_frozen: bool,
}

/// The run.
pub(super) struct Trial {
    pub loss: Tensor,
    pub tape: Tape,
    pub stops: Vec<GradientStop>,
    pub parameters: Vec<Parameter>,
    /// The places of records by their names.
    places: FxHashMap<String, usize>,
    /// For each record, the parameters that it depends on, as bits in words.
    reached: Vec<Vec<u64>>,
    /// For each record of a call with several outputs, the records of these: their positions and places.
    outputs: FxHashMap<usize, Vec<(usize, usize)>>,
    /// Where the trial was asked for.
    called_at: Line,
}

impl Trial {
    #[track_caller]
    pub fn new<P: Tree>(loss: impl Fn(&P) -> Tensor, parameters: &P) -> Result<Trial, Error> {
        let called_at = Line::caller();
        let mut list = Vec::new();
        let run = parameters.map(&mut TreePath::root(), &mut |path, given| {
            let plain = given.plain();
            let leaf = if given.dtype().is_float() { plain.require_grad() } else { plain };
            let (given, name) = (given.clone(), path.to_string());
            list.push(Parameter { name, given, leaf: leaf.clone(), is_frozen: path.is_frozen() });
            leaf
        });
        let forward = || record_values(|| loss(&run));
        let (loss, stops) = record_stops(|| catch(forward));
        let loss = loss?;
        if loss.elements() != 1 {
            let message = format!("the loss is {}, not one number", loss.spec());
            return Err(Error::new(ErrorKind::Argument, "doctor", message).help("return its sum or its mean"));
        }
        if loss.requires_grad() {
            catch(|| record_values(|| loss.backward_with(Backward::new().retain_graph())))?;
        }
        let tape = Tape::of(&loss);
        let places: FxHashMap<String, usize> =
            tape.rows().iter().enumerate().map(|(place, row)| (row.name.clone(), place)).collect();
        let (reached, outputs) = (Vec::new(), FxHashMap::default());
        let mut trial = Trial { loss, tape, stops, parameters: list, places, reached, outputs, called_at };
        trial.reached = trial.reach();
        trial.outputs = trial.several_outputs();
        Ok(trial)
    }

    fn several_outputs(&self) -> FxHashMap<usize, Vec<(usize, usize)>> {
        let mut outputs: FxHashMap<usize, Vec<(usize, usize)>> = FxHashMap::default();
        for (place, row) in self.tape.rows().iter().enumerate() {
            let position = row.operation.strip_prefix("output ").and_then(|position| position.parse().ok());
            if let (Some(position), Some(Some(call))) = (position, self.operands(row).next()) {
                outputs.entry(call).or_default().push((position, place));
            }
        }
        outputs
    }

    /// The adjoints of a call's outputs, with their positions.
    pub fn adjoints(&self, place: usize) -> Vec<(usize, &Tensor)> {
        let rows = self.tape.rows();
        let own = rows[place].adjoint.iter().map(|adjoint| (0, adjoint));
        let several = self.outputs.get(&place).into_iter().flatten();
        own.chain(several.filter_map(|&(position, place)| Some((position, rows[place].adjoint.as_ref()?)))).collect()
    }

    fn reach(&self) -> Vec<Vec<u64>> {
        let words = self.parameters.len().div_ceil(64);
        let mut reached: Vec<Vec<u64>> = Vec::with_capacity(self.tape.rows().len());
        for row in self.tape.rows() {
            let mut own = vec![0; words];
            if let Some(place) = self.parameters.iter().position(|parameter| row.is_of(&parameter.leaf)) {
                own[place / 64] |= 1 << (place % 64);
            }
            for operand in self.operands(row).flatten() {
                own.iter_mut().zip(&reached[operand]).for_each(|(own, theirs)| *own |= theirs);
            }
            reached.push(own);
        }
        reached
    }

    /// The places of a record's operands; `None` where no gradient flows.
    pub fn operands<'t>(&'t self, row: &'t TapeRow) -> impl Iterator<Item = Option<usize>> + 't {
        row.operands.iter().map(|name| self.places.get(name).copied())
    }

    /// The names of the trained parameters that a record depends on.
    pub fn parameters_below(&self, place: usize) -> Vec<String> {
        let depends = |number: usize| self.reached[place][number / 64] >> (number % 64) & 1 == 1;
        let numbered = self.parameters.iter().enumerate();
        numbered
            .filter(|(number, parameter)| !parameter.is_frozen && depends(*number))
            .map(|(_, parameter)| parameter.name.clone())
            .collect()
    }

    /// Every step of a cotangent from a record to one of its operands, from the loss down.
    pub fn steps(&self) -> impl Iterator<Item = Step<'_>> {
        let rows = self.tape.rows().iter().enumerate().rev();
        let reached = rows.filter_map(|(place, row)| Some((row, self.adjoints(place).first()?.1)));
        reached.flat_map(|(row, adjoint)| {
            let edges = self.operands(row).zip(&row.contributions).enumerate();
            edges.filter_map(move |(position, (operand, contribution))| {
                let (operand, contribution) = (operand?, contribution.as_ref()?);
                Some(Step { row, position, operand, adjoint, contribution })
            })
        })
    }

    /// The line where the loss is computed; without a record of it, where it was examined.
    pub fn line(&self) -> Line {
        self.tape.rows().last().map_or(self.called_at, |row| row.line)
    }

    /// The line of the first operation on a parameter, or that of the loss if there is none.
    pub fn first_use(&self, parameter: &Parameter) -> Line {
        let rows = self.tape.rows();
        let uses = |row: &&TapeRow| self.operands(row).flatten().any(|place| rows[place].is_of(&parameter.leaf));
        rows.iter().find(uses).map_or_else(|| self.line(), |row| row.line)
    }

    /// Whether a record is a leaf.
    pub fn is_leaf(&self, place: usize) -> bool {
        self.tape.rows()[place].operands.is_empty()
    }
}

/// A cotangent on its way from a record to one of its operands.
pub(super) struct Step<'t> {
    pub row: &'t TapeRow,
    /// The position of the operand.
    pub position: usize,
    /// The record of the operand.
    pub operand: usize,
    /// The adjoint of the record's first output.
    pub adjoint: &'t Tensor,
    pub contribution: &'t Tensor,
}

/// The Euclidean norm.
pub(super) fn norm(tensor: &Tensor) -> f64 {
    tensor.to_f64_vec().iter().map(|number| number * number).sum::<f64>().sqrt()
}

/// Whether all elements are finite.
pub(super) fn is_finite(tensor: &Tensor) -> bool {
    tensor.to_f64_vec().iter().all(|number| number.is_finite())
}
