//! num-dual: dual numbers, with a number of tangents fixed by their type or chosen at run time.

use num_dual::{DualDVec64, DualNum, DualSVec64};
use wengert_bench::scalar::{FEW, Library, System};

pub const NUM_DUAL: Library = Library { rosenbrock, tiny, tape: Vec::new };

fn valley<T: DualNum<Primitive = f64>>(x: &[T]) -> T {
    x.windows(2).fold(T::zero(), |sum, pair| {
        let a = T::from(1.0) - &pair[0];
        let b = pair[1].clone() - pair[0].clone() * &pair[0];
        sum + a.clone() * a + b.clone() * b * 100.0
    })
}

fn four<T: DualNum<Primitive = f64>>(x: &[T]) -> T {
    (x[0].clone() * &x[1] + &x[2]).sin() * &x[3] + (x[0].clone() / &x[3]).exp() - x[1].clone() * &x[2]
}

fn rosenbrock(x: &[f64]) -> Vec<System> {
    let mut systems = Vec::new();
    if x.len() <= FEW {
        systems.push(System::new("num-dual-dynamic", |x, slopes| {
            let inputs: Vec<DualDVec64> = x
                .iter()
                .enumerate()
                .map(|(place, x)| DualDVec64::from_re(*x).derivative(slopes.len(), place))
                .collect();
            let found = valley(&inputs).eps.0.expect("all inputs have tangents");
            slopes.copy_from_slice(found.as_slice());
        }));
        systems.push(System::new("num-dual-1", |x, slopes| forward::<1>(valley, x, slopes)));
        systems.push(System::new("num-dual-8", |x, slopes| forward::<8>(valley, x, slopes)));
    }
    let whole = match x.len() {
        2 => Some(System::new("num-dual", |x, slopes| forward::<2>(valley, x, slopes))),
        10 => Some(System::new("num-dual", |x, slopes| forward::<10>(valley, x, slopes))),
        100 => Some(System::new("num-dual", |x, slopes| forward::<100>(valley, x, slopes))),
        _ => None,
    };
    systems.extend(whole);
    systems
}

fn tiny(_: &[f64]) -> Vec<System> {
    vec![System::new("num-dual", |x, slopes| forward::<4>(four, x, slopes))]
}

/// The gradient along `N` directions at a time.
fn forward<const N: usize>(f: impl Fn(&[DualSVec64<N>]) -> DualSVec64<N>, x: &[f64], slopes: &mut [f64]) {
    let mut inputs: Vec<DualSVec64<N>> = x.iter().map(|x| DualSVec64::from_re(*x)).collect();
    for (number, slopes) in slopes.chunks_mut(N).enumerate() {
        let places = number * N..number * N + slopes.len();
        places.clone().for_each(|place| inputs[place] = inputs[place].derivative(place - number * N));
        let found = f(&inputs).eps.0.expect("some inputs have tangents");
        slopes.copy_from_slice(&found.as_slice()[..slopes.len()]);
        places.for_each(|place| inputs[place] = DualSVec64::from_re(x[place]));
    }
}
