//! argmin finds where a chain of springs rests, with gradients and Hessian products of its recorded energy.

use wengert::scalar::{Replay, Symbol};
use wengert_clients::springs::{
    LENGTH, Rest, SPAN, SPRINGS, STIFFNESS, energy, lbfgs, level, newton_cg, nodes, sagging, weight,
};

/// The nodes of a chain whose first spring pulls with (`across`, `up`): statics, from node to node.
fn hung(across: f64, up: f64) -> Vec<[f64; 2]> {
    let (mut place, mut lift) = ([0.0, 0.0], up);
    let mut places = vec![place];
    for spring in 0..SPRINGS {
        let pull = across.hypot(lift);
        let length = LENGTH + pull / STIFFNESS;
        place = [place[0] + length * across / pull, place[1] - length * lift / pull];
        places.push(place);
        if spring + 1 < SPRINGS {
            lift -= weight(spring + 1);
        }
    }
    places
}

/// A zero of an increasing function.
fn bisected(mut low: f64, mut high: f64, f: impl Fn(f64) -> f64) -> f64 {
    for _ in 0..200 {
        let middle = 0.5 * (low + high);
        if f(middle) < 0.0 { low = middle } else { high = middle }
    }
    0.5 * (low + high)
}

/// The chain at rest: the pull at its left end is such that the right end is where it is held.
fn by_statics() -> Vec<[f64; 2]> {
    let total: f64 = (1..SPRINGS).map(weight).sum();
    let up = |across: f64| bisected(0.0, total, |up| -hung(across, up)[SPRINGS][1]);
    let across = bisected(1e-9, 100.0, |across| hung(across, up(across))[SPRINGS][0] - SPAN);
    hung(across, up(across))
}

fn assert_rests(rest: &Rest) {
    let expected = by_statics();
    assert!((expected[SPRINGS][0] - SPAN).abs() < 1e-12 && expected[SPRINGS][1].abs() < 1e-12);
    for (node, (found, expected)) in nodes(&rest.minimum.x).iter().zip(&expected).enumerate() {
        for (found, expected) in found.iter().zip(expected) {
            assert!((found - expected).abs() < 1e-7, "node {node}: {found}, by statics {expected}");
        }
    }
    assert!(rest.minimum.converged && rest.recordings == 1, "{rest:?}");
}

#[test]
fn lbfgs_finds_the_chain_at_rest() {
    let rest = lbfgs(sagging(), 1e-7).unwrap();
    assert_rests(&rest);
    assert_eq!((rest.minimum.calls.linearize, rest.minimum.calls.hessian_product), (0, 0));
}

#[test]
fn newton_cg_finds_the_chain_at_rest_with_hessian_products_alone() {
    let rest = newton_cg(sagging(), 1e-13).unwrap();
    assert_rests(&rest);
    assert!(rest.minimum.calls.hessian_product > rest.minimum.iterations as usize, "{rest:?}");
}

/// The pull of each spring on its two nodes, by hand.
fn forces(free: &[f64]) -> Vec<f64> {
    let nodes = nodes(free);
    let mut slopes = vec![[0.0; 2]; SPRINGS + 1];
    for spring in 0..SPRINGS {
        let [from, to] = [nodes[spring], nodes[spring + 1]];
        let apart = [to[0] - from[0], to[1] - from[1]];
        let length = apart[0].hypot(apart[1]);
        for k in 0..2 {
            let pull = STIFFNESS * (length - LENGTH) * apart[k] / length;
            slopes[spring][k] -= pull;
            slopes[spring + 1][k] += pull;
        }
    }
    (1..SPRINGS).flat_map(|node| [slopes[node][0], slopes[node][1] + weight(node)]).collect()
}

#[test]
fn the_gradient_is_made_of_forces_and_the_hessian_product_of_their_differences() {
    let replay = Replay::record(energy::<Symbol>, &level());
    let at = sagging();
    let mut slopes = vec![0.0; at.len()];
    let value = replay.value_and_grad(&at, &mut slopes);
    assert!((value - energy(&at)).abs() < 1e-12);
    for (found, expected) in slopes.iter().zip(forces(&at)) {
        assert!((found - expected).abs() < 1e-12, "{found}, by hand {expected}");
    }
    let direction: Vec<f64> = (0..at.len()).map(|i| (2.0 * i as f64).cos()).collect();
    let mut product = vec![0.0; at.len()];
    replay.hvp(&at, &direction, &mut product);
    let step = 1e-6;
    let moved = |by: f64| forces(&at.iter().zip(&direction).map(|(x, v)| x + by * v).collect::<Vec<_>>());
    for (found, (after, before)) in product.iter().zip(moved(step).iter().zip(moved(-step))) {
        let expected = (after - before) / (2.0 * step);
        assert!((found - expected).abs() < 1e-6, "{found}, by differences {expected}");
    }
    assert_eq!(replay.recordings(), 1);
}
