//! Connectionist temporal classification (Graves et al., 2006).
//!
//! The labels are extended by blanks between and around them, to 2 S + 1 places. `alpha[s]` is the log-probability of all alignments of the
//! frames so far that end at place s: from one frame to the next an alignment stays, moves on by one place, or skips a blank between two
//! different labels.

use super::{reduce, shape_error};
use crate::prelude::*;

const IMPOSSIBLE: f64 = f64::NEG_INFINITY;

/// Options for [`ctc`].
///
/// ```
/// use wengert::nn::loss::{Ctc, ctc};
/// use wengert::prelude::*;
/// // Two frames cannot hold two equal labels: a blank must lie between them.
/// let frames = Tensor::zeros([2, 1, 3]).log_softmax(-1);
/// let (targets, frame_counts, label_counts) = (Tensor::from([[1i64, 1]]), Tensor::from([2i64]), Tensor::from([2i64]));
/// let loss = |options: Ctc| ctc(&frames, &targets, &frame_counts, &label_counts, &options).item();
/// assert_eq!(loss(Ctc::new()), f64::INFINITY);
/// assert_eq!(loss(Ctc::new().zero_infinity()), 0.0);
/// ```
#[derive(Clone, Copy, Debug)]
pub struct Ctc {
    blank: usize,
    reduction: Reduction,
    zero_infinity: bool,
}

impl Default for Ctc {
    fn default() -> Ctc {
        Ctc::new()
    }
}

impl Ctc {
    /// The default: class 0 is the blank, losses are divided by the numbers of labels and averaged, infinite ones remain.
    pub fn new() -> Ctc {
        Ctc { blank: 0, reduction: Reduction::Mean, zero_infinity: false }
    }

    /// The class that stands for no label.
    #[must_use]
    pub fn blank(self, blank: usize) -> Ctc {
        Ctc { blank, ..self }
    }

    /// Sets how the losses are reduced. A mean first divides each loss by its number of labels, or by 1 if there are none.
    #[must_use]
    pub fn reduction(self, reduction: Reduction) -> Ctc {
        Ctc { reduction, ..self }
    }

    /// Counts an infinite loss, of a target that its frames cannot hold, as 0.
    #[must_use]
    pub fn zero_infinity(self) -> Ctc {
        Ctc { zero_infinity: true, ..self }
    }
}

/// Minus the log-probability of the targets, summed over all alignments with the frames.
///
/// - `log_probabilities`: `[frames, batch, classes]`, normalised, usually by `log_softmax`;
/// - `targets`: integers `[batch, labels]`. What comes after the labels of a row is padding of any value;
/// - `input_lengths` and `target_lengths`: integers `[batch]`, the numbers of frames and labels of each row.
///
/// If no alignment exists, because the frames are too few, the loss is infinite and its gradient 0: no alignment exists for any probabilities
/// nearby either. (PyTorch returns NaN there.) With [`Ctc::zero_infinity`] both are 0.
///
/// A label that is the blank or no class, and a length that is negative or too large, are errors where the values can be read. Inside
/// `compile` and `vmap` they cannot. There a class that does not exist is an error of `gather` when the program runs, a label that is the
/// blank gives a meaningless loss, too many frames count as all, and too many or less than 0 labels make the loss infinite.
///
/// ```
/// use wengert::nn::loss::{Ctc, ctc};
/// use wengert::prelude::*;
/// // Three alignments of the label 1 with two frames, of nine that are equally probable: `1 1`, `1 -` and `- 1`.
/// let frames = Tensor::zeros([2, 1, 3]).log_softmax(-1);
/// let loss = ctc(&frames, &Tensor::from([[1i64]]), &Tensor::from([2i64]), &Tensor::from([1i64]), &Ctc::new());
/// assert!((loss.item() - 3f64.ln()).abs() < 1e-15);
/// ```
#[track_caller]
pub fn ctc(
    log_probabilities: &Tensor,
    targets: &Tensor,
    input_lengths: &Tensor,
    target_lengths: &Tensor,
    options: &Ctc,
) -> Tensor {
    expect_shapes(log_probabilities, targets, input_lengths, target_lengths, options);
    expect_integers(&[targets, input_lengths, target_lengths]);
    let [targets, input_lengths, target_lengths] = [targets, input_lengths, target_lengths].map(integers);
    expect_values(log_probabilities, &targets, &input_lengths, &target_lengths, options);

    let (frames, batch) = (log_probabilities.size(0), log_probabilities.size(1));
    let labels = with_blanks(&targets, &target_lengths, options.blank);
    let places = labels.size(1);
    let shape = Shape::from([batch, places]);
    let place = Tensor::arange(places);
    let start = place.equal(0).where_(Tensor::zeros_of([places], log_probabilities.dtype()), IMPOSSIBLE);
    let may_skip = may_skip(&labels);

    let step = |alpha: &Tensor, (frame, t): &(Tensor, Tensor)| {
        let earlier = alpha.pad(&[2, 0], PadMode::Constant(IMPOSSIBLE));
        let moved = earlier.slice((.., 1..places + 1));
        let skipped = may_skip.where_(earlier.slice((.., ..places)), IMPOSSIBLE);
        let next = alpha.logaddexp(moved).logaddexp(skipped) + frame.gather(1, &labels);
        let is_running = t.lt(&input_lengths).unsqueeze(1).broadcast_to(&shape);
        (is_running.where_(next, alpha), ())
    };
    // Before the first frame the alignment is at the first blank, from where it stays or moves on.
    let frames = (log_probabilities.clone(), Tensor::arange(frames));
    let (alpha, ()) = scan(step, &start.broadcast_to(&shape), &frames);

    // An alignment ends at the last label or at the blank after it.
    let last = (&target_lengths * 2).unsqueeze(1);
    let is_end = place.equal(&last).logical_or(&place.equal(&last - 1));
    let likelihood = is_end.where_(alpha, IMPOSSIBLE).logsumexp_over(1);
    let otherwise = if options.zero_infinity { 0.0 } else { f64::INFINITY };
    let losses = likelihood.equal(IMPOSSIBLE).where_(otherwise, -likelihood);
    match options.reduction {
        Reduction::Mean => (losses / target_lengths.clamp_min(1).cast(log_probabilities.dtype())).mean(),
        other => reduce(losses, other, || unreachable!("only a mean has weights")),
    }
}

