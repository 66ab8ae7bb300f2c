//! The cross-entropy of a linear classifier that never holds all logits.
//!
//! Rows are processed in chunks. The forward pass keeps the losses of a chunk and drops its logits; the backward pass computes them again,
//! so it takes one product more than the plain computation, and memory for one chunk instead of all rows.
//!
//! A `checkpoint` around or inside the loop is not enough: the backward loop would still store the logits of all its steps.

use super::{reduce, shape_error};
use crate::prelude::*;

/// The default size of the logits of one chunk, in bytes.
const CHUNK_BYTES: usize = 4 << 20;

/// Options for [`linear_cross_entropy`].
///
/// ```
/// use wengert::nn::loss::{LinearCrossEntropy, linear_cross_entropy};
/// use wengert::prelude::*;
/// let (x, weight) = (Tensor::rand([5, 3], 0), Tensor::rand([7, 3], 1));
/// let targets = Tensor::from([6i64, 0, -1, 3, -1]);
/// let options = LinearCrossEntropy::new().ignore_index(-1).reduction(Reduction::None).rows_per_chunk(2);
/// let losses = linear_cross_entropy(&x, &weight, None, &targets, &options);
/// let plain = x.linear(&weight).cross_entropy(&targets, &CrossEntropy::new().ignore_index(-1).reduction(Reduction::None));
/// assert!(losses.all_close(&plain, 1e-14));
/// ```
#[derive(Clone, Copy, Debug)]
pub struct LinearCrossEntropy {
    ignored: i64,
    smoothing: f64,
    reduction: Reduction,
    rows_per_chunk: Option<usize>,
}

impl Default for LinearCrossEntropy {
    fn default() -> LinearCrossEntropy {
        LinearCrossEntropy::new()
    }
}

impl LinearCrossEntropy {
    /// The default: the mean, no smoothing, the target -100 is ignored, and the logits of a chunk take about 4 MiB.
    pub fn new() -> LinearCrossEntropy {
        LinearCrossEntropy { ignored: -100, smoothing: 0.0, reduction: Reduction::Mean, rows_per_chunk: None }
    }

    /// The target value whose rows are ignored; it need not be a class.
    #[must_use]
    pub fn ignore_index(self, ignored: i64) -> LinearCrossEntropy {
        LinearCrossEntropy { ignored, ..self }
    }

    /// The share of the target, from 0 to 1, that is spread over all classes.
    #[must_use]
    pub fn label_smoothing(self, smoothing: f64) -> LinearCrossEntropy {
        LinearCrossEntropy { smoothing, ..self }
    }

    /// Sets how the losses are reduced. A mean is taken over the rows that are not ignored; if there are none, it is NaN.
    #[must_use]
    pub fn reduction(self, reduction: Reduction) -> LinearCrossEntropy {
        LinearCrossEntropy { reduction, ..self }
    }

    /// The number of rows whose logits are computed at a time, at least 1.
    #[must_use]
    pub fn rows_per_chunk(self, rows: usize) -> LinearCrossEntropy {
        LinearCrossEntropy { rows_per_chunk: Some(rows.max(1)), ..self }
    }

    fn rows_for(&self, weight: &Tensor) -> usize {
        let row = weight.size(0) * weight.dtype().size();
        self.rows_per_chunk.unwrap_or_else(|| (CHUNK_BYTES / row.max(1)).max(1))
    }

    /// The options of a chunk, whose losses are not reduced.
    fn of_chunk(&self) -> CrossEntropy {
        CrossEntropy::new().ignore_index(self.ignored).label_smoothing(self.smoothing).reduction(Reduction::None)
    }
}

/// The cross-entropy of the logits `x W^T + b` with classes, for `x` `[.., width]`, `weight` `[classes, width]`, `bias` `[classes]` and integer
/// targets `[..]`.
///
/// Equal to `x.linear_bias(weight, bias).cross_entropy(targets, ..)`, but only a chunk of rows has its logits in memory at a time, forward and
/// backward. Derivatives of any order are exact; second and higher ones hold the logits of all rows. The loss has a rule of its own
/// (`custom_vjp`), so a compiled program with it cannot be saved to a file.
///
/// ```
/// use wengert::nn::loss::{LinearCrossEntropy, linear_cross_entropy};
/// use wengert::prelude::*;
/// let x = Tensor::from([[1.0, 2.0], [1.0, 0.0]]);
/// let weight = Tensor::from([[1.0, 0.0], [0.0, 1.0], [1.0, 1.0]]);
/// let targets = Tensor::from([2i64, 0]);
/// let loss = |weight: &Tensor| linear_cross_entropy(&x, weight, None, &targets, &LinearCrossEntropy::new());
/// let plain = |weight: &Tensor| x.linear(weight).cross_entropy(&targets, &CrossEntropy::new());
/// assert!(loss(&weight).all_close(&plain(&weight), 1e-15));
/// assert!(grad(loss)(&weight).all_close(&grad(plain)(&weight), 1e-15));
/// ```
#[track_caller]
pub fn linear_cross_entropy(
    x: &Tensor,
    weight: &Tensor,
    bias: Option<&Tensor>,
    targets: &Tensor,
    options: &LinearCrossEntropy,
) -> Tensor {
    expect_shapes(x, weight, bias, targets);
    if targets.dtype().is_float() || weight.size(0) == 0 {
        let (classes, dtype) = (weight.size(0), targets.dtype());
        Error::new(ErrorKind::Argument, "linear_cross_entropy", format!("targets of {dtype} for {classes} classes"))
            .help("targets are classes, for example i64, and there is at least one class")
            .raise();
    }
    let (rows, width) = (targets.elements(), weight.size(1));
    let per_chunk = options.rows_for(weight);
    let of_chunk = options.of_chunk();
    let input = Input {
        x: x.reshape([rows, width]),
        weight: weight.clone(),
        bias: bias.cloned(),
        targets: targets.reshape([rows]),
    };
    let chunked = custom_vjp(
        {
            let of_chunk = of_chunk.clone();
            move |input: &Input| (losses(input, per_chunk, &of_chunk), input.clone())
        },
        move |input: &Input, g: &Tensor| gradients(input, g, per_chunk, &of_chunk),
    );
    let losses = chunked(&input).reshape(targets.shape());
    reduce(losses, options.reduction, || targets.not_equal(options.ignored).cast(x.dtype()))
}

