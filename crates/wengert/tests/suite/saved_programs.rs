//! Saved programs: another process runs them and gets the same bits; any other file content is an error that says so.

use super::process::only;
use std::path::PathBuf;
use wengert::prelude::*;
use wengert::primitive::{PRIMITIVES, bind};

/// A file that is deleted with its guard.
struct Scratch(PathBuf);

impl Scratch {
    fn new(name: &str) -> Scratch {
        Scratch(std::env::temp_dir().join(format!("wengert-saved-{name}-{}", std::process::id())))
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        let _ = std::fs::remove_file(&self.0);
    }
}

fn wave(shape: impl Into<Shape>, phase: f64) -> Tensor {
    let shape = shape.into();
    let numbers: Vec<f64> = (0..shape.elements()).map(|i| (1.7 * i as f64 + phase).sin()).collect();
    Tensor::from_vec(numbers, shape)
}

fn bits(tensor: &Tensor) -> String {
    let words: Vec<String> = tensor.to_f64_vec().iter().map(|x| format!("{:016x}", x.to_bits())).collect();
    format!("{:?} {}", tensor.shape(), words.join(" "))
}

#[derive(Tree)]
struct Layer {
    weight: Tensor,
    bias: Tensor,
}

/// The inputs of the program that another process runs.
fn training() -> ((Vec<Layer>, Tensor), (Tensor, Tensor)) {
    let layers = [(5, 7, 0.1), (7, 3, 0.2)];
    let layer =
        |&(n, m, phase): &(usize, usize, f64)| Layer { weight: wave([n, m], phase), bias: wave([m], 3.0 * phase) };
    ((layers.iter().map(layer).collect(), Tensor::from(0.05)), (wave([4, 5], 0.9), wave([4, 3], 1.1)))
}

/// Not a test by itself: run by the other process.
#[test]
fn slopes_name_their_operation_with_its_parameters() {
    let text = "program(a: f64[2], b: f64[2]) {\n  c: f64[2] = slope[of=elu(0.5), operand=0](a, b)\n  return c\n}\n";
    let program = Program::parse(text).unwrap();
    // Below zero elu(x) = 0.5 (e^x - 1), whose slope is 0.5 e^x.
    let x: [f64; 2] = [-1.5, 2.0];
    let evaluated = program.evaluate(&[Tensor::from([3.0, 3.0]), Tensor::from(x)]).unwrap();
    assert!(evaluated[0].all_close(&Tensor::from([1.5 * x[0].exp(), 3.0]), 1e-15), "{:?}", evaluated[0]);
    assert_eq!(program.to_string(), text);
    for of in ["elu", "elu(0.5;1.0)", "elu(x)", "matmul", "no_such"] {
        let error = Program::parse(&text.replace("elu(0.5)", of)).unwrap_err();
        assert!(error.message().contains(&format!("'{of}' has no slope")), "{of}: {error}");
    }
}

#[test]
fn the_other_process() {
    let Ok(path) = std::env::var("WENGERT_SAVED_PROGRAM") else { return };
    let loaded = Program::load(path).unwrap();
    let ((layers, rate), (x, y)) = training();
    let mut inputs: Vec<Tensor> = layers.leaves().into_iter().cloned().collect();
    inputs.extend([rate, x, y]);
    for ((name, _), output) in loaded.outputs().zip(loaded.call(&inputs).unwrap()) {
        println!("OUTPUT {name} {}", bits(&output));
    }
}

#[test]
fn another_process_runs_a_training_step_and_gets_the_same_bits() {
    let file = Scratch::new("step");
    let constant = wave([100], 0.3);
    let step = compile_step(|(layers, rate): &mut (Vec<Layer>, Tensor), (x, y): &(Tensor, Tensor)| {
        let loss = |layers: &Vec<Layer>| {
            let hidden = layers.iter().fold(x.clone(), |h, layer| (h.matmul(&layer.weight) + &layer.bias).tanh());
            (hidden - y).square().mean() + constant.square().mean()
        };
        let (loss, slopes) = value_and_grad(loss)(layers);
        *layers = layers.zip_leaves(&slopes, |w, dw| w - &*rate * dw).unwrap();
        loss
    });
    let (mut state, input) = training();
    step.save(&state, &input, &file.0).unwrap();
    let loss = step.call(&mut state, &input);
    let mut expected: Vec<String> = Vec::new();
    for (name, leaf) in state.named_leaves() {
        expected.push(format!("OUTPUT state.{name} {}", bits(leaf)));
    }
    expected.push(format!("OUTPUT  {}", bits(&loss)));
    let output = only(module_path!(), "the_other_process").env("WENGERT_SAVED_PROGRAM", &file.0).output().unwrap();
    let text = String::from_utf8(output.stdout).unwrap();
    let found: Vec<&str> = text.lines().filter_map(|line| line.find("OUTPUT").map(|at| &line[at..])).collect();
    assert!(output.status.success(), "{text}{}", String::from_utf8_lossy(&output.stderr));
    assert_eq!(found, expected);
}

