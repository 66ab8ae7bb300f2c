//! A program in memory: it runs for one point or for many, and for many seeds at one point.

use super::program::Program;
use wengert_kernels::cells::{Code, LANES};

/// So many seeds or points are worth a lane each, unless the lanes take more numbers than fit into a cache.
const SEVERAL: usize = 8;
const MOST_NUMBERS: usize = 1 << 22;

/// Programs of up to so many instructions become machine code when they run again, which takes less than half a millisecond. For larger
/// ones it takes as long as some fifty interpreted runs: they become machine code when they ran so often.
const SMALL: usize = 4096;
const OFTEN: usize = 50;

/// Lanes of more numbers are not kept for a path that is not taken, nor from one call over items to the next.
const MOST_KEPT: usize = 1 << 17;

/// The numbers belong to another path.
pub(super) struct Left;

/// A program with its memory, in which constants stay as they are.
pub(super) struct Machine {
    /// Values, and then adjoints.
    codes: [Code; 2],
    /// Their machine code, made when they ran to their end twice, or often if they are large; nothing where it cannot be.
    native: Native,
    pub cells: Vec<f64>,
    /// The same for many points at a time.
    points: Points,
    constants: Vec<(u32, f64)>,
}

/// The machine code of a program that runs often.
enum Native {
    /// How often the program ran to its end.
    Not(usize),
    Made(Box<[wengert_kernels::cells::Native; 2]>),
    Never,
}

/// Cells that hold a number for each of many points.
#[derive(Default)]
pub(super) struct Points(Vec<f64>);

impl Points {
    /// The numbers of a cell.
    pub fn lanes(&mut self, cell: u32) -> &mut [f64; LANES] {
        &mut self.0.as_chunks_mut().0[cell as usize]
    }

    /// The numbers of some cells that follow each other.
    pub fn cells(&mut self, first: u32, count: usize) -> &mut [[f64; LANES]] {
        &mut self.0.as_chunks_mut().0[first as usize..][..count]
    }

    /// Whether these are more numbers than one keeps for nothing.
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

    /// Instructions of the values.
    pub fn instructions(&self) -> usize {
        self.codes[0].instructions()
    }

    /// Bytes of the program.
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

    /// Cells for points, where constants are known.
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

    /// The values at points; for which of them a guard went the other way.
    pub fn forward(&self, points: &mut Points) -> [bool; LANES] {
        let mut flipped = [false; LANES];
        self.codes[0].run_points(&mut points.0, &mut flipped);
        flipped
    }

    /// The adjoints at points whose values are known.
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

    /// Gives back what lanes take, if it is much.
    pub fn forget_lanes(&mut self) {
        if self.points.is_large() {
            self.points = Points::default();
        }
    }

    /// Runs at `count` points of `n` numbers each, with the number 1 in these cells. Shows what runs left, from the first of them on, and
    /// gives the points that belong to other paths, of which nothing that is shown is true.
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
                // Lanes without a point of their own compute the last one again.
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

    /// Runs with these numbers in their cells, `count` times: in run k seeds of colour k are 1 and all others 0. Shows what runs
    /// left, from the first of them on.
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

/// What runs left in their cells.
pub(super) struct Shown<'m> {
    numbers: &'m [f64],
    stride: usize,
    /// How many they were.
    pub runs: usize,
}

impl Shown<'_> {
    /// The numbers in a cell, one of each run.
    pub fn at(&self, cell: u32) -> &[f64] {
        &self.numbers[cell as usize * self.stride..][..self.runs]
    }
}

fn is_one(holds: bool) -> f64 {
    f64::from(u8::from(holds))
}
