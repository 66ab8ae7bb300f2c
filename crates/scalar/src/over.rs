//! Sums and maps over items, recorded on several threads.
//!
//! Every thread records and sweeps on its own tape, and returns plain derivatives. Items are grouped into tiles, whose size depends only on
//! the number of items, and results are added in tile order. So results have the same bits for any number of threads.

use crate::Var;
use crate::block::Slopes;
use crate::gradient::{ONE, with_clean};
use crate::var::misused;
use std::panic::Location;
use wengert_engine::{Error, catch};
use wengert_kernels::for_each_chunk;
use wengert_kernels::tape::{self, part, record};

/// Maximum number of tiles: each holds a gradient with respect to all shared variables.
const TILES: usize = 64;

/// Runs `f` for each tile of items, on the thread that takes it, with inputs that stand for the shared variables.
#[track_caller]
fn tiles<I: Sync, R: Send>(items: &[I], shared: &[Var], f: impl Fn(&[I], &[Var]) -> R + Sync) -> Vec<R> {
    let constants: Vec<(f64, bool)> = shared.iter().map(|x| (x.value(), !x.is_active())).collect();
    let count = items.len().div_ceil(TILES).max(1);
    let is_checked = tape::is_checked();
    let mut results: Vec<Option<Result<R, Error>>> = items.chunks(count).map(|_| None).collect();
    for_each_chunk(&mut results, 1, &|number, result| {
        let items = &items[number * count..items.len().min((number + 1) * count)];
        // If several tiles fail, the error is that of the first one; it keeps its type on the way to the caller.
        let run = || {
            record(|recording| {
                let input = |&(value, is_constant): &(f64, bool)| match is_constant {
                    true => Var::from(value),
                    false => Var::at(value, recording.input(misused)),
                };
                let inputs: Vec<Var> = constants.iter().map(input).collect();
                f(items, &inputs)
            })
        };
        result[0] = Some(catch(|| if is_checked { tape::checked(run) } else { run() }));
    });
    results.into_iter().map(|result| result.expect("every tile ran").unwrap_or_else(|error| error.raise())).collect()
}

/// The sum of `f(item, shared)` over all items. Items are recorded and swept one by one on the threads of the pool; the result is a single
/// statement on this thread's tape. It has the same bits for any number of threads.
///
/// `f` may only depend on its arguments: using any other variable is an error, whichever tape it is on. Do not keep variables from one item
/// for the next: they are discarded with their item, and using them later is an error.
///
/// ```
/// use wengert_scalar::{Real, Var, gradient, sum_over};
/// let points: Vec<[f64; 2]> = (0..1000).map(|k| [f64::from(k), 3.0 + 0.5 * f64::from(k)]).collect();
/// let squares = |x: &[Var]| sum_over(&points, x, |point, x| (x[0] + x[1] * point[0] - point[1]).powi(2));
/// let mut slopes = [0.0; 2];
/// assert_eq!(gradient(squares, &[4.0, 0.5], &mut slopes), 1000.0);
/// assert_eq!(slopes, [2000.0, 999_000.0]);
/// ```
#[track_caller]
pub fn sum_over<I: Sync>(items: &[I], shared: &[Var], f: impl Fn(&I, &[Var]) -> Var + Sync) -> Var {
    let line = Location::caller();
    let sums = tiles(items, shared, |items, inputs| {
        with_clean(&ONE, |adjoints| {
            let mut sum = 0.0;
            for item in items {
                part(|part| {
                    let y = f(item, inputs);
                    y.expect_own(line);
                    adjoints.add(y.place(), &1.0, misused);
                    adjoints.sweep(part.start(), misused);
                    sum += y.value();
                });
            }
            let slopes: Vec<f64> = inputs.iter().map(|input| adjoints.take(input.place(), misused)).collect();
            (sum, slopes)
        })
    });
    let (mut value, mut slopes) = (0.0, vec![0.0; shared.len()]);
    for (sum, by_shared) in sums {
        value += sum;
        slopes.iter_mut().zip(by_shared).for_each(|(slope, by_shared)| *slope += by_shared);
    }
    Var::from_slopes(value, shared.len(), slopes.into_iter().zip(shared.iter().map(|x| x.place())))
}

/// `f(item, shared)` for each item, recorded and swept on the threads of the pool. Each result is one statement on this thread's tape, with
/// the partial derivatives with respect to the variables it depends on. As for [`sum_over`], `f` may only depend on its arguments.
///
/// ```
/// use wengert_scalar::{Real, jacobian, map_over};
/// let places = [0.0, 1.0, 2.0];
/// let wave = |x: &[_]| map_over(&places, x, |place, x| [(x[0] * *place).cos(), x[1]]).concat();
/// let (values, rows) = jacobian(wave, &[0.0, 5.0]);
/// assert_eq!(values, [1.0, 5.0, 1.0, 5.0, 1.0, 5.0]);
/// assert_eq!(rows[2..4], [0.0, 1.0]);
/// ```
#[track_caller]
pub fn map_over<I: Sync, const M: usize>(
    items: &[I],
    shared: &[Var],
    f: impl Fn(&I, &[Var]) -> [Var; M] + Sync,
) -> Vec<[Var; M]> {
    // The variables that get an input in a tile, in the order of their statements.
    let line = Location::caller();
    let active: Vec<Var> = shared.iter().copied().filter(|x| x.is_active()).collect();
    let tiles = tiles(items, shared, |items, inputs| {
        let first = inputs.iter().find(|input| input.is_active()).map_or(0, |input| input.place().index());
        let mut slopes = Slopes::default();
        let mut tile = Numbers { values: Vec::new(), ends: Vec::new(), slopes: Vec::new() };
        for item in items {
            part(|part| {
                // An input that is returned unchanged gets a statement as well.
                let outputs = f(item, inputs).map(|y| {
                    y.expect_own(line);
                    y * 1.0
                });
                slopes.read(part);
                slopes.sweep(part, &outputs);
                for (row, y) in outputs.iter().enumerate() {
                    let some = slopes.row(row).filter(|(slope, _)| *slope != 0.0);
                    tile.slopes.extend(some.map(|(slope, place)| (slope, place.index() - first)));
                    tile.values.push(y.value());
                    tile.ends.push(tile.slopes.len());
                }
            });
        }
        tile
    });
    let mut numbers = Vec::with_capacity(items.len() * M);
    for tile in &tiles {
        let mut begin = 0;
        for (value, end) in tile.values.iter().zip(&tile.ends) {
            let slopes =
                tile.slopes[begin..*end].iter().map(|(slope, input)| (*slope, active[*input as usize].place()));
            numbers.push(Var::from_slopes(*value, end - begin, slopes));
            begin = *end;
        }
    }
    (0..items.len()).map(|item| std::array::from_fn(|m| numbers[item * M + m])).collect()
}

/// The results of a tile, where the partial derivatives of each end, and these derivatives by input.
struct Numbers {
    values: Vec<f64>,
    ends: Vec<usize>,
    slopes: Vec<(f64, u32)>,
}
