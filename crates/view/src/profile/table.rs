//! Profiles as text.

use super::Profile;
use std::fmt;
use std::time::Duration;

/// Rows that take less than this share of the time are added up in one line.
const LEAST_SHARE: f64 = 0.002;

/// The characters of an operation that are shown: fused loops name many.
const SHOWN: usize = 100;

fn shortened(operation: &str) -> String {
    match operation.char_indices().nth(SHOWN) {
        Some((end, _)) => format!("{}..", &operation[..end]),
        None => operation.to_string(),
    }
}

fn milliseconds(time: Duration) -> f64 {
    time.as_secs_f64() * 1e3
}

impl fmt::Display for Profile {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let total = self.total();
        let ceiling = if self.ceilings.is_some() { "  of ceiling" } else { "" };
        writeln!(f, " share  forward ms  backward ms  calls  GFLOP/s     GB/s{ceiling}  operation")?;
        let (mut rest, mut left_out) = (Duration::ZERO, 0);
        for row in self.rows() {
            let time = row.total();
            let (seconds, share) = (time.as_secs_f64(), time.as_secs_f64() / total.as_secs_f64());
            if share < LEAST_SHARE {
                (rest, left_out) = (rest + time, left_out + 1);
                continue;
            }
            write!(
                f,
                "{:5.1}%  {:10.3}  {:11.3}  {:5}  {:7.1}  {:7.1}",
                share * 1e2,
                milliseconds(row.forward),
                milliseconds(row.backward),
                // A rule may make several calls: those of the operation itself are counted, if it has any.
                if row.forward_calls > 0 { row.forward_calls } else { row.backward_calls },
                row.cost.flops / seconds / 1e9,
                row.cost.bytes / seconds / 1e9
            )?;
            if let Some(ceilings) = self.ceilings {
                write!(f, "  {:9.1}%", ceilings.seconds(row.cost) / seconds * 1e2)?;
            }
            let place = row.line.map(|line| format!(", {line}")).unwrap_or_default();
            writeln!(f, "  {}{place}", shortened(&row.operation))?;
        }
        if left_out > 0 {
            writeln!(f, "{:5.1}%  in {left_out} more rows", rest.as_secs_f64() / total.as_secs_f64() * 1e2)?;
        }
        writeln!(
            f,
            "{:.3} ms in {} calls, of {:.3} ms in all",
            milliseconds(total),
            self.calls.len(),
            milliseconds(self.wall)
        )
    }
}
