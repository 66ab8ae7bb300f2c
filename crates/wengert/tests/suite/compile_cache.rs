//! The programs that a compiled function keeps: how many, what is known about them, and what is logged.

use super::process::only;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use wengert::{log_compilations, prelude::*};

/// There is one logger for all tests, so those that listen run one at a time.
fn listening() -> (MutexGuard<'static, ()>, Arc<Mutex<Vec<String>>>) {
    static TURN: Mutex<()> = Mutex::new(());
    let turn = TURN.lock().unwrap_or_else(PoisonError::into_inner);
    let heard = Arc::new(Mutex::new(Vec::new()));
    let keep = heard.clone();
    log_compilations(Some(Arc::new(move |text: &str| keep.lock().unwrap().push(text.to_string()))));
    (turn, heard)
}

/// The messages about the function compiled at this line of this file.
fn about(heard: &Mutex<Vec<String>>, line: u32) -> Vec<String> {
    let place = format!("compile_cache.rs:{line}:");
    heard.lock().unwrap().iter().filter(|text| text.contains(&place)).cloned().collect()
}

#[test]
fn the_least_recently_used_signature_goes() {
    let traces = std::cell::RefCell::new(Vec::new());
    let f = compile(|x: &Tensor| {
        traces.borrow_mut().push(x.elements());
        x * 2.0
    })
    .at_most(2);
    for size in [1, 2, 1, 3, 1, 2] {
        f.call(&Tensor::ones([size]));
    }
    // 3 replaced 2, because 1 was used after it; then 2 was traced again and replaced 3.
    assert_eq!(*traces.borrow(), [1, 2, 3, 2]);
    let known: Vec<String> = f.inspect().iter().map(|known| known.leaves[0].1.to_string()).collect();
    assert_eq!(known, ["f64[2]", "f64[1]"]);
    let error = catch(|| compile(|x: &Tensor| x.clone()).at_most(0)).err().unwrap();
    assert_eq!((error.operation(), error.line().unwrap().line()), ("at_most", line!() - 1));
}

#[test]
fn sixty_four_signatures_are_kept_unless_told() {
    let f = compile(|x: &Tensor| x + 1.0);
    for size in 0..70 {
        f.call(&Tensor::ones([size]));
    }
    assert_eq!(f.signatures(), 64);
}

#[derive(Tree)]
struct Model {
    weight: Tensor,
    #[tree(static)]
    depth: usize,
}

#[test]
fn signatures_are_listed_in_words() {
    let step = compile_step(|model: &mut Model, x: &Tensor| {
        let y = (0..model.depth).fold(x.matmul(&model.weight), |y, _| y.tanh().matmul(&model.weight));
        model.weight -= 0.01;
        y.sum()
    });
    let mut model = Model { weight: Tensor::ones([2, 2]), depth: 1 };
    step.plan(&model, &Tensor::ones([3, 2]));
    step.call(&mut model, &Tensor::ones([4, 2]));
    step.call(&mut model, &Tensor::ones([4, 2]));
    model.depth = 2;
    step.program(&model, &Tensor::ones([4, 2]));
    let known = step.inspect();
    assert_eq!(known.len(), 3);
    let [latest, middle, first] = &known[..] else { panic!("three") };
    let leaves: Vec<String> = middle.leaves.iter().map(|(path, spec)| format!("{path} {spec}")).collect();
    assert_eq!(leaves, ["state.weight f64[2, 2]", " f64[4, 2]"]);
    assert_eq!(latest.structure, [("state.depth".to_string(), "2".to_string())]);
    assert_eq!((first.calls, middle.calls, latest.calls), (0, 2, 0));
    assert_eq!(
        middle.equations,
        step.program(&Model { weight: Tensor::ones([2, 2]), depth: 1 }, &Tensor::ones([4, 2])).equations().len()
    );
    let plan = step.plan(&Model { weight: Tensor::ones([2, 2]), depth: 1 }, &Tensor::ones([4, 2]));
    assert_eq!((middle.kernels, middle.workspace_bytes), (Some(plan.kernels()), Some(plan.workspace_bytes())));
    assert!(middle.trace_time.as_nanos() > 0 && middle.compile_time.unwrap().as_nanos() > 0);
    assert!(latest.kernels.is_none() && latest.compile_time.is_none(), "it has not run on numbers");
    let text = middle.to_string();
    for part in
        ["'state.weight': f64[2, 2]", "'state.depth': 1", "called 2 times", "equations traced in", "kernels planned in"]
    {
        assert!(text.contains(part), "{part}: {text}");
    }
}

