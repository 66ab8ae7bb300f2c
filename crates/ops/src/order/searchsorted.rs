//! searchsorted - insertion positions in ascending rows.   y = number of elements below v, or not above it with `right`.   No derivative.
//! Rows lie along the last axis; a single row of the sequence serves all values.

use crate::prelude::*;
use crate::rules::at_least_vector;
use wengert_kernels::order;

/// The methods of `searchsorted`.
#[ext(SearchsortedMethods)]
impl Tensor {
    /// For each value, the number of elements of this ascending tensor below it: its insertion position, before equal elements. The tensor
    /// is one row for all values, or has a row for each row of values.
    ///
    /// ```
    /// use wengert::prelude::*;
    /// let places = Tensor::from([1.0, 3.0, 5.0]).searchsorted(&Tensor::from([[0.0, 3.0], [4.0, 9.0]]));
    /// assert_eq!(places, Tensor::from([[0i64, 1], [2, 3]]));
    /// ```
    #[track_caller]
    pub fn searchsorted(&self, values: &Tensor) -> Tensor {
        search(self, values, false)
    }

    /// For each value, the number of elements of this ascending tensor not above it: its insertion position, after equal elements.
    ///
    /// ```
    /// use wengert::prelude::*;
    /// let places = Tensor::from([1.0, 3.0, 5.0]).searchsorted_right(&Tensor::from([0.0, 3.0]));
    /// assert_eq!(places, Tensor::from([0i64, 2]));
    /// ```
    #[track_caller]
    pub fn searchsorted_right(&self, values: &Tensor) -> Tensor {
        search(self, values, true)
    }
}

#[track_caller]
fn search(sorted: &Tensor, values: &Tensor, right: bool) -> Tensor {
    let attrs = Attrs::new().with_int("right", i64::from(right));
    bind1(&SEARCHSORTED, attrs, &[sorted, &at_least_vector(values)]).reshape(values.shape())
}

/// The primitive `searchsorted`.
pub static SEARCHSORTED: SearchSorted = SearchSorted;

/// See the module.
pub struct SearchSorted;

impl Primitive for SearchSorted {
    fn name(&self) -> &'static str {
        "searchsorted"
    }

    fn operands(&self) -> usize {
        2
    }

    fn attributes(&self) -> &'static [&'static str] {
        &["right"]
    }

    fn infer(&self, attrs: &Attrs, operands: &[SpecRef<'_>]) -> Result<Specs, Error> {
        let (sorted, values) = (operands[0], operands[1]);
        expect_flags("searchsorted", attrs, &["right"])?;
        expect_same_dtype("searchsorted", sorted.dtype, values.dtype)?;
        let rows = |shape: &[usize]| shape.split_last().map(|(_, rows)| Shape::from(rows));
        let fits = sorted.shape.len() == 1 || rows(sorted.shape) == rows(values.shape);
        if sorted.shape.is_empty() || values.shape.is_empty() || !fits {
            let shapes = vec![Shape::from(sorted.shape), Shape::from(values.shape)];
            let message = format!("a sequence of shape {} for values of shape {}", shapes[0], shapes[1]);
            return Err(Error::new(ErrorKind::Shape(shapes), "searchsorted", message)
                .help("the sequence is one row, or has the leading axes of the values"));
        }
        Ok(smallvec![Spec::new(values.shape, DType::I64)])
    }

    fn run(&self, attrs: &Attrs, operands: &[View<'_>], outputs: &mut [Out<'_>]) -> Result<bool, Error> {
        let (sorted, values, right) = (operands[0], operands[1], attrs.int("right") == 1);
        let size = |x: View<'_>| x.shape.last().copied().unwrap_or(1);
        let (n, m) = (size(sorted), size(values));
        computing!(sorted.dtype, T => {
            let (sorted, values) = (numbers::<T>(sorted), numbers::<T>(values));
            fill(outputs[0].reborrow(), |places| order::searchsorted(&sorted, n, &values, m, right, places));
        });
        Ok(true)
    }

    fn differentiable(&self) -> bool {
        false
    }

    fn batch(&'static self, attrs: &Attrs, size: usize, operands: &[Tensor], batched: Mask) -> Result<Outputs, Error> {
        let (sorted, values) = (&operands[0], &operands[1]);
        if !batched.has(0) && sorted.rank() == 1 {
            return Ok(smallvec![bind1(self, attrs.clone(), &[sorted, values])]);
        }
        let aligned = align_batch(size, operands, batched);
        let (sorted, values) = (&aligned[0], &aligned[1]);
        // One row for all values of each batch element: the values become one row too.
        if sorted.rank() == 2 {
            let row = values.reshape([size, values.shape()[1..].iter().product()]);
            return Ok(smallvec![bind1(self, attrs.clone(), &[sorted, &row]).reshape(values.shape())]);
        }
        Ok(smallvec![bind1(self, attrs.clone(), &[sorted, values])])
    }

    #[cfg(feature = "cases")]
    fn cases(&self) -> Vec<Case> {
        let case = |label: &str, right: bool, sorted: Sample, values: Sample| {
            Case::new(label, Attrs::new().with_int("right", i64::from(right)), [sorted, values], move |s| {
                let n = s[0].shape[s[0].shape.rank() - 1];
                let places = Sample::build(s[1].shape.clone(), |i| {
                    let own =
                        if s[0].shape.rank() == 1 { 0 } else { s[1].position(i) / s[1].shape[s[1].shape.rank() - 1] };
                    let below = |x: &&f64| **x < s[1].at(i) || (right && **x == s[1].at(i));
                    s[0].data[own * n..][..n].iter().filter(below).count() as f64
                });
                vec![places.of(DType::I64)]
            })
            .values_only()
        };
        let row = || Sample::new([4], [-1.0, 0.5, 0.5, 2.0]);
        let rows = Sample::new([2, 3], [-1.0, 0.5, 2.0, 3.0, 3.0, 4.0]);
        vec![
            case("one row", false, row(), Sample::new([2, 3], [-2.0, -1.0, 0.0, 0.5, 2.0, 9.0])),
            case("one row, right", true, row(), Sample::new([5], [-2.0, -1.0, 0.5, 2.0, 9.0])),
            case("a row for each", false, rows.clone(), Sample::new([2, 2], [0.5, 2.5, 3.0, 3.5])),
            case("a row for each, right", true, rows, Sample::new([2, 2], [0.5, 2.5, 3.0, 3.5])),
            case("nothing to search in", false, Sample::new([0], []), Sample::new([2], [1.0, 2.0])),
            case("integers", true, Sample::integers([3], [1, 3, 5]), Sample::integers([2], [3, 4])),
        ]
    }
}
