//! Test cases, which live next to the operation they test.

use super::Attrs;
use crate::{DType, Shape};

/// A small row-major array of f64 for cases and references: plain loops, no kernels.
///
/// ```
/// use wengert::primitive::Sample;
/// let sample = Sample::wave([2, 2], 0.3);
/// assert_eq!(sample.data.len(), 4);
/// assert_eq!(sample.at(&[1, 0]), sample.data[2]);
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct Sample {
    /// The sizes of its axes.
    pub shape: Shape,
    /// Its elements, row-major.
    pub data: Vec<f64>,
    /// The dtype it stands for; a float sample is tested in every float dtype.
    pub dtype: DType,
}

impl Sample {
    /// Floats from a shape and row-major elements.
    pub fn new(shape: impl Into<Shape>, data: impl Into<Vec<f64>>) -> Sample {
        let (shape, data) = (shape.into(), data.into());
        assert_eq!(shape.elements(), data.len(), "a sample's shape and numbers differ");
        Sample { shape, data, dtype: DType::F64 }
    }

    /// Well-spread floats in about (-2, 2) without ties, zeros or symmetry.
    pub fn wave(shape: impl Into<Shape>, phase: f64) -> Sample {
        let shape = shape.into();
        let data: Vec<f64> = (0..shape.elements()).map(|i| 1.9 * (1.7 * i as f64 + 2.3 * phase + 0.4).sin()).collect();
        Sample::new(shape, data)
    }

    /// Floats in about (0.3, 2.5).
    pub fn positive(shape: impl Into<Shape>, phase: f64) -> Sample {
        let mut sample = Sample::wave(shape, phase);
        sample.data.iter_mut().for_each(|x| *x = 1.4 + 0.55 * *x);
        sample
    }

    /// Floats between `low` and `high`.
    pub fn within(low: f64, high: f64, shape: impl Into<Shape>, phase: f64) -> Sample {
        let mut sample = Sample::wave(shape, phase);
        sample.data.iter_mut().for_each(|x| *x = 0.5 * (low + high) + 0.25 * (high - low) * *x);
        sample
    }

    /// Integers, which carry no gradient.
    pub fn integers(shape: impl Into<Shape>, data: impl IntoIterator<Item = i64>) -> Sample {
        let data: Vec<f64> = data.into_iter().map(|value| value as f64).collect();
        Sample { dtype: DType::I64, ..Sample::new(shape, data) }
    }

    /// Booleans.
    pub fn booleans(shape: impl Into<Shape>, data: impl IntoIterator<Item = bool>) -> Sample {
        let data: Vec<f64> = data.into_iter().map(f64::from).collect();
        Sample { dtype: DType::Bool, ..Sample::new(shape, data) }
    }

    /// The same sample with another dtype.
    pub fn of(self, dtype: DType) -> Sample {
        Sample { dtype, ..self }
    }

    /// The element at `index`.
    pub fn at(&self, index: &[usize]) -> f64 {
        self.data[self.position(index)]
    }

    /// The row-major position of `index`.
    pub fn position(&self, index: &[usize]) -> usize {
        index.iter().zip(self.shape.iter()).fold(0, |position, (&i, &size)| position * size + i)
    }

    /// Every index of `shape`, in row-major order.
    pub fn indices(shape: &[usize]) -> Vec<Vec<usize>> {
        let mut all = vec![vec![]];
        for &size in shape {
            all = all.iter().flat_map(|index| (0..size).map(move |i| [&index[..], &[i]].concat())).collect();
        }
        all
    }

    /// A sample of `shape` whose element at each index is `f(index)`.
    pub fn build(shape: impl Into<Shape>, f: impl FnMut(&[usize]) -> f64) -> Sample {
        let shape = shape.into();
        let mut f = f;
        let data: Vec<f64> = Sample::indices(&shape).iter().map(|index| f(index)).collect();
        Sample::new(shape, data)
    }
}

/// The expected outputs, computed in plain f64 loops.
pub type Reference = Box<dyn Fn(&[Sample]) -> Vec<Sample>>;

/// One call on which a primitive is tested.
pub struct Case {
    /// A description of the case.
    pub label: String,
    /// The attributes.
    pub attrs: Attrs,
    /// The operands.
    pub operands: Vec<Sample>,
    /// The expected outputs.
    pub reference: Reference,
    /// Whether derivatives exist here, so that finite differences make sense; false at kinks and boundaries of the domain.
    pub smooth: bool,
}

impl Case {
    /// A smooth case.
    pub fn new(
        label: impl Into<String>,
        attrs: Attrs,
        operands: impl Into<Vec<Sample>>,
        reference: impl Fn(&[Sample]) -> Vec<Sample> + 'static,
    ) -> Case {
        Case { label: label.into(), attrs, operands: operands.into(), reference: Box::new(reference), smooth: true }
    }

    /// A case that checks only values: its point is a kink, a boundary of the domain, or has no derivative.
    pub fn values_only(self) -> Case {
        Case { smooth: false, ..self }
    }
}
