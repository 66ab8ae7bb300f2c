//! Profiles as data: timelines and tables.

use super::{Ceilings, Profile};
use crate::json::{array, number, object, optional, string};
use std::time::Duration;

impl Profile {
    /// The calls in the trace event format, which `chrome://tracing` and Perfetto open: forward and backward calls in two rows.
    ///
    /// ```
    /// use wengert::prelude::*;
    /// let (_, profile) = wengert_view::profile(|| Tensor::ones([10]).exp());
    /// assert!(profile.chrome_trace().starts_with(r#"{"traceEvents":[{"name":"exp","ph":"X","#));
    /// ```
    pub fn chrome_trace(&self) -> String {
        let events = self.calls.iter().map(|call| {
            let arguments = object(&[
                ("line", optional(&call.line, |line| string(&line.to_string()))),
                ("rule of", optional(&call.rule_of, |rule| string(rule))),
                ("flops", number(call.cost.flops)),
                ("bytes", number(call.cost.bytes)),
            ]);
            object(&[
                ("name", string(&call.operation)),
                ("ph", string("X")),
                ("cat", string(if call.is_backward { "backward" } else { "forward" })),
                ("ts", number(call.start.as_secs_f64() * 1e6)),
                ("dur", number(call.duration.as_secs_f64() * 1e6)),
                ("pid", "0".to_string()),
                ("tid", if call.is_backward { "1" } else { "0" }.to_string()),
                ("args", arguments),
            ])
        });
        object(&[("traceEvents", array(events)), ("displayTimeUnit", string("ms"))])
    }

    /// The table as one JSON object on one line: `wall_ms`, `total_ms` and `rows` with `operation`, `line`, `forward_calls`,
    /// `backward_calls`, `forward_ms`, `backward_ms`, `flops`, `bytes`, and `of_ceiling`, the fraction of what the machine can do, or `null`.
    ///
    /// ```
    /// use wengert::prelude::*;
    /// let (_, profile) = wengert_view::profile(|| Tensor::ones([10]).exp());
    /// assert!(profile.json().contains(r#""rows":[{"operation":"exp","line":"#));
    /// ```
    pub fn json(&self) -> String {
        let milliseconds = |time: Duration| number(time.as_secs_f64() * 1e3);
        let rows = self.rows();
        let rows = rows.iter().map(|row| {
            let fraction = |ceilings: &Ceilings| number(ceilings.seconds(row.cost) / row.total().as_secs_f64());
            object(&[
                ("operation", string(&row.operation)),
                ("line", optional(&row.line, |line| string(&line.to_string()))),
                ("forward_calls", row.forward_calls.to_string()),
                ("backward_calls", row.backward_calls.to_string()),
                ("forward_ms", milliseconds(row.forward)),
                ("backward_ms", milliseconds(row.backward)),
                ("flops", number(row.cost.flops)),
                ("bytes", number(row.cost.bytes)),
                ("of_ceiling", optional(&self.ceilings, fraction)),
            ])
        });
        let (wall, total) = (milliseconds(self.wall), milliseconds(self.total()));
        object(&[("wall_ms", wall), ("total_ms", total), ("rows", array(rows))])
    }
}
