//! Losses have PyTorch's values and gradients, or those of a plain reference; at once and compiled.

use serde_json::Value;
use wengert::nn::loss::*;
use wengert::prelude::*;

fn record() -> Value {
    serde_json::from_str(include_str!("../data/losses.json")).expect("the record is JSON")
}

/// The recorded cases of a loss.
fn cases(loss: &str) -> Vec<Value> {
    record()[loss].as_array().expect("the loss is recorded").clone()
}

fn number(value: &Value) -> f64 {
    match value.as_str() {
        Some(text) => text.parse().expect("inf or nan"),
        None => value.as_f64().expect("a number"),
    }
}

/// A tensor of numbers in nested lists.
fn tensor(value: &Value) -> Tensor {
    fn flatten(value: &Value, numbers: &mut Vec<f64>) {
        match value.as_array() {
            Some(list) => list.iter().for_each(|value| flatten(value, numbers)),
            None => numbers.push(number(value)),
        }
    }
    let (mut numbers, mut shape, mut inner) = (Vec::new(), Vec::new(), value);
    flatten(value, &mut numbers);
    while let Some(list) = inner.as_array() {
        shape.push(list.len());
        inner = &list[0];
    }
    Tensor::from_vec(numbers, shape)
}

fn integers(value: &Value) -> Tensor {
    tensor(value).cast(DType::I64)
}

#[track_caller]
fn agree(what: &str, found: &Tensor, recorded: &Tensor, tolerance: f64) {
    assert_eq!(found.shape(), recorded.shape(), "{what}");
    for (found, right) in found.to_f64_vec().into_iter().zip(recorded.to_f64_vec()) {
        let is_near = (found - right).abs() <= tolerance * right.abs().max(1.0);
        assert!(is_near || found == right, "{what}: {found} instead of {right}");
    }
}

/// Compares values and gradients of a loss with a recorded case, at once and compiled.
#[track_caller]
fn check(case: &Value, inputs: &[Tensor], loss: impl Fn(&[Tensor], Reduction) -> Tensor, tolerance: f64) {
    let name = case["name"].as_str().expect("a name");
    let reductions = [("none", Reduction::None), ("mean", Reduction::Mean)];
    for (reduced, reduction) in reductions.into_iter().filter(|(name, _)| case.get(format!("value_{name}")).is_some()) {
        let weights = match reduction {
            Reduction::None => tensor(&case["weights_none"]),
            _ => Tensor::from(1.0),
        };
        let weighted = |inputs: &Vec<Tensor>| {
            let value = loss(inputs, reduction);
            ((&value * &weights).sum(), value)
        };
        let eager = value_and_grad_with_aux(weighted);
        let compiled = compile(value_and_grad_with_aux(weighted));
        let inputs = inputs.to_vec();
        for (way, ((_, value), gradients)) in [("eager", eager(&inputs)), ("compiled", compiled.call(&inputs))] {
            let what = format!("{name}, {reduced}, {way}");
            agree(&what, &value, &tensor(&case[format!("value_{reduced}")]), tolerance);
            let recorded = tensor(&case[format!("grad_{reduced}")]);
            let found = match &gradients[..] {
                [one] => one.clone(),
                several => Tensor::stack(several, 0),
            };
            // PyTorch's NaN stands where no alignment exists; ours is 0 there.
            let recorded = recorded.equal(&recorded).where_(&recorded, 0.0);
            agree(&format!("{what}, gradient"), &found, &recorded, tolerance);
        }
    }
}

#[test]
fn cross_entropy_is_right_and_finite_for_large_logits() {
    let logits = Tensor::from([[1.0, 2.0, 3.0], [1.0, 0.0, -1.0]]);
    let loss = |logits: &Tensor| logits.cross_entropy(&Tensor::from([2i64, 0]), &CrossEntropy::new());
    let row = Tensor::from([0.04501528658519, 0.12236423552740, -0.16737952211259]);
    for (value, gradient) in [value_and_grad(loss)(&logits), compile(value_and_grad(loss)).call(&logits)] {
        assert!((value.item() - 0.40760596444438046).abs() < 1e-15);
        assert!(gradient.slice(0).all_close(&row, 1e-13));
    }
    // Adding 1e4 to all logits changes nothing; a difference of 1e4 is the whole loss.
    let (value, gradient) = value_and_grad(loss)(&(&logits + 1e4));
    assert!((value.item() - 0.40760596444438046).abs() < 1e-11);
    assert!(gradient.slice(0).all_close(&row, 1e-11));
    let (value, gradient) = value_and_grad(loss)(&Tensor::from([[1e4, 0.0, 0.0], [1e4, 0.0, -1e4]]));
    assert_eq!(value.item(), 5e3);
    assert_eq!(gradient, Tensor::from([[0.5, 0.0, -0.5], [0.0, 0.0, 0.0]]));
    for far in [1e4f32, -1e4] {
        let (value, gradient) = value_and_grad(loss)(&Tensor::from([[far, -far, 0.0], [0.0, far, -far]]));
        assert!(value.item().is_finite() && !gradient.has_nan());
    }
}

