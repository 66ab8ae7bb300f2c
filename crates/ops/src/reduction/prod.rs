//! prod - product over axes.   y = product of x over the axes,   dx = dy times the product of the others.   Exact to every order with any
//! number of zeros: it multiplies the products before and after each element and never divides. The empty product is 1.

use super::product_of_others::PRODUCT_OF_OTHERS;
use crate::prelude::*;
use wengert_kernels::extremes;

/// The methods of `prod`.
#[ext(ProdMethods)]
impl Tensor {
    /// The product of all elements.
    ///
    /// ```
    /// use wengert::prelude::*;
    /// let x = Tensor::from([2.0, 0.0, 5.0]).require_grad();
    /// x.prod().backward();
    /// assert_eq!(x.grad().unwrap(), Tensor::from([0.0, 10.0, 0.0]));
    /// ```
    #[track_caller]
    pub fn prod(&self /* of some axes: prod_over(axes) */) -> Tensor {
        PROD.over(self, .., Attrs::new())
    }

    /// The product over some axes.
    ///
    /// ```
    /// use wengert::prelude::*;
    /// assert_eq!(Tensor::from([[1.0, 2.0], [3.0, 4.0]]).prod_over(0), Tensor::from([3.0, 8.0]));
    /// assert_eq!(Tensor::from([[1.0, 2.0], [3.0, 4.0]]).prod_over(keepdim(1)), Tensor::from([[2.0], [12.0]]));
    /// ```
    #[track_caller]
    pub fn prod_over(&self, axes: impl Into<Over>) -> Tensor {
        PROD.over(self, axes, Attrs::new())
    }
}

/// The primitive `prod`.
pub static PROD: ReductionOp<Prod> = ReductionOp::NEW;

/// See the module.
pub struct Prod;

impl Reduction for Prod {
    const NAME: &'static str = "prod";
    const RULE: &'static str = "dx = dy times the product of the other elements";

    fn dtype(x: DType) -> Result<DType, Error> {
        expect_arithmetic("prod", x).map(|()| x)
    }

    fn run(_attrs: &Attrs, x: View<'_>, axes: &[usize], out: Out<'_>) {
        let (layout, shape) = arranged(x, axes);
        computing!(x.dtype, T => {
            fill(out, |out: &mut [T]| extremes::prod(&numbers(layout.over(x)), shape, out));
        });
    }

    fn slope(call: &Reduced<'_>) -> Tensor {
        let x = call.x();
        // Moves the elements of each output to one last axis.
        let order: Vec<usize> =
            (0..x.rank()).filter(|axis| !call.axes.contains(axis)).chain(call.axes.iter().copied()).collect();
        let moved = x.permute(&order);
        let row = moved.reshape([x.elements() / call.count().max(1), call.count()]);
        let mut back = vec![0; order.len()];
        order.iter().enumerate().for_each(|(to, &from)| back[from] = to);
        PRODUCT_OF_OTHERS.of(&[&row]).reshape(moved.shape()).permute(&back)
    }

    fn reference(_attrs: &Attrs, elements: &[f64]) -> f64 {
        let size: f64 = elements.iter().map(|x| x.abs().ln()).sum::<f64>().exp();
        elements.iter().fold(size, |product, x| if *x < 0.0 { -product } else { product })
    }

    fn edges() -> Vec<Vec<f64>> {
        vec![vec![2.0, 0.0, 3.0], vec![0.0, 2.0, 0.0]]
    }
}
