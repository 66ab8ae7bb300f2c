//! A user-defined operation, built from public items only, passes every interpreter and every check.

use wengert::prelude::*;
use wengert::primitive::{
    Adjoints, Attrs, Case, Dependency, Device, Gradient, Gradients, GuardedMulMethods, Jet, Mask, Outputs, Primitive,
    Rule, Sample, Saves, Spec, SpecRef, Specs, bind1, expect_float, expect_reals,
};

/// softclip - y = x / (1 + |x| / limit): dy = dx / (1 + |x| / limit)^2.
struct Softclip;

static SOFTCLIP: Softclip = Softclip;

fn softclip(x: &Tensor, limit: f64) -> Tensor {
    bind1(&SOFTCLIP, Attrs::new().with_real("limit", limit), &[x])
}

/// 1 + |x| / limit, in Tensor operations: |x| is differentiable except at 0, where its slope does not matter.
fn denominator(x: &Tensor, limit: f64) -> Tensor {
    x.lt(0.0).where_(-x, x) / limit + 1.0
}

impl Primitive for Softclip {
    fn name(&self) -> &'static str {
        "softclip"
    }

    fn operands(&self) -> usize {
        1
    }

    fn attributes(&self) -> &'static [&'static str] {
        &["limit"]
    }

    fn infer(&self, attrs: &Attrs, operands: &[SpecRef<'_>]) -> Result<Specs, Error> {
        expect_reals(attrs, self.attributes());
        expect_float("softclip", operands[0].dtype)?;
        Ok(Specs::from_iter([operands[0].to_spec()]))
    }

    fn eval(&self, _device: Device, attrs: &Attrs, operands: &[&Tensor], outputs: &[Spec]) -> Result<Outputs, Error> {
        let limit = attrs.real("limit");
        let numbers: Vec<f64> = operands[0].to_f64_vec().iter().map(|x| x / (1.0 + x.abs() / limit)).collect();
        Ok(Outputs::from_iter([Tensor::from_vec(numbers, outputs[0].shape.clone()).cast(outputs[0].dtype)]))
    }

    fn saves(&self, _attrs: &Attrs, _wanted: Mask) -> Saves {
        Saves::NOTHING.operand(0)
    }

    fn vjp(&'static self, rule: &Rule<'_>, cotangents: &mut [Option<Tensor>]) -> Gradients {
        let g = cotangents[0].take().expect("the only output has a cotangent");
        let slope = denominator(rule.operand(0), rule.attrs.real("limit")).square().recip();
        Gradients::from_iter([Gradient::Dense(g.guarded_mul(&slope))])
    }

    fn jvp(&'static self, rule: &Rule<'_>, tangents: &[Option<Tensor>]) -> Adjoints {
        let slope = denominator(rule.operand(0), rule.attrs.real("limit")).square().recip();
        Adjoints::from_iter([tangents[0].as_ref().map(|tangent| tangent.guarded_mul(&slope))])
    }

    fn batch(
        &'static self,
        attrs: &Attrs,
        _size: usize,
        operands: &[Tensor],
        _batched: Mask,
    ) -> Result<Outputs, Error> {
        Ok(Outputs::from_iter([bind1(self, attrs.clone(), &[&operands[0]])]))
    }

    fn dependency(&self) -> Dependency {
        Dependency::Elementwise
    }

    fn jet(&self) -> Jet {
        Jet::Nested
    }

    fn rule_text(&self) -> &'static str {
        "dx = dy / (1 + |x| / limit)^2"
    }

    fn cases(&self) -> Vec<Case> {
        let case = |limit: f64, shape: Shape| {
            let attrs = Attrs::new().with_real("limit", limit);
            Case::new(format!("limit {limit}, shape {shape}"), attrs, [Sample::wave(shape, 0.2)], move |s| {
                let data: Vec<f64> = s[0].data.iter().map(|x| x * limit / (limit + x.abs())).collect();
                vec![Sample::new(s[0].shape.clone(), data)]
            })
        };
        vec![case(1.5, Shape::from([2, 3])), case(0.5, Shape::from([])), case(2.0, Shape::from([0]))]
    }
}

#[test]
fn it_passes_every_check() {
    wengert_testkit::check(&SOFTCLIP);
}

#[test]
fn it_composes_with_every_transform() {
    let f = |x: &Tensor| softclip(&x.sin(), 2.0).sum();
    let x = Tensor::from([0.3, -0.8]);
    let eager = grad(f)(&x);
    assert!(compile(grad(f)).call(&x).all_close(&eager, 1e-14));
    let batched = vmap(grad(f))(&x.broadcast_to([2, 2]));
    assert!(batched.all_close(&eager.broadcast_to([2, 2]), 1e-14));
    let leaf = x.clone().require_grad();
    f(&leaf).backward();
    assert!(leaf.grad().unwrap().all_close(&eager, 1e-14));
    let second = grad(|x: &Tensor| grad(f)(x).sum())(&x);
    let forward = jvp(grad(f), &x, &x.full_like(1.0)).1;
    assert!(second.all_close(&forward, 1e-13));
}

#[test]
fn its_programs_parse_back() {
    let program = compile(|x: &Tensor| softclip(x, 2.0)).program(&Tensor::from([1.0]));
    let text = program.to_string();
    assert!(text.contains("softclip[limit=2.0]"), "{text}");
    assert!(Program::parse(&text).unwrap_err().to_string().contains("there is no primitive 'softclip'"));
    let parsed = Program::parse_with(&text, &[&SOFTCLIP]).unwrap();
    assert_eq!(parsed.to_string(), text);
    assert_eq!(parsed.evaluate(&[Tensor::from([2.0])]).unwrap()[0], Tensor::from([1.0]));
}

#[test]
fn a_missing_rule_is_a_typed_error_that_says_which() {
    struct Bare;
    static BARE: Bare = Bare;
    impl Primitive for Bare {
        fn name(&self) -> &'static str {
            "bare"
        }
        fn operands(&self) -> usize {
            1
        }
        fn infer(&self, _: &Attrs, operands: &[SpecRef<'_>]) -> Result<Specs, Error> {
            Ok(Specs::from_iter([operands[0].to_spec()]))
        }
        fn eval(&self, _: Device, _: &Attrs, operands: &[&Tensor], _: &[Spec]) -> Result<Outputs, Error> {
            Ok(Outputs::from_iter([operands[0].clone()]))
        }
        fn cases(&self) -> Vec<Case> {
            vec![]
        }
    }
    let f = |x: &Tensor| bind1(&BARE, Attrs::new(), &[x]);
    assert_eq!(f(&Tensor::from(2.0)).item(), 2.0);
    for (error, rule) in [
        (catch(|| grad(f)(&Tensor::from(2.0))).unwrap_err(), "vjp"),
        (catch(|| jvp(f, &Tensor::from(2.0), &Tensor::from(1.0))).unwrap_err(), "jvp"),
        (catch(|| vmap(f)(&Tensor::from([2.0]))).unwrap_err(), "batch"),
    ] {
        assert_eq!(error.kind(), &ErrorKind::MissingRule);
        assert!(error.to_string().contains(&format!("bare: the operation has no {rule} rule")), "{error}");
        assert!(error.line().unwrap().file().ends_with("user_defined.rs"), "{error}");
    }
}
