//! nuts-rs samples a Poisson regression whose density is a recorded sum over items.

use wengert_clients::chains::Plan;
use wengert_clients::counts::{NAMES, exact_moments, sample};

fn main() {
    let (draws, recordings) = sample(Plan { chains: 4, tuning: 500, draws: 1500, seed: 3 });
    let (means, variances) = exact_moments();
    println!("{:<8} {:>8} {:>8} {:>8} {:>10}", "", "sampled", "error", "exact", "deviation");
    for (column, (mean, error)) in draws.averages(80).into_iter().enumerate() {
        let (name, exact, deviation) = (NAMES[column], means[column], variances[column].sqrt());
        println!("{name:<8} {mean:>8.4} {error:>8.4} {exact:>8.4} {deviation:>10.4}");
    }
    println!("{} draws after tuning, {} divergences", draws.rows.len(), draws.divergences);
    println!("{} values with gradients from {recordings} recordings", draws.calls);
}
