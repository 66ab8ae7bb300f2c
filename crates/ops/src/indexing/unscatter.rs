//! unscatter - splits a tensor into the base and the values of a scatter.   x = y with x[index[i][j]][j] = 0 and
//! v[i][j] = y[index[i][j]][j] along axis 0, and likewise along others,   dx and dv likewise.   The transpose of scatter: if several
//! indices refer to one element of y, the last one takes it and the others get 0.

use super::gather::{expect_index, out_of_range};
use super::scatter::SCATTER;
use crate::prelude::*;
use wengert_kernels::index::take_last;

/// The primitive `unscatter`.
pub static UNSCATTER: Unscatter = Unscatter;

/// See the module.
pub struct Unscatter;

impl Primitive for Unscatter {
    fn name(&self) -> &'static str {
        "unscatter"
    }

    fn operands(&self) -> usize {
        2
    }

    fn outputs(&self, _attrs: &Attrs) -> usize {
        2
    }

    fn attributes(&self) -> &'static [&'static str] {
        &["axis"]
    }

    fn infer(&self, attrs: &Attrs, operands: &[SpecRef<'_>]) -> Result<Specs, Error> {
        let (y, index) = (operands[0], operands[1]);
        expect_float("unscatter", y.dtype)?;
        expect_index("unscatter", attrs, y.shape, index)?;
        Ok(smallvec![y.to_spec(), Spec { shape: Shape::from(index.shape), dtype: y.dtype }])
    }

    fn run(&self, attrs: &Attrs, operands: &[View<'_>], outputs: &mut [Out<'_>]) -> Result<bool, Error> {
        let (y, index, axis) = (operands[0], operands[1], attrs.axis("axis"));
        let [x, v] = outputs else { unreachable!("two outputs") };
        let result = computing_float!(x.dtype, T => fill_from(y, x.reborrow(), |target: &mut [T]| {
            fill(v.reborrow(), |v| take_last(target, y.shape, axis, index, v))
        }));
        result.map(|()| true).map_err(|wrong| out_of_range("unscatter", axis, wrong, index))
    }

    fn saves(&self, _attrs: &Attrs, _wanted: Mask) -> Saves {
        Saves::NOTHING.operand(1).shape(0)
    }

    fn vjp(&'static self, rule: &Rule<'_>, cotangents: &mut [Option<Tensor>]) -> Gradients {
        let (whole, values) = (cotangents[0].take(), cotangents[1].take());
        if whole.is_none() && values.is_none() {
            return Gradients::new();
        }
        let whole = whole.unwrap_or_else(|| Tensor::constant(0.0, rule.spec(0)));
        let (index, zero) =
            (rule.operand(1), || Tensor::constant(0.0, &Spec::new(rule.operand(1).shape(), whole.dtype())));
        let values = values.unwrap_or_else(zero);
        smallvec![Gradient::Dense(bind1(&SCATTER, rule.attrs.clone(), &[&whole, index, &values])), Gradient::Zero]
    }

    fn jvp(&'static self, rule: &Rule<'_>, tangents: &[Option<Tensor>]) -> Adjoints {
        match &tangents[0] {
            Some(dy) => bind(self, rule.attrs.clone(), &[dy, rule.operand(1)]).into_iter().map(Some).collect(),
            None => smallvec![None, None],
        }
    }

    fn batch(&'static self, attrs: &Attrs, size: usize, operands: &[Tensor], batched: Mask) -> Result<Outputs, Error> {
        let aligned = align_batch(size, operands, batched);
        let attrs = Attrs::new().with_int("axis", attrs.int("axis") + 1);
        Ok(bind(self, attrs, &[&aligned[0], &aligned[1]]))
    }

    fn dependency(&self) -> Dependency {
        Dependency::Movement
    }

    fn jet(&self) -> Jet {
        Jet::Linear
    }

    fn rule_text(&self) -> &'static str {
        "dy = scatter(dx, index, dv)"
    }

    #[cfg(feature = "cases")]
    fn cases(&self) -> Vec<Case> {
        let case = |shape: &[usize], axis: usize, index: Sample| {
            let attrs = Attrs::new().with_int("axis", axis as i64);
            let label = format!("{shape:?} along {axis}, index {}", index.shape);
            Case::new(label, attrs, [Sample::wave(shape.to_vec(), 0.2), index], move |s| {
                let (mut x, mut v) = (s[0].clone(), Sample::build(s[1].shape.clone(), |_| 0.0));
                for (k, i) in Sample::indices(&s[1].shape).into_iter().enumerate().rev() {
                    let mut place = i.clone();
                    place[axis] = s[1].at(&i) as usize;
                    let place = x.position(&place);
                    v.data[k] = std::mem::take(&mut x.data[place]);
                }
                vec![x, v]
            })
        };
        vec![
            case(&[3, 4], 1, Sample::integers([3, 2], [3, 0, 1, 2, 0, 1])),
            case(&[3, 2], 0, Sample::integers([4, 2], [2, 0, 0, 1, 2, 2, 2, 0])),
            case(&[2, 3, 2], 1, Sample::integers([2, 2, 1], [2, 0, 1, 2])),
            case(&[5], 0, Sample::integers([0], [])),
            case(&[1], 0, Sample::integers([1], [0])),
        ]
    }
}