#[test]
fn names_are_tree_paths_and_the_file_tells_lines() {
    let file = Scratch::new("names");
    let f = compile(|x: &std::collections::BTreeMap<String, Tensor>| (x["a\nb"].exp(), vec![&x["c\\"] * 2.0]));
    let line = line!() - 1;
    let x = [("a\nb".to_string(), Tensor::from(0.0)), ("c\\".to_string(), Tensor::from([1.0, 2.0]))].into();
    f.save(&x, &file.0).unwrap();
    let loaded = Program::load(&file.0).unwrap();
    let names = |specs: &mut dyn Iterator<Item = (&str, &wengert::primitive::Spec)>| -> Vec<String> {
        specs.map(|(name, spec)| format!("{name} {spec}")).collect()
    };
    assert_eq!(names(&mut loaded.inputs()), ["a\nb f64[]", "c\\ f64[2]"]);
    assert_eq!(names(&mut loaded.outputs()), ["0 f64[]", "1.0 f64[2]"]);
    assert!(loaded.function().contains(&format!("saved_programs.rs:{line}:")), "{}", loaded.function());
    let text = std::fs::read_to_string(&file.0).unwrap();
    let exp = text.lines().find(|line| line.contains("= exp(")).unwrap();
    assert!(exp.contains(&format!("// crates/wengert/tests/suite/saved_programs.rs:{line}:")), "{exp}");
}

#[test]
fn constants_keep_their_bits_whatever_they_are() {
    let file = Scratch::new("bits");
    let odd: Vec<f64> = [
        f64::NAN.to_bits(),
        0xfff8_0000_0000_0000,
        0x7ff0_0000_0000_0001,
        0x8000_0000_0000_0000,
        1,
        0x7ff0_0000_0000_0000,
    ]
    .map(f64::from_bits)
    .to_vec();
    let long: Vec<f64> = (0..100).map(|i| odd[i % odd.len()]).collect();
    let single: Vec<f32> = vec![f32::from_bits(0x7fc0_0001), f32::from_bits(0xffc0_0000), f32::MIN_POSITIVE, -0.0];
    let constants = vec![
        Tensor::from_vec(odd, [6]),
        Tensor::from_vec(long, [4, 25]),
        Tensor::from_vec(single, [4]),
        wave([5], 0.0).cast(DType::F16),
        wave([40], 0.0).cast(DType::BF16),
        Tensor::from([i64::MIN, i64::MAX, 0]),
        Tensor::from_vec((0..50i64).map(|i| i % 3 == 0).collect::<Vec<bool>>(), [50]),
        Tensor::from_vec(vec![0u8; 0], [0]),
    ];
    let f = compile(|_: &Tensor| constants.clone());
    f.save(&Tensor::from(0.0), &file.0).unwrap();
    let loaded = Program::load(&file.0).unwrap();
    let outputs = loaded.call(&[Tensor::from(0.0)]).unwrap();
    for (expected, found) in constants.iter().zip(&outputs) {
        assert_eq!(expected.dtype(), found.dtype());
        assert_eq!(format!("{expected:?}"), format!("{found:?}"));
    }
    let words = |tensor: &Tensor| tensor.to_vec::<f64>().iter().map(|x| x.to_bits()).collect::<Vec<u64>>();
    assert_eq!(words(&outputs[0]), words(&constants[0]));
    assert_eq!(words(&outputs[1]), words(&constants[1]));
    let words = |tensor: &Tensor| tensor.to_vec::<f32>().iter().map(|x| x.to_bits()).collect::<Vec<u32>>();
    assert_eq!(words(&outputs[2]), words(&constants[2]));
    assert_eq!(outputs[5].to_vec::<i64>(), [i64::MIN, i64::MAX, 0]);
}

