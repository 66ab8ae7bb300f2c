//! Runs a program: at one point, at many points, or with many seeds at one point.

use super::program::Program;
use wengert_kernels::cells::{Code, LANES};

/// From this many seeds or points on, each gets a lane of its own, unless the lanes would not fit into a cache.
const SEVERAL: usize = 8;
const MOST_NUMBERS: usize = 1 << 22;

/// Programs of up to this many instructions are compiled to machine code on their second run, which takes less than half a millisecond. For
/// larger ones compilation takes as long as about fifty interpreted runs, so they are compiled after that many.
const SMALL: usize = 4096;
const OFTEN: usize = 50;

/// Larger lane memory is not kept for a path that is not in use, nor between calls over items.
const MOST_KEPT: usize = 1 << 17;

/// A guard failed: the inputs belong to another path.
pub(super) struct Left;

/// A program with its memory. Constants stay in their cells between runs.
pub(super) struct Machine {
    /// The code for values, then the code for adjoints.
    codes: [Code; 2],
    /// Their machine code. It is made after two complete runs, or more for large programs; absent where it cannot be made.
    native: Native,
    pub cells: Vec<f64>,
    /// The memory for many points at a time.
    points: Points,
    constants: Vec<(u32, f64)>,
}

/// The machine code of a program that runs often.
enum Native {
    /// How often the program ran to completion.
    Not(usize),
    Made(Box<[wengert_kernels::cells::Native; 2]>),
    Never,
}

/// Cells with one number for each of many points.
#[derive(Default)]
pub(super) struct Points(Vec<f64>);

impl Points {
    /// The lanes of a cell.
    pub fn lanes(&mut self, cell: u32) -> &mut [f64; LANES] {
        &mut self.0.as_chunks_mut().0[cell as usize]
    }

    /// The lanes of consecutive cells.
    pub fn cells(&mut self, first: u32, count: usize) -> &mut [[f64; LANES]] {
        &mut self.0.as_chunks_mut().0[first as usize..][..count]
    }

    /// Whether this is too much memory to keep when it is not in use.
    pub fn is_large(&self) -> bool {
        self.0.len() > MOST_KEPT
    }
}

impl Machine {
    pub fn new(program: &Program) -> Machine {
        let codes = program.codes();
        let mut cells = vec![0.0; codes[0].cells()];
        program.constants.iter().for_each(|(cell, value)| cells[*cell as usize] = *value);
        Machine {
            codes,
            native: Native::Not(0),
            cells,
            points: Points::default(),
            constants: program.constants.clone(),
        }
    }

    /// Number of instructions for the values.
    pub fn instructions(&self) -> usize {
        self.codes[0].instructions()
    }

    /// Size of the program in bytes.
    pub fn bytes(&self) -> usize {
        self.codes.iter().map(Code::bytes).sum()
    }

    pub fn run(&mut self) -> Result<(), Left> {
        let run = |number: usize| match &self.native {
            Native::Made(made) => made[number].run(&mut self.cells),
            _ => self.codes[number].run(&mut self.cells),
        };
        [0, 1].into_iter().try_for_each(run).map_err(|_| Left)?;
        if let Native::Not(runs) = &mut self.native {
            *runs += 1;
            let is_small = self.codes[0].instructions() + self.codes[1].instructions() <= SMALL;
            if *runs > if is_small { 1 } else { OFTEN } {
                self.native = match self.codes.each_ref().map(wengert_kernels::cells::Native::new) {
                    [Some(values), Some(adjoints)] => Native::Made(Box::new([values, adjoints])),
                    _ => Native::Never,
                };
            }
        }
        Ok(())
    }

    /// Cells for many points, with the constants filled in.
    pub fn new_points(&self) -> Points {
        let mut points = Points(vec![0.0; self.codes[0].cells() * LANES]);
        self.constants.iter().for_each(|(cell, value)| points.lanes(*cell).fill(*value));
        points
    }

    pub fn prepare(&mut self) {
        if self.points.0.is_empty() {
            self.points = self.new_points();
        }
    }

    pub fn lanes(&mut self, cell: u32) -> &mut [f64] {
        self.points.lanes(cell)
    }

    /// Computes the values at the points. Returns which of them failed a guard.
    pub fn forward(&self, points: &mut Points) -> [bool; LANES] {
        let mut flipped = [false; LANES];
        self.codes[0].run_points(&mut points.0, &mut flipped);
        flipped
    }