fn integers(x: &Tensor) -> Tensor {
    // A cast inside `compile` would hide the values of a constant.
    if x.dtype() == DType::I64 { x.clone() } else { x.cast(DType::I64) }
}

/// `[batch, 2 S + 1]`: blank, label, blank, .., label, blank. Padding is replaced by blanks.
fn with_blanks(targets: &Tensor, target_lengths: &Tensor, blank: usize) -> Tensor {
    let (batch, count) = (targets.size(0), targets.size(1));
    let is_label = Tensor::arange(count).lt(target_lengths.unsqueeze(1));
    let blanks = Tensor::full([batch, count + 1], blank as i64);
    let labels = is_label.where_(targets, blank as i64);
    let pairs = Tensor::stack(&[&blanks.slice((.., ..count)), &labels], 2).reshape([batch, 2 * count]);
    Tensor::concat(&[&pairs, &blanks.slice((.., count..))], 1)
}

/// Whether an alignment may come to a place from two places before: where both are labels and differ. Blanks never do.
fn may_skip(labels: &Tensor) -> Tensor {
    let places = labels.size(1);
    labels
        .not_equal(labels.pad(&[2, 0], PadMode::Constant(-1.0)).slice((.., ..places)))
        .logical_and(&Tensor::arange(places).gt(1))
}

#[track_caller]
fn expect_shapes(frames: &Tensor, targets: &Tensor, input_lengths: &Tensor, target_lengths: &Tensor, options: &Ctc) {
    let fits = match (frames.shape(), targets.shape()) {
        (&[_, batch, classes], &[rows, _]) => {
            batch == rows && classes > 0 && [input_lengths, target_lengths].iter().all(|x| x.shape() == [batch])
        }
        _ => false,
    };
    if !fits {
        let all = [
            ("log_probabilities", frames),
            ("targets", targets),
            ("input_lengths", input_lengths),
            ("target_lengths", target_lengths),
        ];
        shape_error("ctc", &all, "they are [frames, batch, classes], [batch, labels], [batch] and [batch]").raise();
    }
    if options.blank >= frames.size(2) {
        let message = format!("the blank is class {} of {}", options.blank, frames.size(2));
        Error::new(ErrorKind::Argument, "ctc", message).help("classes are counted from 0").raise();
    }
}

#[track_caller]
fn expect_integers(tensors: &[&Tensor]) {
    if let Some(wrong) = tensors.iter().find(|x| !x.dtype().is_integer()) {
        let message = format!("targets and lengths are integers, got {}", wrong.dtype());
        Error::new(ErrorKind::DType(vec![wrong.dtype()]), "ctc", message).help("use i64").raise();
    }
}

/// Checks labels and lengths where they can be read.
#[track_caller]
fn expect_values(frames: &Tensor, targets: &Tensor, input_lengths: &Tensor, target_lengths: &Tensor, options: &Ctc) {
    let known = [targets, input_lengths, target_lengths].map(|x| x.try_to_vec::<i64>().ok());
    let (longest, width, classes) = (frames.size(0), targets.size(1), frames.size(2));
    let expect_lengths = |what: &str, lengths: &[i64], longest: usize| {
        let wrong = |length: &i64| !(0..=longest as i64).contains(length);
        lengths.iter().position(wrong).map(|row| {
            let message = format!("row {row} has {} {what}, which is not between 0 and {longest}", lengths[row]);
            Error::new(ErrorKind::Range, "ctc", message)
        })
    };
    let [targets, input_lengths, target_lengths] = &known;
    let wrong_frames = input_lengths.as_ref().and_then(|lengths| expect_lengths("frames", lengths, longest));
    let wrong_labels = target_lengths.as_ref().and_then(|lengths| expect_lengths("labels", lengths, width));
    if let Some(error) = wrong_frames.or(wrong_labels) {
        error.raise();
    }
    let (Some(targets), Some(target_lengths)) = (targets, target_lengths) else { return };
    for (row, &length) in target_lengths.iter().enumerate() {
        for &label in &targets[row * width..][..length as usize] {
            if label == options.blank as i64 || !(0..classes as i64).contains(&label) {
                let what = if label == options.blank as i64 { "the blank" } else { "no class" };
                let message = format!("label {label} in row {row} is {what}: there are {classes} classes");
                Error::new(ErrorKind::Range, "ctc", message)
                    .help("labels are classes other than the blank; target_lengths says where padding begins")
                    .raise();
            }
        }
    }
}
