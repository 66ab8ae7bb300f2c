//! Writes the explorer pages that `.ci/browser` opens, and the numbers that they must show: `explorer_pages FOLDER`.

use std::error::Error;
use std::fs;
use std::path::Path;
use wengert::autograd::default_dtype;
use wengert::nn::{Context, Layer, Linear, ModelMethods, Relu};
use wengert::prelude::*;
use wengert::view::{Explorer, MOST_NODES, graph, program, run};
use wengert_bench::workloads::{Size, named};
use wengert_cli::digits::{CLASSES, Digits, PIXELS};

/// A page, and a number that it must show.
struct Page {
    name: &'static str,
    html: String,
    /// The number of nodes.
    nodes: usize,
    /// What to search for, and where the numbers are: under `Value` or `Adjoint`.
    search: &'static str,
    section: &'static str,
    expected: Tensor,
}

fn main() -> Result<(), Box<dyn Error>> {
    let folder = std::env::args().nth(1).ok_or("explorer_pages FOLDER")?;
    fs::create_dir_all(&folder)?;
    let mut expected = Vec::new();
    for page in [classic(), digits(), gpt(), pendulum(), bare(), endless()] {
        fs::write(Path::new(&folder).join(format!("{}.html", page.name)), &page.html)?;
        expected.push(page.json());
    }
    fs::write(Path::new(&folder).join("expected.json"), format!("[{}]\n", expected.join(",\n")))?;
    Ok(())
}

impl Page {
    /// The numbers: all of a few, or else the extremes.
    fn json(&self) -> String {
        let numbers = self.expected.to_f64_vec();
        let list = |numbers: &[f64]| numbers.iter().map(|number| format!("{number:?}")).collect::<Vec<_>>().join(",");
        let (least, greatest) =
            (numbers.iter().copied().fold(f64::MAX, f64::min), numbers.iter().copied().fold(f64::MIN, f64::max));
        let numbers = match numbers.len() {
            0 => "null".to_string(),
            1..=6 => format!("{{\"elements\":[{}]}}", list(&numbers)),
            _ => format!("{{\"least\":{least:?},\"greatest\":{greatest:?}}}"),
        };
        let Page { name, nodes, search, section, .. } = self;
        format!(
            "{{\"name\":\"{name}\",\"nodes\":{nodes},\"search\":\"{search}\",\"section\":\"{section}\",\"numbers\":{numbers}}}"
        )
    }
}

/// The gradient of a leaf.
fn adjoint(leaf: &Tensor) -> Tensor {
    leaf.grad().expect("the backward pass reached it")
}

fn swept(loss: impl FnOnce() -> Tensor) -> Tape {
    Tape::of(&record_values(|| {
        let loss = loss();
        loss.backward_with(Backward::new().retain_graph());
        loss
    }))
}

/// x1 x2 + sin x1.
fn classic() -> Page {
    let (x1, x2) = (Tensor::from(2.0).require_grad(), Tensor::from(3.0).require_grad());
    let tape = swept(|| &x1 * &x2 + x1.sin());
    let graph = graph(&tape).named(&tape, [("x1", &x1), ("x2", &x2)]).titled("x1 x2 + sin x1");
    let nodes = graph.nodes().len();
    let html = Explorer::new(graph).html();
    Page { name: "classic", html, nodes, search: "x1", section: "Adjoint", expected: Tensor::from(3.0 + 2.0f64.cos()) }
}

/// A training step of the network that reads digits.
fn digits() -> Page {
    let mut key = Key::new(0);
    let network =
        default_dtype(DType::F32, || (Linear::new(PIXELS, 64, &mut key), Relu, Linear::new(64, CLASSES, &mut key)));
    let network = network.require_grad();
    let (train, _) = Digits::load();
    let (images, labels) = (train.images.slice(..32), train.labels.slice(..32));
    let tape =
        swept(|| network.forward(&images, &mut Context::evaluation()).cross_entropy(&labels, &CrossEntropy::new()));
    let graph = graph(&tape).named(&tape, network.named_leaves()).titled("A step of the network that reads digits");
    let nodes = graph.nodes().len();
    let expected = adjoint(&network.0.weight);
    Page { name: "digits", html: Explorer::new(graph).html(), nodes, search: "0.weight", section: "Adjoint", expected }
}

/// The loss of a small transformer and its gradient, as a program, with its values, its plan and its passes.
fn gpt() -> Page {
    let training = named("gpt", Size::Full).expect("it is a workload").start();
    let (loss, at) = training.function();
    let expected = grad(&loss)(&at).remove(0);
    let step = compile(value_and_grad(&loss));
    let run_of_step = step.debug().run(&at);
    let graph = run(&run_of_step).titled("The gradient of a transformer");
    let nodes = graph.nodes().len();
    let explorer = Explorer::new(graph).plan(&step.plan(&at)).passes(run_of_step.program());
    Page { name: "gpt", html: explorer.html(), nodes, search: "output 1", section: "Value", expected }
}

/// A pendulum with friction, step by step: as many records as are drawn.
fn pendulum() -> Page {
    let [angle, speed, length, friction] = [1.2, 0.0, 1.5, 0.1].map(|number| Tensor::from(number).require_grad());
    let tape = swept(|| {
        let (mut x, mut v) = (angle.clone(), speed.clone());
        for _ in 0..1249 {
            v = &v - (x.sin() / &length + &friction * &v) * 0.01;
            x = &x + &v * 0.01;
        }
        (x.square() + v.square()) * 0.5
    });
    let names = [("angle", &angle), ("speed", &speed), ("length", &length), ("friction", &friction)];
    let graph = graph(&tape).named(&tape, names).titled("A pendulum, step by step");
    assert_eq!(graph.nodes().len(), MOST_NODES);
    let html = Explorer::new(graph).html();
    Page { name: "pendulum", html, nodes: MOST_NODES, search: "length", section: "Adjoint", expected: adjoint(&length) }
}

/// A tape without values, and a program whose lines try to end the script.
fn bare() -> Page {
    let x = Tensor::from([1.0, 2.0]).require_grad();
    let tape = graph(&Tape::of(&(&x * x.tanh()).sum()));
    let hostile = "</script><script>document.title = 'broken'</script><img src=x onerror=alert(1)>";
    let text = format!("program(a: f64[]) {{\n  b: f64[] = exp(a)  // {hostile}:3:4\n  return b\n}}");
    let parsed = Program::parse(&text).expect("it is a program");
    let nodes = tape.nodes().len();
    let html = Explorer::new(tape.titled(hostile)).and(program(&parsed)).passes(&parsed).titled(hostile).html();
    Page { name: "bare", html, nodes, search: "tanh", section: "", expected: Tensor::from(Vec::<f64>::new()) }
}

/// A tape that is too long to be drawn, so it is collapsed by line.
fn endless() -> Page {
    let mut x = Tensor::from(0.5).require_grad();
    for _ in 0..MOST_NODES {
        x = x.sin();
        x = x.cos();
    }
    let graph = graph(&Tape::of(&x));
    let nodes = graph.nodes().len();
    let html = Explorer::new(graph).html();
    Page { name: "endless", html, nodes, search: "10000 cos", section: "", expected: Tensor::from(Vec::<f64>::new()) }
}