#[test]
fn every_trace_and_every_plan_is_reported_with_what_changed() {
    let (_turn, heard) = listening();
    let line = line!() + 1;
    let f = compile(|(x, y): &(Tensor, Tensor)| (x + y * 1.0).exp());
    f.call(&(Tensor::ones([2]), Tensor::ones([2])));
    f.call(&(Tensor::ones([2]), Tensor::ones([2])));
    f.call(&(Tensor::ones([3, 2]), Tensor::ones([2])));
    log_compilations(None);
    let texts = about(&heard, line);
    assert_eq!(texts.len(), 4, "{texts:#?}");
    for part in ["traced '0': f64[2], '1': f64[2]", "equations traced in", " ms", "the first signature"] {
        assert!(texts[0].contains(part), "{part}: {}", texts[0]);
    }
    for part in ["planned in", "equations,", "after passes", "1 kernel,"] {
        assert!(texts[1].contains(part), "{part}: {}", texts[1]);
    }
    assert!(texts[2].contains("new: '0' was f64[2] and is f64[3, 2]") && !texts[2].contains("'1' was"), "{}", texts[2]);
}

#[test]
fn a_signature_that_keeps_changing_warns_once_and_names_the_leaf() {
    let (_turn, heard) = listening();
    let line = line!() + 1;
    let f = compile(|(x, w): &(Tensor, Tensor)| x * w);
    for size in 1..60 {
        f.call(&(Tensor::ones([size]), Tensor::from(2.0)));
    }
    log_compilations(None);
    let texts = about(&heard, line);
    let warnings: Vec<&String> = texts.iter().filter(|text| text.starts_with("warning")).collect();
    assert_eq!(warnings.len(), 1, "{texts:#?}");
    assert!(warnings[0].contains("16 different signatures; the last change: '0' was f64[15] and is f64[16]"));
}

#[test]
fn a_new_structure_is_told_by_its_paths() {
    let (_turn, heard) = listening();
    let line = line!() + 1;
    let f = compile(|x: &Vec<Option<Tensor>>| x.iter().flatten().fold(Tensor::from(0.0), |sum, x| sum + x));
    f.call(&vec![Some(Tensor::from(1.0)), None]);
    f.call(&vec![Some(Tensor::from(1.0)), Some(Tensor::from(2.0))]);
    log_compilations(None);
    let texts = about(&heard, line);
    assert!(
        texts.iter().any(|text| text.contains("'1' is f64[] and was not there") || text.contains("'1' was none")),
        "{texts:#?}"
    );
}

/// Not a test by itself: run by another process.
#[test]
fn the_other_process() {
    if std::env::var("WENGERT_TEST_CHILD").is_ok() {
        let count = std::cell::Cell::new(0.0);
        let f = compile(|x: &Tensor| {
            count.set(count.get() + 1.0);
            x * count.get()
        });
        let result = catch(|| f.call(&Tensor::from(1.0)));
        eprintln!("RESULT {:?}", result.err().map(|error| error.kind().clone()));
    }
}

#[test]
fn the_environment_asks_for_reports_and_checks() {
    let child = |name: &str, value: &str| {
        let output =
            only(module_path!(), "the_other_process").env("WENGERT_TEST_CHILD", "1").env(name, value).output().unwrap();
        String::from_utf8(output.stderr).unwrap()
    };
    let silent = child("WENGERT_LOG", "");
    assert!(!silent.contains("wengert compile") && silent.contains("RESULT None"), "{silent}");
    let told = child("WENGERT_LOG", "compile");
    assert!(
        told.contains("wengert compile: ") && told.contains("traced '': f64[]") && told.contains("planned in"),
        "{told}"
    );
    let checked = child("WENGERT_CHECK", "trace");
    assert!(checked.contains("RESULT Some(Retraced)"), "{checked}");
}
