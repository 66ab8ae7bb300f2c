//! Printing in the manner of NumPy.

use super::{Layout, Shape, Tensor, Value};
use std::fmt::{self, Write};
use wengert_kernels::DType;

/// Axes longer than twice this are shortened to their ends when the tensor has more than `MOST_PRINTED` elements.
const EDGE: usize = 3;
const MOST_PRINTED: usize = 1000;

impl fmt::Display for Tensor {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Ok(value) = self.numbers("print") else {
            return write!(f, "{}{} (symbolic)", self.dtype(), Shape::from(self.shape()));
        };
        let tensor = Tensor::from(value.clone());
        let shown = Shown::of(&tensor);
        let width = shown.texts.iter().map(String::len).max().unwrap_or(0);
        shown.write_axis(f, &mut shown.texts.iter(), width, 0)
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

/// The elements that are printed, and only those: a repeated number may stand for more than memory can hold.
struct Shown {
    /// For each axis the positions shown; `None` stands for those left out.
    axes: Vec<Vec<Option<usize>>>,
    texts: Vec<String>,
}

impl Shown {
    fn of(tensor: &Tensor) -> Shown {
        let short = tensor.elements() > MOST_PRINTED;
        let positions = |&size: &usize| -> Vec<Option<usize>> {
            match short && size > 2 * EDGE {
                true => (0..EDGE).map(Some).chain([None]).chain((size - EDGE..size).map(Some)).collect(),
                false => (0..size).map(Some).collect(),
            }
        };
        let axes: Vec<Vec<Option<usize>>> = tensor.shape().iter().map(positions).collect();
        let mut indices: Vec<Vec<i64>> = vec![vec![]];
        for axis in &axes {
            let longer = |index: &Vec<i64>| -> Vec<Vec<i64>> {
                axis.iter().flatten().map(|&at| [&index[..], &[at as i64]].concat()).collect()
            };
            indices = indices.iter().flat_map(longer).collect();
        }
        let steps = vec![1; tensor.rank()];
        let scalar = |layout: &Layout, index: &[i64]| {
            let place = layout.sliced(index, &steps, layout.shape.iter().map(|_| 1).collect());
            Layout { offset: place.offset, ..Layout::contiguous(Shape::default()) }
        };
        let text = |index: Vec<i64>| element_text(&tensor.with_layout(|layout| scalar(layout, &index)));
        Shown { axes, texts: indices.into_iter().map(text).collect() }
    }

    fn write_axis<'t>(
        &self,
        f: &mut fmt::Formatter<'_>,
        texts: &mut impl Iterator<Item = &'t String>,
        width: usize,
        axis: usize,
    ) -> fmt::Result {
        let Some(positions) = self.axes.get(axis) else {
            return write!(f, "{:>width$}", texts.next().map_or("", String::as_str));
        };
        let depth = self.axes.len() - axis - 1;
        f.write_char('[')?;
        for (number, position) in positions.iter().enumerate() {
            match (number, depth) {
                (0, _) => {}
                (_, 0) => f.write_str(", ")?,
                _ => write!(f, ",{}{}", "\n".repeat(depth), " ".repeat(axis + 1))?,
            }
            match position {
                None => f.write_str("...")?,
                Some(_) => self.write_axis(f, texts, width, axis + 1)?,
            }
        }
        f.write_char(']')
    }
}

/// The shortest text that reads back as the same number; a whole float keeps only its point.
fn element_text(element: &Tensor) -> String {
    let number = element.item();
    let shortest = match element.dtype() {
        DType::Bool => return (number != 0.0).to_string(),
        DType::I64 => return element.to_vec::<i64>()[0].to_string(),
        DType::I32 | DType::U8 => return number.to_string(),
        DType::F64 => format!("{number:?}"),
        DType::F32 | DType::BF16 | DType::F16 => format!("{:?}", number as f32),
    };
    match shortest.strip_suffix(".0") {
        Some(whole) if number.is_finite() => format!("{whole}."),
        _ => shortest,
    }
}