#[test]
fn triplet_cosine_and_multilabel_losses_have_the_recorded_numbers() {
    for case in cases("triplet_margin_loss") {
        let inputs = ["anchor", "positive", "negative"].map(|name| tensor(&case[name]));
        let option = |name: &str| case["options"][name].as_f64().unwrap();
        let loss = |x: &[Tensor], reduction| match case["options"]["swap"].as_bool().unwrap() {
            true => x[0].triplet_margin_loss_swap(&x[1], &x[2], option("margin"), option("p"), reduction),
            false => x[0].triplet_margin_loss(&x[1], &x[2], option("margin"), option("p"), reduction),
        };
        check(&case, &inputs, loss, 1e-12);
    }
    for case in cases("cosine_embedding_loss") {
        let inputs = ["input1", "input2"].map(|name| tensor(&case[name]));
        let (target, margin) = (tensor(&case["target"]), case["options"]["margin"].as_f64().unwrap());
        check(&case, &inputs, |x, reduction| x[0].cosine_embedding_loss(&x[1], &target, margin, reduction), 1e-12);
    }
    for case in cases("multilabel_margin_loss") {
        let target = integers(&case["target"]);
        let loss = |x: &[Tensor], reduction| x[0].multilabel_margin_loss(&target, reduction);
        check(&case, &[tensor(&case["input"])], loss, 1e-12);
    }
    for case in cases("multilabel_soft_margin_loss") {
        let target = tensor(&case["target"]);
        let weight = case["class_weight"].is_array().then(|| tensor(&case["class_weight"]));
        let loss = |x: &[Tensor], reduction| x[0].multilabel_soft_margin_loss(&target, weight.as_ref(), reduction);
        check(&case, &[tensor(&case["input"])], loss, 1e-12);
    }
}

/// The labels of a case, padded with `padding`.
fn padded(case: &Value, padding: i64) -> Tensor {
    let rows: Vec<Vec<i64>> = serde_json::from_value(case["targets"].clone()).expect("rows of labels");
    let longest = rows.iter().map(Vec::len).max().unwrap_or(0);
    let padded: Vec<i64> =
        rows.iter().flat_map(|row| row.iter().copied().chain(vec![padding; longest - row.len()])).collect();
    Tensor::from_vec(padded, [rows.len(), longest])
}

/// The recorded options, targets and lengths.
fn ctc_case(case: &Value) -> (Ctc, [Tensor; 3]) {
    let options = Ctc::new().blank(case["blank"].as_u64().unwrap() as usize);
    let options = if case["zero_infinity"] == true { options.zero_infinity() } else { options };
    (options, [padded(case, -1), integers(&case["input_lengths"]), integers(&case["target_lengths"])])
}

#[test]
fn ctc_has_the_recorded_numbers() {
    for case in cases("ctc_loss") {
        let (options, [targets, frames, labels]) = ctc_case(&case);
        let loss = |x: &[Tensor], reduction| {
            ctc(&x[0].log_softmax(-1), &targets, &frames, &labels, &options.reduction(reduction))
        };
        check(&case, &[tensor(&case["logits"])], loss, 1e-10);
    }
}

