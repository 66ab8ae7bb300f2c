//! Functions made of other operations: methods of `Tensor` that need no rule of their own.

mod arithmetic;
mod logic;