#[test]
fn every_primitive_reads_back() {
    let file = Scratch::new("primitives");
    let mut count = 0;
    for &op in PRIMITIVES.iter() {
        for case in op.cases() {
            let operands: Vec<Tensor> = case.operands.iter().map(|sample| sample.tensor(DType::F64)).collect();
            let f = |x: &Vec<Tensor>| bind(op, case.attrs.clone(), &x.iter().collect::<Vec<_>>()).to_vec();
            let Ok(expected) = catch(|| f(&operands)) else { continue };
            compile(f).save(&operands, &file.0).unwrap();
            let found = Program::load(&file.0).unwrap().call(&operands).unwrap();
            for (expected, found) in expected.iter().zip(&found) {
                assert!(expected.all_close(found, 1e-12), "{} '{}': {expected} against {found}", op.name(), case.label);
            }
            count += 1;
        }
    }
    assert!(count > 500, "{count}");
}

#[test]
fn loops_and_branches_read_back() {
    let file = Scratch::new("loops");
    let f = compile(|(x, n): &(Tensor, Tensor)| {
        let loss = |x: &Tensor| {
            let (h, all) = scan(|h: &Tensor, x: &Tensor| ((h * 0.5 + x).tanh(), h * x), &Tensor::from(0.0), x);
            let y = cond(&h.gt(0.0), |h: &Tensor| h.exp(), |h: &Tensor| h * 3.0, &h);
            y + all.sum()
        };
        let (value, slope) = value_and_grad(loss)(x);
        let (_, last) = while_loop(
            |(i, _): &(Tensor, Tensor)| i.lt(n),
            |(i, v): &(Tensor, Tensor)| (i + 1.0, v * 1.5),
            &(Tensor::from(0.0), value.clone()),
        );
        (value, slope, last)
    });
    let x = (wave([5], 0.4), Tensor::from(3.0));
    f.save(&x, &file.0).unwrap();
    let (value, slope, last) = f.call(&x);
    let found = Program::load(&file.0).unwrap().call(&[x.0, x.1]).unwrap();
    assert_eq!(found.iter().map(bits).collect::<Vec<_>>(), [&value, &slope, &last].map(bits));
}

#[test]
fn a_loaded_program_is_a_function_like_others() {
    let file = Scratch::new("function");
    compile(|x: &Tensor| (x * x).sum()).save(&Tensor::from([1.0, 2.0]), &file.0).unwrap();
    let loaded = Program::load(&file.0).unwrap();
    let f = |x: &Tensor| loaded.call(std::slice::from_ref(x)).unwrap().remove(0);
    assert_eq!(grad(f)(&Tensor::from([3.0, 4.0])), Tensor::from([6.0, 8.0]));
    assert_eq!(vmap(f)(&Tensor::from([[3.0, 4.0], [1.0, 0.0]])), Tensor::from([25.0, 1.0]));
    assert_eq!(compile(grad(f)).call(&Tensor::from([3.0, 4.0])), Tensor::from([6.0, 8.0]));
    let x = Tensor::from([3.0, 4.0]).require_grad();
    f(&x).backward();
    assert_eq!(x.grad().unwrap(), Tensor::from([6.0, 8.0]));
    assert_eq!(f(&Tensor::from([[3.0, 9.0], [4.0, 9.0]]).t().slice(0)).item(), 25.0);
    assert!(loaded.plan().kernels() == 1);
    let error = loaded.call(&[Tensor::from(1.0)]).unwrap_err();
    assert!(error.to_string().contains("input '' is f64[], the program takes f64[2]"), "{error}");
}