#[test]
fn ctc_takes_targets_and_lengths_as_inputs_of_compiled_and_batched_functions() {
    let case = &cases("ctc_loss")[1];
    let (options, [targets, frames, labels]) = ctc_case(case);
    let logits = tensor(&case["logits"]);
    let slope = |(x, targets, frames, labels): &(Tensor, Tensor, Tensor, Tensor)| {
        grad(|x: &Tensor| ctc(&x.log_softmax(-1), targets, frames, labels, &options))(x)
    };
    let recorded = tensor(&case["grad_mean"]);
    let input = (logits.clone(), targets.clone(), frames.clone(), labels.clone());
    agree("compiled", &compile(slope).call(&input), &recorded, 1e-10);

    // A batch of two: the recorded one, and the same with its rows in reverse order.
    let turned = |x: &Tensor, axis: isize| Tensor::stack(&[x, &x.flip(&[axis])], 0);
    let batch = (turned(&logits, 1), turned(&targets, 0), turned(&frames, 0), turned(&labels, 0));
    for found in [vmap(slope)(&batch), compile(vmap(slope)).call(&batch)] {
        agree("batched", &found, &turned(&recorded, 1), 1e-10);
    }

    // Padding and frames past the end have no influence, whatever they hold.
    let other = ctc(&logits.log_softmax(-1), &padded(case, 3), &frames, &labels, &options);
    assert_eq!(other.item(), ctc(&logits.log_softmax(-1), &targets, &frames, &labels, &options).item());
    let is_frame = Tensor::arange(6).unsqueeze(1).lt(&frames).unsqueeze(2).broadcast_to([6, 3, 5]);
    let found = grad(|x: &Tensor| {
        let x = is_frame.where_(x.log_softmax(-1), f64::NAN);
        ctc(&x, &targets, &frames, &labels, &options)
    })(&logits);
    agree("NaN after the end", &found, &recorded, 1e-10);
}

#[test]
fn ctc_works_in_f32_and_has_a_second_derivative() {
    let case = &cases("ctc_loss")[0];
    let (options, [targets, frames, labels]) = ctc_case(case);
    let loss = |x: &Tensor| ctc(&x.log_softmax(-1), &targets, &frames, &labels, &options);
    let logits = tensor(&case["logits"]);
    let (value, gradient) = value_and_grad(loss)(&logits.cast(DType::F32));
    assert_eq!((value.dtype(), gradient.dtype()), (DType::F32, DType::F32));
    agree("f32", &value, &tensor(&case["value_mean"]), 1e-6);
    agree("f32, gradient", &gradient, &tensor(&case["grad_mean"]), 1e-6);

    let direction = logits.cos();
    let along = |x: &Tensor| (grad(loss)(x) * &direction).sum();
    let reverse = grad(along)(&logits);
    let forward = jvp(grad(loss), &logits, &direction).1;
    let step = 1e-5;
    let difference =
        (grad(loss)(&(&logits + &direction * step)) - grad(loss)(&(&logits - &direction * step))) / (2.0 * step);
    agree("forward over reverse", &forward, &reverse, 1e-12);
    agree("differences", &reverse, &difference, 1e-8);
}

#[test]
fn ctc_of_no_frames_and_no_labels() {
    let empty = Tensor::from_vec(Vec::<i64>::new(), [2, 0]);
    let (none, zero) = (Tensor::from([0i64, 3]), Tensor::from([0i64, 0]));
    let frames = Tensor::zeros([3, 2, 4]).log_softmax(-1);
    let losses = ctc(&frames, &empty, &none, &zero, &Ctc::new().reduction(Reduction::None));
    agree("no labels", &losses, &Tensor::from([0.0, 3.0 * 4f64.ln()]), 1e-14);
    let label = Tensor::from([[1i64], [1]]);
    let one = Tensor::from([1i64, 1]);
    let losses = ctc(&frames, &label, &Tensor::from([0i64, 1]), &one, &Ctc::new().reduction(Reduction::None));
    agree("no frames", &losses, &Tensor::from([f64::INFINITY, 4f64.ln()]), 1e-14);
}

