//! A table of the layers of a model.

use crate::context::Call;
use crate::prelude::*;
use crate::{Context, Layer, ModelMethods};
use program::Program;
use std::cell::RefCell;
use std::collections::BTreeSet;
use std::fmt;

/// One layer of a [`Summary`].
#[derive(Clone, Debug, PartialEq)]
pub struct Row {
    /// Its path in the model; empty if it has no parameters or is the model itself.
    pub path: String,
    /// Its type.
    pub layer: &'static str,
    /// How many layers it lies within.
    pub depth: usize,
    /// The shape of its output.
    pub output: Shape,
    /// The number of elements of its parameters.
    pub parameters: usize,
    /// The floating-point operations of its forward pass, with those between the layer before and this one.
    pub flops: f64,
    /// The bytes of values that it keeps for the backward pass; parameters and the model's input are not counted.
    pub saved: usize,
}

/// The layers of a model; its `Display` is a table.
#[derive(Clone, Debug, PartialEq)]
pub struct Summary {
    /// The layers, in the order in which they finish.
    pub rows: Vec<Row>,
    /// The number of elements of all parameters.
    pub parameters: usize,
    /// The floating-point operations of the forward pass.
    pub flops: f64,
    /// The bytes of values that are kept for the backward pass.
    pub saved: usize,
}

/// Traces a model once for this input, and lists its layers.
///
/// ```
/// use wengert::nn::{Linear, Relu, sequential, summary};
/// use wengert::prelude::*;
/// let mut key = Key::new(0);
/// let model = sequential![Linear::new(10, 32, &mut key), Relu, Linear::new(32, 1, &mut key)];
/// let summary = summary(&model, &Tensor::zeros([16, 10]));
/// assert_eq!(summary.rows[0].parameters, 10 * 32 + 32);
/// assert_eq!(summary.rows[2].output, Shape::from([16, 1]));
/// println!("{summary}");
/// ```
#[track_caller]
pub fn summary<M: Layer + Tree>(model: &M, input: &Tensor) -> Summary {
    let _scope = primitive::scope(Line::caller());
    let calls: RefCell<Vec<Call>> = RefCell::default();
    let traced = compile(|(model, x): &(M, Tensor)| {
        let mut context = Context::evaluation().of(model).listing();
        let y = model.forward(x, &mut context);
        *calls.borrow_mut() = context.calls();
        let outputs = calls.borrow().iter().map(|call| call.output.clone()).collect::<Vec<Tensor>>();
        (outputs, y)
    });
    let inputs = (model.map_leaves(Tensor::clone), input.clone());
    let program = traced.program(&inputs);
    let calls = calls.into_inner();

    let made = Extents::of(&program);
    let ends: Vec<usize> = (0..calls.len()).map(|k| made.end_of(&program, k)).collect();
    let rows = calls.iter().enumerate().map(|(k, call)| {
        let start = ends[..call.first].iter().copied().max().unwrap_or(0);
        let extent = start..ends[k].max(start);
        Row {
            path: call.path.clone().unwrap_or_default(),
            layer: call.layer,
            depth: call.depth,
            output: Shape::from(call.output.shape()),
            parameters: call.parameters,
            flops: made.flops[extent.clone()].iter().sum(),
            saved: saved_bytes(&program, extent),
        }
    });
    let rows = rows.collect();
    let all = 0..program.equations().len();
    Summary { rows, parameters: model.parameters(), flops: made.flops.iter().sum(), saved: saved_bytes(&program, all) }
}

/// Where variables are made, and the cost of each equation.
struct Extents {
    /// By variable: the number of the equation that makes it, counted from 1; 0 for inputs.
    maker: Vec<usize>,
    flops: Vec<f64>,
}

impl Extents {
    fn of(program: &Program) -> Extents {
        let mut maker = vec![0; program.variables()];
        for (number, equation) in program.equations().iter().enumerate() {
            equation.outputs.iter().for_each(|var| maker[var.index()] = number + 1);
        }
        Extents { maker, flops: program.costs().iter().map(|cost| cost.flops).collect() }
    }

    fn end_of(&self, program: &Program, output: usize) -> usize {
        self.maker[program.outputs()[output].index()]
    }
}

/// The bytes of the variables, made by equations, that the rules of these equations need.
fn saved_bytes(program: &Program, extent: std::ops::Range<usize>) -> usize {
    let given: BTreeSet<usize> =
        program.inputs().iter().chain(program.captures().iter().map(|(var, _)| var)).map(|var| var.index()).collect();
    let mut kept = BTreeSet::new();
    for equation in &program.equations()[extent] {
        let wanted = (0..equation.inputs.len().min(63)).fold(primitive::Mask::NONE, primitive::Mask::with);
        let saves = equation.op.saves(&equation.attrs, wanted);
        let operands = equation.inputs.iter().enumerate().filter(|(k, _)| saves.operands.has(*k));
        let outputs = equation.outputs.iter().enumerate().filter(|(k, _)| saves.outputs.has(*k));
        kept.extend(operands.chain(outputs).map(|(_, var)| var.index()).filter(|var| !given.contains(var)));
    }
    kept.into_iter().map(|var| program.spec(program::Var::new(var)).bytes()).sum()
}

impl fmt::Display for Summary {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let name = |row: &Row| format!("{}{} ({})", "  ".repeat(row.depth), row.path, row.layer);
        let width = self.rows.iter().map(|row| name(row).len()).max().unwrap_or(0).max(5);
        writeln!(f, "{:width$}  {:>18}  {:>12}  {:>9}  {:>9}", "layer", "output", "parameters", "flops", "saved")?;
        for row in &self.rows {
            let (output, flops, saved) = (row.output.to_string(), amount(row.flops), amount(row.saved as f64));
            writeln!(f, "{:width$}  {output:>18}  {:>12}  {flops:>9}  {saved:>8}B", name(row), row.parameters)?;
        }
        let (flops, saved) = (amount(self.flops), amount(self.saved as f64));
        write!(f, "{:width$}  {:>18}  {:>12}  {flops:>9}  {saved:>8}B", "total", "", self.parameters)
    }
}

/// `12.3M` of 12,345,678.
fn amount(x: f64) -> String {
    // A sum of nothing is -0.
    let x = x + 0.0;
    let units = ["", "k", "M", "G", "T", "P"];
    let power = if x < 1000.0 { 0 } else { ((x.log10() / 3.0) as usize).min(units.len() - 1) };
    let scaled = x / 1000f64.powi(power as i32);
    let digits = if power == 0 { 0 } else { 1 };
    format!("{scaled:.digits$}{}", units[power])
}
