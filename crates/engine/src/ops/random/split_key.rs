//! split_key - a new random key.   child = Philox(key, index),   no derivative.   Children of one key are independent of each other
//! and of every number drawn from it. Written `key.next()`.

use super::uniform::expect_key;
use crate::ops::prelude::*;
use wengert_kernels::random;

/// The primitive `split_key`.
pub static SPLIT_KEY: SplitKey = SplitKey;

/// See the module.
pub struct SplitKey;

impl Primitive for SplitKey {
    fn name(&self) -> &'static str {
        "split_key"
    }

    fn operands(&self) -> usize {
        1
    }

    fn attributes(&self) -> &'static [&'static str] {
        &["index"]
    }

    fn infer(&self, _attrs: &Attrs, operands: &[SpecRef<'_>]) -> Result<Specs, Error> {
        expect_key("split_key", operands[0])?;
        Ok(smallvec![operands[0].to_spec()])
    }

    fn run(&self, attrs: &Attrs, operands: &[View<'_>], outputs: &mut [Out<'_>]) -> Result<bool, Error> {
        let (keys, index) = (numbers::<i64>(operands[0]), attrs.int("index") as u64);
        fill(outputs[0].reborrow(), |children: &mut [i64]| {
            for (words, to) in keys.chunks_exact(2).zip(children.chunks_exact_mut(2)) {
                let (key, stream) = random::child(words[0] as u64, words[1] as u64, index);
                to.copy_from_slice(&[key as i64, stream as i64]);
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

    fn cases(&self) -> Vec<Case> {
        // Words beyond 2^53 do not survive a reference in f64, so cases stay with no keys; values are tested below.
        vec![
            Case::new("no keys", Attrs::new().with_int("index", 3), [Sample::integers([0, 2], [])], |s| {
                vec![s[0].clone().of(DType::I64)]
            })
            .values_only(),
        ]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn children_follow_philox_and_batches_are_loops() {
        let attrs = Attrs::new().with_int("index", 3);
        let both = bind1(&SPLIT_KEY, attrs.clone(), &[&Tensor::from([[1i64, 2], [3, 4]])]);
        let one = bind1(&SPLIT_KEY, attrs, &[&Tensor::from([3i64, 4])]);
        assert_eq!(both.slice(1), one);
        let (key, stream) = random::child(3, 4, 3);
        assert_eq!(one.to_vec::<i64>(), [key as i64, stream as i64]);
        assert_ne!(both.slice(0), both.slice(1));
    }
}