#[test]
fn ctc_rejects_labels_and_lengths_that_do_not_fit() {
    let frames = Tensor::zeros([3, 1, 4]).log_softmax(-1);
    let loss = |targets: [i64; 2], input: i64, target: i64, options: Ctc| {
        catch(|| ctc(&frames, &Tensor::from([targets]), &Tensor::from([input]), &Tensor::from([target]), &options))
    };
    assert!(loss([1, 2], 3, 2, Ctc::new()).is_ok());
    assert!(loss([1, 99], 3, 1, Ctc::new()).is_ok(), "padding may be anything");
    for (targets, input, target) in [([1, 4], 3, 2), ([1, -1], 3, 2), ([1, 0], 3, 2), ([1, 2], 4, 2), ([1, 2], 3, 3)] {
        let error = loss(targets, input, target, Ctc::new()).unwrap_err();
        assert_eq!((error.kind(), error.operation()), (&ErrorKind::Range, "ctc"), "{error}");
        assert_eq!(error.line().unwrap().file(), file!());
    }
    assert_eq!(loss([1, 2], 3, 2, Ctc::new().blank(4)).unwrap_err().kind(), &ErrorKind::Argument);
    let length = Tensor::from([2i64]);
    let wrong = catch(|| ctc(&frames, &Tensor::from([1i64, 2]), &length, &length, &Ctc::new())).unwrap_err();
    assert!(matches!(wrong.kind(), ErrorKind::Shape(_)), "{wrong}");
    let wrong = catch(|| ctc(&frames, &Tensor::from([[1.0, 2.0]]), &length, &length, &Ctc::new())).unwrap_err();
    assert!(matches!(wrong.kind(), ErrorKind::DType(_)), "{wrong}");
    // A compiled function learns of a class that does not exist when it runs.
    let compiled = compile(|targets: &Tensor| ctc(&frames, targets, &length, &length, &Ctc::new()));
    assert!(compiled.call(&Tensor::from([[1i64, 2]])).item().is_finite());
    assert_eq!(catch(|| compiled.call(&Tensor::from([[1i64, 7]]))).unwrap_err().kind(), &ErrorKind::Range);
}

/// Row k is compared with all candidates but those that `skips`; its own one is `own(k)`.
fn contrast(
    queries: &[Vec<f64>],
    candidates: &[Vec<f64>],
    temperature: f64,
    own: impl Fn(usize) -> usize,
    skips: impl Fn(usize, usize) -> bool,
) -> f64 {
    let norm = |x: &[f64]| x.iter().map(|x| x * x).sum::<f64>().sqrt();
    let mut total = 0.0;
    for (k, a) in queries.iter().enumerate() {
        let cosine = |b: &Vec<f64>| a.iter().zip(b).map(|(a, b)| a * b).sum::<f64>() / (norm(a) * norm(b));
        let mut sum = 0.0;
        for (j, b) in candidates.iter().enumerate().filter(|(j, _)| !skips(k, *j)) {
            sum += (cosine(b) / temperature).exp();
            total -= if j == own(k) { cosine(b) / temperature } else { 0.0 };
        }
        total += sum.ln();
    }
    total / queries.len() as f64
}

fn rows_of(x: &Tensor) -> Vec<Vec<f64>> {
    x.to_vec::<f64>().chunks(x.size(1)).map(<[f64]>::to_vec).collect()
}

#[test]
fn info_nce_has_the_recorded_numbers() {
    for case in cases("info_nce") {
        let temperature = case["temperature"].as_f64().unwrap();
        let inputs = ["input1", "input2"].map(|name| tensor(&case[name]));
        check(&case, &inputs, |x, _| info_nce(&x[0], &x[1], temperature), 1e-12);
    }
}

#[test]
fn contrastive_losses_are_those_of_plain_loops() {
    let (a, b, temperature) = (Tensor::randn([6, 4], 1), Tensor::randn([6, 4], 2), 0.2);
    let (rows_a, rows_b) = (rows_of(&a), rows_of(&b));
    let one_way = |a, b| contrast(a, b, temperature, |k| k, |_, _| false);
    let both = (one_way(&rows_a, &rows_b) + one_way(&rows_b, &rows_a)) / 2.0;
    let views = [rows_a.clone(), rows_b.clone()].concat();
    let of_views = contrast(&views, &views, temperature, |k| (k + 6) % 12, |k, j| k == j);

    let losses: [(fn(&Tensor, &Tensor, &Tensor) -> Tensor, f64); 3] = [
        (|a, b, t| info_nce(a, b, t), one_way(&rows_a, &rows_b)),
        (|a, b, t| info_nce_symmetric(a, b, t), both),
        (|a, b, t| nt_xent(a, b, t), of_views),
    ];
    let input = (a, b, Tensor::from(temperature));
    for (loss, right) in losses {
        let loss = |(a, b, t): &(Tensor, Tensor, Tensor)| loss(a, b, t);
        let (value, gradient) = value_and_grad(loss)(&input);
        assert!((value.item() - right).abs() < 1e-12, "{value} instead of {right}");
        assert!(gradcheck(loss, &input).is_ok());
        let (compiled, compiled_gradient) = compile(value_and_grad(loss)).call(&input);
        assert!(compiled.all_close(&value, 1e-13));
        for (x, y) in gradient.leaves().into_iter().zip(compiled_gradient.leaves()) {
            assert!(x.all_close(y, 1e-12));
        }
        let f32 = input.map_leaves(|x| x.cast(DType::F32));
        assert!((loss(&f32).item() - right).abs() < 1e-5);
    }
    let error = catch(|| info_nce(&input.0, &Tensor::ones([5, 4]), 0.1)).unwrap_err();
    assert!(matches!(error.kind(), ErrorKind::Shape(_)) && error.line().unwrap().file() == file!());
}

