//! Compares native code with the interpreter, bit for bit.

use super::super::check::meet;
use super::super::tests::{add, ops, same, set, strided};
use super::super::{Address, Instruction, Kind, Op, Relation};
use super::*;

const SPECIAL: [f64; 19] = [
    0.0,
    -0.0,
    1.0,
    -1.0,
    0.5,
    -0.5,
    1.5,
    -2.5,
    3.0,
    1e300,
    -1e300,
    f64::INFINITY,
    f64::NEG_INFINITY,
    f64::NAN,
    // Subnormal.
    5e-324,
    -1e-310,
    f64::MIN_POSITIVE,
    1e-200,
    -1e-200,
];

/// Pseudo-random numbers, by xorshift.
struct Random(u64);

impl Random {
    fn below(&mut self, end: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (((self.0 >> 32) * end as u64) >> 32) as usize
    }

    fn choose<T: Copy>(&mut self, from: &[T]) -> T {
        from[self.below(from.len())]
    }

    fn number(&mut self) -> f64 {
        match self.below(3) {
            0 => self.choose(&SPECIAL),
            _ => self.below(1 << 20) as f64 / f64::from(1 << 18) - 2.0,
        }
    }
}

/// In every program these cells are only read; the others follow.
const INPUTS: u32 = 24;
const CELLS: u32 = 120;

/// A random address that stays within the given cells for the given number of iterations.
fn address(random: &mut Random, iterations: u32, strides: &[i32], cells: std::ops::Range<u32>) -> Address {
    let most = (cells.len() as i32 - 1) / (iterations as i32 - 1).max(1);
    let stride = loop {
        let stride = random.choose(strides);
        if iterations <= 1 || stride.abs() <= most {
            break stride;
        }
    };
    let length = stride.unsigned_abs() * (iterations.max(1) - 1);
    let lowest = cells.start + random.below((cells.len() as u32 - length) as usize) as u32;
    Address { base: if stride < 0 { lowest + length } else { lowest }, stride }
}

/// A random operation, sum or guard on such addresses. Guards on bits read inputs only, because NaN payloads may depend on how they were
/// computed.
fn instruction(
    random: &mut Random,
    ops: &[Op],
    iterations: u32,
    to: impl Fn(&mut Random) -> Address,
    from: impl Fn(&mut Random) -> Address,
) -> Instruction {
    let is_apart = |one: &Instruction| !meet(one.to, one.a, iterations) && !meet(one.to, one.b, iterations);
    loop {
        let (op, input) = (random.choose(ops), |random: &mut Random| address(random, iterations, &[0, 1], 0..INPUTS));
        let relation =
            random.choose(&[Relation::Less, Relation::AtMost, Relation::Equal, Relation::Same, Relation::Floor]);
        let (kind, [a, b]) = match random.below(8) {
            0 if relation == Relation::Same => {
                (Kind::Guard(relation, random.below(2) == 0), [input(random), input(random)])
            }
            0 => (Kind::Guard(relation, random.below(2) == 0), [from(random), from(random)]),
            1..3 => (Kind::Add(op), [from(random), from(random)]),
            _ => (Kind::Set(op), [from(random), from(random)]),
        };
        let one = Instruction { kind, to: to(random), a, b: if op.operands() == 1 { a } else { b } };
        if matches!(kind, Kind::Guard(..)) || is_apart(&one) {
            return one;
        }
    }
}

fn item(random: &mut Random, ops: &[Op]) -> Item {
    let count = 1 + random.below(40);
    match random.below(8) {
        0 => {
            let start = INPUTS + random.below((CELLS - INPUTS) as usize) as u32;
            Item::Zero { start, cells: random.below((CELLS - start) as usize + 1) as u32 }
        }
        1..3 => {
            let any = |random: &mut Random| address(random, 1, &[0, 3], 0..CELLS);
            let written = |random: &mut Random| address(random, 1, &[0, 3], INPUTS..CELLS);
            Item::Straight((0..count).map(|_| instruction(random, ops, 1, written, any)).collect())
        }
        // Each array has a cell for each iteration, and no iteration reads a cell that another one writes. Sums come before the arrays.
        3 => {
            let (trips, stride) = (1 + random.below(20) as u32, random.choose(&[1, -1]));
            let (sums, arrays) = (INPUTS..INPUTS + 4, INPUTS + 4);
            let array = |random: &mut Random| {
                let first = arrays + random.below(((CELLS - arrays) / trips) as usize) as u32 * trips;
                Address { base: if stride < 0 { first + trips - 1 } else { first }, stride }
            };
            let any = |random: &mut Random| match random.below(3) {
                0 => address(random, trips, &[0, 1, -1, 2], 0..INPUTS),
                _ => array(random),
            };
            let one = |random: &mut Random| {
                let one = instruction(random, ops, trips, array, any);
                match one.kind {
                    Kind::Add(_) => Instruction { to: address(random, trips, &[0], sums.clone()), ..one },
                    _ => one,
                }
            };
            Item::Loop { trips, order: Order::Lanes, body: (0..count).map(|_| one(random)).collect() }
        }
        _ => {
            let trips = random.choose(&[0, 1, 1, 2, 3, 5, 12]);
            let few = [0, 1, -1, 2];
            let many = [0, 0, 1, -1, 2, -2, 3, -3, 4, 5, -5, 6, 7, -7, 8, 9, 11, -11];
            let strides = if random.below(2) == 0 { &few[..] } else { &many };
            let any = |random: &mut Random| address(random, trips, strides, 0..CELLS);
            let written = |random: &mut Random| address(random, trips, strides, INPUTS..CELLS);
            let body = (0..count).map(|_| instruction(random, ops, trips, written, any)).collect();
            Item::Loop { trips, order: random.choose(&[Order::Forward, Order::Backward]), body }
        }
    }
}

