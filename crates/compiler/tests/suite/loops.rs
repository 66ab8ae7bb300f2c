//! Loops of a plan, as data.

use wengert_compiler::plan::{Loop, Placed, Plan, Target};
use wengert_compiler::program::Program;

fn loops(text: &str, target: &Target) -> Vec<Loop> {
    let program = Program::parse(text).unwrap();
    let plan = Plan::new(&program, vec![None; program.outputs().len()], target);
    let loops = plan.steps.into_iter().filter_map(|step| match step {
        Placed::Loops(loops) => Some(loops),
        _ => None,
    });
    loops.flatten().map(|placed| placed.body).collect()
}

const SOFTMAX: &str = "program(a: f32[2, 3]) {
  b: f32[2, 3] = exp(a)
  c: f32[2] = sum[axes=[1]](b)
  d: f32[2, 1] = reshape[shape=[2, 1]](c)
  e: f32[2, 3] = broadcast[shape=[2, 3]](d)
  f: f32[2, 3] = div(b, e)
  return f
}";

#[test]
fn a_loop_can_be_printed_and_compared() {
    let softmax = loops(SOFTMAX, &Target::CPU);
    let text = "loop over 2 x 3
  0: f32 [2, 3] by [3, 1]
  1: f32 = exp(0)
  2: fold Sum(1)
  3: spread(2)
  4: f32 = div(1, 3)
  write 4 as f32, each
";
    assert_eq!(softmax.iter().map(Loop::to_string).collect::<String>(), text);
    assert_eq!(softmax, loops(SOFTMAX, &Target::CPU));
    assert_ne!(softmax, loops(&SOFTMAX.replace("exp", "tanh"), &Target::CPU));
}

#[test]
fn loops_keep_to_the_limits_of_their_target() {
    let limited = loops(SOFTMAX, &Target { most_equations: 2, ..Target::CPU });
    assert_eq!(limited.iter().map(|one| one.instructions.len()).collect::<Vec<_>>(), [2, 1]);
    assert_eq!(loops(SOFTMAX, &Target { longest_row: 2, ..Target::CPU }).len(), 2);
}
