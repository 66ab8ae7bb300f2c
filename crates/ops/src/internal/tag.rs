//! tag - an identity that names a value.   y = x,   dy = dx.   A checkpoint can keep the values that have a name.

use crate::error::OrRaise;
use crate::prelude::*;

/// The methods of `tag`.
#[ext(TagMethods)]
impl Tensor {
    /// The same tensor, with a name by which `checkpoint_with` can keep it. A name has letters, digits and
    /// underscores, and begins with a letter.
    ///
    /// ```
    /// use wengert::prelude::*;
    /// let x = Tensor::from([1.0, 2.0]).require_grad();
    /// let block = |x: &Tensor| x.exp().tag("activation").sin();
    /// checkpoint_with(Policy::Tagged(&["activation"]), block)(&x).sum().backward();
    /// assert!(x.grad().unwrap().all_close(&(x.exp().cos() * x.exp()), 1e-15));
    /// ```
    #[track_caller]
    pub fn tag(&self, name: &str) -> Tensor {
        expect_name(name).or_raise();
        bind1(&TAG, Attrs::new().with_word("name", name), &[self])
    }
}

fn expect_name(name: &str) -> Result<(), Error> {
    let begins_well = name.starts_with(|first: char| first.is_ascii_alphabetic());
    if begins_well && name.chars().all(|letter| letter.is_ascii_alphanumeric() || letter == '_') {
        return Ok(());
    }
    let error = Error::new(ErrorKind::Argument, "tag", format!("'{name}' cannot be a name"));
    Err(error.help("use letters, digits and underscores, and begin with a letter"))
}

/// The primitive `tag`.
pub static TAG: LinearOp<Tag> = LinearOp::NEW;

/// See the module.
pub struct Tag;

impl Linear for Tag {
    const NAME: &'static str = "tag";
    const ATTRIBUTES: &'static [&'static str] = &["name"];
    const RULE: &'static str = "dx = dy";
    const IS_VIEW: bool = true;

    fn infer(attrs: &Attrs, x: SpecRef<'_>) -> Result<Spec, Error> {
        expect_name(attrs.word("name"))?;
        Ok(x.to_spec())
    }

    fn view(_attrs: &Attrs, x: &Layout, _output: &Spec) -> Option<Layout> {
        Some(x.clone())
    }

    fn transpose(_rule: &Rule<'_>, g: Tensor) -> Gradient {
        Gradient::Dense(g)
    }

    fn batch(op: &'static dyn Primitive, attrs: &Attrs, _size: usize, x: &Tensor) -> Tensor {
        bind1(op, attrs.clone(), &[x])
    }

    #[cfg(feature = "cases")]
    fn cases() -> Vec<Case> {
        let case = |shape: Shape| {
            let attrs = Attrs::new().with_word("name", "value");
            Case::new(format!("{shape}"), attrs, [Sample::wave(shape, 0.3)], |s| vec![s[0].clone()])
        };
        vec![case(Shape::from([])), case(Shape::from([2, 3])), case(Shape::from([0, 3]))]
    }
}
