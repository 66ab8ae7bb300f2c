//! Closeness, finite differences, and tensors for tests.

use wengert::prelude::*;
use wengert::primitive::{Sample, Spec};

/// Why `got` is not `expected`: a different spec, or the first element whose distance exceeds `tolerance`, relative to the larger of 1 and
/// its magnitude. NaN equals NaN, infinities equal themselves.
pub(crate) fn difference(got: &Tensor, expected: &Tensor, tolerance: f64) -> Option<String> {
    difference_within(got, expected, |number| tolerance * number.abs().max(1.0))
}

/// The same, relative to the larger of 1 and the largest magnitude of all elements, because the errors of sums that cancel are of that
/// size.
pub(crate) fn norm_difference(got: &Tensor, expected: &Tensor, tolerance: f64) -> Option<String> {
    let finite = expected.to_f64_vec().into_iter().map(f64::abs).filter(|number| number.is_finite());
    let norm = finite.fold(1.0, f64::max);
    difference_within(got, expected, |_| tolerance * norm)
}

fn difference_within(got: &Tensor, expected: &Tensor, allowed: impl Fn(f64) -> f64) -> Option<String> {
    if got.spec() != expected.spec() {
        return Some(format!("is {}, should be {}", got.spec(), expected.spec()));
    }
    let (ours, right) = (got.to_f64_vec(), expected.to_f64_vec());
    let near = |x: f64, y: f64| x.is_finite() && y.is_finite() && (x - y).abs() <= allowed(y);
    let close = |x: f64, y: f64| x == y || (x.is_nan() && y.is_nan()) || near(x, y);
    let place = ours.iter().zip(&right).position(|(&x, &y)| !close(x, y))?;
    Some(format!("is {:?}, should be {:?}, at element {place} of {}", ours[place], right[place], got.spec()))
}

/// The distance between 1 and the next larger number of a float dtype.
pub(crate) fn epsilon(dtype: DType) -> f64 {
    match dtype {
        DType::F32 => f64::from(f32::EPSILON),
        DType::BF16 => 2f64.powi(-7),
        DType::F16 => 2f64.powi(-10),
        _ => f64::EPSILON,
    }
}

/// A direction with this spec: well-spread numbers up to 1, zeros where nothing can vary.
pub(crate) fn direction(spec: &Spec, phase: f64) -> Tensor {
    match spec.dtype.is_float() {
        true => (Sample::wave(spec.shape.clone(), phase).tensor(DType::F64) * 0.5).cast(spec.dtype),
        false => Tensor::constant(0.0, spec),
    }
}

/// Directions for several tensors, all different.
pub(crate) fn directions(tensors: &[Tensor], phase: f64) -> Vec<Tensor> {
    let each = tensors.iter().enumerate();
    each.map(|(position, tensor)| direction(&tensor.spec(), phase + 0.37 * position as f64)).collect()
}

/// Zeros with the specs of these tensors.
pub(crate) fn zeros_like(tensors: &[Tensor]) -> Vec<Tensor> {
    tensors.iter().map(|tensor| tensor.full_like(0.0)).collect()
}

/// `x + t v`; integers are unchanged.
pub(crate) fn moved(x: &[Tensor], v: &[Tensor], t: f64) -> Vec<Tensor> {
    let step = |(x, v): (&Tensor, &Tensor)| if x.dtype().is_float() { x + v * t } else { x.clone() };
    x.iter().zip(v).map(step).collect()
}

/// The sum of products of all elements, and the sum of the magnitudes of these products, to which rounding errors are relative.
pub(crate) fn inner(a: &[Tensor], b: &[Tensor]) -> (f64, f64) {
    let numbers = |list: &[Tensor]| -> Vec<f64> { list.iter().flat_map(Tensor::to_f64_vec).collect() };
    let products: Vec<f64> = numbers(a).iter().zip(numbers(b)).map(|(x, y)| x * y).collect();
    (products.iter().sum(), products.iter().map(|product| product.abs()).sum())
}

/// The derivative of `f` at `x` along `v` by the five-point stencil. The truncation error is of order `h^4` and the rounding error
/// `1e-16 / h`, both near 1e-12 for functions with moderate derivatives.
pub(crate) fn finite_difference(f: impl Fn(&[Tensor]) -> Vec<Tensor>, x: &[Tensor], v: &[Tensor]) -> Vec<Tensor> {
    let h = 1e-3;
    let at = |steps: f64| f(&moved(x, v, steps * h));
    let (left2, left, right, right2) = (at(-2.0), at(-1.0), at(1.0), at(2.0));
    let slope = |i: usize| ((&right[i] - &left[i]) * 8.0 - (&right2[i] - &left2[i])) / (12.0 * h);
    (0..right.len()).map(slope).collect()
}

/// Stacks tensors of one spec along a new axis 0.
pub(crate) fn stack(parts: &[Tensor]) -> Tensor {
    let spec = parts[0].spec();
    let shape: Shape = std::iter::once(parts.len()).chain(spec.shape.iter().copied()).collect();
    Tensor::from_vec(parts.iter().flat_map(Tensor::to_f64_vec).collect::<Vec<f64>>(), shape).cast(spec.dtype)
}

/// Stacks lists of tensors, position by position.
pub(crate) fn stack_each(lists: &[Vec<Tensor>]) -> Vec<Tensor> {
    (0..lists[0].len()).map(|i| stack(&lists.iter().map(|list| list[i].clone()).collect::<Vec<_>>())).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_stencil_is_exact_to_ten_digits() {
        let f = |x: &[Tensor]| vec![x[0].exp() * x[1].sin()];
        let (x, v) = ([Tensor::from(0.7), Tensor::from(0.2)], [Tensor::from(1.0), Tensor::from(-2.0)]);
        let right = 0.7f64.exp() * (0.2f64.sin() - 2.0 * 0.2f64.cos());
        assert!((finite_difference(f, &x, &v)[0].item() - right).abs() < 1e-10);
    }

    #[test]
    fn closeness_knows_specs_nan_and_infinities() {
        let x = Tensor::from([f64::NAN, f64::INFINITY, 1.0]);
        assert_eq!(difference(&x, &Tensor::from([f64::NAN, f64::INFINITY, 1.0 + 1e-13]), 1e-12), None);
        assert!(difference(&x, &Tensor::from([f64::NAN, 1.0, 1.0]), 1e-12).unwrap().contains("element 1"));
        assert!(difference(&x, &Tensor::from([f64::NAN, f64::NEG_INFINITY, 1.0]), 1e-12).is_some());
        assert!(difference(&Tensor::from(1.0), &Tensor::from([1.0]), 1.0).unwrap().contains("should be f64[1]"));
        assert!(difference(&Tensor::from(1.0), &Tensor::from(1.0f32), 1.0).is_some());
    }

    #[test]
    fn a_stack_has_its_parts_along_a_new_first_axis() {
        let parts = [Tensor::from([1i64, 2]), Tensor::from([3i64, 4]), Tensor::from([5i64, 6])];
        assert_eq!(stack(&parts), Tensor::from([[1i64, 2], [3, 4], [5, 6]]));
        assert_eq!(stack(&[Tensor::zeros([0]), Tensor::zeros([0])]).shape(), [2, 0]);
    }
}