#[derive(Clone, Tree)]
#[tree(crate = "crate::prelude")]
struct Input {
    x: Tensor,
    weight: Tensor,
    bias: Option<Tensor>,
    targets: Tensor,
}

/// The weights and biases, or their gradients.
type Parameters = (Tensor, Option<Tensor>);

fn chunk_losses(x: &Tensor, (weight, bias): &Parameters, targets: &Tensor, options: &CrossEntropy) -> Tensor {
    let logits = match bias {
        Some(bias) => x.linear_bias(weight, bias),
        None => x.linear(weight),
    };
    logits.cross_entropy(targets, options)
}

/// The rows in whole chunks, as `[chunks, rows of a chunk, ..]`, and the rest.
fn split(x: &Tensor, per_chunk: usize) -> (Tensor, Tensor) {
    let chunks = x.size(0) / per_chunk;
    let shape: Shape = [chunks, per_chunk].into_iter().chain(x.shape()[1..].iter().copied()).collect();
    (x.slice(..chunks * per_chunk).reshape(shape), x.slice(chunks * per_chunk..))
}

/// The opposite of [`split`].
fn joined(chunks: Tensor, rest: Option<Tensor>) -> Tensor {
    let shape: Shape =
        [chunks.size(0) * chunks.size(1)].into_iter().chain(chunks.shape()[2..].iter().copied()).collect();
    let chunks = chunks.reshape(shape);
    match rest {
        Some(rest) => Tensor::concat(&[chunks, rest], 0),
        None => chunks,
    }
}

fn losses(input: &Input, per_chunk: usize, options: &CrossEntropy) -> Tensor {
    let parameters: Parameters = (input.weight.clone(), input.bias.clone());
    let ((x, x_rest), (targets, targets_rest)) = (split(&input.x, per_chunk), split(&input.targets, per_chunk));
    let step = |(): &(), (x, targets): &(Tensor, Tensor)| ((), chunk_losses(x, &parameters, targets, options));
    let ((), chunks) = scan(step, &(), &(x, targets));
    let has_rest = x_rest.size(0) > 0;
    joined(chunks, has_rest.then(|| chunk_losses(&x_rest, &parameters, &targets_rest, options)))
}

fn gradients(input: &Input, g: &Tensor, per_chunk: usize, options: &CrossEntropy) -> Input {
    let parameters: Parameters = (input.weight.clone(), input.bias.clone());
    let pull = |x: &Tensor, targets: &Tensor, g: &Tensor| -> (Tensor, Parameters) {
        let losses = |(x, parameters): &(Tensor, Parameters)| chunk_losses(x, parameters, targets, options);
        vjp(losses, &(x.clone(), parameters.clone())).1.call(g)
    };
    let add = |sum: &Parameters, more: &Parameters| -> Parameters {
        let bias = sum.1.as_ref().zip(more.1.as_ref()).map(|(a, b)| a + b);
        (&sum.0 + &more.0, bias)
    };
    let ((x, x_rest), (targets, targets_rest)) = (split(&input.x, per_chunk), split(&input.targets, per_chunk));
    let (g, g_rest) = split(g, per_chunk);
    let step = |sum: &Parameters, (x, targets, g): &(Tensor, Tensor, Tensor)| {
        let (dx, more) = pull(x, targets, g);
        (add(sum, &more), dx)
    };
    let zeros: Parameters = (input.weight.zeros_like(), input.bias.as_ref().map(|bias| bias.zeros_like()));
    let (mut sum, dx) = scan(step, &zeros, &(x, targets, g));
    let mut dx_rest = None;
    if x_rest.size(0) > 0 {
        let (dx, more) = pull(&x_rest, &targets_rest, &g_rest);
        sum = add(&sum, &more);
        dx_rest = Some(dx);
    }
    // Integers have no gradient: theirs is zero.
    Input { x: joined(dx, dx_rest), weight: sum.0, bias: sum.1, targets: input.targets.zeros_like() }
}

#[track_caller]
fn expect_shapes(x: &Tensor, weight: &Tensor, bias: Option<&Tensor>, targets: &Tensor) {
    let fits = match (x.shape().split_last(), weight.shape()) {
        (Some((width, lead)), [classes, inputs]) => {
            width == inputs && lead == targets.shape() && bias.is_none_or(|bias| bias.shape() == [*classes])
        }
        _ => false,
    };
    if !fits {
        let all = [("x", x), ("weight", weight), ("targets", targets)].into_iter().chain(bias.map(|b| ("bias", b)));
        let help = "they are [.., width], [classes, width], [..] and [classes]";
        shape_error("linear_cross_entropy", &all.collect::<Vec<_>>(), help).raise();
    }
}
