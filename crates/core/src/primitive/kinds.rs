//! Small descriptive types for operations and tensors: specs, costs, how outputs depend on operands, what is saved.

use super::{Attrs, Mask};
use crate::{DType, Error, ErrorKind, Shape};
use smallvec::SmallVec;
use wengert_kernels::pool;

/// The device that holds a tensor's elements.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Default)]
#[non_exhaustive]
pub enum Device {
    /// The memory of this machine.
    #[default]
    Cpu,
    /// An NVIDIA GPU, by its number in this machine.
    Cuda(usize),
}

impl std::fmt::Display for Device {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Device::Cpu => write!(f, "cpu"),
            Device::Cuda(number) => write!(f, "cuda:{number}"),
        }
    }
}

/// The shape and dtype of a tensor, known before its values.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Spec {
    /// The sizes of its axes.
    pub shape: Shape,
    /// The dtype of its elements.
    pub dtype: DType,
}

impl Spec {
    /// A spec from its parts.
    ///
    /// ```
    /// use wengert::{prelude::*, primitive::Spec};
    /// assert_eq!(Spec::new([2, 3], DType::F32).to_string(), "f32[2, 3]");
    /// ```
    pub fn new(shape: impl Into<Shape>, dtype: DType) -> Spec {
        Spec { shape: shape.into(), dtype }
    }

    /// The borrowed form.
    pub fn as_ref(&self) -> SpecRef<'_> {
        SpecRef { shape: &self.shape, dtype: self.dtype }
    }

    /// The size of its elements in bytes.
    pub fn bytes(&self) -> usize {
        self.shape.elements().saturating_mul(self.dtype.size())
    }

    /// An error of `name` if such a tensor cannot exist, or there is no memory for it.
    #[doc(hidden)]
    pub fn check(&self, name: &str) -> Result<(), Error> {
        self.shape.check(name)?;
        pool::request(self.bytes()).map_err(|refused| Error::out_of_memory(name, self, refused))
    }
}

impl std::fmt::Display for Spec {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}{}", self.dtype, self.shape)
    }
}

/// A borrowed [`Spec`], which is free to create.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct SpecRef<'a> {
    /// The sizes of its axes.
    pub shape: &'a [usize],
    /// The dtype of its elements.
    pub dtype: DType,
}

impl SpecRef<'_> {
    /// The owned form.
    pub fn to_spec(self) -> Spec {
        Spec { shape: Shape::from(self.shape), dtype: self.dtype }
    }
}

/// The specs of the results of one call.
pub type Specs = SmallVec<[Spec; 1]>;

/// The work of one call.
#[derive(Clone, Copy, Debug, PartialEq, Default)]
pub struct Cost {
    /// Arithmetic operations.
    pub flops: f64,
    /// Bytes read and written.
    pub bytes: f64,
}

/// Which operand elements an output element depends on; used to propagate sparsity patterns.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Dependency {
    /// Output element i depends on element i of every operand.
    Elementwise,
    /// Every output element is a copy of one operand element or a constant; positions are integers.
    Movement,
    /// Every operand element is added to at most one output element, so the reverse rule only copies cotangents.
    Accumulation,
    /// Output elements depend on the operand elements along the reduced axes, given by the attribute `axes` or `axis`.
    Reduction,
    /// Output element (.., i, j) depends on row i of the first operand, on column j of the second, or on its row j if it is multiplied
    /// transposed, and on element j of the addend.
    Product {
        /// Whether columns of the result come from rows of the second operand.
        transposed: bool,
    },
    /// Output elements depend on all elements in this many last axes of the operands, at the same position of the axes before them.
    Blocks(usize),
    /// Every output element may depend on every operand element.
    Dense,
    /// Outputs do not depend differentiably on any operand.
    None,
}

/// How Taylor coefficients propagate.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Jet {
    /// Coefficient by coefficient: the operation is linear.
    Linear,
    /// The product rule over coefficients of the first two operands, which alone suffice for a call; those of others, such as a bias, are
    /// added.
    Bilinear,
    /// By division of series: the operation is linear in all operands except this one, and the tangent with respect to this one is linear
    /// in the output, as in x / y or A^-1 b.
    Quotient(usize),
    /// By the same operation on a larger matrix: it is a power series of one square matrix, or of each matrix of a batch.
    MatrixFunction,
    /// By the differential equation that the slope defines.
    Slope,
    /// By the differential equation that the tangent rule defines, as for a slope, if the operation is not elementwise.
    Nested,
    /// Only the value propagates.
    Constant,
}

