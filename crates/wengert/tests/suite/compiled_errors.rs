//! Compiled functions fail with the errors of the same code without `compile`: the same kind, operation and line.

use wengert::prelude::*;

type Function = Box<dyn Fn(&Vec<Tensor>) -> Tensor>;

fn floats(numbers: &[f64]) -> Tensor {
    Tensor::from_vec(numbers.to_vec(), [numbers.len()])
}

fn failing() -> Vec<(&'static str, Function, Vec<Tensor>)> {
    let row = || floats(&[1.0, 2.0, 3.0]);
    let singular = || Tensor::from([[1.0, 2.0], [2.0, 4.0]]);
    let indefinite = || Tensor::from([[1.0, 2.0], [2.0, 1.0]]);
    let far = || Tensor::from([0i64, 9]);
    vec![
        // Detected in values.
        ("gather", Box::new(|x| x[0].exp().gather(0, &x[1])), vec![row(), far()]),
        ("index", Box::new(|x| (&x[0] * 2.0).index_select(0, &x[1])), vec![row(), far()]),
        (
            "gradient of gather",
            Box::new(|x| grad(|y: &Tensor| y.gather(0, &x[1]).square().sum())(&x[0])),
            vec![row(), far()],
        ),
        ("scatter_add", Box::new(|x| x[0].scatter_add(0, &x[1], &x[2])), vec![row(), far(), floats(&[1.0, 1.0])]),
        (
            "cross entropy",
            Box::new(|x| x[0].cross_entropy(&x[1], &CrossEntropy::new())),
            vec![Tensor::ones([2, 3]), far()],
        ),
        ("inv", Box::new(|x| (&x[0] * 1.0).inv()), vec![singular()]),
        ("solve", Box::new(|x| x[0].solve(&x[1]).exp()), vec![singular(), floats(&[1.0, 1.0])]),
        ("gradient of inv", Box::new(|x| grad(|y: &Tensor| y.inv().sum())(&x[0])), vec![singular()]),
        ("cholesky", Box::new(|x| x[0].cholesky()), vec![indefinite()]),
        (
            "batch of cholesky",
            Box::new(|x| vmap(|y: &Tensor| y.cholesky())(&x[0])),
            vec![Tensor::stack(&[Tensor::eye(2), indefinite()], 0)],
        ),
        ("eigh", Box::new(|x| x[0].eigvalsh()), vec![Tensor::from([[f64::NAN, 0.0], [0.0, 1.0]])]),
        (
            "whole division",
            Box::new(|x| x[0].floor_divide(&x[1])),
            vec![Tensor::from([4i64, 5]), Tensor::from([2i64, 0])],
        ),
        (
            "whole remainder",
            Box::new(|x| x[0].remainder(&x[1])),
            vec![Tensor::from([4i64, 5]), Tensor::from([2i64, 0])],
        ),
        (
            "in a loop",
            Box::new(|x| {
                scan(
                    |h: &Tensor, i: &Tensor| (h + x[0].gather(0, &i.unsqueeze(0)).sum(), h.clone()),
                    &Tensor::from(0.0),
                    &x[1],
                )
                .0
            }),
            vec![row(), far()],
        ),
        (
            "in a branch",
            Box::new(|x| cond(&x[0].sum().gt(0.0), |m: &Tensor| m.inv(), |m: &Tensor| m.clone(), &x[0])),
            vec![singular()],
        ),
        // Detected in shapes, during tracing.
        ("matmul", Box::new(|x| x[0].matmul(&x[1])), vec![Tensor::ones([2, 3]), Tensor::ones([4, 5])]),
        ("add", Box::new(|x| &x[0] + &x[1]), vec![row(), floats(&[1.0, 2.0])]),
        ("reshape", Box::new(|x| x[0].reshape([2, 2])), vec![row()]),
        ("sum", Box::new(|x| x[0].sum_over(3)), vec![row()]),
        ("concat", Box::new(|x| Tensor::concat(x, 1)), vec![Tensor::ones([2, 3]), Tensor::ones([3, 3])]),
        ("slice", Box::new(|x| x[0].slice(7)), vec![row()]),
        ("dtypes", Box::new(|x| &x[0] + &x[1]), vec![row(), row().cast(DType::F32)]),
        ("log of integers", Box::new(|x| x[0].log()), vec![far()]),
        ("gradient of several", Box::new(|x| grad(|y: &Tensor| y.square())(&x[0])), vec![row()]),
        (
            "dropout",
            Box::new(|x| x[0].dropout(1.5, &Key::from_tensor(x[1].clone()))),
            vec![row(), Tensor::from([1i64, 0])],
        ),
        (
            "rank one",
            Box::new(|x| {
                let y = x[0].matmul(&x[1].t());
                y.cholesky().sum()
            }),
            vec![Tensor::ones([2, 2]), Tensor::ones([2, 2])],
        ),
    ]
}

#[test]
fn a_compiled_function_fails_as_the_function_does() {
    let mut failures = 0;
    for (name, f, x) in failing() {
        let eager = match catch(|| f(&x)) {
            Err(error) => error,
            Ok(y) => {
                // Functions that succeed eagerly give the same result when compiled.
                let compiled = catch(|| compile(|x: &Vec<Tensor>| f(x)).call(&x));
                let compiled =
                    compiled.unwrap_or_else(|error| panic!("{name}: eager code gives {y}, compiled {error}"));
                assert!(compiled.all_close(&y, 1e-14), "{name}: {compiled} {y}");
                continue;
            }
        };
        failures += 1;
        let staged = compile(|x: &Vec<Tensor>| f(x));
        let ways: [(&str, Error); 2] = [
            ("compiled", catch(|| staged.call(&x)).err().unwrap_or_else(|| panic!("{name}: {eager}"))),
            ("debugged", catch(|| staged.debug().call(&x)).err().unwrap_or_else(|| panic!("{name}: {eager}"))),
        ];
        for (way, error) in ways {
            assert_eq!(error.kind(), eager.kind(), "{name} {way}: {error}\n{eager}");
            assert_eq!(error.operation(), eager.operation(), "{name} {way}: {error}\n{eager}");
            assert_eq!(error.line(), eager.line(), "{name} {way}: {error}\n{eager}");
            assert_eq!(error.suggestion(), eager.suggestion(), "{name} {way}: {error}\n{eager}");
        }
    }
    assert!(failures >= 22, "{failures} of these programs fail");
}

#[test]
fn a_function_that_failed_works_with_good_numbers() {
    for (name, f, x) in failing() {
        let staged = compile(|x: &Vec<Tensor>| f(x));
        let good: Vec<Tensor> =
            x.iter().map(|x| if x.dtype().is_float() { x.clone() } else { x.full_like(1.0) }).collect();
        let _ = catch(|| staged.call(&x));
        match (catch(|| f(&good)), catch(|| staged.call(&good))) {
            (Ok(eager), Ok(compiled)) => assert!(eager.all_close(&compiled, 1e-13), "{name}"),
            (Err(eager), Err(compiled)) => assert_eq!(eager.kind(), compiled.kind(), "{name}"),
            (eager, compiled) => panic!("{name}: {eager:?} {compiled:?}"),
        }
    }
}
