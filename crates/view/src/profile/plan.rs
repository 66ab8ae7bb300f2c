//! Profiles of plans.

use super::{Profile, ProfileCall};
use std::time::Duration;
use wengert_engine::PlanSummary;

impl Profile {
    /// The profile of a plan that `profile` of a compiled function or step has measured: the kernels one after the other, with their mean
    /// times.
    ///
    /// ```
    /// use wengert::prelude::*;
    /// use wengert_view::Profile;
    /// let (f, x) = (compile(|x: &Tensor| x.matmul(x).tanh().sum()), Tensor::randn([64, 64], 0));
    /// let profile = Profile::of_plan(&f.profile(&x, 10));
    /// assert!(profile.rows().iter().any(|row| row.operation.starts_with("matmul") && row.cost.flops == 2.0 * 64f64.powi(3)));
    /// assert!(profile.total() <= profile.wall());
    /// println!("{profile}");
    /// ```
    pub fn of_plan(plan: &PlanSummary) -> Profile {
        let milliseconds = |time: f64| Duration::from_secs_f64(time / 1e3);
        let equations = plan.program().equations();
        let mut start = Duration::ZERO;
        let call = |((kernel, time), cost): ((usize, &f64), _)| {
            let own = || plan.kernel_call(kernel).into_iter().chain(plan.kernel_equations(kernel).iter().copied());
            let call = ProfileCall {
                operation: plan.kernel_text(kernel).to_string().into(),
                rule_of: None,
                is_backward: own().count() > 0 && own().all(|equation| equations[equation].from_rule),
                line: own().find_map(|equation| equations[equation].line),
                start,
                duration: milliseconds(*time),
                cost,
            };
            start += call.duration;
            call
        };
        let calls: Vec<ProfileCall> = plan.times().iter().enumerate().zip(plan.costs()).map(call).collect();
        Profile { wall: plan.wall().map_or(start, milliseconds), calls, ceilings: None }
    }
}
