//! One path of a function: its program, and the programs of its derivatives, which are built on first use.

use super::machine::{Left, Machine, Points};
use super::program::Program;
use super::reverse::{Reversed, reversed, reversed_with_kinks};
use super::symbol::Traced;
use super::tangent::{Tangents, with_tangents};
use std::sync::{Mutex, MutexGuard, PoisonError};

pub(super) struct Path {
    program: Program,
    values: Machine,
    gradient: Option<(Machine, u32, Vec<u32>)>,
    tangents: Option<(Machine, u32)>,
    second: Option<(Machine, u32, u32, u32)>,
    /// The path for many items, and the number of inputs that it has adjoints for.
    over: Option<(u32, Over)>,
}

/// A path for many items.
pub(super) struct Over {
    pub machine: Machine,
    /// The first cell of the input adjoints, and the seeds of the outputs.
    pub adjoints: u32,
    pub seeds: Vec<u32>,
    pub outputs: Vec<u32>,
    /// Lane memory that is not in use.
    rooms: Mutex<Vec<Points>>,
}

impl Over {
    /// Lane memory with the constants filled in; other cells have arbitrary contents.
    pub fn take_room(&self) -> Points {
        self.rooms().pop().unwrap_or_else(|| self.machine.new_points())
    }

    /// Keeps memory for reuse, unless it is large.
    pub fn give_room(&self, room: Points) {
        if !room.is_large() {
            self.rooms().push(room);
        }
    }

