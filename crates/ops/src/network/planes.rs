//! gather_planes - elements of each plane by position.   y[p][o] = x[p][index[p][o]],   dy likewise.   Positions count over the last `axes`
//! axes of x; the other axes are planes. Used for maxima over windows.
//!
//! scatter_planes - addition into planes of zeros.   y[p][index[p][o]] += x[p][o],   dy likewise.   The transpose of gather_planes;
//! elements are added in order, planes run in parallel. `size` is the shape of a plane of y.

use crate::prelude::*;
use wengert_kernels::dtype::Compute;
use wengert_kernels::{gather_planes, scatter_planes};

/// The primitive `gather_planes`.
pub static GATHER_PLANES: Planes = Planes { gathers: true };

/// The primitive `scatter_planes`.
pub static SCATTER_PLANES: Planes = Planes { gathers: false };

/// See the module.
pub struct Planes {
    gathers: bool,
}

/// The elements of `x` at these positions of its last axes, whose sizes are `size`.
pub(crate) fn gathered(x: &Tensor, index: &Tensor, size: &[usize]) -> Tensor {
    bind1(&GATHER_PLANES, Attrs::new().with_sizes("size", size), &[x, index])
}

/// Zeros with last axes of sizes `size`, and `x` added at these positions.
pub(crate) fn scattered(x: &Tensor, index: &Tensor, size: &[usize]) -> Tensor {
    bind1(&SCATTER_PLANES, Attrs::new().with_sizes("size", size), &[x, index])
}

impl Planes {
    fn write<T: Compute>(&self, planes: usize, x: View<'_>, index: &[i64], out: Out<'_>) {
        let x = numbers::<T>(x);
        fill(out, |out| match self.gathers {
            true => gather_planes(planes, &x[..], index, out),
            false => scatter_planes(planes, &x[..], index, out),
        });
    }
}

