use super::*;
use crate::functions::Function;

const OTHERS: [Op; 23] = [
    Op::Copy,
    Op::Neg,
    Op::Recip,
    Op::Polygamma(1),
    Op::Powi(3),
    Op::Powi(-2),
    Op::Signum,
    Op::Floor,
    Op::Ceil,
    Op::Round,
    Op::Add,
    Op::Sub,
    Op::Mul,
    Op::Div,
    Op::Rem,
    Op::Times,
    Op::Powf,
    Op::Atan2,
    Op::Hypot,
    Op::Max,
    Op::Min,
    Op::Share,
    Op::Inside,
];

/// Every operation.
pub(super) fn ops() -> impl Iterator<Item = Op> {
    OTHERS.into_iter().chain(Function::ALL.iter().map(|function| Op::Of(*function)))
}

pub(super) fn strided(base: u32, stride: i32) -> Address {
    Address { base, stride }
}

pub(super) fn set(op: Op, to: Address, a: Address, b: Address) -> Instruction {
    Instruction { kind: Kind::Set(op), to, a, b }
}

pub(super) fn add(op: Op, to: Address, a: Address, b: Address) -> Instruction {
    Instruction { kind: Kind::Add(op), to, a, b }
}

fn numbers(count: usize) -> Vec<f64> {
    let edges = [0.0, -0.0, 1.0, -1.0, f64::INFINITY, f64::NEG_INFINITY, f64::NAN, 1e300, 1e-310, 0.5, 2.5, -2.5, 1e6];
    (0..count).map(|i| if i % 3 == 0 { edges[i / 3 % edges.len()] } else { (i as f64 * 0.7).sin() * 3.0 }).collect()
}

pub(super) fn same(a: &[f64], b: &[f64]) -> bool {
    a.iter().zip(b).all(|(a, b)| a.to_bits() == b.to_bits() || (a.is_nan() && b.is_nan()))
}

/// The native code of a program, where there is any.
fn native_of(code: &Code) -> Option<Native> {
    let native = Native::new(code);
    assert!(native.is_some() || cfg!(not(all(unix, target_arch = "x86_64", not(miri)))), "this machine is known");
    native
}

/// Runs a program in all available ways, checks that they agree, and returns their result.
fn run(code: &Code, cells: &mut [f64]) -> Result<(), Flipped> {
    let mut native = cells.to_vec();
    let found = code.run(cells);
    if let Some(code) = native_of(code) {
        assert_eq!(code.run(&mut native), found);
        assert!(same(&native, cells));
    }
    found
}

/// Running iterations one by one, in lanes, and at many points gives the same bits, for all access patterns: every cell, one cell, every
/// second cell, backward.
#[test]
fn numbers_trips_and_points_give_the_same_bits() {
    let count = 300;
    for op in ops() {
        for (a, b) in
            [(strided(0, 1), strided(300, 1)), (strided(0, 0), strided(300, 1)), (strided(299, -1), strided(0, 2))]
        {
            let trips = if b.stride == 2 { 150 } else { count };
            let body = vec![set(op, strided(600, 1), a, b), add(op, strided(900, 1), a, b)];
            let results = [Order::Lanes, Order::Forward, Order::Backward].map(|order| {
                let mut cells = [numbers(600), vec![0.5; 600]].concat();
                let body = body.clone();
                run(&Code::new(1200, vec![Item::Loop { trips, order, body }]), &mut cells).unwrap();
                cells
            });
            assert!(same(&results[0], &results[1]) && same(&results[0], &results[2]), "{op:?} {a:?} {b:?}");
            let code = Code::new(1200, vec![Item::Loop { trips, order: Order::Lanes, body }]);
            let start = [numbers(600), vec![0.5; 600]].concat();
            let mut cells: Vec<f64> = start.iter().flat_map(|x| [*x; LANES]).collect();
            let mut flipped = [false; LANES];
            code.run_points(&mut cells, &mut flipped);
            let point: Vec<f64> = cells.iter().skip(LANES - 1).step_by(LANES).copied().collect();
            assert!(same(&results[0], &point) && flipped == [false; LANES], "{op:?} {a:?} {b:?}");
        }
    }
}

#[test]
fn sums_over_trips_are_sums() {
    for trips in [1, 7, 8, 255, 256, 257, 1000] {
        let body = vec![add(Op::Times, Address::cell(0), strided(1, 1), strided(1, 1))];
        let mut cells: Vec<f64> = (0..=trips).map(f64::from).collect();
        run(&Code::new(trips as usize + 1, vec![Item::Loop { trips, order: Order::Lanes, body }]), &mut cells).unwrap();
        let n = f64::from(trips);
        assert_eq!(cells[0], n * (n + 1.0) * (2.0 * n + 1.0) / 6.0);
    }
}

#[test]
fn a_recurrence_waits_for_its_trips_forward_and_backward() {
    // 1, 1, then the sum of the two before.
    let forward = vec![set(Op::Add, strided(2, 1), strided(1, 1), strided(0, 1))];
    let mut cells = vec![1.0; 12];
    run(&Code::new(12, vec![Item::Loop { trips: 10, order: Order::Forward, body: forward }]), &mut cells).unwrap();
    assert_eq!(cells[11], 144.0);
    let backward = vec![set(Op::Add, strided(0, 1), strided(1, 1), strided(2, 1))];
    let mut cells = vec![1.0; 12];
    run(&Code::new(12, vec![Item::Loop { trips: 10, order: Order::Backward, body: backward }]), &mut cells).unwrap();
    assert_eq!(cells[0], 144.0);
}

