//! Profiles as timelines.

use super::Profile;
use crate::json::{array, number, object, string};

impl Profile {
    /// The calls in the trace event format, which `chrome://tracing` and Perfetto open: forward and backward calls in two rows.
    ///
    /// ```
    /// use wengert::prelude::*;
    /// let (_, profile) = wengert_view::profile(|| Tensor::ones([10]).exp());
    /// assert!(profile.chrome_trace().starts_with(r#"{"traceEvents":[{"name":"exp","ph":"X","#));
    /// ```
    pub fn chrome_trace(&self) -> String {
        let events = self.timings.iter().map(|timing| {
            let arguments = object(&[
                ("line", string(&timing.line.to_string())),
                ("rule of", timing.rule_of.map_or_else(|| "null".to_string(), string)),
                ("flops", number(timing.cost.flops)),
                ("bytes", number(timing.cost.bytes)),
            ]);
            object(&[
                ("name", string(timing.operation)),
                ("ph", string("X")),
                ("cat", string(if timing.is_backward { "backward" } else { "forward" })),
                ("ts", number(timing.start.as_secs_f64() * 1e6)),
                ("dur", number(timing.duration.as_secs_f64() * 1e6)),
                ("pid", "0".to_string()),
                ("tid", if timing.is_backward { "1" } else { "0" }.to_string()),
                ("args", arguments),
            ])
        });
        object(&[("traceEvents", array(events)), ("displayTimeUnit", string("ms"))])
    }
}