/// The cost of a streaming operation: one flop per output element, everything read and written once.
pub fn streaming_cost(operands: &[SpecRef<'_>], outputs: &[Spec]) -> Cost {
    let size = |shape: &[usize]| shape.iter().map(|&size| size as f64).product::<f64>();
    let bytes = |spec: SpecRef<'_>| size(spec.shape) * spec.dtype.size() as f64;
    let read: f64 = operands.iter().map(|spec| bytes(*spec)).sum();
    let written: f64 = outputs.iter().map(|spec| bytes(spec.as_ref())).sum();
    Cost { flops: outputs.iter().map(|spec| size(&spec.shape)).sum(), bytes: read + written }
}

/// An error unless two dtypes are equal; it suggests a cast.
pub fn expect_same_dtype(name: &str, a: DType, b: DType) -> Result<(), Error> {
    if a == b {
        return Ok(());
    }
    // Two floats meet at the narrower type: usually the network has that one, and the wider one comes from a constructor without a dtype.
    let help = match (a.is_float() && b.is_float(), a.is_float()) {
        (true, _) => {
            let narrow = if a.size() < b.size() { a } else { b };
            format!(
                "convert the other side with .cast(DType::{narrow:?}), or make it so: x.zeros_like(), Tensor::zeros_of(shape, \
                 DType::{narrow:?}), default_dtype(DType::{narrow:?}, || ..)"
            )
        }
        (_, a_is_float) => {
            format!("convert one side, for example with .cast(DType::{:?})", if a_is_float { a } else { b })
        }
    };
    Err(Error::new(ErrorKind::DType(vec![a, b]), name, format!("dtypes differ: {a} and {b}")).help(help))
}

/// An error for booleans in an arithmetic operation.
pub fn expect_arithmetic(name: &str, dtype: DType) -> Result<(), Error> {
    if dtype != DType::Bool {
        return Ok(());
    }
    Err(Error::new(ErrorKind::DType(vec![dtype]), name, "booleans have no arithmetic")
        .help("convert them first, for example with .cast(DType::I64)"))
}

/// An error for a dtype without derivatives in an operation on real numbers.
pub fn expect_float(name: &str, dtype: DType) -> Result<(), Error> {
    if dtype.is_float() {
        return Ok(());
    }
    let help = match name {
        "div" => "divide integers with .floor_divide(..), or convert them first, for example with .cast(DType::F64)",
        _ => "convert it first, for example with .cast(DType::F64)",
    };
    Err(Error::new(ErrorKind::DType(vec![dtype]), name, format!("needs a floating-point tensor, got {dtype}"))
        .help(help))
}

/// An error unless these attributes are 0 or 1; it names the first that is neither.
pub fn expect_flags(name: &str, attrs: &Attrs, flags: &[&str]) -> Result<(), Error> {
    let Some(flag) = flags.iter().find(|flag| !(0..=1).contains(&attrs.int(flag))) else { return Ok(()) };
    let message = format!("attribute '{flag}' is {}, neither 0 nor 1", attrs.int(flag));
    Err(Error::new(ErrorKind::Argument, name, message))
}

/// Reads attributes that should be real numbers, of any value; raises an error for another kind.
pub fn expect_reals(attrs: &Attrs, names: &[&str]) {
    names.iter().for_each(|name| {
        attrs.real(name);
    });
}

/// The values that a primitive keeps from the forward pass for its rules.
///
/// A saved value is an operand, an output, or a non-differentiable residual; anything else would silently break second derivatives. A shape
/// is kept where the rule needs no values.
///
/// ```
/// use wengert::primitive::Saves;
/// let saves = Saves::NOTHING.operand(0).shape(1);
/// assert!(saves.operands.has(0) && saves.shapes.has(1) && !saves.residual);
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Saves {
    /// Operands whose values are kept.
    pub operands: Mask,
    /// Outputs whose values are kept.
    pub outputs: Mask,
    /// Operands whose shape and dtype are kept.
    pub shapes: Mask,
    /// Whether the primitive's residual is kept.
    pub residual: bool,
}

impl Saves {
    /// The rules need nothing but the cotangent.
    pub const NOTHING: Saves = Saves { operands: Mask::NONE, outputs: Mask::NONE, shapes: Mask::NONE, residual: false };

    /// Adds the value of operand `position`, which must be below 63.
    pub const fn operand(self, position: usize) -> Saves {
        Saves { operands: self.operands.with(position), ..self }
    }

    /// Adds the value of output `position`, which must be below 63.
    pub const fn output(self, position: usize) -> Saves {
        Saves { outputs: self.outputs.with(position), ..self }
    }

    /// Adds the values of these operands.
    pub fn operands(self, positions: Mask) -> Saves {
        Saves { operands: self.operands.or(positions), ..self }
    }

    /// Adds the values of these outputs.
    pub fn outputs(self, positions: Mask) -> Saves {
        Saves { outputs: self.outputs.or(positions), ..self }
    }

    /// Adds the shape and dtype of operand `position`, which must be below 63.
    pub const fn shape(self, position: usize) -> Saves {
        Saves { shapes: self.shapes.with(position), ..self }
    }

    /// Adds the residual.
    pub const fn residual(self) -> Saves {
        Saves { residual: true, ..self }
    }

    /// The union of both.
    pub fn and(self, other: Saves) -> Saves {
        Saves {
            operands: self.operands.or(other.operands),
            outputs: self.outputs.or(other.outputs),
            shapes: self.shapes.or(other.shapes),
            residual: self.residual || other.residual,
        }
    }

    /// The number of slots it takes on the tape.
    #[doc(hidden)]
    pub fn count(self) -> usize {
        self.operands.count() + self.outputs.count() + self.shapes.count() + usize::from(self.residual)
    }
}
