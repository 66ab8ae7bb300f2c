//! argmin finds where a chain of springs rests, with gradients and Hessian products of its recorded energy.

use wengert_clients::springs::{Rest, lbfgs, newton_cg, nodes, sagging, weight};

fn main() {
    let quasi = lbfgs(sagging(), 1e-7).expect("the solver was configured completely");
    let newton = newton_cg(sagging(), 1e-13).expect("the solver was configured completely");
    println!("{:>4} {:>6} {:>9} {:>9}", "node", "weight", "x", "y");
    let places = nodes(&newton.minimum.x);
    for (node, [x, y]) in places.iter().enumerate() {
        let held = node == 0 || node + 1 == places.len();
        let load = if held { "held".to_string() } else { format!("{:.1}", weight(node)) };
        println!("{node:>4} {load:>6} {x:>9.5} {y:>9.5}");
    }
    println!("{:<10} {:>12} {:>6} {:>10} {:>17}", "", "energy", "steps", "gradients", "Hessian products");
    for (solver, Rest { minimum, .. }) in [("L-BFGS", quasi), ("Newton-CG", newton)] {
        let calls = minimum.calls;
        println!(
            "{solver:<10} {:>12.8} {:>6} {:>10} {:>17}",
            minimum.value, minimum.iterations, calls.value_and_grad, calls.hessian_product
        );
    }
}
