//! Small pieces of work that one block does one after the other, in one kernel.

use super::{Printed, stored};
use std::fmt::Write;
use wengert_compiler::plan::Loop;

/// The threads of the block: those of the loops.
pub const THREADS: usize = 256;

/// The most numbers of factors that a thread keeps.
const MOST_KEPT: usize = 96;

/// The text of a kernel of one block under construction.
#[derive(Default)]
pub struct Team {
    /// What stands before the kernel.
    pub functions: String,
    /// What the block does once at the beginning.
    pub first: String,
    /// What it does then.
    pub body: String,
    number: usize,
    kept: usize,
}

/// A factor of a product in a block: where it is, and the elements between neighbours along its two axes, rows first.
pub struct Factor {
    /// The address.
    pub place: String,
    /// The steps.
    pub steps: [usize; 2],
}

/// How the threads of a block share a product: `lanes` neighbours share a sum, `columns` stand side by side, the others take other rows.
struct Share {
    lanes: usize,
    columns: usize,
    each: usize,
    tiles: usize,
}

impl Share {
    fn of([rows, inner, cols]: [usize; 3], right: [usize; 2]) -> Share {
        let least = |n: usize| n.next_power_of_two();
        let mut columns = least(cols).min(THREADS);
        let lanes = match rows {
            1 => THREADS / columns,
            _ if right[0] == 1 => 4,
            _ => 1,
        };
        let lanes = lanes.min(least(inner)).min(32);
        columns = columns.min(THREADS / lanes);
        Share { lanes, columns, each: inner.div_ceil(lanes), tiles: cols.div_ceil(columns) }
    }
}

impl Team {
    /// Adds a loop over these addresses, operands first; an error says why it cannot be done by one block.
    pub fn add_loop(&mut self, body: &Loop, places: &[String], aligned: &[bool]) -> Result<(), String> {
        let printed = Printed::new(body, &|number| aligned[number], true)?;
        if printed.shape.block[0] as usize != THREADS || !printed.sums.is_empty() {
            return Err("its rows are long".to_string());
        }
        let number = self.next();
        writeln!(self.functions, "namespace loop{number} {{\n{}}}", printed.text).unwrap();
        let types = body.operands.iter().map(|access| format!("const {}", stored(access.dtype)));
        let types = types.chain(body.outputs.iter().map(|output| stored(output.dtype).to_string()));
        let mut values: Vec<String> = types.zip(places).map(|(of, place)| format!("({of} *)({place})")).collect();
        let sums = body.outputs.iter().filter(|output| output.destination != wengert_kernels::tiled::Destination::Each);
        values.extend(sums.map(|_| "nullptr".to_string()));
        values.extend([body.elements().to_string(), "1".to_string()]);
        let [tiles, ..] = printed.shape.grid;
        let values = values.join(", ");
        writeln!(self.body, "{{ const loop{number}::Loop at = {{{values}}};").unwrap();
        writeln!(self.body, "for (int tile = 0; tile < {tiles}; tile++) loop{number}::run(at, tile, 0); }}").unwrap();
        self.end();
        Ok(())
    }

    /// Adds a product of f32 `[rows, inner, cols]`; a right factor that `stays` is read once at the beginning.
    pub fn add_product(
        &mut self,
        sizes: [usize; 3],
        a: &Factor,
        b: &Factor,
        c: &str,
        bias: Option<&str>,
        stays: bool,
    ) -> Result<(), String> {
        let [rows, inner, cols] = sizes;
        let Share { lanes, columns, each, tiles } = Share::of(sizes, b.steps);
        let number = self.next();
        if each > MOST_KEPT {
            return Err("its sums are long".to_string());
        }
        let is_kept = stays && self.kept + each * tiles <= MOST_KEPT;
        let (k, n) = (format!("j * {lanes} + lane{number}"), format!("tile * {columns} + column{number}"));
        let load = format!(
            "#pragma unroll\nfor (int j = 0; j < {each}; j++) w{number}[{}j] = {k} < {inner} && {n} < {cols} ? right{number}[({k}) * {} + ({n}) * {}] : 0;\n",
            if is_kept { format!("tile * {each} + ") } else { String::new() },
            b.steps[0],
            b.steps[1]
        );
        let threads = format!(
            "const int lane{number} = threadIdx.x % {lanes}, column{number} = threadIdx.x / {lanes} % {columns}, row{number} = threadIdx.x / {};\n",
            lanes * columns
        );
        let kept = if is_kept { each * tiles } else { each };
        let declared =
            format!("{threads}const float *right{number} = (const float *)({});\nfloat w{number}[{kept}];\n", b.place);
        let walk = format!("#pragma unroll\nfor (int tile = 0; tile < {tiles}; tile++) {{\n");
        if is_kept {
            self.kept += kept;
            writeln!(self.first, "{declared}{walk}{load}}}").unwrap();
            writeln!(self.body, "{{").unwrap();
        } else {
            write!(self.body, "{{\n{declared}").unwrap();
        }
        let at = if is_kept { format!("tile * {each} + j") } else { "j".to_string() };
        let load = if is_kept { String::new() } else { load };
        // All threads of a warp make the same shuffles, so those that have no row of their own come along.
        let together = 32usize.div_ceil(lanes * columns);
        let (last, has_row) = match lanes > 1 && !rows.is_multiple_of(together) {
            true => (rows.next_multiple_of(together), format!("row < {rows} && ")),
            false => (rows, String::new()),
        };
        let bias = bias.map_or_else(String::new, |bias| format!(" + ((const float *)({bias}))[{n}]"));
        write!(
            self.body,
            "const float *left = (const float *)({});\nfloat *to = (float *)({c});\n{walk}{load}\
             for (int row = row{number}; row < {last}; row += {}) {{\n\
             float sums[4] = {{}};\n#pragma unroll\n\
             for (int j = 0; j < {each}; j++) sums[j % 4] += ({has_row}{k} < {inner} ? left[row * {} + ({k}) * {}] : 0) * w{number}[{at}];\n\
             float sum = (sums[0] + sums[1]) + (sums[2] + sums[3]);\n\
             for (int step = 1; step < {lanes}; step *= 2) sum += __shfl_xor_sync(0xffffffffu, sum, step);\n\
             if (lane{number} == 0 && {has_row}{n} < {cols}) to[row * {cols} + {n}] = sum{bias};\n}}\n}}\n}}\n",
            a.place,
            THREADS / (lanes * columns),
            a.steps[0],
            a.steps[1]
        )
        .unwrap();
        self.end();
        Ok(())
    }

    /// Adds a copy.
    pub fn add_copy(&mut self, from: &str, to: &str, bytes: usize) {
        writeln!(self.body, "copy_bytes((char *)({to}), (const char *)({from}), {bytes});").unwrap();
        self.end();
    }

    fn next(&mut self) -> usize {
        self.number += 1;
        self.number
    }

    fn end(&mut self) {
        self.body += "__syncthreads();\n";
    }
}