/// Inverts the guard that failed.
fn turn(items: &mut [Item], at: Flipped) {
    let (Item::Straight(body) | Item::Loop { body, .. }) = &mut items[at.item] else { unreachable!("no guards") };
    let Kind::Guard(_, held) = &mut body[at.instruction].kind else { unreachable!("no guard") };
    *held = !*held;
}

/// Native code agrees with the interpreter: the same bits in all cells, and the same failing guard.
#[test]
fn random_programs_give_the_bits_of_the_interpreter() {
    let mut random = Random(0x9e37_79b9_7f4a_7c15);
    let all: Vec<Op> = ops().chain([-1, 0, 1, 2, 4, 5].map(Op::Powi)).collect();
    let (mut ends, mut leaves) = (0, 0);
    let asked = std::env::var("WENGERT_FUZZ").ok();
    let programs = asked.map_or(800, |number| number.parse().expect("WENGERT_FUZZ is a number of programs"));
    for program in 0..programs {
        // Some programs have no calls, which invalidate the cached registers.
        let few: Vec<Op> = all.iter().copied().filter(|op| !op.is_called()).collect();
        let ops = if program % 3 == 0 { &all } else { &few };
        let mut items: Vec<Item> = (0..1 + random.below(4)).map(|_| item(&mut random, ops)).collect();
        let start: Vec<f64> = (0..CELLS).map(|_| random.number()).collect();
        // Guards that fail are inverted, so that programs run to the end.
        for _ in 0..30 {
            let code = Code::new(CELLS as usize, items.clone());
            let (mut cells, mut native) = (start.clone(), start.clone());
            let found = code.run(&mut cells);
            let by_native = Native::new(&code).expect("this machine is known").run(&mut native);
            assert_eq!(found, by_native, "{items:#?}");
            assert!(same(&cells, &native), "{items:#?}\n{start:?}\n{cells:?}\n{native:?}");
            match found {
                Ok(()) => {
                    ends += 1;
                    break;
                }
                Err(at) => {
                    leaves += 1;
                    turn(&mut items, at);
                }
            }
        }
    }
    assert!(2 * ends > programs && 2 * leaves > programs, "{ends} programs came to their end, {leaves} did not");
}

/// Every operation on every pair of special values.
#[test]
fn special_numbers_give_the_bits_of_the_interpreter() {
    let cell = Address::cell;
    for op in ops() {
        let body = vec![set(op, cell(2), cell(0), cell(1)), add(op, cell(3), cell(0), cell(1))];
        let native = Native::new(&Code::new(4, vec![Item::Straight(body)])).expect("this machine is known");
        for (a, b) in SPECIAL.into_iter().flat_map(|a| SPECIAL.map(|b| (a, b))) {
            let mut cells = [a, b, 0.0, 7.0];
            native.run(&mut cells).unwrap();
            let value = op.apply(a, b);
            assert!(same(&cells[2..], &[value, 7.0 + value]), "{op:?}({a}, {b}): {cells:?}");
        }
    }
}

/// The operands of a call may be in each other's registers.
#[test]
fn calls_get_their_operands_from_any_registers() {
    let cell = Address::cell;
    // The first instruction loads cell 0 into the first register and cell 1 into the second.
    for (a, b) in
        [(0, 1), (1, 0), (0, 0), (1, 1), (0, 3), (3, 0), (1, 3), (3, 1), (2, 0), (0, 2), (2, 1), (1, 2), (3, 4)]
    {
        let body = vec![set(Op::Add, cell(2), cell(0), cell(1)), set(Op::Powf, cell(5), cell(a), cell(b))];
        let code = Code::new(6, vec![Item::Straight(body)]);
        let mut cells = [1.25, 2.5, 0.0, 3.5, 4.75, 0.0];
        Native::new(&code).expect("this machine is known").run(&mut cells).unwrap();
        assert_eq!(cells[5], Op::Powf.apply(cells[a as usize], cells[b as usize]), "{a} {b}");
    }
}