type Classifier = (Tensor, Tensor, Option<Tensor>);

/// A classifier of 11 rows and 7 classes.
fn classifier(has_bias: bool) -> Classifier {
    (Tensor::randn([11, 5], 1), Tensor::randn([7, 5], 2), has_bias.then(|| Tensor::randn([7], 3)))
}

fn plain((x, weight, bias): &Classifier, targets: &Tensor, options: &CrossEntropy) -> Tensor {
    let logits = match bias {
        Some(bias) => x.linear_bias(weight, bias),
        None => x.linear(weight),
    };
    logits.cross_entropy(targets, options)
}

#[track_caller]
fn leaves_agree(what: &str, found: &Classifier, right: &Classifier) {
    for (found, right) in found.leaves().into_iter().zip(right.leaves()) {
        agree(what, found, right, 1e-12);
    }
}

#[test]
fn linear_cross_entropy_is_that_of_all_logits() {
    let targets = Tensor::from([3i64, 0, 6, -100, 2, 2, -100, 5, 1, 0, 4]);
    let weights = Tensor::linspace(-1.0, 1.0, 11);
    for (has_bias, smoothing) in [(true, 0.0), (false, 0.0), (true, 0.1)] {
        let input = classifier(has_bias);
        for reduction in [Reduction::Mean, Reduction::Sum, Reduction::None, Reduction::BatchMean] {
            let scaled = |y: Tensor| if y.rank() == 0 { y } else { (y * &weights).sum() };
            let options = CrossEntropy::new().reduction(reduction).label_smoothing(smoothing);
            let (value, gradient) =
                value_and_grad(|input: &Classifier| scaled(plain(input, &targets, &options)))(&input);
            // One row at a time, a rest of 3, no rest, one chunk exactly, fewer rows than a chunk, and the default.
            for rows in [Some(1), Some(4), Some(11), Some(100), None] {
                let options = LinearCrossEntropy::new().reduction(reduction).label_smoothing(smoothing);
                let options = rows.map_or(options, |rows| options.rows_per_chunk(rows));
                let loss = |(x, weight, bias): &Classifier| {
                    scaled(linear_cross_entropy(x, weight, bias.as_ref(), &targets, &options))
                };
                let what = format!("{reduction:?} in chunks of {rows:?}");
                for (found, by_input) in [value_and_grad(loss)(&input), compile(value_and_grad(loss)).call(&input)] {
                    agree(&what, &found, &value, 1e-12);
                    leaves_agree(&what, &by_input, &gradient);
                }
            }
        }
    }
}

#[test]
fn linear_cross_entropy_takes_leading_axes_batches_and_targets_of_a_trace() {
    let (x, weight, bias) = classifier(true);
    let (x, targets) = (x.slice(..10).reshape([2, 5, 5]), Tensor::arange(10).remainder(7).reshape([2, 5]));
    let options = LinearCrossEntropy::new().rows_per_chunk(2);
    let each = options.reduction(Reduction::None);
    let losses = linear_cross_entropy(&x, &weight, bias.as_ref(), &targets, &each);
    let right = plain(&(x.reshape([10, 5]), weight.clone(), bias.clone()), &targets.flatten(), &CrossEntropy::new());
    assert_eq!(losses.shape(), [2, 5]);
    agree("leading axes", &losses.mean(), &right, 1e-12);

    let slope = |(x, targets): &(Tensor, Tensor)| {
        grad(|weight: &Tensor| linear_cross_entropy(x, weight, bias.as_ref(), targets, &options))(&weight)
    };
    let found = compile(vmap(slope)).call(&(x.clone(), targets.clone()));
    for k in 0..2 {
        let of_row = |weight: &Tensor| {
            plain(&(x.slice(k), weight.clone(), bias.clone()), &targets.slice(k), &CrossEntropy::new())
        };
        agree("each of a batch", &found.slice(k), &grad(of_row)(&weight), 1e-12);
    }
}