#[test]
fn an_error_in_a_loaded_program_has_the_line_of_the_function_and_tells_the_call() {
    let file = Scratch::new("errors");
    let f = compile(|(x, i): &(Tensor, Tensor)| {
        let y = x * 2.0;
        y.gather(0, i)
    });
    let line = line!() - 2;
    f.save(&(Tensor::from([1.0, 2.0]), Tensor::from([0i64])), &file.0).unwrap();
    let loaded = Program::load(&file.0).unwrap();
    let inputs = [Tensor::from([1.0, 2.0]), Tensor::from([5i64])];
    let error = loaded.call(&inputs).unwrap_err();
    assert_eq!((error.kind(), error.operation()), (&ErrorKind::Range, "gather"), "{error}");
    assert_eq!((error.line().unwrap().file(), error.line().unwrap().line()), (file!(), line), "{error}");
    let called = format!("equation 2 of the saved program, called at {}:{}:", file!(), line!() - 3);
    assert!(error.message().contains(&called), "{error}");
}

/// Source lines in a file of a language that this process does not know.
#[test]
fn lines_of_a_saved_program_are_those_that_its_file_names() {
    let body = "function models/pendulum.py:1:1
input x
input i
output
program(x: f64[3], i: i64[1]) {
  a: f64[3] = sin(x)  // models/pendulum.py:3:9
  b: f64[3] = exp(a)  // no place: at all
  c: f64[1] = gather[axis=0](b, i)  // C:/models/pendulum.py:40:2
  return c
}
";
    let loaded = Loaded::parse(&sealed(body)).unwrap();
    let lines = |program: &Program| -> Vec<Option<String>> {
        program.equations().iter().map(|equation| equation.line.map(|line| line.to_string())).collect()
    };
    let [sin, gather] = ["models/pendulum.py:3:9", "C:/models/pendulum.py:40:2"].map(|place| Some(place.to_string()));
    assert_eq!(lines(loaded.program()), [sin.clone(), None, gather.clone()]);

    let (x, far) = (Tensor::from([1.0, 2.0, 3.0]), Tensor::from([7i64]));
    let error = loaded.call(&[x.clone(), far.clone()]).unwrap_err();
    assert_eq!(
        (error.kind(), error.line().map(|line| line.to_string())),
        (&ErrorKind::Range, gather.clone()),
        "{error}"
    );
    assert!(error.to_string().contains("\n  at C:/models/pendulum.py:40:2"), "{error}");
    let error =
        grad(|x: &Tensor| loaded.call(&[x.clone(), far.clone()]).map_or_else(|error| error.raise(), |y| y[0].sum()));
    let error = catch(|| error(&x)).unwrap_err();
    assert_eq!(error.line().map(|line| line.to_string()), gather, "{error}");

    // Records, traces and files derived from it have the same lines.
    let y = loaded.call(&[x.clone().require_grad(), Tensor::from([1i64])]).unwrap().remove(0);
    assert!(Tape::of(&y).rows().iter().any(|row| Some(row.line.to_string()) == sin), "{}", Tape::of(&y));
    let again = compile(|x: &Tensor| loaded.call(&[x.clone(), Tensor::from([1i64])]).unwrap().remove(0));
    assert!(lines(&again.program(&x)).contains(&sin));
    let file = Scratch::new("lines");
    loaded.program().save(&file.0).unwrap();
    assert_eq!(lines(Program::load(&file.0).unwrap().program()), lines(loaded.program()));
}

#[test]
fn bodies_of_loops_keep_their_lines() {
    let file = Scratch::new("bodies");
    let f = compile(|x: &Tensor| fori(0..3, |_, x: &Tensor| x.sin(), x));
    let line = line!() - 1;
    f.save(&Tensor::from([1.0, 2.0]), &file.0).unwrap();
    let loaded = Program::load(&file.0).unwrap();
    let text = |program: &Program| program.to_string();
    assert_eq!(text(loaded.program()), text(&f.program(&Tensor::from([1.0, 2.0]))));
    loaded.program().save(&file.0).unwrap();
    let saved = std::fs::read_to_string(&file.0).unwrap();
    let sin = saved.lines().find(|line| line.contains("= sin(")).unwrap();
    assert!(sin.contains(&format!("// {}:{line}:", file!())), "{sin}");
}

