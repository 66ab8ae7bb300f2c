//! Sums of products over labelled axes: einsum and tensordot.
//!
//! Operands are contracted in pairs, the cheapest pair first. A pair becomes one batched matrix product: shared axes that the result keeps
//! are its batch, shared axes that the result lacks are summed, and the others are rows and columns. Axes are permuted by strides, and
//! merged without copying where strides can express it.

use crate::error::OrRaise;
use crate::methods::*;
use crate::rules::checked_axis;
use crate::rules::matrix::diagonal;
use crate::{Error, ErrorKind, Shape, Tensor};
use easy_ext::ext;
use std::collections::BTreeMap;

/// The name of an axis: a letter, or a number beyond all letters for an axis of the ellipsis, counted from its end.
type Label = u32;

const ELLIPSIS: Label = 0x11_0000;

/// A tensor with a distinct name for each axis.
#[derive(Clone)]
struct Term {
    tensor: Tensor,
    labels: Vec<Label>,
}

/// The methods of `einsum`.
#[ext(EinsumMethods)]
impl Tensor {
    /// The sum of products that `equation` describes, such as `"ij,jk->ik"` for a matrix product. A letter that occurs twice in one operand
    /// takes its diagonal. `...` stands for any axes. Without `->`, the result has the letters that occur once, in alphabetical order.
    ///
    /// ```
    /// use wengert::prelude::*;
    /// let a = Tensor::from([[1.0, 2.0], [3.0, 4.0]]);
    /// assert_eq!(Tensor::einsum("ii", &[&a]).item(), 5.0);
    /// assert_eq!(Tensor::einsum("ij,j->i", &[&a, &Tensor::from([1.0, 10.0])]), Tensor::from([21.0, 43.0]));
    /// ```
    #[track_caller]
    pub fn einsum(equation: &str, operands: &[&Tensor]) -> Tensor {
        let plan = Plan::of(equation, operands).or_raise();
        let terms = plan.terms(operands);
        let sum = contracted(terms, &plan.output);
        arranged(&sum, &plan.output)
    }

    /// The sum of products over the last `count` axes of this tensor and the first `count` of the other.
    ///
    /// ```
    /// use wengert::prelude::*;
    /// let (a, b) = (Tensor::ones([2, 3, 4]), Tensor::ones([3, 4, 5]));
    /// assert_eq!(a.tensordot(&b, 2), Tensor::full([2, 5], 12.0));
    /// ```
    #[track_caller]
    pub fn tensordot(&self, other: &Tensor, count: usize) -> Tensor {
        if count > self.rank().min(other.rank()) {
            let shapes = vec![Shape::from(self.shape()), Shape::from(other.shape())];
            let message = format!("{count} axes of shapes {} and {}", shapes[0], shapes[1]);
            Error::new(ErrorKind::Shape(shapes), "tensordot", message).raise();
        }
        let left: Vec<isize> = (self.rank() - count..self.rank()).map(|axis| axis as isize).collect();
        let right: Vec<isize> = (0..count as isize).collect();
        self.tensordot_axes(other, &left, &right)
    }

    /// The sum of products over pairs of axes of this tensor and the other. The result has the remaining axes of this tensor, followed by
    /// those of the other.
    ///
    /// ```
    /// use wengert::prelude::*;
    /// let a = Tensor::from([[1.0, 2.0], [3.0, 4.0]]);
    /// assert_eq!(a.tensordot_axes(&a, &[0, 1], &[1, 0]).item(), 29.0);
    /// ```
    #[track_caller]
    pub fn tensordot_axes(&self, other: &Tensor, axes: &[isize], other_axes: &[isize]) -> Tensor {
        let (left, right) = paired_axes(self, other, axes, other_axes).or_raise();
        // Labels are numbers: those of the left side first; summed axes share a label.
        let first: Vec<Label> = (0..self.rank() as Label).collect();
        let mut second: Vec<Label> = (0..other.rank()).map(|axis| (self.rank() + axis) as Label).collect();
        for (&from, &to) in left.iter().zip(&right) {
            second[to] = from as Label;
        }
        let kept = |label: &Label| !left.contains(&(*label as usize));
        let output: Vec<Label> = first.iter().chain(second.iter().filter(|label| kept(label))).copied().collect();
        let output: Vec<Label> = output.into_iter().filter(kept).collect();
        let pairs = [(self, &first), (other, &second)];
        let size = |label: &Label| {
            let own = pairs
                .iter()
                .filter_map(|(x, labels)| labels.iter().position(|known| known == label).map(|axis| x.shape()[axis]));
            own.reduce(|a, b| if a == 1 { b } else { a }).unwrap_or(1)
        };
        let term = |(x, labels): &(&Tensor, &Vec<Label>)| {
            without_short_axes(&Term { tensor: (*x).clone(), labels: labels.to_vec() }, size)
        };
        let terms = pairs.iter().map(term).collect();
        arranged(&contracted(terms, &output), &output)
    }
}