impl Primitive for Planes {
    fn name(&self) -> &'static str {
        if self.gathers { "gather_planes" } else { "scatter_planes" }
    }

    fn operands(&self) -> usize {
        2
    }

    fn attributes(&self) -> &'static [&'static str] {
        &["size"]
    }

    fn infer(&self, attrs: &Attrs, operands: &[SpecRef<'_>]) -> Result<Specs, Error> {
        let (x, index, size) = (operands[0], operands[1], attrs.sizes("size"));
        let shapes = || vec![Shape::from(x.shape), Shape::from(index.shape)];
        expect_arithmetic(self.name(), x.dtype)?;
        if !index.dtype.is_integer() {
            let message = format!("positions are integers, got {}", index.dtype);
            return Err(Error::new(ErrorKind::DType(vec![index.dtype]), self.name(), message));
        }
        let axes = size.rank();
        let lead = index.shape.len().checked_sub(axes);
        let fits = lead.is_some_and(|lead| match self.gathers {
            true => {
                x.shape.len() == index.shape.len()
                    && x.shape[..lead] == index.shape[..lead]
                    && x.shape[lead..] == size[..]
            }
            false => x.shape == index.shape,
        });
        let Some(lead) = lead.filter(|_| fits) else {
            let message =
                format!("values of shape {} with positions of shape {} for planes of {size}", shapes()[0], shapes()[1]);
            return Err(Error::new(ErrorKind::Shape(shapes()), self.name(), message)
                .help("positions have the shape of the smaller side, whose leading axes are those of the planes"));
        };
        let shape = match self.gathers {
            true => Shape::from(index.shape),
            false => x.shape[..lead].iter().chain(size.iter()).copied().collect(),
        };
        shape.check(self.name())?;
        Ok(smallvec![Spec { shape, dtype: x.dtype }])
    }

    fn run(&self, attrs: &Attrs, operands: &[View<'_>], outputs: &mut [Out<'_>]) -> Result<bool, Error> {
        let (x, index, size) = (operands[0], numbers::<i64>(operands[1]), attrs.sizes("size"));
        let (index, length) = (&index[..], size.elements());
        if let Some(place) = index.iter().position(|&at| at as u64 >= length as u64) {
            let message = format!("position {} is outside a plane of shape {size}", index[place]);
            return Err(Error::new(ErrorKind::Range, self.name(), message)
                .help(format!("positions go from 0 to {}", length.saturating_sub(1))));
        }
        let shape = operands[1].shape;
        let planes = shape[..shape.len() - size.rank()].iter().product();
        computing!(x.dtype, T => self.write::<T>(planes, x, index, outputs[0].reborrow()));
        Ok(true)
    }

    fn saves(&self, _attrs: &Attrs, _wanted: Mask) -> Saves {
        Saves::NOTHING.operand(1)
    }

    fn vjp(&'static self, rule: &Rule<'_>, cotangents: &mut [Option<Tensor>]) -> Gradients {
        let Some(g) = cotangents[0].take() else { return Gradients::new() };
        let size = rule.attrs.sizes("size");
        let gradient = match self.gathers {
            true => scattered(&g, rule.operand(1), &size),
            false => gathered(&g, rule.operand(1), &size),
        };
        smallvec![Gradient::Dense(gradient), Gradient::Zero]
    }

    fn jvp(&'static self, rule: &Rule<'_>, tangents: &[Option<Tensor>]) -> Adjoints {
        smallvec![tangents[0].as_ref().map(|tangent| bind1(self, rule.attrs.clone(), &[tangent, rule.operand(1)]))]
    }

    fn batch(&'static self, attrs: &Attrs, size: usize, operands: &[Tensor], batched: Mask) -> Result<Outputs, Error> {
        let aligned = align_batch(size, operands, batched);
        Ok(smallvec![bind1(self, attrs.clone(), &[&aligned[0], &aligned[1]])])
    }

    fn dependency(&self) -> Dependency {
        if self.gathers { Dependency::Movement } else { Dependency::Accumulation }
    }

    fn jet(&self) -> Jet {
        Jet::Linear
    }

    fn rule_text(&self) -> &'static str {
        if self.gathers { "dx = scatter_planes(dy)" } else { "dx = gather_planes(dy)" }
    }

    #[cfg(feature = "cases")]
    fn cases(&self) -> Vec<Case> {
        let case = |lead: Shape, small: Shape, size: Shape, index: Vec<i64>| {
            let attrs = Attrs::new().with_sizes("size", size.iter());
            let with = |last: &Shape| -> Shape { lead.iter().chain(last.iter()).copied().collect() };
            let (short, long) = (with(&small), with(&size));
            let index = Sample::integers(short.clone(), index);
            let x = Sample::wave(if self.gathers { long.clone() } else { short.clone() }, 0.35);
            let (gathers, plane, picked) = (self.gathers, size.elements(), small.elements());
            Case::new(format!("{lead} planes of {size}"), attrs, [x, index], move |s| {
                let place = |i: usize| i / picked * plane + s[1].data[i] as usize;
                if gathers {
                    let data: Vec<f64> = (0..s[1].data.len()).map(|i| s[0].data[place(i)]).collect();
                    return vec![Sample::new(short.clone(), data)];
                }
                let mut y = Sample::build(long.clone(), |_| 0.0);
                (0..s[1].data.len()).for_each(|i| y.data[place(i)] += s[0].data[i]);
                vec![y]
            })
        };
        vec![
            case(Shape::from([2]), Shape::from([3]), Shape::from([4]), vec![3, 0, 3, 1, 1, 2]),
            case(Shape::from([2, 1]), Shape::from([1, 2]), Shape::from([2, 3]), vec![5, 0, 2, 4]),
            case(Shape::from([]), Shape::from([2]), Shape::from([3]), vec![1, 2]),
            case(Shape::from([0, 2]), Shape::from([2]), Shape::from([3]), vec![]),
        ]
    }
}
