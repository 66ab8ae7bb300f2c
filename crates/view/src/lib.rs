//! Pictures of numbers: line plots as SVG and as text, and sparklines.
//!
//! The crate depends on nothing but `std`. It takes plain numbers and returns strings, and never fails: values that cannot be drawn leave
//! gaps.
//!
//! ```
//! use wengert_view::{Plot, sparkline};
//!
//! let losses = [2.3, 1.1, 0.6, 0.4, 0.35];
//! let plot = Plot::new("Training").values("loss", &losses).x_label("epoch").log_y();
//! assert!(plot.svg().starts_with("<svg"));
//! println!("{}", plot.terminal(60, 12));
//! assert_eq!(sparkline(&losses), "█▄▂▁▁");
//! ```

mod axis;
mod braille;
mod plot;
mod sparkline;
mod svg;
mod terminal;
mod thinning;
mod ticks;
mod xml;

pub use plot::Plot;
pub use sparkline::sparkline;
