//! The tool that [GradBench](https://github.com/gradbench/gradbench)'s evaluations talk to, with one JSON object per line.
//!
//! A module of the benchmark is one file of [`modules`] and one line of [`MODULES`](modules::MODULES). Its problem is a function that is
//! generic over [`Real`](wengert::scalar::Real), differentiated by `wengert::scalar`; or, if it is array arithmetic, a function of
//! [`Tensor`](wengert::Tensor)s, compiled for its input. [`protocol`] reads and answers lines, [`run`] repeats and measures, [`table`] runs
//! the workloads without the benchmark.
//!
//! ```
//! use wengert_gradbench::protocol::answer;
//! let square = br#"{"id": 2, "kind": "evaluate", "module": "hello", "function": "square", "input": 3.0}"#;
//! assert!(answer(square).starts_with(r#"{"id":2,"success":true,"output":9.0,"timings":[{"name":"evaluate","nanoseconds":"#));
//! assert_eq!(answer(br#"{"id": 3, "kind": "analysis", "of": 2, "valid": true}"#), r#"{"id":3}"#);
//! ```

mod compiled;
mod descent;
mod matrix;
pub mod modules;
mod nested;
pub mod protocol;
pub mod random;
pub mod run;
pub mod table;