#[test]
fn a_tensor_that_requires_gradients_becomes_the_constant_that_it_is() {
    let file = Scratch::new("leaf");
    let w = Tensor::from([2.0, 3.0]).require_grad();
    compile(|x: &Tensor| x * &w).save(&Tensor::from([1.0, 1.0]), &file.0).unwrap();
    let text = std::fs::read_to_string(&file.0).unwrap();
    assert!(text.contains("= 2.0 3.0  // required gradients"), "{text}");
    let loaded = Program::load(&file.0).unwrap();
    let y = loaded.call(&[Tensor::from([1.0, 10.0])]).unwrap().remove(0);
    assert_eq!(y, Tensor::from([2.0, 30.0]));
    assert!(!y.requires_grad());
    // A tensor that was updated since the function was traced is saved, and debugged, with its current value.
    let w = std::cell::RefCell::new(w);
    let f = compile(|x: &Tensor| x * &*w.borrow());
    let x = Tensor::from([1.0, 1.0]);
    f.call(&x);
    no_grad(|| *w.borrow_mut() += 5.0);
    f.save(&x, &file.0).unwrap();
    assert_eq!(Program::load(&file.0).unwrap().call(std::slice::from_ref(&x)).unwrap()[0], Tensor::from([7.0, 8.0]));
    assert_eq!(f.debug().call(&x), Tensor::from([7.0, 8.0]));
    assert_eq!(f.program(&x).evaluate(&[x]).unwrap()[0], Tensor::from([7.0, 8.0]));
    assert_eq!(f.signatures(), 1);
}

#[test]
fn functions_with_rules_of_their_own_are_refused_by_name_and_line() {
    let file = Scratch::new("custom");
    let cube = custom_vjp(|x: &Tensor| (x * x * x, x.clone()), |x: &Tensor, dy: &Tensor| dy * x * x * 3.0);
    let line = line!() - 1;
    let f = compile(|x: &Tensor| cube(x));
    let error = f.save(&Tensor::from(2.0), &file.0).unwrap_err();
    assert_eq!((error.kind(), error.operation()), (&ErrorKind::File, "save"));
    assert!(error.message().contains("custom_vjp"), "{error}");
    assert_eq!(error.line().unwrap().line(), line, "{error}");
    assert!(!file.0.exists());
}

fn small_file() -> Vec<u8> {
    let file = Scratch::new("small");
    let constant = wave([20], 0.0);
    let f = compile(|x: &Tensor| (x + 1.5).slice(..20) * &constant);
    f.save(&Tensor::zeros([21]), &file.0).unwrap();
    std::fs::read(&file.0).unwrap()
}

#[test]
fn a_change_of_any_byte_and_any_cut_is_an_error() {
    let good = small_file();
    assert!(Loaded::parse(&good).is_ok());
    for place in 0..good.len() {
        for bit in 0..8 {
            let mut bad = good.clone();
            bad[place] ^= 1 << bit;
            let error = Loaded::parse(&bad).err().unwrap_or_else(|| panic!("byte {place}, bit {bit}"));
            assert_eq!(*error.kind(), ErrorKind::File, "{error}");
        }
        let error = Loaded::parse(&good[..place]).err().expect("a cut is noticed");
        assert_eq!(*error.kind(), ErrorKind::File, "{error}");
    }
    let longer = [&good[..], b"\n"].concat();
    assert!(Loaded::parse(&longer).err().unwrap().to_string().contains("bytes"));
}

/// The file with another body and the matching first line.
fn sealed(body: &str) -> Vec<u8> {
    let sum =
        body.bytes().fold(0xcbf2_9ce4_8422_2325u64, |sum, byte| (sum ^ u64::from(byte)).wrapping_mul(0x100_0000_01b3));
    format!("wengert program 1, {} bytes, fnv1a {sum:016x}\n{body}", body.len()).into_bytes()
}

#[test]
fn whatever_a_valid_checksum_covers_loads_or_is_an_error() {
    let good = String::from_utf8(small_file()).unwrap();
    let body = good.split_once('\n').unwrap().1;
    assert!(Loaded::parse(&sealed(body)).is_ok());
    let mut loads = 0;
    for place in 0..body.len() {
        for replacement in ["", "0", "9", "-", "a", "z", "[", "]", "(", "}", ",", "\n", "=", "/", "\\", " "] {
            let changed = format!("{}{replacement}{}", &body[..place], &body[place + 1..]);
            loads += usize::from(Loaded::parse(&sealed(&changed)).is_ok());
        }
        assert!(place == 0 || Loaded::parse(&sealed(&body[..place])).is_err() || place + 1 >= body.len());
    }
    assert!(loads > 0, "a name may be another");
}

