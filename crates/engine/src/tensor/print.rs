//! Printing in the manner of NumPy.

use super::{Shape, Tensor, Value};
use std::fmt::{self, Write};
use wengert_kernels::DType;

/// Axes longer than this are shortened to their ends when the tensor has more than `MOST_PRINTED` elements.
const EDGE: usize = 3;
const MOST_PRINTED: usize = 1000;

impl fmt::Display for Tensor {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Ok(value) = self.numbers("print") else {
            return write!(f, "{}{} (symbolic)", self.dtype(), Shape::from(self.shape()));
        };
        let tensor = Tensor::from(value.clone());
        let texts = element_texts(&tensor);
        let width = texts.iter().map(String::len).max().unwrap_or(0);
        let short = tensor.elements() > MOST_PRINTED;
        write_axis(f, &tensor, &texts, width, 0, 0, short)
    }
}

impl fmt::Debug for Tensor {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Tensor({self}, {}{})", self.dtype(), Shape::from(self.shape()))?;
        match &self.value {
            Value::Tracer(tracer) => write!(f, " of {}", tracer.level.name),
            _ => Ok(()),
        }
    }
}

fn element_texts(tensor: &Tensor) -> Vec<String> {
    match tensor.dtype() {
        DType::Bool => tensor.to_vec::<bool>().iter().map(bool::to_string).collect(),
        dtype if dtype.is_integer() => super::convert::collect::<i64>(tensor).iter().map(i64::to_string).collect(),
        DType::F64 => tensor.to_f64_vec().iter().map(|x| float_text(*x, format!("{x:?}"))).collect(),
        _ => tensor.to_f64_vec().iter().map(|x| float_text(*x, format!("{:?}", *x as f32))).collect(),
    }
}

/// The shortest text that reads back as the same number; a whole number keeps only its point.
fn float_text(x: f64, shortest: String) -> String {
    match shortest.strip_suffix(".0") {
        Some(whole) if x.is_finite() => format!("{whole}."),
        _ => shortest,
    }
}

fn write_axis(
    f: &mut fmt::Formatter<'_>,
    tensor: &Tensor,
    texts: &[String],
    width: usize,
    axis: usize,
    position: usize,
    short: bool,
) -> fmt::Result {
    let shape = tensor.shape();
    if axis == shape.len() {
        return write!(f, "{:>width$}", texts[position]);
    }
    let last = axis + 1 == shape.len();
    let separator = if last {
        ", ".to_string()
    } else {
        format!(",{}{}", "\n".repeat(shape.len() - axis - 1), " ".repeat(axis + 1))
    };
    f.write_char('[')?;
    let size = shape[axis];
    for i in 0..size {
        let hidden = short && size > 2 * EDGE && i >= EDGE && i < size - EDGE;
        if hidden && i > EDGE {
            continue;
        }
        if i > 0 {
            f.write_str(&separator)?;
        }
        if hidden {
            f.write_str("...")?;
        } else {
            write_axis(f, tensor, texts, width, axis + 1, position * size + i, short)?;
        }
    }
    f.write_char(']')
}
