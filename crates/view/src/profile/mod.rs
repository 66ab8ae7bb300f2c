//! Where the time of eager code goes: every operation with its time, forward and backward, beside what the machine could do.

mod ceilings;
mod table;
mod trace;

pub use ceilings::Ceilings;

use std::collections::HashMap;
use std::time::{Duration, Instant};
use wengert_engine::Line;
use wengert_engine::autograd::{Timing, record_times};
use wengert_engine::primitive::Cost;

/// Runs `f` and measures every operation that it calls on this thread, forward and backward.
///
/// The profile prints as a table; [`chrome_trace`](Profile::chrome_trace) writes what Chrome and Perfetto show as a timeline. Without a
/// profile, operations are not measured and cost nothing.
///
/// ```
/// use wengert::prelude::*;
/// use wengert_view::profile;
///
/// let w = Tensor::randn([64, 64], 0).require_grad();
/// let (loss, profile) = profile(|| {
///     let loss = w.matmul(&w).tanh().mean();
///     loss.backward();
///     loss
/// });
/// let rows = profile.rows();
/// let product = rows.iter().find(|row| row.operation == "matmul").unwrap();
/// assert!(product.backward > product.forward / 10 && product.forward_calls == 1);
/// assert!(profile.total() <= profile.wall() && loss.item() != 0.0);
/// println!("{profile}");
/// ```
pub fn profile<R>(f: impl FnOnce() -> R) -> (R, Profile) {
    let start = Instant::now();
    let (result, timings) = record_times(f);
    (result, Profile { wall: start.elapsed(), timings, ceilings: None })
}

/// The times of operations.
#[derive(Clone, Debug)]
pub struct Profile {
    wall: Duration,
    timings: Vec<Timing>,
    ceilings: Option<Ceilings>,
}

/// All calls of one operation at one line, and of its rule.
#[derive(Clone, Debug, PartialEq)]
pub struct ProfileRow {
    /// The operation; `slopes` for cotangents that were multiplied by several slopes in one pass.
    pub operation: &'static str,
    /// The line of user code.
    pub line: Line,
    /// The number of forward calls.
    pub forward_calls: usize,
    /// The time of the forward calls.
    pub forward: Duration,
    /// The time of the calls that its rule made.
    pub backward: Duration,
    /// The work of all calls.
    pub cost: Cost,
    /// The bytes of all results.
    pub bytes: usize,
}

impl ProfileRow {
    /// The time of all calls.
    ///
    /// ```
    /// use wengert::prelude::*;
    /// let (_, profile) = wengert_view::profile(|| Tensor::ones([10]).exp());
    /// assert_eq!(profile.rows()[0].total(), profile.rows()[0].forward);
    /// ```
    pub fn total(&self) -> Duration {
        self.forward + self.backward
    }
}

impl Profile {
    /// The time from beginning to end, with everything between operations.
    pub fn wall(&self) -> Duration {
        self.wall
    }

    /// The time inside operations.
    pub fn total(&self) -> Duration {
        self.timings.iter().map(|timing| timing.duration).sum()
    }

    /// Every call, in order.
    pub fn timings(&self) -> &[Timing] {
        &self.timings
    }

    /// Compares the work with what this machine can do, in the printed table.
    ///
    /// ```
    /// use wengert::prelude::*;
    /// use wengert_view::{Ceilings, profile};
    /// let (_, profile) = profile(|| Tensor::ones([100, 100]).exp());
    /// let table = profile.against(Ceilings { flops: 1e11, bytes: 1e10 }).to_string();
    /// assert!(table.contains("of ceiling"), "{table}");
    /// ```
    #[must_use]
    pub fn against(self, ceilings: Ceilings) -> Profile {
        Profile { ceilings: Some(ceilings), ..self }
    }

    /// The calls by operation and line, those that take longest first. A call made by a rule belongs to the operation of the rule.
    pub fn rows(&self) -> Vec<ProfileRow> {
        let mut places: HashMap<(&'static str, Line), usize> = HashMap::new();
        let mut rows: Vec<ProfileRow> = Vec::new();
        for timing in &self.timings {
            let operation = timing.rule_of.unwrap_or(timing.operation);
            let place = *places.entry((operation, timing.line)).or_insert_with(|| {
                let (none, cost) = (Duration::ZERO, Cost::default());
                let line = timing.line;
                rows.push(ProfileRow {
                    operation,
                    line,
                    forward_calls: 0,
                    forward: none,
                    backward: none,
                    cost,
                    bytes: 0,
                });
                rows.len() - 1
            });
            let row = &mut rows[place];
            match timing.is_backward {
                true => row.backward += timing.duration,
                false => {
                    row.forward += timing.duration;
                    row.forward_calls += 1;
                }
            }
            row.cost.flops += timing.cost.flops;
            row.cost.bytes += timing.cost.bytes;
            row.bytes += timing.bytes;
        }
        rows.sort_by_key(|row| std::cmp::Reverse(row.total()));
        rows
    }
}
