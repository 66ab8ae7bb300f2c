//! Printing in the style of NumPy.

use super::{Layout, Shape, Tensor, Value};
use std::fmt::{self, Write};
use wengert_kernels::DType;
use wengert_kernels::dtype::{bf16, f16};

/// Axes longer than twice this are shortened to their ends when the tensor has more than `MOST_PRINTED` elements.
const EDGE: usize = 3;
const MOST_PRINTED: usize = 1000;

/// Rows longer than this many characters are wrapped.
const LINE: usize = 88;

/// The most digits after the decimal point.
const DIGITS: usize = 8;

/// A precision is the number of digits after the decimal point, as for floats: `{x:.2}`.
impl fmt::Display for Tensor {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Ok(value) = self.numbers("print") else {
            return write!(f, "{}{} (symbolic)", self.dtype(), Shape::from(self.shape()));
        };
        let tensor = Tensor::from(value.clone());
        let shown = Shown::of(&tensor, f.precision());
        shown.write_axis(f, &mut shown.texts.iter(), 0)
    }
}

impl fmt::Debug for Tensor {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Tensor(")?;
        fmt::Display::fmt(self, f)?;
        write!(f, ", {}{}", self.dtype(), Shape::from(self.shape()))?;
        match self.made_by() {
            Some(op) => write!(f, ", from {})", op.name())?,
            None if self.requires_grad() => write!(f, ", requires grad)")?,
            None => write!(f, ")")?,
        }
        match &self.value {
            Value::Tracer(tracer) => write!(f, " of {}", tracer.level.name),
            _ => Ok(()),
        }
    }
}

/// Only the elements that are printed: a broadcast tensor may have more elements than memory can hold.
struct Shown {
    /// For each axis the positions shown; `None` stands for the omitted ones.
    axes: Vec<Vec<Option<usize>>>,
    texts: Vec<String>,
}

impl Shown {
    fn of(tensor: &Tensor, precision: Option<usize>) -> Shown {
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
        let element = |index: Vec<i64>| tensor.with_layout(|layout| scalar(layout, &index));
        let elements: Vec<Tensor> = indices.into_iter().map(element).collect();
        let texts = match (precision, tensor.dtype().is_float()) {
            (Some(digits), true) => elements.iter().map(|element| format!("{:.digits$}", element.item())).collect(),
            (None, true) if !axes.is_empty() => float_texts(&elements.iter().map(shortest).collect::<Vec<f64>>()),
            _ => elements.iter().map(element_text).collect(),
        };
        let width = texts.iter().map(String::len).max().unwrap_or(0);
        Shown { axes, texts: texts.into_iter().map(|text| format!("{text:>width$}")).collect() }
    }

    fn write_axis<'t>(
        &self,
        f: &mut fmt::Formatter<'_>,
        texts: &mut impl Iterator<Item = &'t String>,
        axis: usize,
    ) -> fmt::Result {
        let Some(positions) = self.axes.get(axis) else {
            return f.write_str(texts.next().map_or("", String::as_str));
        };
        let depth = self.axes.len() - axis - 1;
        let (width, mut column) = (self.texts.first().map_or(0, String::len), axis + 1);
        f.write_char('[')?;
        for (number, position) in positions.iter().enumerate() {
            let next = if position.is_some() { width } else { "...".len() };
            match (number, depth) {
                (0, _) => {}
                (_, 0) if column + 2 + next + 1 > LINE => {
                    write!(f, ",\n{}", " ".repeat(axis + 1))?;
                    column = axis + 1;
                }
                (_, 0) => {
                    f.write_str(", ")?;
                    column += 2;
                }
                _ => write!(f, ",{}{}", "\n".repeat(depth), " ".repeat(axis + 1))?,
            }
            column += next;
            match position {
                None => f.write_str("...")?,
                Some(_) => self.write_axis(f, texts, axis + 1)?,
            }
        }
        f.write_char(']')
    }
}

/// The f64 with the fewest digits that converts to this element in its dtype.
fn shortest(element: &Tensor) -> f64 {
    let number = element.item();
    let same = |text: String, holds: &dyn Fn(f64) -> bool| text.parse().ok().filter(|&near| holds(near));
    let by_digits = |holds: &dyn Fn(f64) -> bool| {
        (0..DIGITS + 1).find_map(|digits| same(format!("{number:.digits$e}"), holds)).unwrap_or(number)
    };
    match element.dtype() {
        _ if !number.is_finite() => number,
        DType::F32 => format!("{}", number as f32).parse().unwrap_or(number),
        DType::BF16 => by_digits(&|near| bf16::from_f64(near).to_f64() == number),
        DType::F16 => by_digits(&|near| f16::from_f64(near).to_f64() == number),
        _ => number,
    }
}

/// Floats with aligned decimal points, or in scientific notation where that is shorter: for numbers from 1e8 on, below 1e-4, or that differ
/// by more than a factor of 1000.
fn float_texts(numbers: &[f64]) -> Vec<String> {
    let sizes = numbers.iter().map(|number| number.abs()).filter(|&size| size.is_finite() && size > 0.0);
    let (greatest, least) = sizes.fold((0.0, f64::INFINITY), |(high, low), size| (size.max(high), size.min(low)));
    let scientific = greatest >= 1e8 || least < 1e-4 || greatest / least > 1000.0;
    let texts: Vec<String> = numbers.iter().map(|&number| short_text(number, scientific)).collect();
    let fraction = |text: &String| text.split(['.', 'e']).nth(1).map_or(0, str::len);
    let finite = || texts.iter().zip(numbers).filter(|(_, number)| number.is_finite());
    let digits = finite().map(|(text, _)| fraction(text)).max().unwrap_or(0);
    let aligned = |(text, &number): (&String, &f64)| match (number.is_finite(), scientific) {
        (false, _) => text.clone(),
        (true, false) => format!("{text}{}", " ".repeat(digits - fraction(text))),
        (true, true) => {
            let text = format!("{number:.digits$e}");
            let (mantissa, exponent) = text.split_once('e').expect("a number with an exponent");
            let (sign, exponent) = exponent.strip_prefix('-').map_or(('+', exponent), |exponent| ('-', exponent));
            let point = if digits == 0 { "." } else { "" };
            format!("{mantissa}{point}e{sign}{exponent:0>2}")
        }
    };
    texts.iter().zip(numbers).map(aligned).collect()
}

/// A number with a decimal point and at most [`DIGITS`] digits after it, without trailing zeros.
fn short_text(number: f64, scientific: bool) -> String {
    if !number.is_finite() {
        return format!("{number}");
    }
    let (exact, rounded) = match scientific {
        true => (format!("{number:e}"), format!("{number:.DIGITS$e}")),
        false => (format!("{number}"), format!("{number:.DIGITS$}")),
    };
    let text = if exact.len() <= rounded.len() { exact } else { rounded };
    let (mantissa, exponent) = match text.split_once('e') {
        Some((mantissa, exponent)) => (mantissa, format!("e{exponent}")),
        None => (&text[..], String::new()),
    };
    match mantissa.split_once('.') {
        Some((whole, fraction)) => format!("{whole}.{}{exponent}", fraction.trim_end_matches('0')),
        None => format!("{mantissa}.{exponent}"),
    }
}

/// The shortest text that parses to the same number; an integral float keeps its decimal point.
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