/// In a loop of one iteration a cell has many addresses.
#[test]
fn a_result_is_read_again_by_another_address() {
    let cell = Address::cell;
    let body = vec![
        set(Op::Neg, cell(1), cell(0), cell(0)),
        set(Op::Copy, strided(1, 1), strided(2, 1), strided(2, 1)),
        set(Op::Neg, cell(3), cell(1), cell(1)),
    ];
    let mut cells = [2.0, 0.0, 5.0, 0.0];
    run(&Code::new(4, vec![Item::Loop { trips: 1, order: Order::Forward, body }]), &mut cells).unwrap();
    assert_eq!(cells, [2.0, 5.0, 5.0, -5.0]);
}

#[test]
fn guards_stop_where_they_first_go_the_other_way() {
    let guard = |relation, held| Instruction {
        kind: Kind::Guard(relation, held),
        to: Address::cell(0),
        a: strided(0, 1),
        b: Address::cell(4),
    };
    let body = vec![guard(Relation::Less, true), guard(Relation::Equal, false)];
    for order in [Order::Lanes, Order::Forward] {
        let code = Code::new(5, vec![Item::Loop { trips: 4, order, body: body.clone() }]);
        assert_eq!(run(&code, &mut [1.0, 2.0, 3.0, 4.0, 5.0]), Ok(()));
        assert_eq!(run(&code, &mut [1.0, 2.0, 9.0, 9.0, 5.0]), Err(Flipped { item: 0, instruction: 0, trip: 2 }));
        assert!(run(&code, &mut [1.0, f64::NAN, 3.0, 4.0, 5.0]).is_err());
        let mut cells: Vec<f64> = [1.0, 2.0, 3.0, 4.0, 5.0].iter().flat_map(|x| [*x; LANES]).collect();
        cells[2 * LANES + 5] = 7.0;
        let mut flipped = [false; LANES];
        code.run_points(&mut cells, &mut flipped);
        assert!(flipped[5] && flipped.iter().filter(|flipped| **flipped).count() == 1);
    }
}

#[test]
fn programs_that_leave_their_cells_are_refused() {
    let refused = |items: Vec<Item>| std::panic::catch_unwind(|| Code::new(10, items)).is_err();
    let one = |instruction| vec![Item::Straight(vec![instruction])];
    let cell = Address::cell;
    assert!(!refused(one(set(Op::Neg, cell(9), cell(0), cell(0)))));
    assert!(refused(one(set(Op::Neg, cell(10), cell(0), cell(0)))));
    assert!(refused(one(set(Op::Neg, cell(9), cell(12), cell(0)))));
    assert!(refused(one(set(Op::Add, cell(3), cell(0), cell(3)))));
    assert!(refused(vec![Item::Zero { start: 8, cells: 3 }]));
    let lanes = |trips, instruction| vec![Item::Loop { trips, order: Order::Lanes, body: vec![instruction] }];
    assert!(refused(lanes(11, set(Op::Neg, strided(0, 1), cell(9), cell(9)))));
    assert!(refused(lanes(4, set(Op::Neg, strided(5, -2), cell(9), cell(9)))));
    // One iteration reads what another one writes.
    assert!(refused(lanes(4, set(Op::Neg, strided(1, 1), strided(0, 1), strided(0, 1)))));
    assert!(refused(lanes(4, set(Op::Neg, cell(0), strided(1, 1), strided(1, 1)))));
}

/// Machine code runs on the cells of its own program: both ways to run refuse fewer cells.
#[test]
fn too_few_cells_are_refused() {
    let last = Item::Straight(vec![set(Op::Neg, Address::cell(99_999), Address::cell(0), Address::cell(0))]);
    let code = Code::new(100_000, vec![last]);
    let is_refused = |run: &dyn Fn(&mut [f64])| {
        let run = std::panic::AssertUnwindSafe(|| run(&mut [1.0]));
        std::panic::catch_unwind(run).is_err()
    };
    assert!(is_refused(&|cells| code.run(cells).unwrap()));
    assert!(is_refused(&|cells| code.run_points(cells, &mut [false; LANES])));
    if let Some(native) = native_of(&code) {
        assert!(is_refused(&|cells| native.run(cells).unwrap()));
        drop(code);
        let mut cells = vec![1.0; 100_000];
        native.run(&mut cells).unwrap();
        assert_eq!(cells[99_999], -1.0);
    }
}

#[test]
fn long_rows_of_instructions_and_guards_among_them() {
    // x_(i+1) = x_i op x_(i-1), with a guard after every ninth.
    let cell = Address::cell;
    let mut body = Vec::new();
    for i in 2..5000u32 {
        let op = [Op::Add, Op::Times, Op::Of(Function::sin), Op::Sub, Op::Max, Op::Powi(2), Op::Inside][i as usize % 7];
        body.push(set(op, cell(i), cell(i - 1), cell(i - 2)));
        if i % 9 == 0 {
            let kind = Kind::Guard([Relation::Less, Relation::AtMost, Relation::Floor][i as usize % 3], i % 2 == 0);
            body.push(Instruction { kind, to: cell(0), a: cell(i), b: cell(i - 3) });
            body.push(add(Op::Neg, cell(i), cell(i - 1), cell(i - 1)));
        }
    }
    for guards in [false, true] {
        let some = body.iter().filter(|one| guards || !matches!(one.kind, Kind::Guard(..))).copied().collect();
        let code = Code::new(5000, vec![Item::Straight(some)]);
        let mut cells: Vec<f64> = (0..5000).map(|i| 0.3 + 0.1 * f64::from(i % 2)).collect();
        assert_eq!(run(&code, &mut cells).is_err(), guards);
    }
}
