//! Functions of tensors, compiled for one input before they are measured, and tensors as nested lists.

use serde::{Serialize, Serializer};
use std::hint::black_box;
use wengert::{Tensor, Tree, compile};

/// A function at a fixed input. It is traced and planned here; calls only run it.
pub(crate) fn compiled<X: Tree, Y: Tree>(x: X, f: impl Fn(&X) -> Y) -> impl Fn() -> Y {
    let f = compile(f);
    f.plan(&x);
    move || f.call(black_box(&x))
}

/// A tensor that is serialised as a number, a list or nested lists. It is the output itself: nothing is copied while it is measured.
#[derive(Serialize)]
#[serde(transparent)]
pub(crate) struct Numbers(#[serde(serialize_with = "lists")] pub Tensor);

/// Serialises a tensor as [`Numbers`] does.
pub(crate) fn lists<S: Serializer>(tensor: &Tensor, serializer: S) -> Result<S::Ok, S::Error> {
    Elements { shape: tensor.shape(), numbers: &tensor.to_vec::<f64>() }.serialize(serializer)
}

/// Elements of a shape, in row-major order.
struct Elements<'a> {
    shape: &'a [usize],
    numbers: &'a [f64],
}

impl Serialize for Elements<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self.shape {
            [] => self.numbers[0].serialize(serializer),
            [_] => self.numbers.serialize(serializer),
            [count, shape @ ..] => {
                let width = shape.iter().product();
                let part = |i| Elements { shape, numbers: &self.numbers[i * width..][..width] };
                serializer.collect_seq((0..*count).map(part))
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn written(numbers: Vec<f64>, shape: &[usize]) -> String {
        serde_json::to_string(&Numbers(Tensor::from_vec(numbers, shape))).unwrap()
    }

    #[test]
    fn tensors_are_written_by_their_shapes() {
        assert_eq!(written(vec![0.1], &[]), "0.1");
        assert_eq!(written(vec![1.0, 2.0], &[2]), "[1.0,2.0]");
        assert_eq!(written(vec![1.0, 2.0, 3.0, 4.0], &[2, 2]), "[[1.0,2.0],[3.0,4.0]]");
        assert_eq!(written(vec![1.0, 2.0], &[2, 1, 1]), "[[[1.0]],[[2.0]]]");
        assert_eq!(written(vec![], &[3, 0]), "[[],[],[]]");
        assert_eq!(written(vec![], &[0, 3]), "[]");
        assert_eq!(written(vec![f64::NAN], &[1]), "[null]");
    }

    #[test]
    fn a_function_is_traced_before_it_is_called() {
        let traced = std::cell::Cell::new(0);
        let double = |x: &Tensor| {
            traced.set(traced.get() + 1);
            x * 2.0
        };
        let call = compiled(Tensor::from([1.0, 2.0]), double);
        assert_eq!(traced.get(), 1);
        assert_eq!((call(), call()), (Tensor::from([2.0, 4.0]), Tensor::from([2.0, 4.0])));
        assert_eq!(traced.get(), 1);
    }
}