fn paired_axes(a: &Tensor, b: &Tensor, left: &[isize], right: &[isize]) -> Result<(Vec<usize>, Vec<usize>), Error> {
    let checked = |x: &Tensor, axes: &[isize]| -> Result<Vec<usize>, Error> {
        axes.iter().map(|&axis| checked_axis("tensordot", axis, x.shape())).collect()
    };
    let (left, right) = (checked(a, left)?, checked(b, right)?);
    let shapes = || vec![Shape::from(a.shape()), Shape::from(b.shape())];
    let repeats = |axes: &[usize]| axes.iter().enumerate().any(|(place, axis)| axes[..place].contains(axis));
    let fit = |(&i, &j): (&usize, &usize)| match (a.shape()[i], b.shape()[j]) {
        (1, _) | (_, 1) => true,
        (size, other) => size == other,
    };
    let equal = left.iter().zip(&right).all(fit);
    if left.len() != right.len() || repeats(&left) || repeats(&right) || !equal {
        let message = format!("axes {left:?} of {} and {right:?} of {} do not pair up", shapes()[0], shapes()[1]);
        return Err(Error::new(ErrorKind::Shape(shapes()), "tensordot", message)
            .help("name as many axes of both sides, each once, of equal sizes or 1"));
    }
    Ok((left, right))
}

/// A parsed equation.
struct Plan {
    inputs: Vec<Vec<Label>>,
    output: Vec<Label>,
    sizes: BTreeMap<Label, usize>,
}

fn wrong(equation: &str, message: impl std::fmt::Display) -> Error {
    Error::new(ErrorKind::Argument, "einsum", format!("\"{equation}\": {message}"))
        .help("write letters for axes, commas between operands, -> before the result, such as \"ij,jk->ik\"")
}

impl Plan {
    fn of(equation: &str, operands: &[&Tensor]) -> Result<Plan, Error> {
        let compact: String = equation.chars().filter(|c| !c.is_whitespace()).collect();
        let (left, right) = match compact.split_once("->") {
            Some((left, right)) => (left, Some(right)),
            None => (&compact[..], None),
        };
        let texts: Vec<&str> = left.split(',').collect();
        if texts.len() != operands.len() {
            return Err(wrong(equation, format!("{} operands are named, {} given", texts.len(), operands.len())));
        }
        let mut inputs = Vec::new();
        for (number, (text, operand)) in texts.iter().zip(operands).enumerate() {
            let (letters, dots) = letters(equation, text)?;
            let shape = Shape::from(operand.shape());
            let rest = operand.rank().checked_sub(letters.len()).filter(|&rest| rest == 0 || dots.is_some());
            let Some(rest) = rest else {
                return Err(wrong(
                    equation,
                    format!("operand {number} of shape {shape} has other axes than \"{text}\""),
                ));
            };
            inputs.push(with_ellipsis(letters, dots, rest));
        }
        let sizes = sizes(equation, &inputs, operands)?;
        let most = inputs.iter().map(|labels| labels.iter().filter(|label| **label >= ELLIPSIS).count()).max();
        let output = match right {
            Some(text) => {
                let (letters, dots) = letters(equation, text)?;
                let unknown = letters.iter().find(|label| !sizes.contains_key(label));
                let twice = letters.iter().enumerate().find(|(place, label)| letters[..*place].contains(label));
                if let Some(label) = unknown.or(twice.map(|(_, label)| label)) {
                    let what = if unknown.is_some() { "is in no operand" } else { "is twice in the result" };
                    let letter = char::from_u32(*label).unwrap_or('?');
                    return Err(wrong(equation, format!("'{letter}' {what}")));
                }
                with_ellipsis(letters, dots, if dots.is_some() { most.unwrap_or(0) } else { 0 })
            }
            None => {
                let all = || inputs.iter().flatten();
                let once = sizes.keys().filter(|label| **label < ELLIPSIS);
                let once = once.filter(|label| all().filter(|other| other == label).count() == 1).copied();
                with_ellipsis(once.collect(), Some(0), most.unwrap_or(0))
            }
        };
        Ok(Plan { inputs, output, sizes })
    }