#[test]
fn linear_cross_entropy_has_a_second_derivative() {
    let input = classifier(true);
    let targets = Tensor::from([3i64, 0, 6, -100, 2, 2, -100, 5, 1, 0, 4]);
    let options = LinearCrossEntropy::new().rows_per_chunk(4);
    let chunked = |(x, weight, bias): &Classifier| linear_cross_entropy(x, weight, bias.as_ref(), &targets, &options);
    let whole = |input: &Classifier| plain(input, &targets, &CrossEntropy::new());
    let direction = input.map_leaves(|x| x.sin());
    let right = jvp(grad(whole), &input, &direction).1;
    leaves_agree("forward over reverse", &jvp(grad(chunked), &input, &direction).1, &right);
    leaves_agree("compiled", &compile(|x: &Classifier| jvp(grad(chunked), x, &direction).1).call(&input), &right);
    let along = |input: &Classifier| {
        let gradient = grad(chunked)(input);
        gradient.leaves().into_iter().zip(direction.leaves()).map(|(a, b)| (a * b).sum()).reduce(|a, b| a + b).unwrap()
    };
    leaves_agree("reverse over reverse", &grad(along)(&input), &right);
    agree("forward", &jvp(chunked, &input, &direction).1, &jvp(whole, &input, &direction).1, 1e-12);
}

#[test]
fn linear_cross_entropy_of_ignored_rows_alone() {
    let (x, weight, _) = classifier(false);
    let targets = Tensor::full([11], -100i64);
    let options = LinearCrossEntropy::new().rows_per_chunk(4);
    let (value, gradient) =
        value_and_grad(|weight: &Tensor| linear_cross_entropy(&x, weight, None, &targets, &options))(&weight);
    assert!(value.item().is_nan());
    assert_eq!(gradient, Tensor::zeros([7, 5]));
    let sum = linear_cross_entropy(&x, &weight, None, &targets, &options.reduction(Reduction::Sum));
    assert_eq!(sum.item(), 0.0);
}

#[test]
fn linear_cross_entropy_rejects_what_does_not_fit() {
    let (x, weight, bias) = classifier(true);
    let options = LinearCrossEntropy::new().rows_per_chunk(4);
    let loss = |targets: &Tensor| catch(|| linear_cross_entropy(&x, &weight, bias.as_ref(), targets, &options));
    let error = loss(&Tensor::arange(10)).unwrap_err();
    assert!(matches!(error.kind(), ErrorKind::Shape(_)) && error.line().unwrap().file() == file!(), "{error}");
    assert_eq!(loss(&Tensor::arange(11)).unwrap_err().kind(), &ErrorKind::Range);
}

#[test]
fn a_target_of_another_shape_is_refused_and_not_repeated() {
    let (x, target) = (Tensor::from([[0.0], [1.0]]), Tensor::from([0.0, 1.0]));
    type Loss = fn(&Tensor, &Tensor) -> Tensor;
    let losses: [(&str, Loss); 5] = [
        ("mse_loss", |x, y| x.mse_loss(y, Reduction::Mean)),
        ("l1_loss", |x, y| x.l1_loss(y, Reduction::Mean)),
        ("huber_loss", |x, y| x.huber_loss(y, 1.0, Reduction::Mean)),
        ("binary_cross_entropy", |x, y| x.binary_cross_entropy(y, None, Reduction::Mean)),
        ("binary_cross_entropy_with_logits", |x, y| x.binary_cross_entropy_with_logits(y, None, None, Reduction::Mean)),
    ];
    for (name, loss) in losses {
        let error = catch(|| loss(&x, &target)).expect_err("[2, 1] is not [2]");
        assert_eq!(error.operation(), name);
        assert!(error.to_string().contains("target.reshape([2, 1])"), "{error}");
        assert!(loss(&x, &target.reshape([2, 1])).item().is_finite());
        assert_eq!(loss(&x, &Tensor::from(0.0)).shape(), [0usize; 0]);
    }
}
