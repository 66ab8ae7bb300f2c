//! A program before and after each pass.

use super::difference::{Run, difference};
use super::row::{Texts, row};
use crate::json::{array, object, string};
use wengert_engine::program::{PASSES, Program};

/// The numbers of longer constants are not written.
const MOST_NUMBERS: usize = 6;
/// Longer lines are cut.
const MOST_CHARACTERS: usize = 400;

/// A program after a pass.
///
/// ```
/// use wengert::prelude::*;
/// use wengert_view::stages;
///
/// let all = stages(&compile(|x: &Tensor| x.sin() * 1.0).program(&Tensor::from(2.0)));
/// let names: Vec<&str> = all.iter().map(|stage| stage.name.as_str()).collect();
/// assert_eq!(names, ["traced", "after simplify"]);
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct Stage {
    /// `traced`, or after which pass.
    pub name: String,
    /// What the pass does.
    pub about: String,
    /// The text of the program.
    pub text: String,
}

/// A program as it was traced, and after every pass that changes it.
///
/// ```
/// use wengert::prelude::*;
/// use wengert_view::stages;
///
/// let program = compile(|x: &Tensor| x.sin() * 1.0).program(&Tensor::from(2.0));
/// assert_eq!(stages(&program).last().unwrap().text, program.optimised().to_string());
/// ```
pub fn stages(program: &Program) -> Vec<Stage> {
    let mut stages: Vec<Stage> = Vec::new();
    let mut add = |name: &str, about: &str, text: String| {
        if stages.last().is_none_or(|last| last.text != text) {
            stages.push(Stage { name: name.to_string(), about: about.to_string(), text });
        }
    };
    add("traced", "as the function was called", program.to_string());
    PASSES.iter().fold(program.clone(), |program, pass| {
        let program = pass.run(program);
        add(&format!("after {}", pass.name), pass.about, program.to_string());
        program
    });
    add("further rounds of passes", "until nothing changes", program.optimised().to_string());
    stages
}

/// The stages with the differences between each and the next, and between the first and the last.
pub(super) fn json(stages: &[Stage]) -> String {
    let lines: Vec<Vec<String>> = stages.iter().map(|stage| stage.text.lines().map(shown).collect()).collect();
    let mut texts = Texts::default();
    let written = stages.iter().zip(&lines).map(|(stage, lines)| {
        object(&[
            ("name", string(&stage.name)),
            ("about", string(&stage.about)),
            ("lines", array(lines.iter().map(|line| texts.number(line)))),
        ])
    });
    let written = array(written);
    let mut pairs: Vec<(usize, usize)> = (1..stages.len()).map(|next| (next - 1, next)).collect();
    if stages.len() > 2 {
        pairs.push((0, stages.len() - 1));
    }
    let pair = |(left, right): (usize, usize)| {
        let runs = difference(&lines[left], &lines[right]);
        let run = |Run { kind, count }: Run| row(vec![(kind as usize).to_string(), count.to_string()]);
        row(vec![left.to_string(), right.to_string(), array(runs.into_iter().map(run))])
    };
    object(&[
        ("stages", written),
        ("pairs", array(pairs.into_iter().map(pair))),
        ("texts", array(texts.all.iter().map(|text| string(text)))),
    ])
}

/// A line without the elements of a large constant.
fn shown(line: &str) -> String {
    if let Some((name, numbers)) = line.split_once(" = ").filter(|_| line.trim_start().starts_with("const ")) {
        let count = numbers.split(' ').count();
        if count > MOST_NUMBERS {
            return format!("{name} = {count} elements");
        }
    }
    match line.char_indices().nth(MOST_CHARACTERS) {
        Some((end, _)) => format!("{} …", &line[..end]),
        None => line.to_string(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn large_constants_are_counted() {
        assert_eq!(shown("  const a: f64[2] = 1.0 2.0"), "  const a: f64[2] = 1.0 2.0");
        assert_eq!(shown("  const a: f64[7] = 1 2 3 4 5 6 7"), "  const a: f64[7] = 7 elements");
        assert_eq!(shown(&"x".repeat(500)).chars().count(), MOST_CHARACTERS + 2);
    }
}
