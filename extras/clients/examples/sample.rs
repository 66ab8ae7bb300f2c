//! nuts-rs samples the posterior of eight schools with our fused value and gradient.

use wengert_clients::schools::{NAMES, exact_means, sample};

fn main() {
    let draws = sample(4, 500, 1000, 1);
    println!("{:<8} {:>8} {:>8} {:>8}", "", "sampled", "error", "exact");
    for ((name, exact), (mean, error)) in NAMES.iter().zip(exact_means()).zip(draws.averages(80)) {
        println!("{name:<8} {mean:>8.3} {error:>8.3} {exact:>8.3}");
    }
    println!("{} draws after tuning, {} divergences", draws.rows.len(), draws.divergences);
    println!("{} values with gradients, tuning included", draws.calls);
}