    /// Every operand with each label on one axis: takes diagonals, and drops axes of size 1 that are longer elsewhere.
    #[track_caller]
    fn terms(&self, operands: &[&Tensor]) -> Vec<Term> {
        let mut terms = Vec::new();
        for (labels, operand) in self.inputs.iter().zip(operands) {
            let mut term = Term { tensor: (*operand).clone(), labels: labels.clone() };
            while let Some((first, second)) = repeated(&term.labels) {
                term = diagonal_term(&term, first, second);
            }
            terms.push(without_short_axes(&term, |label| self.sizes[label]));
        }
        terms
    }
}

/// The letters of one operand, and the position of its ellipsis among them.
fn letters(equation: &str, text: &str) -> Result<(Vec<Label>, Option<usize>), Error> {
    let (before, after) = match text.split_once("...") {
        Some((before, after)) => (before, Some(after)),
        None => (text, None),
    };
    let all: Vec<char> = before.chars().chain(after.unwrap_or_default().chars()).collect();
    match all.iter().find(|letter| !letter.is_ascii_alphabetic()) {
        Some(other) => Err(wrong(equation, format!("'{other}' is not a letter"))),
        None => Ok((all.into_iter().map(Label::from).collect(), after.map(|_| before.chars().count()))),
    }
}

fn with_ellipsis(mut labels: Vec<Label>, place: Option<usize>, count: usize) -> Vec<Label> {
    if let Some(place) = place {
        labels.splice(place..place, (0..count as Label).rev().map(|back| ELLIPSIS + back));
    }
    labels
}

fn sizes(equation: &str, inputs: &[Vec<Label>], operands: &[&Tensor]) -> Result<BTreeMap<Label, usize>, Error> {
    let mut sizes: BTreeMap<Label, usize> = BTreeMap::new();
    for (labels, operand) in inputs.iter().zip(operands) {
        for (place, (&label, &size)) in labels.iter().zip(operand.shape()).enumerate() {
            let known = sizes.entry(label).or_insert(size);
            let diagonal = labels[..place].iter().zip(operand.shape()).find(|(other, _)| **other == label);
            let uneven = diagonal.is_some_and(|(_, &other)| other != size);
            if uneven || (*known != size && *known != 1 && size != 1) {
                let what = match char::from_u32(label) {
                    Some(letter) => format!("axis '{letter}'"),
                    None => "an axis of the ellipsis".to_string(),
                };
                return Err(wrong(equation, format!("{what} has sizes {known} and {size}")));
            }
            *known = if *known == 1 { size } else { *known };
        }
    }
    Ok(sizes)
}

/// The first two positions of a repeated label.
fn repeated(labels: &[Label]) -> Option<(usize, usize)> {
    let second = (0..labels.len()).find(|&place| labels[..place].contains(&labels[place]))?;
    Some((labels.iter().position(|label| *label == labels[second])?, second))
}

fn diagonal_term(term: &Term, first: usize, second: usize) -> Term {
    let others = (0..term.labels.len()).filter(|axis| *axis != first && *axis != second);
    let order: Vec<usize> = others.chain([first, second]).collect();
    let labels = order[..order.len() - 1].iter().map(|&axis| term.labels[axis]).collect();
    Term { tensor: diagonal(&term.tensor.permute(&order)), labels }
}

/// Drops axes of size 1 that are longer in another term, because they broadcast there.
#[track_caller]
fn without_short_axes(term: &Term, size: impl Fn(&Label) -> usize) -> Term {
    let is_short = |(label, own): (&Label, &usize)| *own == 1 && size(label) != 1;
    let short: Vec<bool> = term.labels.iter().zip(term.tensor.shape()).map(is_short).collect();
    let shape = Shape::from(term.tensor.shape()).without(&short);
    let labels = term.labels.iter().zip(&short).filter(|(_, short)| !**short).map(|(label, _)| *label);
    Term { labels: labels.collect(), tensor: term.tensor.reshape(shape) }
}

/// Contracts all terms into one, with the labels of the output in some order.
#[track_caller]
fn contracted(mut terms: Vec<Term>, output: &[Label]) -> Term {
    for number in 0..terms.len() {
        let needed = |label: &Label| {
            output.contains(label)
                || terms.iter().enumerate().any(|(other, term)| other != number && term.labels.contains(label))
        };
        terms[number] = summed(&terms[number], needed);
    }
    while terms.len() > 1 {
        let (left, right) = cheapest(&terms);
        let b = terms.remove(right);
        let a = terms.remove(left);
        let needed = |label: &Label| output.contains(label) || terms.iter().any(|term| term.labels.contains(label));
        let product = product(&a, &b, needed);
        terms.push(product);
    }
    terms.pop().expect("einsum has at least one operand")
}

