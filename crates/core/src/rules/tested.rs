//! Test points of elementwise primitives.

use crate::Shape;
use crate::primitive::{Attrs, Case, Sample};
use wengert_kernels::functions::Parameters;

/// The reference of an elementwise primitive, and the points to test it at.
pub struct Tested {
    /// Values of the parameters: the first set is tested on every shape.
    pub tried: &'static [Parameters<f64>],
    /// The value in plain f64, by a different formula than the kernel's.
    pub reference: fn(f64, f64, Parameters<f64>) -> f64,
    pub domain: Domain,
    pub edges: Edges,
}

/// The region for random test points.
#[derive(Clone, Copy)]
pub enum Domain {
    Reals,
    Positive,
    Within(f64, f64),
    /// Built from two numbers between -1.9 and 1.9, for operands that depend on each other or must stay away from kinks.
    Points(fn(f64, f64) -> (f64, f64)),
}

/// `x`, moved away from every kink within `distance`.
pub fn away_from(kinks: &[f64], distance: f64, x: f64) -> f64 {
    let near = kinks.iter().find(|kink| (x - **kink).abs() < distance);
    near.map_or(x, |kink| kink + distance.copysign(x - kink))
}

/// Points with a prescribed value: boundaries, infinities.
pub enum Edges {
    /// (x, f(x))
    One(&'static [(f64, f64)]),
    /// (x, y, f(x, y))
    Two(&'static [(f64, f64, f64)]),
}

impl Tested {
    /// Cases of an operation with this many operands and these parameters, and for integers too if it takes them.
    pub fn cases(&self, operands: usize, parameters: &[&'static str], takes_integers: bool) -> Vec<Case> {
        let of = |p: Parameters<f64>| {
            parameters.iter().zip(p).fold(Attrs::new(), |attrs, (name, value)| attrs.with_real(name, value))
        };
        let first = self.tried[0];
        let mut cases = self.cases_of(operands, of(first), first, true);
        if takes_integers {
            cases.push(self.integers(operands, of(first), first));
        }
        cases.extend(self.tried[1..].iter().flat_map(|&p| self.cases_of(operands, of(p), p, false)));
        cases
    }

    /// The outputs according to the reference.
    fn expected(&self, p: Parameters<f64>) -> impl Fn(&[Sample]) -> Vec<Sample> + Clone + Send + Sync + use<> {
        let reference = self.reference;
        move |samples: &[Sample]| {
            let second = samples.last().expect("an operand");
            let data: Vec<f64> = samples[0].data.iter().zip(&second.data).map(|(&x, &y)| reference(x, y, p)).collect();
            vec![Sample::new(samples[0].shape.clone(), data).of(samples[0].dtype)]
        }
    }

    fn integers(&self, operands: usize, attrs: Attrs, p: Parameters<f64>) -> Case {
        let numbers: Vec<Sample> =
            (0..operands).map(|operand| Sample::integers([4], [3, -2, 7, 1 + operand as i64])).collect();
        Case::new("integers", attrs, numbers, self.expected(p)).values_only()
    }

    /// The cases for one set of parameters, in all shapes or only a few.
    fn cases_of(&self, arity: usize, attrs: Attrs, p: Parameters<f64>, all: bool) -> Vec<Case> {
        let with = if attrs.is_empty() || all { String::new() } else { format!("{attrs} ") };
        let case = |shape: Shape| {
            let operands = self.domain.samples(&shape).into_iter().take(arity).collect::<Vec<_>>();
            Case::new(format!("{with}shape {shape}"), attrs.clone(), operands, self.expected(p))
        };
        if !all {
            return vec![case(Shape::from([2, 3])), case(Shape::from([]))];
        }
        // A single inline element, short and long rows, more axes than dense values have, no elements, and enough for several tiles.
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
        cases.extend(self.edges.case(attrs));
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
