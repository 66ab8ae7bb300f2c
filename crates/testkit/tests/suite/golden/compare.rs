//! Closeness of tensors.

use wengert::prelude::*;

/// How far a value may be from the expected one.
#[derive(Clone, Copy)]
pub struct Tolerance {
    relative: f64,
    absolute: f64,
    /// Relative to the largest element of the tensor: sums that cancel have errors of that size.
    largest: f64,
}

impl Tolerance {
    /// For recorded values.
    pub const RECORD: Tolerance = Tolerance { relative: 1e-9, absolute: 1e-11, largest: 0.0 };

    /// For recorded values of linear algebra.
    pub const CONDITIONED_RECORD: Tolerance = Tolerance { relative: 1e-7, absolute: 1e-7, largest: 0.0 };

    /// For the same formulas in another order.
    pub const ROUNDING: Tolerance = Tolerance { relative: 1e-12, absolute: 1e-14, largest: 1e-12 };

    /// For the same formulas in another order, where a condition number amplifies the difference.
    pub const CONDITIONED_ROUNDING: Tolerance = Tolerance { relative: 1e-9, absolute: 1e-11, largest: 1e-9 };

    /// For formulas with f32 intermediates.
    pub const SINGLE: Tolerance = Tolerance { relative: 1e-6, absolute: 1e-7, largest: 1e-6 };

    /// Whether `found` is acceptable for `expected` among values up to `largest`. NaN matches only NaN, an infinity only itself.
    pub fn allows(&self, found: f64, expected: f64, largest: f64) -> bool {
        let allowed = self.absolute + self.relative * expected.abs() + self.largest * largest;
        let near = || found.is_finite() && expected.is_finite() && (found - expected).abs() <= allowed;
        found == expected || (found.is_nan() && expected.is_nan()) || near()
    }
}

/// Why `found` is not `expected`: another dtype or shape, or the first element that is too far off.
pub fn difference(found: &Tensor, expected: &Tensor, tolerance: Tolerance) -> Option<String> {
    if found.dtype() != expected.dtype() {
        return Some(format!("dtype {}, expected {}", found.dtype(), expected.dtype()));
    }
    if found.shape() != expected.shape() {
        return Some(format!("shape {:?}, expected {:?}", found.shape(), expected.shape()));
    }
    let (found, expected) = (found.to_f64_vec(), expected.to_f64_vec());
    let largest = largest(&expected);
    let wrong: Vec<usize> = (0..found.len()).filter(|&e| !tolerance.allows(found[e], expected[e], largest)).collect();
    let first = *wrong.first()?;
    let (count, all) = (wrong.len(), found.len());
    Some(format!("element {first} is {:?}, expected {:?} ({count} of {all} differ)", found[first], expected[first]))
}

/// The same for several tensors, each an output or a leaf, as `what` says.
pub fn list_difference(what: &str, found: &[Tensor], expected: &[Tensor], tolerance: Tolerance) -> Option<String> {
    if found.len() != expected.len() {
        return Some(format!("{} tensors ({what}), expected {}", found.len(), expected.len()));
    }
    let mut pairs = found.iter().zip(expected).enumerate();
    pairs.find_map(|(index, (found, expected))| {
        difference(found, expected, tolerance).map(|text| format!("{what} {index}: {text}"))
    })
}

/// The largest absolute value of the finite elements; 0 if there are none.
fn largest(numbers: &[f64]) -> f64 {
    numbers.iter().map(|number| number.abs()).filter(|number| number.is_finite()).fold(0.0, f64::max)
}

#[test]
fn an_infinity_matches_only_itself_and_nan_only_nan() {
    let numbers = [f64::INFINITY, f64::NEG_INFINITY, f64::NAN, 0.0, f64::MAX];
    for (i, &found) in numbers.iter().enumerate() {
        for (j, &expected) in numbers.iter().enumerate() {
            let differs = difference(&Tensor::from(found), &Tensor::from(expected), Tolerance::RECORD).is_some();
            assert_eq!(differs, i != j, "{found} for {expected}");
        }
    }
}

#[test]
fn another_dtype_or_shape_is_a_difference() {
    let x = Tensor::from([1.0, 2.0]);
    for other in [x.cast(DType::F32), x.cast(DType::I64), x.unsqueeze(0)] {
        assert!(difference(&other, &x, Tolerance::RECORD).is_some());
    }
    assert!(list_difference("output", &[x.clone(), x.clone()], &[x], Tolerance::RECORD).is_some());
}