    /// Computes the adjoints at points whose values are known.
    pub fn backward(&self, points: &mut Points) {
        self.codes[1].run_points(&mut points.0, &mut [false; LANES]);
    }

    pub fn run_points(&mut self) -> [bool; LANES] {
        let mut points = std::mem::take(&mut self.points);
        let flipped = self.forward(&mut points);
        if flipped.contains(&false) {
            self.backward(&mut points);
        }
        self.points = points;
        flipped
    }

    fn is_worth_lanes(&self, runs: usize) -> bool {
        runs >= SEVERAL && self.cells.len() * LANES <= MOST_NUMBERS
    }

    /// Frees the memory of the lanes if it is large.
    pub fn forget_lanes(&mut self) {
        if self.points.is_large() {
            self.points = Points::default();
        }
    }

    /// Runs at `count` points of `n` numbers each, with 1 in the cells `ones`. Calls `show` with the results, starting at the given point,
    /// and returns the points that belong to other paths. Results shown for those points are invalid.
    pub fn run_at(
        &mut self,
        (points, n, count): (&[f64], usize, usize),
        ones: &[u32],
        mut show: impl FnMut(usize, Shown<'_>),
    ) -> Vec<usize> {
        let mut left = Vec::new();
        if !self.is_worth_lanes(count) {
            ones.iter().for_each(|cell| self.cells[*cell as usize] = 1.0);
            for point in 0..count {
                self.cells[..n].copy_from_slice(&points[point * n..][..n]);
                match self.run() {
                    Ok(()) => show(point, Shown { numbers: &self.cells, stride: 1, runs: 1 }),
                    Err(Left) => left.push(point),
                }
            }
            return left;
        }
        self.prepare();
        ones.iter().for_each(|cell| self.lanes(*cell).fill(1.0));
        for first in (0..count).step_by(LANES) {
            let some = LANES.min(count - first);
            for input in 0..n {
                // Unused lanes repeat the last point.
                for (lane, x) in self.lanes(input as u32).iter_mut().enumerate() {
                    *x = points[(first + lane.min(some - 1)) * n + input];
                }
            }
            let flipped = self.run_points();
            show(first, Shown { numbers: &self.points.0, stride: LANES, runs: some });
            left.extend((0..some).filter(|lane| flipped[*lane]).map(|lane| first + lane));
        }
        left
    }

    /// Runs `count` times with the given inputs in their cells. In run k, seeds of colour k are 1 and all others are 0. Calls `show` with
    /// the results, starting at the given run.
    pub fn run_seeds(
        &mut self,
        inputs: impl Iterator<Item = (f64, u32)>,
        seeds: impl Iterator<Item = (u32, usize)> + Clone,
        count: usize,
        mut show: impl FnMut(usize, Shown<'_>),
    ) -> Result<(), Left> {
        if !self.is_worth_lanes(count) {
            inputs.for_each(|(number, cell)| self.cells[cell as usize] = number);
            for run in 0..count {
                seeds.clone().for_each(|(cell, colour)| self.cells[cell as usize] = is_one(colour == run));
                self.run()?;
                show(run, Shown { numbers: &self.cells, stride: 1, runs: 1 });
            }
            return Ok(());
        }
        self.prepare();
        inputs.for_each(|(number, cell)| self.lanes(cell).fill(number));
        for first in (0..count).step_by(LANES) {
            for (cell, colour) in seeds.clone() {
                let lanes = self.lanes(cell).iter_mut().enumerate();
                lanes.for_each(|(lane, seed)| *seed = is_one(colour == first + lane));
            }
            if self.run_points().contains(&true) {
                return Err(Left);
            }
            show(first, Shown { numbers: &self.points.0, stride: LANES, runs: LANES.min(count - first) });
        }
        Ok(())
    }
}

/// The contents of the cells after some runs.
pub(super) struct Shown<'m> {
    numbers: &'m [f64],
    stride: usize,
    /// Number of runs.
    pub runs: usize,
}

impl Shown<'_> {
    /// The contents of a cell, one number per run.
    pub fn at(&self, cell: u32) -> &[f64] {
        &self.numbers[cell as usize * self.stride..][..self.runs]
    }
}

fn is_one(holds: bool) -> f64 {
    f64::from(u8::from(holds))
}
