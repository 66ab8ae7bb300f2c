//! wrap_index - non-negative indices.   y = i + size where i < 0, else i.   No derivative. An index outside the axis is an error; with
//! `wraps` 0, so is a negative one.

use crate::prelude::*;

#[ext(WrapIndexParts)]
impl Tensor {
    /// These indices into an axis of length `size`, checked; negative ones count from the end.
    #[track_caller]
    pub(crate) fn wrap_index(&self, size: usize) -> Tensor {
        bind1(&WRAP_INDEX, Attrs::new().with_int("size", size as i64).with_int("wraps", 1), &[self])
    }

    /// These indices into an axis of length `size`, checked.
    #[track_caller]
    pub(crate) fn check_index(&self, size: usize) -> Tensor {
        bind1(&WRAP_INDEX, Attrs::new().with_int("size", size as i64).with_int("wraps", 0), &[self])
    }
}

/// The primitive `wrap_index`.
pub static WRAP_INDEX: WrapIndex = WrapIndex;

/// See the module.
pub struct WrapIndex;

impl Primitive for WrapIndex {
    fn name(&self) -> &'static str {
        "wrap_index"
    }

    fn operands(&self) -> usize {
        1
    }

    fn attributes(&self) -> &'static [&'static str] {
        &["size", "wraps"]
    }

    fn infer(&self, attrs: &Attrs, operands: &[SpecRef<'_>]) -> Result<Specs, Error> {
        let index = operands[0];
        attrs.axis("size");
        expect_flags("index", attrs, &["wraps"])?;
        if !index.dtype.is_integer() {
            let message = format!("the index is {}, not integers", index.dtype);
            return Err(Error::new(ErrorKind::DType(vec![index.dtype]), "index", message).help("use i64 indices"));
        }
        Ok(smallvec![Spec::new(index.shape, DType::I64)])
    }

    fn run(&self, attrs: &Attrs, operands: &[View<'_>], outputs: &mut [Out<'_>]) -> Result<bool, Error> {
        let (size, wraps) = (attrs.int("size"), attrs.int("wraps") != 0);
        fill_from(operands[0], outputs[0].reborrow(), |indices: &mut [i64]| {
            for (place, index) in indices.iter_mut().enumerate() {
                let wrapped = if *index < 0 && wraps { *index + size } else { *index };
                if !(0..size).contains(&wrapped) {
                    let message = format!(
                        "index {index} (element {place} of the index tensor) is outside an axis of length {size}"
                    );
                    return Err(Error::new(ErrorKind::Range, "index", message).help(match (size, wraps) {
                        (0, _) => "the axis is empty".to_string(),
                        (_, true) => format!("indices go from 0 to {}, or -{size} to -1", size - 1),
                        (_, false) => format!("indices go from 0 to {}", size - 1),
                    }));
                }
                *index = wrapped;
            }
            Ok(true)
        })
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
        let case = |size: i64, wraps: i64, index: Sample| {
            let attrs = Attrs::new().with_int("size", size).with_int("wraps", wraps);
            Case::new(format!("into {size}"), attrs, [index], move |s| {
                let wrapped = s[0].data.iter().map(|&i| (i as i64).rem_euclid(size));
                vec![Sample::integers(s[0].shape.clone(), wrapped)]
            })
            .values_only()
        };
        vec![
            case(5, 1, Sample::integers([2, 3], [0, -1, 4, -5, 2, -3])),
            case(3, 0, Sample::integers([2], [0, 2])),
            case(3, 1, Sample::integers([0], [])),
            case(1, 1, Sample::integers([], [-1])),
        ]
    }
}
