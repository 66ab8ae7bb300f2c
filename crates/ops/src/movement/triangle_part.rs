//! triangle_part - lower or upper part of each matrix.   y[i][j] = x[i][j] where j <= i + offset, or j >= i + offset for the upper
//! part, else 0,   dy likewise.   Its own transpose. Leading axes are a batch.

use crate::prelude::*;
use wengert_kernels::linalg;

/// The methods of `triangle_part`.
#[ext(TrianglePartMethods)]
impl Tensor {
    /// Sets each matrix to zero above the diagonal that is `offset` above the main one.
    ///
    /// ```
    /// use wengert::prelude::*;
    /// assert_eq!(Tensor::ones([2, 2]).tril(0), Tensor::from([[1.0, 0.0], [1.0, 1.0]]));
    /// ```
    #[track_caller]
    pub fn tril(&self, offset: isize) -> Tensor {
        bind1(&TRIANGLE_PART, attrs(false, offset), &[self])
    }

    /// Sets each matrix to zero below the diagonal that is `offset` above the main one.
    ///
    /// ```
    /// use wengert::prelude::*;
    /// assert_eq!(Tensor::ones([2, 2]).triu(1), Tensor::from([[0.0, 1.0], [0.0, 0.0]]));
    /// ```
    #[track_caller]
    pub fn triu(&self, offset: isize) -> Tensor {
        bind1(&TRIANGLE_PART, attrs(true, offset), &[self])
    }
}

fn attrs(upper: bool, offset: isize) -> Attrs {
    Attrs::new().with_int("upper", i64::from(upper)).with_int("offset", offset as i64)
}

/// The primitive `triangle_part`.
pub static TRIANGLE_PART: LinearOp<TrianglePart> = LinearOp::NEW;

/// See the module.
pub struct TrianglePart;

impl Linear for TrianglePart {
    const NAME: &'static str = "triangle_part";
    const ATTRIBUTES: &'static [&'static str] = &["upper", "offset"];
    const RULE: &'static str = "dx = triangle_part(dy)";

    fn infer(attrs: &Attrs, x: SpecRef<'_>) -> Result<Spec, Error> {
        expect_flags("triangle_part", attrs, &["upper"])?;
        attrs.int("offset");
        if x.shape.len() < 2 {
            let shape = Shape::from(x.shape);
            let name = if attrs.int("upper") != 0 { "triu" } else { "tril" };
            return Err(Error::new(
                ErrorKind::Shape(vec![shape.clone()]),
                name,
                format!("shape {shape} has no two axes"),
            ));
        }
        Ok(x.to_spec())
    }

    fn run(attrs: &Attrs, x: View<'_>, out: Out<'_>) -> Result<(), Error> {
        let (_, [m, n]) = crate::rules::matrix::split(x.shape);
        let (upper, offset) = (attrs.int("upper") != 0, attrs.int("offset") as isize);
        computing!(x.dtype, T => {
            fill(out, |out: &mut [T]| linalg::triangle_part(&numbers(x), [m, n], upper, offset, out));
        });
        Ok(())
    }

    fn transpose(rule: &Rule<'_>, g: Tensor) -> Gradient {
        Gradient::Dense(bind1(&TRIANGLE_PART, rule.attrs.clone(), &[&g]))
    }

    fn batch(op: &'static dyn Primitive, attrs: &Attrs, _size: usize, x: &Tensor) -> Tensor {
        bind1(op, attrs.clone(), &[x])
    }

    #[cfg(feature = "cases")]
    fn cases() -> Vec<Case> {
        let case = |shape: &[usize], upper: bool, offset: isize| {
            let label = format!("{shape:?}, upper {upper}, offset {offset}");
            Case::new(label, attrs(upper, offset), [Sample::wave(shape.to_vec(), 0.3)], move |s| {
                let rank = s[0].shape.rank();
                let kept = |i: &[usize]| {
                    let above = i[rank - 1] as isize - i[rank - 2] as isize;
                    if upper { above >= offset } else { above <= offset }
                };
                vec![Sample::build(s[0].shape.clone(), |i| if kept(i) { s[0].at(i) } else { 0.0 })]
            })
        };
        vec![
            case(&[3, 3], false, 0),
            case(&[3, 3], true, 0),
            case(&[4, 2], false, -1),
            case(&[2, 4], true, 1),
            case(&[2, 2, 3], false, 1),
            case(&[2, 2, 3], true, -1),
            case(&[2, 3], false, 7),
            case(&[2, 3], true, 7),
            case(&[1, 1], false, 0),
            case(&[0, 3], true, 0),
            case(&[2, 0, 3], false, 0),
        ]
    }
}
