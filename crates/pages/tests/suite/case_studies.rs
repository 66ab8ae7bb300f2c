//! The graphs and the Wengert lists of the ten case studies, drawn from runs of their code. `WENGERT_BLESS=1` rewrites the pictures and the
//! lists in the guide.

use std::fs;
use std::path::PathBuf;
use wengert::autograd::TapeRow;
use wengert::prelude::*;
use wengert::scalar::{Real, recording};
use wengert::view::{Summary, graph};
use wengert_cli::columns::columns;

/// The leaves with their names, and the output after a sweep from the seed.
struct Case {
    picture: &'static str,
    title: &'static str,
    leaves: Vec<(&'static str, Tensor)>,
    tape: Tape,
}

impl Case {
    /// Runs a function of the leaves on the tape, and sweeps back from `seed`.
    fn new(
        picture: &'static str,
        title: &'static str,
        leaves: Vec<(&'static str, Tensor)>,
        seed: Option<Tensor>,
        f: impl Fn(&[&Tensor]) -> Tensor,
    ) -> Case {
        let leaves: Vec<(&str, Tensor)> = leaves.into_iter().map(|(name, leaf)| (name, leaf.require_grad())).collect();
        let operands: Vec<&Tensor> = leaves.iter().map(|(_, leaf)| leaf).collect();
        let tape = record_values(|| {
            let y = f(&operands);
            let options = Backward::new().retain_graph();
            y.backward_with(seed.iter().fold(options, Backward::seed));
            Tape::of(&y)
        });
        Case { picture, title, leaves, tape }
    }

    /// The graph, without the lines of this file.
    fn svg(&self) -> String {
        let names = self.leaves.iter().map(|(name, leaf)| (*name, leaf));
        let svg = graph(&self.tape).named(&self.tape, names).titled(self.title).svg();
        let mut parts = svg.split("\nat ");
        let first = parts.next().unwrap_or_default().to_string();
        parts.fold(first, |text, part| text + part.find('<').map_or("", |end| &part[end..]))
    }

    /// The list forward and backward, as `wengert grad` prints it.
    fn list(&self) -> String {
        let head = |names: [&str; 4]| names.map(String::from);
        let forward = self.tape.rows().iter().map(|row| {
            let operand = |(name, input): (&String, &Tensor)| if name == "-" { shown(input) } else { name.clone() };
            let operands: Vec<String> = row.operands.iter().zip(&row.inputs).map(operand).collect();
            let leaf = self.leaves.iter().find(|(_, leaf)| row.is_of(leaf));
            let operation = match leaf {
                Some((name, _)) => name.to_string(),
                None => format!("{} {}", row.operation, operands.join(" ")),
            };
            let value = leaf.map(|(_, leaf)| leaf.clone()).or(row.value.clone());
            let saved: Vec<String> = row.saved.iter().map(|(what, _)| origin(row, what)).collect();
            [row.name.clone(), operation, value.as_ref().map_or_else(String::new, shown), saved.join(", ")]
        });
        let backward = self.tape.rows().iter().rev().map(|row| {
            let parts = row.operands.iter().zip(&row.contributions);
            let parts = parts.filter_map(|(operand, part)| Some(format!("{operand} += {}", shown(part.as_ref()?))));
            let adjoint = row.adjoint.as_ref().map_or_else(String::new, shown);
            [row.name.clone(), adjoint, row.rule.clone(), parts.collect::<Vec<_>>().join(",  ")]
        });
        let forward: Vec<_> = std::iter::once(head(["", "operation", "value", "saves"])).chain(forward).collect();
        let backward: Vec<_> =
            std::iter::once(head(["", "adjoint", "rule", "contributions"])).chain(backward).collect();
        format!("{}\n{}", columns(0, &forward), columns(0, &backward))
    }
}

/// All digits of a number, four of those of a tensor.
fn shown(tensor: &Tensor) -> String {
    if tensor.rank() == 0 { tensor.item().to_string() } else { Summary::of(tensor).to_string() }
}

/// `operand 0` as the record that it is.
fn origin(row: &TapeRow, saved: &str) -> String {
    let operand = saved.strip_prefix("operand ").and_then(|place| row.operands.get(place.parse::<usize>().ok()?));
    match operand.filter(|operand| *operand != "-") {
        Some(operand) => operand.clone(),
        None if saved == "output 0" => row.name.clone(),
        None => saved.to_string(),
    }
}

fn number(value: f64) -> Tensor {
    Tensor::from(value)
}

fn cases() -> Vec<Case> {
    let labels = Tensor::from([2i64, 0]);
    let sines: Vec<_> = (0..8).map(|_| |x: &Tensor| x.sin()).collect();
    vec![
        Case::new("case_1", "y = exp(sin(x² + 1))", vec![("x", number(0.5))], None, |x| {
            (x[0].square() + 1.0).sin().exp()
        }),
        Case::new("case_2", "y = u + sin u, u = x²", vec![("x", number(2.0))], None, |x| {
            let u = x[0].square();
            &u + u.sin()
        }),
        Case::new("case_3", "y = x₁ x₂ + sin x₁", vec![("x1", number(2.0)), ("x2", number(3.0))], None, |x| {
            x[0] * x[1] + x[0].sin()
        }),
        Case::new(
            "case_4",
            "(x₁² + x₂, x₁ x₂), from the cotangent (1, 2)",
            vec![("x1", number(2.0)), ("x2", number(3.0))],
            Some(Tensor::from([1.0, 2.0])),
            |x| Tensor::stack(&[x[0].square() + x[1], x[0] * x[1]], 0),
        ),
        Case::new(
            "case_5",
            "Y = X Wᵀ + b, from the cotangent G",
            vec![
                ("X", Tensor::from([[1.0, 2.0], [3.0, 4.0], [5.0, 6.0]])),
                ("W", Tensor::from([[1.0, -1.0], [0.5, 2.0]])),
                ("b", Tensor::from([0.1, 0.2])),
            ],
            Some(Tensor::from([[1.0, 0.0], [0.0, 1.0], [2.0, -1.0]])),
            |x| x[0].matmul(&x[1].t()) + x[2],
        ),
        Case::new(
            "case_6",
            "y = max(x, 0), from the cotangent (5, 6, 7)",
            vec![("x", Tensor::from([-1.0, 0.0, 2.0]))],
            Some(Tensor::from([5.0, 6.0, 7.0])),
            |x| x[0].relu(),
        ),
        Case::new(
            "case_7",
            "The mean cross-entropy of two rows of logits",
            vec![("logits", Tensor::from([[1.0, 2.0, 3.0], [1.0, 0.0, -1.0]]))],
            None,
            move |x| x[0].cross_entropy(&labels, &CrossEntropy::new()),
        ),
        Case::new("case_8", "Three steps of h = tanh(w h + x)", vec![("w", number(0.7))], None, |w| {
            [0.5, -0.3, 0.8].iter().fold(number(0.0), |h, &x| (w[0] * h + x).tanh())
        }),
        Case::new(
            "case_9",
            "Eight sines in two checkpointed segments",
            vec![("x0", Tensor::from([1.0, 0.5]))],
            Some(Tensor::ones([2])),
            move |x| checkpoint_chain(&sines, x[0], 2),
        ),
    ]
}

/// What the engine of the tenth case records, as the tape of scalars prints it.
fn scalar_list() -> String {
    recording(|tape| {
        let (x1, x2) = (tape.input(2.0), tape.input(3.0));
        let y = x1 * x2 + x1.sin();
        assert_eq!(y.to_f64(), 6.909297426825682);
        tape.listing().to_string()
    })
}

fn document(name: &str) -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../docs").join(name)
}

/// The guide with another list below a picture: the first block of text that follows it.
fn with_list(guide: &str, picture: &str, list: &str) -> String {
    let place = guide.find(&format!("{picture}.svg)\n")).unwrap_or_else(|| panic!("the guide shows no {picture}.svg"));
    let start = place + guide[place..].find("```text\n").expect("a list follows the picture") + "```text\n".len();
    let end = start + guide[start..].find("```\n").expect("the list ends");
    format!("{}{list}{}", &guide[..start], &guide[end..])
}

/// Compares a file with its text; `WENGERT_BLESS=1` rewrites it.
fn is_fresh(path: &PathBuf, text: &str) {
    if std::env::var_os("WENGERT_BLESS").is_some() {
        fs::write(path, text).expect("it can be written");
    }
    let present = fs::read_to_string(path).unwrap_or_default();
    let help = "WENGERT_BLESS=1 cargo test -p wengert-pages case_studies accepts the new text";
    assert!(present == text, "{} is out of date: {help}", path.display());
}

#[test]
fn graphs_of_the_case_studies_are_fresh() {
    for case in cases() {
        is_fresh(&document(&format!("pictures/{}.svg", case.picture)), &case.svg());
    }
}

#[test]
fn lists_of_the_case_studies_are_fresh() {
    let path = document("guide/case_studies.md");
    let guide = fs::read_to_string(&path).expect("the guide is there");
    let guide = cases().iter().fold(guide, |guide, case| with_list(&guide, case.picture, &case.list()));
    is_fresh(&path, &with_list(&guide, "wengert_list", &scalar_list()));
}

/// The lists show what the examples of the guide assert.
#[test]
fn lists_of_the_case_studies_have_the_numbers_of_the_examples() {
    let gradients: Vec<String> = cases()
        .iter()
        .map(|case| {
            case.leaves.iter().map(|(_, leaf)| shown(&leaf.grad().expect("it is used"))).collect::<Vec<_>>().join(" ")
        })
        .collect();
    assert_eq!(gradients[0], "0.814504625993311");
    assert_eq!(gradients[1], "1.3854255165455522");
    assert_eq!(gradients[2], format!("{} 2", 3.0 + 2.0f64.cos()));
    assert_eq!(gradients[3], "10 5");
    assert_eq!(gradients[5], "[0, 0, 7]");
    for (case, gradient) in cases().iter().zip(&gradients).take(4) {
        let list = case.list();
        gradient.split(' ').for_each(|number| assert!(list.contains(number), "{}: {number}\n{list}", case.picture));
    }
}
