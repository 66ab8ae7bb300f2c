//! split_key - a new random key.   child = Philox(key, index),   no derivative.   Children of one key are independent of each other and of
//! every number drawn from it. The index is an operand, so that a program can count up. Written `key.next()`.

use super::uniform::expect_key;
use crate::prelude::*;
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
        2
    }

    fn infer(&self, _attrs: &Attrs, operands: &[SpecRef<'_>]) -> Result<Specs, Error> {
        let (key, index) = (operands[0], operands[1]);
        expect_key("split_key", key)?;
        if index.dtype != DType::I64 || *index.shape != key.shape[..key.shape.len() - 1] {
            let message = format!("every key has one i64 index, got {} for {}", index.to_spec(), key.to_spec());
            return Err(Error::new(ErrorKind::Argument, "split_key", message));
        }
        Ok(smallvec![key.to_spec()])
    }

    fn run(&self, _attrs: &Attrs, operands: &[View<'_>], outputs: &mut [Out<'_>]) -> Result<bool, Error> {
        let (keys, indices) = (numbers::<i64>(operands[0]), numbers::<i64>(operands[1]));
        fill(outputs[0].reborrow(), |children: &mut [i64]| {
            let pairs = keys.chunks_exact(2).zip(indices.iter());
            for ((words, index), to) in pairs.zip(children.chunks_exact_mut(2)) {
                let (key, stream) = random::child(words[0] as u64, words[1] as u64, *index as u64);
                to.copy_from_slice(&[key as i64, stream as i64]);
            }
        });
        Ok(true)
    }

    fn differentiable(&self) -> bool {
        false
    }

    fn batch(&'static self, attrs: &Attrs, size: usize, operands: &[Tensor], batched: Mask) -> Result<Outputs, Error> {
        let repeated = |place: usize| match batched.has(place) {
            true => operands[place].clone(),
            false => {
                operands[place].broadcast_to(Shape::from_iter([size].iter().chain(operands[place].shape()).copied()))
            }
        };
        Ok(smallvec![bind1(self, attrs.clone(), &[&repeated(0), &repeated(1)])])
    }

    #[cfg(feature = "cases")]
    fn cases(&self) -> Vec<Case> {
        // Words beyond 2^53 are not exact in an f64 reference, so the cases have no keys; values are tested below.
        let none = [Sample::integers([0, 2], []), Sample::integers([0], [])];
        vec![Case::new("no keys", Attrs::new(), none, |s| vec![s[0].clone().of(DType::I64)]).values_only()]
    }
}