/// More values are live than there are registers.
#[test]
fn registers_are_used_for_other_cells() {
    let cell = Address::cell;
    let body: Vec<Instruction> =
        (0..4000u32).map(|i| set(Op::Sub, cell(40 + i), cell(i * 7 % 40), cell(i * i % (39 + i)))).collect();
    let code = Code::new(4040, vec![Item::Straight(body)]);
    let start: Vec<f64> = (0..4040).map(|i| f64::from(i % 101) * 0.7).collect();
    let (mut cells, mut native) = (start.clone(), start);
    code.run(&mut cells).unwrap();
    Native::new(&code).expect("this machine is known").run(&mut native).unwrap();
    assert_eq!(cells, native);
}

#[test]
fn what_is_far_away_is_interpreted() {
    let is_native = |item: Item| {
        let native = Native::new(&Code::new(u32::MAX as usize, vec![item])).expect("this machine is known");
        matches!(native.parts[0], NativeItem::Native { .. })
    };
    let neg = |to, from| set(Op::Neg, to, from, from);
    let near = (1 << 28) - 1;
    assert!(is_native(Item::Straight(vec![neg(Address::cell(near), Address::cell(0))])));
    assert!(!is_native(Item::Straight(vec![neg(Address::cell(near + 1), Address::cell(0))])));
    let jumping =
        |stride| Item::Loop { trips: 3, order: Order::Forward, body: vec![neg(strided(1, stride), Address::cell(0))] };
    assert!(is_native(jumping(near as i32)));
    assert!(!is_native(jumping(near as i32 + 1)));
    let guard = Instruction {
        kind: Kind::Guard(Relation::Less, true),
        to: Address::cell(u32::MAX),
        a: Address::cell(0),
        b: Address::cell(1),
    };
    assert!(is_native(Item::Straight(vec![guard])), "the result of a guard is nowhere");
}

#[test]
fn long_lanes_and_zeros_are_interpreted() {
    let lanes = |op, trips| {
        let body = vec![set(op, strided(0, 1), strided(100, 1), strided(100, 1))];
        let native = Native::new(&Code::new(200, vec![Item::Loop { trips, order: Order::Lanes, body }])).unwrap();
        matches!(native.parts[0], NativeItem::Native { .. })
    };
    assert!(lanes(Op::Neg, SHORT - 1) && !lanes(Op::Neg, SHORT));
    let sin = Op::Of(crate::functions::Function::sin);
    assert!(lanes(sin, SHORT_WITH_CALLS - 1) && !lanes(sin, SHORT_WITH_CALLS));
    let native = Native::new(&Code::new(4, vec![Item::Zero { start: 1, cells: 2 }])).unwrap();
    let mut cells = [1.0; 4];
    native.run(&mut cells).unwrap();
    assert_eq!(cells, [1.0, 0.0, 0.0, 1.0]);
}

/// One thread compiles it, many run it, and the last one drops it.
#[test]
fn code_runs_on_many_threads() {
    let (cell, sin) = (Address::cell, Op::Of(crate::functions::Function::sin));
    let body = vec![set(sin, cell(1), cell(0), cell(0)), add(Op::Mul, cell(2), cell(0), cell(1))];
    let native = Native::new(&Code::new(3, vec![Item::Loop { trips: 9, order: Order::Forward, body }])).unwrap();
    let native = std::sync::Arc::new(native);
    let threads = (0..4).map(|i| {
        let native = native.clone();
        std::thread::spawn(move || {
            let mut cells = [f64::from(i), 0.0, 0.0];
            native.run(&mut cells).unwrap();
            cells
        })
    });
    let threads: Vec<_> = threads.collect();
    drop(native);
    for (i, thread) in threads.into_iter().enumerate() {
        let x = i as f64;
        let cells = thread.join().unwrap();
        let sum = (0..9).fold(0.0, |sum, _| sum + x * sin.apply(x, x));
        assert_eq!(cells, [x, sin.apply(x, x), sum]);
    }
}

#[cfg(target_os = "linux")]
#[test]
fn code_is_never_writable() {
    let mapping = Mapping::new(&[0xc3]).expect("memory");
    let address = mapping.at(0) as usize;
    let maps = std::fs::read_to_string("/proc/self/maps").unwrap();
    let line = maps.lines().find(|line| {
        let (start, end) = line.split_once(' ').and_then(|(range, _)| range.split_once('-')).unwrap();
        let [start, end] = [start, end].map(|text| usize::from_str_radix(text, 16).unwrap());
        (start..end).contains(&address)
    });
    assert!(line.is_some_and(|line| line.contains(" r-xp ")), "{line:?}");
}
