//! Networks with operations that have no kernels, in the middle of a step.

use super::emulator::Emulator;
use std::sync::Arc;
use wengert::prelude::*;

#[test]
fn a_step_with_eigenvalues_in_the_middle() {
    let step = |w: &mut Vec<Tensor>, x: &Tensor| {
        let loss = |w: &Vec<Tensor>| {
            let h = x.matmul(&w[0]).relu();
            let gram = h.t().matmul(&h) + Tensor::eye(3).f32();
            let (values, vectors) = gram.eigh();
            let rotated = h.matmul(&vectors).square() * &values;
            rotated.matmul(&w[1]).square().mean() + gram.det().abs().log()
        };
        let (loss, slopes) = value_and_grad(loss)(w);
        w.iter_mut().zip(&slopes).for_each(|(w, slope)| *w -= slope * 0.001);
        loss
    };
    let there = compile_step(step).on(Arc::new(Emulator("fallback"))).with_host_fallback();
    let here = compile_step(step);
    let mut ours = vec![(Tensor::randn([5, 3], 1) * 0.3).f32(), (Tensor::randn([3, 2], 2) * 0.3).f32()];
    let mut right = ours.clone();
    let x = Tensor::randn([8, 5], 3).f32();
    for _ in 0..3 {
        let (found, expected) = (there.call(&mut ours, &x).item(), here.call(&mut right, &x).item());
        assert!((found - expected).abs() < 1e-4 * expected.abs(), "{found}, not {expected}");
    }
    assert!(ours.iter().zip(&right).all(|(w, right)| w.all_close(right, 1e-4)));
    let plan = there.plan(&ours, &x);
    let lacking: Vec<&str> = plan.segments().iter().flat_map(|segment| segment.operations.clone()).collect();
    assert!(lacking.contains(&"eigh"), "{plan}");
    assert!(plan.segments().len() >= 3, "{plan}");
    assert!(plan.to_string().contains("for want of"), "{plan}");
    // Without the option it is an error that names it.
    let error = catch(|| compile_step(step).on(Arc::new(Emulator("fallback"))).call(&mut right, &x)).unwrap_err();
    assert_eq!(error.kind(), &ErrorKind::Device);
    assert!(error.suggestion().unwrap().contains("with_host_fallback()") && error.line().is_some(), "{error}");
}