/// A file with one call on inputs a, b, .. of these types.
fn one_call(inputs: &[&str], output: &str, call: &str) -> Vec<u8> {
    let names = ["a", "b", "c"];
    let typed: Vec<String> = names.iter().zip(inputs).map(|(name, spec)| format!("{name}: {spec}")).collect();
    let lines = "input x\n".repeat(inputs.len());
    let program = format!("program({}) {{\n  y: {output} = {call}\n  return y\n}}", typed.join(", "));
    sealed(&format!("function\n{lines}output y\n{program}\n"))
}

#[test]
fn attributes_are_checked_when_a_file_is_loaded() {
    let wrong: &[(&[&str], &str, &str, &str)] = &[
        // Of another kind, where only the kernel would read them.
        (&["f64[2]"], "f64[2]", "elu[alpha=1](a)", "elu: attribute 'alpha' is 1, not a real number"),
        (&["f64[2]"], "f64[2]", "cumsum[axis=0, reverse=no](a)", "cumsum: attribute 'reverse' is no"),
        (&["f64[2, 2]"], "f64[2, 2]", "inv[checked=[]](a)", "inv: attribute 'checked' is []"),
        (&["f64[2, 2]"], "f64[2, 2]", "pinv[rtol=1](a)", "pinv: attribute 'rtol' is 1"),
        (&["f64[2]"], "f64[]", "norm[axes=[0], p=f32](a)", "norm: attribute 'p' is f32"),
        (&["i64[2]"], "i64[2]", "wrap_index[size=-1, wraps=1](a)", "wrap_index: attribute 'size' is -1"),
        // Duplicate and unused attributes.
        (&["f64[2]"], "f64[2]", "flip[axes=[0], axes=[0]](a)", "flip is given the attribute 'axes' twice"),
        (&["f64[2]"], "f64[2]", "cumsum[axis=0, reverse=7](a)", "cumsum: attribute 'reverse' is 7, neither 0 nor 1"),
        // Invalid windows, or windows whose arithmetic overflows.
        (
            &["f64[1, 1, 4]"],
            "f64[1, 2, 3]",
            "unfold_patches[input=[4], kernel=[2], stride=[1], dilation=[1], before=[0], after=[0], groups=2](a)",
            "unfold_patches: patches have one group, not 2",
        ),
        (
            &["f64[1, 1, 4]"],
            "f64[1, 2, 3]",
            "unfold_patches[input=[4], kernel=[2], stride=[1], dilation=[9223372036854775807], before=[0], \
             after=[0], groups=1](a)",
            "unfold_patches: there are no such windows",
        ),
        (
            &["f64[0, 4]"],
            "f64[0, 1000000000000]",
            "adaptive_avg_pool[input=[4], output=[1000000000000]](a)",
            "adaptive_avg_pool: windows from [4] to [1000000000000]",
        ),
        (
            &["f64[1, 4]"],
            "f64[1, 7]",
            "avg_pool[input=[4], output=[7], kernel=[2], stride=[2], dilation=[1], padding=[0], count_include_pad=1, \
             divisor=0.0](a)",
            "avg_pool: [7] is not how many windows",
        ),
        (
            &["f64[1, 4]"],
            "f64[1, 2]",
            "avg_pool[input=[4], output=[2], kernel=[2], stride=[0], dilation=[1], padding=[0], count_include_pad=1, \
             divisor=0.0](a)",
            "avg_pool: kernel [2], stride [0] and dilation [1] start at 1",
        ),
    ];
    for (inputs, output, call, expected) in wrong {
        let error = Loaded::parse(&one_call(inputs, output, call)).err().unwrap_or_else(|| panic!("{call} loads"));
        assert_eq!(*error.kind(), ErrorKind::File, "{error}");
        let line = 5 + inputs.len();
        assert!(error.message().starts_with(&format!("line {line}: {expected}")), "{error}");
    }
    let right =
        one_call(&["f64[2, 2]"], "f64[1, 2]", "slice[start=[1, 0], stop=[2, 2], step=[9223372036854775807, 1]](a)");
    let x = Tensor::from([[1.0, 2.0], [3.0, 4.0]]);
    assert_eq!(Loaded::parse(&right).unwrap().call(&[x]).unwrap()[0], Tensor::from([[3.0, 4.0]]));
}

