//! lu_permutation - order of rows from pivots.   p such that row i of P^T A is row p[i] of A.   No derivative: integers. With attribute
//! `inverse` 1, the inverse permutation.

use crate::prelude::*;

/// P^T x, or P x if `inverse`: the rows of `x` in the order given by the pivots of an LU decomposition, or back.
#[track_caller]
pub(crate) fn permuted_rows(x: &Tensor, pivots: &Tensor, inverse: bool) -> Tensor {
    let rows = x.shape()[x.rank() - 2];
    let order = bind1(&LU_PERMUTATION, attrs(rows, inverse), &[pivots]);
    let index = order.unsqueeze(order.rank()).broadcast_to(x.shape());
    x.gather(-2, &index)
}

fn attrs(rows: usize, inverse: bool) -> Attrs {
    Attrs::new().with_int("rows", rows as i64).with_int("inverse", i64::from(inverse))
}

/// The primitive `lu_permutation`.
pub static LU_PERMUTATION: LuPermutation = LuPermutation;

/// See the module.
pub struct LuPermutation;

impl Primitive for LuPermutation {
    fn name(&self) -> &'static str {
        "lu_permutation"
    }

    fn operands(&self) -> usize {
        1
    }

    fn attributes(&self) -> &'static [&'static str] {
        &["rows", "inverse"]
    }

    fn infer(&self, attrs: &Attrs, operands: &[SpecRef<'_>]) -> Result<Specs, Error> {
        let (pivots, rows) = (operands[0], attrs.axis("rows"));
        expect_flags("lu_permutation", attrs, &["inverse"])?;
        if !pivots.dtype.is_integer() {
            let message = format!("pivots are integers, got {}", pivots.dtype);
            return Err(Error::new(ErrorKind::DType(vec![pivots.dtype]), "lu_permutation", message)
                .help("they are the second result of lu_factor()"));
        }
        let [lead @ .., count] = pivots.shape else {
            let message = "pivots have at least one axis, got a scalar";
            return Err(Error::new(ErrorKind::Shape(vec![Shape::default()]), "lu_permutation", message));
        };
        if *count > rows {
            let message = format!("{count} pivots for {rows} rows");
            return Err(Error::new(ErrorKind::Shape(vec![Shape::from(pivots.shape)]), "lu_permutation", message));
        }
        Ok(smallvec![Spec { shape: lead.iter().copied().chain([rows]).collect(), dtype: DType::I64 }])
    }

    fn run(&self, attrs: &Attrs, operands: &[View<'_>], outputs: &mut [Out<'_>]) -> Result<bool, Error> {
        let (rows, inverse) = (attrs.axis("rows"), attrs.int("inverse") != 0);
        let count = operands[0].shape.last().copied().unwrap_or(0);
        let pivots = numbers::<i64>(operands[0]);
        expect_pivots("lu_permutation", &pivots, rows)?;
        let mut rows_of = Buffer::<i64>::new(rows);
        fill(outputs[0].reborrow(), |all: &mut [i64]| {
            for (matrix, out) in all.chunks_exact_mut(rows.max(1)).enumerate() {
                rows_of.iter_mut().zip(0..).for_each(|(row, i)| *row = i);
                for (i, &pivot) in pivots[matrix * count..][..count].iter().enumerate() {
                    rows_of.swap(i, pivot as usize - 1);
                }
                match inverse {
                    true => rows_of.iter().zip(0..).for_each(|(&from, to)| out[from as usize] = to),
                    false => out.copy_from_slice(&rows_of),
                }
            }
        });
        Ok(true)
    }

    fn differentiable(&self) -> bool {
        false
    }

    fn batch(
        &'static self,
        attrs: &Attrs,
        _size: usize,
        operands: &[Tensor],
        _batched: Mask,
    ) -> Result<Outputs, Error> {
        Ok(smallvec![bind1(self, attrs.clone(), &[&operands[0]])])
    }

    #[cfg(feature = "cases")]
    fn cases(&self) -> Vec<Case> {
        let case = |shape: &[usize], pivots: &[i64], rows: usize, inverse: bool, expected: &[i64]| {
            let (lead, count) = (shape[..shape.len() - 1].to_vec(), expected.len());
            let expected = Sample::integers([&lead[..], &[rows]].concat(), expected.iter().copied());
            let operand = Sample::integers(shape.to_vec(), pivots.iter().copied());
            let label = format!("{pivots:?} of {rows} rows, inverse {inverse}, {count} numbers");
            Case::new(label, attrs(rows, inverse), [operand], move |_| vec![expected.clone()])
        };
        vec![
            case(&[3], &[1, 2, 3], 3, false, &[0, 1, 2]),
            case(&[3], &[3, 3, 3], 3, false, &[2, 0, 1]),
            case(&[3], &[3, 3, 3], 3, true, &[1, 2, 0]),
            case(&[2, 1], &[3, 1], 3, false, &[2, 1, 0, 0, 1, 2]),
            case(&[0], &[], 2, true, &[0, 1]),
            case(&[0, 2], &[], 2, false, &[]),
        ]
    }
}

/// An error for a pivot that is not a row.
pub(crate) fn expect_pivots(name: &str, pivots: &[i64], rows: usize) -> Result<(), Error> {
    match pivots.iter().position(|pivot| !(1..=rows as i64).contains(pivot)) {
        None => Ok(()),
        Some(position) => {
            let pivot = pivots[position];
            let message = format!("pivot {pivot} (element {position}) is not one of the rows 1 to {rows}");
            Err(Error::new(ErrorKind::Range, name, message).help("pivots count from 1, as lu_factor() gives them"))
        }
    }
}
