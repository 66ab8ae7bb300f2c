//! What elementwise primitives are tested on.

use super::Elementwise;
use crate::Shape;
use crate::primitive::{Attrs, Case, Sample};
use wengert_kernels::functions::Parameters;

/// The reference of an elementwise primitive, and the points to try it at.
pub struct Tested {
    /// Values of the parameters: the first set on every shape.
    pub tried: &'static [Parameters<f64>],
    /// The value in plain f64, by another formula than the kernel's.
    pub reference: fn(f64, f64, Parameters<f64>) -> f64,
    pub domain: Domain,
    pub edges: Edges,
}

/// Where random test points may lie.
#[derive(Clone, Copy)]
pub enum Domain {
    Reals,
    Positive,
    Within(f64, f64),
    /// Made from two numbers between -1.9 and 1.9: where operands depend on each other, or kinks must be kept away from.
    Points(fn(f64, f64) -> (f64, f64)),
}

/// `x`, moved away from the kinks that it is within `distance` of.
pub fn away_from(kinks: &[f64], distance: f64, x: f64) -> f64 {
    let near = kinks.iter().find(|kink| (x - **kink).abs() < distance);
    near.map_or(x, |kink| kink + distance.copysign(x - kink))
}

/// Points where the value is prescribed: borders, infinities.
pub enum Edges {
    /// (x, f(x))
    One(&'static [(f64, f64)]),
    /// (x, y, f(x, y))
    Two(&'static [(f64, f64, f64)]),
}

impl Tested {
    pub fn cases(&self, op: &Elementwise) -> Vec<Case> {
        let mut cases = self.cases_of(op, self.tried[0], true);
        cases.extend(self.tried[1..].iter().flat_map(|&p| self.cases_of(op, p, false)));
        cases
    }

    /// The cases of one set of parameters: in all shapes, or few.
    fn cases_of(&self, op: &Elementwise, p: Parameters<f64>, all: bool) -> Vec<Case> {
        let (reference, arity) = (self.reference, op.slopes.len());
        let attrs = op.parameters.iter().zip(p).fold(Attrs::new(), |attrs, (name, value)| attrs.with_real(name, value));
        let with = if attrs.is_empty() || all { String::new() } else { format!("{attrs} ") };
        let whole = move |samples: &[Sample]| {
            let second = samples.last().expect("an operand");
            let data: Vec<f64> = samples[0].data.iter().zip(&second.data).map(|(&x, &y)| reference(x, y, p)).collect();
            vec![Sample::new(samples[0].shape.clone(), data).of(samples[0].dtype)]
        };
        let case = |shape: Shape| {
            let operands = self.domain.samples(&shape).into_iter().take(arity).collect::<Vec<_>>();
            Case::new(format!("{with}shape {shape}"), attrs.clone(), operands, whole)
        };
        if !all {
            return vec![case(Shape::from([2, 3])), case(Shape::from([]))];
        }
        // One element inline, short and long rows, more axes than are held dense, nothing, and enough for several tiles.
        let mut cases = vec![
            case(Shape::from([])),
            case(Shape::from([1, 1])),
            case(Shape::from([7])),
            case(Shape::from([2, 3])),
            case(Shape::from([2, 1, 3])),
            case(Shape::from([0, 2])),
            case(Shape::from([3, 400])),
            case(Shape::from([40_000])).values_only(),
        ];
        cases.extend(self.edges.case(attrs.clone()));
        if op.i64.is_some() {
            let whole_numbers =
                (0..arity).map(|operand| Sample::integers([4], [3, -2, 7, 1 + operand as i64])).collect::<Vec<_>>();
            cases.push(Case::new("integers", attrs, whole_numbers, whole).values_only());
        }
        cases
    }
}

impl Domain {
    /// Test points for two operands.
    fn samples(self, shape: &Shape) -> [Sample; 2] {
        let of = |make: &dyn Fn(Shape, f64) -> Sample| [make(shape.clone(), 0.3), make(shape.clone(), 1.3)];
        match self {
            Domain::Reals => of(&|shape, phase| Sample::wave(shape, phase)),
            Domain::Positive => of(&|shape, phase| Sample::positive(shape, phase)),
            Domain::Within(low, high) => of(&|shape, phase| Sample::within(low, high, shape, phase)),
            Domain::Points(make) => {
                let [mut x, mut y] = of(&|shape, phase| Sample::wave(shape, phase));
                for (x, y) in x.data.iter_mut().zip(&mut y.data) {
                    (*x, *y) = make(*x, *y);
                }
                [x, y]
            }
        }
    }
}

impl Edges {
    /// The case of these points, if there are any.
    fn case(&self, attrs: Attrs) -> Option<Case> {
        let (operands, values): (Vec<Vec<f64>>, Vec<f64>) = match self {
            Edges::One(points) => {
                (vec![points.iter().map(|point| point.0).collect()], points.iter().map(|point| point.1).collect())
            }
            Edges::Two(points) => (
                vec![points.iter().map(|point| point.0).collect(), points.iter().map(|point| point.1).collect()],
                points.iter().map(|point| point.2).collect(),
            ),
        };
        let size = values.len();
        let expected = Sample::new([size], values);
        let operands: Vec<Sample> = operands.into_iter().map(|numbers| Sample::new([size], numbers)).collect();
        (size > 0).then(|| Case::new("edges", attrs, operands, move |_| vec![expected.clone()]).values_only())
    }
}
