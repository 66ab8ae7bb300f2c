//! prelu - rectifier with learned slopes.   z = x where x > 0, else w x,   dz = dx, or w dx + x dw where x <= 0.   Domain: all reals. At
//! the kink the subgradient of least norm: w, clamped between 0 and 1.

use crate::prelude::*;

/// The methods of `prelu`.
#[ext(PreluMethods)]
impl Tensor {
    /// Every element, multiplied by a weight where it is not positive: one weight, or one for each channel (axis 1).
    ///
    /// ```
    /// use wengert::prelude::*;
    /// let (x, w) = (Tensor::from([-2.0, 2.0]), Tensor::from(0.25));
    /// assert_eq!(x.prelu(&w), Tensor::from([-0.5, 2.0]));
    /// ```
    #[track_caller]
    pub fn prelu(&self, weight: &Tensor) -> Tensor {
        let channels = if self.rank() > 1 { self.shape()[1] } else { 1 };
        let weight = match weight.elements() {
            1 => weight.reshape([]),
            count if count == channels => {
                let ones = std::iter::repeat_n(1, self.rank() - 2);
                weight.reshape(std::iter::once(count).chain(ones).collect::<Shape>())
            }
            count => {
                let shapes = vec![Shape::from(self.shape()), Shape::from(weight.shape())];
                let message = format!("{count} weights for {channels} channels of {}", shapes[0]);
                Error::new(ErrorKind::Shape(shapes), "prelu", message)
                    .help("give one weight, or one for each channel, which is axis 1")
                    .raise()
            }
        };
        binary(&PRELU, Attrs::new(), self, &weight)
    }
}

elementwise! {
    PRELU = "prelu",
    value: |x, w| if x > 0.0 { x } else { w * x },
    slopes: [
        slope!(
            |x: operand 0, w: operand 1| above(x, 0.0, 1.0, at_zero(x, least_slope(w), w)),
            tensor: above(x, 0.0, 1.0, at_zero(x, w.clamp(0.0, 1.0), w))
        ),
        slope!(|x: operand 0| above(x, 0.0, 0.0, x))
    ],
    rule: "dx = dz where x > 0, else w dz; dw = x dz where x <= 0",
    reference: |x, w| x.max(0.0) + w * x.min(0.0),
    domain: Points(|u, v| (away_from(&[0.0], 0.05, u), v)),
    edges: &[(0.0, 2.0, 0.0), (-1.0, 0.5, -0.5)],
    jet: Slope,
}