#[test]
fn the_pullback_of_a_loop_is_that_of_its_body() {
    let call = |consts: &str, wanted: &str| {
        let body = "body(a: f64[], x: f64[]) {\n    y: f64[] = mul(a, x)\n    return y\n  }";
        let text = format!("while_gradient[consts={consts}, wanted={wanted}](n, a, b, b) {body}");
        let program =
            format!("program(n: i64[], a: f64[], b: f64[]) {{\n  y: f64[], z: f64[] = {text}\n  return y\n}}");
        Program::parse(&program)
    };
    assert!(call("1", "[0, 1]").is_ok());
    for (consts, wanted) in [("9", "[0, 1]"), ("1", "[1, 0]"), ("1", "[1, 1]"), ("1", "[0, 7]"), ("0", "[0, 1]")] {
        let error = call(consts, wanted).err().unwrap_or_else(|| panic!("{consts} {wanted}"));
        assert!(error.message().contains("while_gradient: the pullback by inputs"), "{error}");
    }
}

#[test]
fn programs_that_no_memory_holds_say_so() {
    let size = 1u64 << 59;
    let file = one_call(&["f64[]"], &format!("f64[{size}]"), &format!("broadcast[shape=[{size}]](a)"));
    let error = Loaded::parse(&file).unwrap().call(&[Tensor::from(1.0)]).unwrap_err();
    assert!(matches!(error.kind(), ErrorKind::Memory { .. }), "{error}");
    // There is no room for more even next to an empty axis.
    let file =
        one_call(&["f64[]"], "f64[0, 9223372036854775807, 2]", "broadcast[shape=[0, 9223372036854775807, 2]](a)");
    let error = Loaded::parse(&file).err().unwrap();
    assert!(error.message().contains("more elements than memory can hold"), "{error}");
}

#[test]
fn foreign_newer_and_wrong_files_say_what_they_are() {
    let message = |bytes: &[u8]| Loaded::parse(bytes).err().expect("an error").to_string();
    assert!(message(b"").contains("the file is empty"));
    assert!(message(b"\x7fELF\x02\x01").contains("not a saved program"));
    assert!(
        message(b"wengert program 2, 3 bytes, sha 1\nabc")
            .contains("the file has format 2, this library reads format 1")
    );
    assert!(message(b"wengert program 1").contains("ends within its first line"));
    let program = "program(a: f64[]) {\n  b: f64[] = OP(a)\n  return b\n}\n";
    let of = |op: &str| format!("function\ninput x\noutput\n{}", program.replace("OP", op));
    assert!(Loaded::parse(&sealed(&of("sin"))).is_ok());
    let error = message(&sealed(&of("frobnicate")));
    assert!(error.contains("line 6: there is no primitive 'frobnicate'"), "{error}");
    let error = message(&sealed(&of("sum[axes=[7]]")));
    assert!(error.starts_with("load: line 6: sum: axes [7] are not distinct axes"), "{error}");
    let error = message(&sealed(&of("sin").replace("input x\n", "")));
    assert!(error.contains("0 inputs and 1 outputs have names"), "{error}");
    let error = message(&sealed(&of("sin").replace("input", "inptu")));
    assert!(error.contains("line 3: 'inptu' is none of"), "{error}");
    let body = of("sin").replace("program(a: f64[]) {", "program(a: f64[]) {\n  const c: f64[3] = data 0");
    assert!(message(&sealed(&body)).contains("line 6: there is no data '0'"));
    assert!(message(&sealed(&format!("{body}data 0, 24 bytes\nAAAA*\n"))).contains("not base64"));
    assert!(message(&sealed(&format!("{body}data 0, 24 bytes\nAAAA\n"))).contains("announces 24 bytes and has 3"));
    assert!(message(&sealed(&format!("{body}data 0, 3 bytes\nAAAA\n"))).contains("3 bytes for f64[3]"));
    let nested = "  a: f64[] = scan[consts=0, carry=1, length=3, reverse=0](a) body(a: f64[]) {\n".repeat(100_000);
    assert!(message(&sealed(&of("sin").replace("  b:", &format!("{nested}  b:")))).contains("inside each other"));
    let missing = Program::load("no/such/file").err().unwrap();
    assert!(missing.to_string().contains("no/such/file"), "{missing}");
    assert_eq!(missing.line().unwrap().line(), line!() - 2);
}