/// Sums over the axes that are not needed.
#[track_caller]
fn summed(term: &Term, needed: impl Fn(&Label) -> bool) -> Term {
    let drop: Vec<bool> = term.labels.iter().map(|label| !needed(label)).collect();
    let axes: Vec<isize> = (0..drop.len()).filter(|&axis| drop[axis]).map(|axis| axis as isize).collect();
    if axes.is_empty() {
        return term.clone();
    }
    let labels = term.labels.iter().zip(&drop).filter(|(_, drop)| !**drop).map(|(label, _)| *label).collect();
    Term { tensor: term.tensor.sum_over(&axes), labels }
}

/// The pair whose product takes the fewest multiplications; ties go to the pair with the least growth.
fn cheapest(terms: &[Term]) -> (usize, usize) {
    let size = |term: &Term| term.tensor.elements() as f64;
    let work = |a: &Term, b: &Term| {
        let own = b.labels.iter().zip(b.tensor.shape()).filter(|(label, _)| !a.labels.contains(label));
        let work = own.fold(size(a), |work, (_, &size)| work * size as f64);
        (work, -(size(a) + size(b)))
    };
    let pairs = (0..terms.len()).flat_map(|i| (i + 1..terms.len()).map(move |j| (i, j)));
    let cost = |&(i, j): &(usize, usize)| work(&terms[i], &terms[j]);
    let less = |a: &(f64, f64), b: &(f64, f64)| a.0.total_cmp(&b.0).then(a.1.total_cmp(&b.1));
    pairs.min_by(|a, b| less(&cost(a), &cost(b))).expect("two terms make a pair")
}

/// `term` with its axes in the order of `labels`, all of which it has.
#[track_caller]
fn arranged(term: &Term, labels: &[Label]) -> Tensor {
    if term.labels == labels {
        return term.tensor.clone();
    }
    let place = |label: &Label| term.labels.iter().position(|other| other == label).expect("a label of the term");
    term.tensor.permute(labels.iter().map(place).collect::<Vec<_>>())
}

/// The product of two terms, summed over shared axes that no other term needs.
#[track_caller]
fn product(a: &Term, b: &Term, needed: impl Fn(&Label) -> bool) -> Term {
    let shared = |label: &&Label| a.labels.contains(label) && b.labels.contains(label);
    let (batch, _): (Vec<Label>, Vec<Label>) = a.labels.iter().filter(shared).partition(|label| needed(label));
    // The larger side determines the order in which summed axes are merged, so that it need not be copied.
    let larger = if a.tensor.elements() >= b.tensor.elements() { a } else { b };
    let inner: Vec<Label> = larger.labels.iter().filter(shared).filter(|label| !needed(label)).copied().collect();
    let own = |term: &Term, other: &Term| -> Vec<Label> {
        term.labels.iter().filter(|label| !other.labels.contains(label)).copied().collect()
    };
    let (rows, columns) = (own(a, b), own(b, a));
    let labels = [&batch[..], &rows, &columns].concat();
    let x = arranged(a, &[&batch[..], &rows, &inner].concat());
    let y = arranged(b, &[&batch[..], &inner, &columns].concat());
    let count = batch.len();
    let (lead, row_sizes) = (&x.shape()[..count], &x.shape()[count..count + rows.len()]);
    let column_sizes = &y.shape()[count + inner.len()..];
    if inner.is_empty() {
        let aligned: Shape = x.shape().iter().copied().chain(columns.iter().map(|_| 1)).collect();
        let ones = rows.iter().map(|_| &1);
        let other: Shape = lead.iter().chain(ones).chain(column_sizes).copied().collect();
        return Term { tensor: x.reshape(aligned) * y.reshape(other), labels };
    }
    let shape: Shape = lead.iter().chain(row_sizes).chain(column_sizes).copied().collect();
    let (m, n) = (row_sizes.iter().product::<usize>(), column_sizes.iter().product::<usize>());
    let k: usize = y.shape()[count..count + inner.len()].iter().product();
    let sizes = |last: [usize; 2]| -> Shape { lead.iter().copied().chain(last).collect() };
    Term { tensor: x.reshape(sizes([m, k])).matmul(&y.reshape(sizes([k, n]))).reshape(shape), labels }
}
