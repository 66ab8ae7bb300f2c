//! Where the time goes: every operation of eager code, forward and backward, and every kernel of a plan, beside what the machine could do.

mod ceilings;
mod data;
mod plan;
mod table;

pub use ceilings::Ceilings;

use std::borrow::Cow;
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
    (
        result,
        Profile { wall: start.elapsed(), calls: timings.into_iter().map(ProfileCall::from).collect(), ceilings: None },
    )
}

/// The times of operations, or of the kernels of a plan.
#[derive(Clone, Debug)]
pub struct Profile {
    wall: Duration,
    calls: Vec<ProfileCall>,
    ceilings: Option<Ceilings>,
}

/// One call of an operation, or one kernel of a plan.
#[derive(Clone, Debug, PartialEq)]
pub struct ProfileCall {
    /// The operation, or what the kernel does; `slopes` for cotangents that were multiplied by several slopes in one pass.
    pub operation: Cow<'static, str>,
    /// The operation whose rule made the call, if it is known.
    pub rule_of: Option<&'static str>,
    /// Whether it belongs to a backward pass. A kernel does if rules made all of its equations.
    pub is_backward: bool,
    /// The line of user code, if it is known.
    pub line: Option<Line>,
    /// The time between the beginning and the call.
    pub start: Duration,
    /// The duration of the call.
    pub duration: Duration,
    /// The arithmetic, and the memory traffic.
    pub cost: Cost,
}

impl From<Timing> for ProfileCall {
    fn from(timing: Timing) -> ProfileCall {
        let Timing { operation, rule_of, is_backward, line, start, duration, cost, .. } = timing;
        ProfileCall { operation: operation.into(), rule_of, is_backward, line: Some(line), start, duration, cost }
    }
}

/// All calls of one operation at one line, and of its rule.
#[derive(Clone, Debug, PartialEq)]
pub struct ProfileRow {
    /// The operation, or what the kernel does.
    pub operation: Cow<'static, str>,
    /// The line of user code, if it is known.
    pub line: Option<Line>,
    /// The number of forward calls.
    pub forward_calls: usize,
    /// The number of calls that its rule made.
    pub backward_calls: usize,
    /// The time of the forward calls.
    pub forward: Duration,
    /// The time of the calls that its rule made.
    pub backward: Duration,
    /// The work of all calls.
    pub cost: Cost,
}

impl ProfileRow {
    fn of(operation: Cow<'static, str>, line: Option<Line>) -> ProfileRow {
        let (none, cost) = (Duration::ZERO, Cost::default());
        ProfileRow { operation, line, forward_calls: 0, backward_calls: 0, forward: none, backward: none, cost }
    }

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
        self.calls.iter().map(|call| call.duration).sum()
    }

    /// Every call, in order.
    pub fn calls(&self) -> &[ProfileCall] {
        &self.calls
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
        let mut places: HashMap<(&str, Option<Line>), usize> = HashMap::new();
        let mut rows: Vec<ProfileRow> = Vec::new();
        for call in &self.calls {
            let operation = call.rule_of.map_or_else(|| call.operation.clone(), Cow::from);
            let key = (call.rule_of.unwrap_or(&call.operation), call.line);
            let place = *places.entry(key).or_insert_with(|| {
                rows.push(ProfileRow::of(operation, call.line));
                rows.len() - 1
            });
            let row = &mut rows[place];
            let (time, calls) = match call.is_backward {
                true => (&mut row.backward, &mut row.backward_calls),
                false => (&mut row.forward, &mut row.forward_calls),
            };
            *time += call.duration;
            *calls += 1;
            row.cost.flops += call.cost.flops;
            row.cost.bytes += call.cost.bytes;
        }
        rows.sort_by_key(|row| std::cmp::Reverse(row.total()));
        rows
    }
}
