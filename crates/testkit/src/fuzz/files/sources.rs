//! The sources of saved programs.

use crate::fuzz::Composition;
use crate::numeric::direction;
use wengert::prelude::*;
use wengert::primitive::{PRIMITIVES, Primitive, Spec, bind};
use wengert::program::{File, Var};

/// The number of files that are random compositions of primitives.
const COMPOSITIONS: u64 = 200;

/// The source of a file.
#[derive(Clone, Copy)]
pub(super) enum FileSource {
    /// A call of a primitive on one of its cases, or its gradient.
    Case { op: &'static dyn Primitive, case: usize, gradient: bool },
    /// A loop or a branch.
    Control(usize),
    /// A random composition.
    Composition(u64),
}

/// A file, and inputs for its program.
pub(super) struct Saved {
    pub bytes: Vec<u8>,
    pub inputs: Vec<Tensor>,
}

/// All sources.
pub(super) fn all() -> Vec<FileSource> {
    let mut sources: Vec<FileSource> = (0..CONTROL.len()).map(FileSource::Control).collect();
    sources.extend((0..COMPOSITIONS).map(FileSource::Composition));
    for &op in PRIMITIVES.iter() {
        for (case, described) in op.cases().iter().enumerate() {
            sources.push(FileSource::Case { op, case, gradient: false });
            if described.smooth && op.differentiable() {
                sources.push(FileSource::Case { op, case, gradient: true });
            }
        }
    }
    sources
}

/// A body with its matching first line.
pub(super) fn sealed(body: &[u8]) -> Vec<u8> {
    let step = |sum: u64, byte: &u8| (sum ^ u64::from(*byte)).wrapping_mul(0x100_0000_01b3);
    let sum = body.iter().fold(0xcbf2_9ce4_8422_2325, step);
    [format!("wengert program 1, {} bytes, fnv1a {sum:016x}\n", body.len()).as_bytes(), body].concat()
}

impl FileSource {
    /// The file, unless the source cannot be saved.
    pub fn saved(self) -> Option<Saved> {
        match self {
            FileSource::Case { op, case, gradient } => {
                let case = op.cases().swap_remove(case);
                // Cases alternate between dtypes, and between operands that are inputs or constants of the program.
                let turn = case.label.len() + op.name().len() + usize::from(gradient);
                let dtype = [DType::F64, DType::F64, DType::F32, DType::F64, DType::BF16, DType::F16][turn % 6];
                let operands: Vec<Tensor> = case.operands.iter().map(|sample| sample.tensor(dtype)).collect();
                let constants = if turn % 4 == 3 { operands.len() / 2 } else { 0 };
                let (inputs, constants) = operands.split_at(operands.len() - constants);
                let call = |x: &[Tensor]| bind(op, case.attrs.clone(), &x.iter().chain(constants).collect::<Vec<_>>());
                match gradient {
                    false => saved(&|x| call(x).to_vec(), inputs),
                    true => saved(&gradient_of(&|x| call(x).to_vec()), inputs),
                }
            }
            FileSource::Control(number) => {
                let inputs = [0.4, 0.9].map(|phase| direction(&Spec::new([5], DType::F64), phase));
                saved(&|x| CONTROL[number](&x[0], &x[1]), &inputs)
            }
            FileSource::Composition(seed) => {
                let composition = Composition::random(seed, 3 + seed as usize % 5);
                let value = |x: &[Tensor]| vec![composition.run(x)];
                match seed % 2 {
                    0 => saved(&value, composition.inputs()),
                    _ => saved(&gradient_of(&value), composition.inputs()),
                }
            }
        }
    }
}

/// The gradients of the sum of all outputs that have a gradient.
fn gradient_of(f: &dyn Fn(&[Tensor]) -> Vec<Tensor>) -> impl Fn(&[Tensor]) -> Vec<Tensor> {
    let sum = move |x: &Vec<Tensor>| {
        let floats = f(x).into_iter().filter(|y| y.dtype().is_float());
        floats.map(|y| y.cast(DType::F64).sum()).fold(Tensor::from(0.0), |a, b| a + b)
    };
    move |x| grad(&sum)(&x.to_vec())
}

/// The file of a function's program; three out of four omit source lines.
fn saved(f: &dyn Fn(&[Tensor]) -> Vec<Tensor>, inputs: &[Tensor]) -> Option<Saved> {
    let inputs = inputs.to_vec();
    let program = catch(|| compile(|x: &Vec<Tensor>| f(x)).program(&inputs)).ok()?;
    let names = |vars: &[Var]| vars.iter().map(ToString::to_string).collect();
    let (input_names, output_names) = (names(program.inputs()), names(program.outputs()));
    let file = File { function: String::new(), inputs: input_names, outputs: output_names, program };
    let text = file.text().ok()?;
    let bytes = match text.len() % 4 {
        0 => text.into_bytes(),
        _ => {
            let body = text.lines().skip(1).map(|line| line.split("  //").next().unwrap_or(line));
            sealed(body.map(|line| format!("{line}\n")).collect::<String>().as_bytes())
        }
    };
    Some(Saved { bytes, inputs })
}

/// Loops and branches on two vectors of five elements.
const CONTROL: &[fn(&Tensor, &Tensor) -> Vec<Tensor>] = &[
    |x, y| {
        let step = |h: &Tensor, x: &Tensor| ((h * 0.5 + x).tanh(), h * x);
        let (last, all) = scan(step, &Tensor::from(0.1), &(x * y));
        vec![last, all]
    },
    |x, y| {
        let step = |h: &Tensor, (x, y): &(Tensor, Tensor)| (h * y + x, (h * 2.0, x.gt(0.0)));
        let (last, (all, signs)) = scan_reverse(step, &Tensor::from(0.1), &(x.clone(), y.clone()));
        vec![last, all, signs]
    },
    |x, y| vec![fori(4, |i: &Tensor, x: &Tensor| (x * y).sin() + i.cast(DType::F64), x)],
    |x, y| {
        let small = |x: &Tensor| x.square().sum().lt(50.0);
        vec![while_loop(small, |x: &Tensor| x * 1.5 + y, x)]
    },
    |x, y| vec![cond(&x.sum().gt(0.0), |x: &Tensor| x.exp() * y, |x: &Tensor| x - y, x)],
    |x, y| {
        let branches: [&dyn Fn(&Tensor) -> Tensor; 3] = [&|x| x.sin(), &|x| x * 2.0 + y, &|x| x.cumsum(0)];
        vec![switch(&(y.sum() * 2.0).cast(DType::I64), &branches, x)]
    },
    |x, y| {
        let inner = |row: &Tensor| cond(&row.gt(0.0), |r: &Tensor| r * r, |r: &Tensor| -r, row);
        let step =
            |h: &Tensor, x: &Tensor| (while_loop(|h: &Tensor| h.lt(1.0), |h: &Tensor| h + 0.7, &(h + x)), inner(x));
        let (last, all) = scan(step, &Tensor::from(0.0), x);
        vec![last, all + y]
    },
    |x, y| {
        let loss = |x: &Tensor| {
            let step = |h: &Tensor, x: &Tensor| ((h * 0.5 + x).tanh(), h * x);
            let (h, all) = scan(step, &Tensor::from(0.1), &(x * y));
            cond(&h.gt(0.0), |h: &Tensor| h.exp(), |h: &Tensor| h * 3.0, &h) + all.sum()
        };
        let (value, slope) = value_and_grad(loss)(x);
        vec![value, slope]
    },
    |x, y| {
        let root = |a: &Tensor| {
            let newton = |x: &Tensor| (x + a / x) * 0.5;
            fori(&Tensor::from(4i64), |_: &Tensor, x: &Tensor| newton(x), &(a + 1.0)).sum()
        };
        vec![grad(root)(&(x.square() + y.square() + 1.0))]
    },
    |x, y| {
        let f = |(x, y): &(Tensor, Tensor)| scan(|h: &Tensor, x: &Tensor| (h * x, h + x), y, x).0;
        let rows = (Tensor::stack(&[x, y], 0), Tensor::from([0.5, 1.5]));
        vec![vmap(f)(&rows), vmap(grad(f))(&rows).0]
    },
    |x, y| {
        let dense = |w: &Tensor| (x.unsqueeze(0).matmul(w).tanh() * 0.5).softmax(-1).log().mean() + y.sum();
        let w = x.unsqueeze(1) * y;
        vec![grad(dense)(&w), hvp(dense, &w, &w)]
    },
    |x, y| {
        let constant = Tensor::from_vec((0..40).map(|i| (i as f64).cos()).collect::<Vec<f64>>(), [8, 5]);
        let table = Tensor::from([[0i64, 3], [7, 1]]);
        vec![constant.matmul(x) * 2.0, (&constant + y).index_select(0, &table.flatten()), table.cast(DType::F64)]
    },
];
