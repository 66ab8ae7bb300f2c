//! The kernels of the shared workloads, as text files. `WENGERT_BLESS=1` writes them.

#[path = "suite/recorder.rs"]
mod recorder;

use recorder::Recorder;
use std::fmt::Write;
use std::path::Path;
use std::sync::Arc;
use wengert::Line;
use wengert::backend::{Backend, Input, Plan, Runner, Target};
use wengert::prelude::*;
use wengert_bench::workloads::{Size, all, named};
use wengert_cuda::calls::TEXTS;
use wengert_cuda::launch::{Launches, Word, Work};
use wengert_cuda::lower::ALIGNMENT;
use wengert_cuda::product::Product;
use wengert_cuda::source::WORDS;
use wengert_kernels::memory::Span;

/// The launches in order, then the texts; files of this crate are named only.
fn shown(launches: &Launches) -> String {
    let mut text = String::from("// Launches in order.\n");
    for launch in &launches.list {
        match &launch.work {
            Work::Kernel { kernel, shape, arguments } => {
                let (name, [x, y, z], [i, j, k]) = (&launches.kernels[*kernel].name, shape.grid, shape.block);
                let words: usize = arguments.iter().map(Vec::len).sum();
                let shape = format!("{x} x {y} x {z} blocks of {i} x {j} x {k} threads, {} bytes shared", shape.shared);
                writeln!(text, "// {}: kernel {kernel}, {name}, {shape}, {words} words", launch.step).unwrap();
            }
            Work::Product(number) => {
                let product = &launches.products[*number];
                let sizes = [product.batch, product.rows, product.inner, product.cols];
                writeln!(text, "// {}: product {sizes:?} of {}", launch.step, product.dtype).unwrap();
            }
            Work::Control(control) => writeln!(text, "// {}: {control:?}", launch.step).unwrap(),
            Work::Copy { to, .. } => writeln!(text, "// {}: copy of {} bytes", launch.step, to.length).unwrap(),
        }
    }
    for (number, kernel) in launches.kernels.iter().enumerate() {
        let mut body = kernel.text.replace(WORDS, "// words.cuh\n");
        for (file, own) in TEXTS {
            body = body.replace(own, &format!("// {file}\n"));
        }
        write!(text, "\n// Kernel {number}: {}\n{body}", kernel.name).unwrap();
    }
    text
}

#[test]
fn kernels_of_the_workloads() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/golden");
    let strict = all(Size::Full).into_iter().map(|workload| (workload.name, workload, Precision::Strict));
    let narrow = named("gpt", Size::Full).map(|workload| ("gpt_bf16", workload, Precision::Bf16));
    for (name, workload, precision) in strict.chain(narrow) {
        let file = folder.join(format!("{name}.cu"));
        let recorder = Recorder::default();
        let mut steps = workload.placed(None, Arc::new(recorder.clone()), Device::Cpu, precision);
        let error = catch(|| steps.step()).unwrap_err();
        assert_eq!(error.operation(), "record", "{error}");
        let text = shown(&recorder.take().expect("a plan was made"));
        if std::env::var_os("WENGERT_BLESS").is_some() {
            std::fs::create_dir_all(&folder).unwrap();
            std::fs::write(&file, &text).unwrap();
        }
        let known = std::fs::read_to_string(&file).unwrap_or_default();
        assert!(known == text, "{} differs; WENGERT_BLESS=1 writes it anew", file.display());
    }
}

/// The spans that a launch names.
fn spans(launches: &Launches, work: &Work) -> Vec<Span> {
    match work {
        Work::Kernel { arguments, .. } => {
            let words = arguments.iter().flatten();
            words.filter_map(|word| if let Word::Address(span) = word { Some(*span) } else { None }).collect()
        }
        Work::Product(number) => {
            let Product { a, b, c, bias, workspace, .. } = &launches.products[*number];
            [a.span, b.span, *c, *workspace].into_iter().chain(*bias).collect()
        }
        Work::Copy { from, to } => vec![*from, *to],
        Work::Control(_) => Vec::new(),
    }
}

#[test]
fn launches_come_in_order_and_stay_in_their_memory() {
    for workload in all(Size::Full) {
        let (name, recorder) = (workload.name, Recorder::default());
        let mut steps = workload.placed(None, Arc::new(recorder.clone()), Device::Cpu, Precision::Strict);
        catch(|| steps.step()).unwrap_err();
        let launches = recorder.take().expect("a plan was made");
        assert!(launches.list.is_sorted_by_key(|launch| launch.step), "{name}: steps in order");
        for launch in &launches.list {
            for span in spans(&launches, &launch.work).into_iter().filter(|span| span.region == 0) {
                assert!(span.start + span.length <= launches.arena, "{name}: {span:?} of {} bytes", launches.arena);
            }
            match &launch.work {
                Work::Product(number) => {
                    let Product { a, b, c, bias, workspace, .. } = &launches.products[*number];
                    let others = [a.span, b.span, *workspace].into_iter().chain(*bias);
                    assert!(others.into_iter().all(|other| !other.overlaps(c)), "{name}: a product over its operands");
                }
                Work::Copy { from, to } => assert!(!from.overlaps(to), "{name}: a copy over itself"),
                _ => {}
            }
        }
    }
}

/// Makes plans that are not run.
struct Idle;

impl Backend for Idle {
    fn target(&self) -> Target {
        wengert_cuda::TARGET
    }

    fn runner(&self, _: Plan) -> Result<Box<dyn Runner>, Error> {
        Ok(Box::new(Idle))
    }
}

impl Runner for Idle {
    fn run<'a>(
        &'a self,
        _: &mut dyn Iterator<Item = Input<'a>>,
        _: &mut dyn Iterator<Item = &'a mut Tensor>,
        _: Line,
    ) -> Result<(), Error> {
        unreachable!("nothing runs")
    }
}

#[test]
fn values_that_live_together_lie_apart() {
    for precision in [Precision::Strict, Precision::Bf16] {
        for workload in all(Size::Full) {
            let (name, plan) = (workload.name, workload.placed(None, Arc::new(Idle), Device::Cpu, precision).plan());
            let mut pieces = plan.pieces().to_vec();
            pieces.sort_by_key(|piece| piece.start);
            for (number, one) in pieces.iter().enumerate() {
                assert!(one.start.is_multiple_of(ALIGNMENT) && one.start + one.bytes <= plan.workspace_bytes());
                let beside = pieces[number + 1..].iter().take_while(|other| other.start < one.start + one.bytes);
                for other in beside {
                    let is_together = one.first <= other.last && other.first <= one.last;
                    assert!(!is_together, "{name}, {precision:?}: {one:?} and {other:?}");
                }
            }
        }
    }
}
