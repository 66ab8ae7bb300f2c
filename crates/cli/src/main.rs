//! x
use wengert_cli::{digits::Digits, training::*};
fn main() {
    let (tr, te) = Digits::load();
    for seed in 0..6 {
        let t = std::time::Instant::now();
        let mut curve = vec![];
        train(Plan { epochs: 40, seed }, &tr, |n, e| {
            if e.number % 5 == 0 { curve.push(format!("{:.3}/{:.2}", 100.0 * accuracy(n, &te), e.loss)); }
        });
        println!("{seed} {curve:?} {:?}", t.elapsed());
    }
}
