//! permutation - a random permutation.   y = the positions that sort one uniform number for each of 0 .. count - 1.   No derivative. Every
//! permutation is equally likely. Written `key.permutation(count)`.

use super::uniform::{expect_key, expect_open_key};
use crate::Key;
use crate::prelude::*;
use wengert_kernels::{order, random};

impl Key {
    /// The integers 0 to `count - 1` in random order, of dtype i64.
    ///
    /// ```
    /// use wengert::prelude::*;
    /// let order = Key::new(1).permutation(5);
    /// let mut sorted = order.to_vec::<i64>();
    /// sorted.sort();
    /// assert_eq!(sorted, [0, 1, 2, 3, 4]);
    /// ```
    #[track_caller]
    pub fn permutation(&self, count: usize) -> Tensor {
        expect_open_key("permutation", self);
        bind1(&PERMUTATION, Attrs::new().with_int("count", count as i64), &[self.tensor()])
    }
}

/// The primitive `permutation`.
pub static PERMUTATION: Permutation = Permutation;

/// See the module.
pub struct Permutation;

impl Primitive for Permutation {
    fn name(&self) -> &'static str {
        "permutation"
    }

    fn operands(&self) -> usize {
        1
    }

    fn attributes(&self) -> &'static [&'static str] {
        &["count"]
    }

    /// A batch of keys gives a batch of permutations.
    fn infer(&self, attrs: &Attrs, operands: &[SpecRef<'_>]) -> Result<Specs, Error> {
        let key = operands[0];
        expect_key("permutation", key)?;
        let shape: Shape = key.shape[..key.shape.len() - 1].iter().copied().chain([attrs.axis("count")]).collect();
        shape.check("permutation")?;
        Ok(smallvec![Spec { shape, dtype: DType::I64 }])
    }

    fn run(&self, attrs: &Attrs, operands: &[View<'_>], outputs: &mut [Out<'_>]) -> Result<bool, Error> {
        let (keys, count) = (numbers::<i64>(operands[0]), attrs.axis("count"));
        let (mut numbers, mut sorted) = (Buffer::new(count), Buffer::new(count));
        fill(outputs[0].reborrow(), |orders: &mut [i64]| {
            for (words, order) in keys.chunks_exact(2).zip(orders.chunks_exact_mut(count.max(1))) {
                random::uniform_f64(words[0] as u64, words[1] as u64, &mut numbers);
                order::sort(&numbers[..], count, false, &mut sorted, order);
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
        let case = |count: i64, key: Sample| {
            Case::new(format!("of {count}"), Attrs::new().with_int("count", count), [key], move |s| {
                let order = |words: &[f64]| {
                    let mut numbers = vec![0.0; count as usize];
                    random::uniform_f64(words[0] as u64, words[1] as u64, &mut numbers);
                    let mut order = vec![0; count as usize];
                    for (i, x) in numbers.iter().enumerate() {
                        order[numbers.iter().filter(|other| *other < x).count()] = i as i64;
                    }
                    order
                };
                let orders: Vec<i64> = s[0].data.chunks_exact(2).flat_map(order).collect();
                let mut shape = s[0].shape.to_vec();
                *shape.last_mut().expect("keys have two words") = count as usize;
                vec![Sample::integers(shape, orders)]
            })
            .values_only()
        };
        vec![
            case(5, Sample::integers([2], [7, 0])),
            case(3, Sample::integers([2, 2], [7, 0, 1, 5])),
            case(1, Sample::integers([2], [3, 3])),
            case(0, Sample::integers([2], [3, 3])),
        ]
    }
}