    fn rooms(&self) -> MutexGuard<'_, Vec<Points>> {
        self.rooms.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Path {
    pub fn new(found: &Traced) -> Path {
        let program = Program::of(&found.trace, &found.outputs);
        let values = Machine::new(&program);
        Path { program, values, gradient: None, tangents: None, second: None, over: None }
    }

    pub fn outputs(&self) -> usize {
        self.program.outputs.len()
    }

    /// The cells of the outputs.
    pub fn output_cells(&self) -> &[u32] {
        &self.program.outputs
    }

    pub fn instructions(&self) -> usize {
        self.values.instructions()
    }

    pub fn code_bytes(&mut self) -> usize {
        self.gradient().0.bytes()
    }

    /// The program for values and its reverse, the first cell of the input adjoints, and the seeds.
    pub fn gradient(&mut self) -> &mut (Machine, u32, Vec<u32>) {
        self.gradient.get_or_insert_with(|| {
            let Reversed { program, inputs, seeds } = reversed(&self.program, self.program.inputs);
            (Machine::new(&program), inputs, seeds)
        })
    }

    /// The program for values and tangents. The tangent of a cell is the returned number of cells further.
    pub fn tangents(&mut self) -> &mut (Machine, u32) {
        self.tangents.get_or_insert_with(|| {
            let Tangents { program, offset } = with_tangents(&self.program);
            (Machine::new(&program), offset)
        })
    }

    /// The gradient and its tangents: the first cell of the input adjoints, the seed, and the offset of tangents.
    pub fn second_order(&mut self) -> &mut (Machine, u32, u32, u32) {
        self.second.get_or_insert_with(|| {
            let Reversed { program, inputs, seeds } = reversed_with_kinks(&self.program, self.program.inputs);
            let Tangents { program, offset } = with_tangents(&program);
            (Machine::new(&program), inputs, seeds[0], offset)
        })
    }

    /// The path for many items, with adjoints for the first `active` inputs.
    pub fn over(&mut self, active: u32) -> &Over {
        let program = &self.program;
        let is_other = self.over.as_ref().is_none_or(|(known, _)| *known != active);
        if is_other {
            let Reversed { program, inputs, seeds } = reversed(program, active);
            let (machine, outputs) = (Machine::new(&program), program.outputs);
            self.over = Some((active, Over { machine, adjoints: inputs, seeds, outputs, rooms: Mutex::default() }));
        }
        &self.over.as_ref().expect("it was just made").1
    }

    pub fn values(&mut self, x: &[f64], y: &mut [f64]) -> Result<(), Left> {
        self.values.cells[..x.len()].copy_from_slice(x);
        self.values.run()?;
        y.iter_mut().zip(&self.program.outputs).for_each(|(y, cell)| *y = self.values.cells[*cell as usize]);
        Ok(())
    }

    /// Computes the adjoints of the inputs, given seeds of the outputs.
    pub fn pull(&mut self, x: &[f64], seeds: &[f64], slopes: &mut [f64]) -> Result<(), Left> {
        let (machine, adjoints, cells) = self.gradient();
        machine.cells[..x.len()].copy_from_slice(x);
        cells.iter().zip(seeds).for_each(|(cell, seed)| machine.cells[*cell as usize] = *seed);
        machine.run()?;
        slopes.copy_from_slice(&machine.cells[*adjoints as usize..][..x.len()]);
        Ok(())
    }

    /// The value that [`pull`](Path::pull) computed in its forward pass.
    pub fn value(&mut self) -> f64 {
        let cell = self.program.outputs[0] as usize;
        self.gradient().0.cells[cell]
    }

    /// Computes the tangents of the outputs along a direction of the inputs.
    pub fn push(&mut self, x: &[f64], direction: &[f64], tangents: &mut [f64]) -> Result<(), Left> {
        let (machine, offset) = self.tangents();
        let offset = *offset as usize;
        machine.cells[..x.len()].copy_from_slice(x);
        machine.cells[offset..][..x.len()].copy_from_slice(direction);
        machine.run()?;
        let (machine, _) = self.tangents.as_ref().expect("it was just run");
        let cells = tangents.iter_mut().zip(&self.program.outputs);
        cells.for_each(|(tangent, cell)| *tangent = machine.cells[*cell as usize + offset]);
        Ok(())
    }

    pub fn second(&mut self, x: &[f64], vector: &[f64], product: &mut [f64]) -> Result<(), Left> {
        let (machine, adjoints, seed, offset) = self.second_order();
        machine.cells[..x.len()].copy_from_slice(x);
        machine.cells[*seed as usize] = 1.0;
        machine.cells[*offset as usize..][..x.len()].copy_from_slice(vector);
        machine.run()?;
        product.copy_from_slice(&machine.cells[(*adjoints + *offset) as usize..][..x.len()]);
        Ok(())
    }

    /// Uses reverse mode by rows or forward mode by columns, whichever needs fewer runs.
    pub fn jacobian(&mut self, x: &[f64]) -> Result<Vec<f64>, Left> {
        let (rows, columns) = (self.outputs(), x.len());
        let mut matrix = vec![0.0; rows * columns];
        let inputs = x.iter().copied().zip(0..);
        if rows <= columns {
            let (machine, adjoints, seeds) = self.gradient();
            let seeds = seeds.iter().copied().zip(0..);
            machine.run_seeds(inputs, seeds, rows, |row, shown| {
                for (column, cell) in (0..columns).zip(*adjoints..) {
                    put(shown.at(cell), &mut matrix[row * columns + column..], columns);
                }
            })?;
        } else {
            let outputs = self.program.outputs.clone();
            let (machine, offset) = self.tangents();
            let offset = *offset;
            machine.run_seeds(inputs, (offset..).zip(0..columns), columns, |column, shown| {
                for (row, output) in outputs.iter().enumerate() {
                    put(shown.at(output + offset), &mut matrix[row * columns + column..], 1);
                }
            })?;
        }
        Ok(matrix)
    }

    pub fn hessian(&mut self, x: &[f64]) -> Result<Vec<f64>, Left> {
        let n = x.len();
        let (machine, adjoints, seed, offset) = self.second_order();
        let rows = *adjoints + *offset;
        let inputs = x.iter().copied().zip(0..).chain([(1.0, *seed)]);
        let mut matrix = vec![0.0; n * n];
        machine.run_seeds(inputs, (*offset..).zip(0..n), n, |column, shown| {
            for (row, cell) in (0..n).zip(rows..) {
                put(shown.at(cell), &mut matrix[row * n + column..], 1);
            }
        })?;
        Ok(matrix)
    }

    /// Computes values at points, and gradients if there is room for them. Returns the points that belong to other paths.
    pub fn many(&mut self, points: &[f64], values: &mut [f64], slopes: &mut [f64]) -> Vec<usize> {
        let (n, outputs) = (self.program.inputs as usize, self.program.outputs.clone());
        let m = outputs.len();
        let count = values.len().checked_div(m).unwrap_or(0);
        let (machine, adjoints, ones) = match slopes {
            [] => (&mut self.values, None, &[][..]),
            _ => {
                let (machine, adjoints, seeds) = self.gradient();
                (machine, Some(*adjoints), &seeds[..1])
            }
        };
        machine.run_at((points, n, count), ones, |point, shown| {
            for (output, cell) in outputs.iter().enumerate() {
                put(shown.at(*cell), &mut values[point * m + output..], m);
            }
            for (input, cell) in (0..n).zip(adjoints.into_iter().flat_map(|first| first..)) {
                put(shown.at(cell), &mut slopes[point * n + input..], n);
            }
        })
    }

    /// Frees the memory for many points if it is large.
    pub fn forget_lanes(&mut self) {
        self.values.forget_lanes();
        let gradient = self.gradient.iter_mut().map(|(machine, ..)| machine);
        let tangents = self.tangents.iter_mut().map(|(machine, ..)| machine);
        let second = self.second.iter_mut().map(|(machine, ..)| machine);
        gradient.chain(tangents).chain(second).for_each(Machine::forget_lanes);
    }
}

/// Writes numbers to places that are `apart` elements apart.
fn put(numbers: &[f64], places: &mut [f64], apart: usize) {
    places.iter_mut().step_by(apart).zip(numbers).for_each(|(place, number)| *place = *number);
}
