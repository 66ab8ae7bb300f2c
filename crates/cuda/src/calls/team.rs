//! Runs of small steps, and scans of small steps, as kernels of one block.

use crate::launch::{Shape, Word};
use crate::lower::{ALIGNMENT, Lowering};
use crate::source::{Factor, Team, with_words};
use wengert_compiler::plan::{Placed, PlacedLoop, Read, Scan};
use wengert_core::DType;
use wengert_core::primitive::Spec;
use wengert_kernels::memory::Span;
use wengert_kernels::tiled::Destination;

/// The most shared memory of a block.
const MOST_SHARED: usize = 200 << 10;

/// The most elements of a loop, and multiplications of a product, that one block does itself.
const MOST_ELEMENTS: usize = 4096;
const MOST_PRODUCTS: usize = 1 << 15;

/// Where a span is, as an expression, and whether it is known to begin at a multiple of 16.
type Place<'a> = &'a dyn Fn(Span) -> (String, bool);

/// Adds a step, or says why one block cannot do it. Right factors in regions that `stay` are read once.
fn add(team: &mut Team, step: &Placed, place: Place<'_>, stays: &dyn Fn(Span) -> bool) -> Result<(), String> {
    match step {
        Placed::Loops(loops) => loops.iter().try_for_each(|PlacedLoop { body, reads, writes, .. }| {
            let (places, aligned): (Vec<String>, Vec<bool>) =
                reads.iter().chain(writes).map(|span| place(*span)).unzip();
            team.add_loop(body, &places, &aligned)
        }),
        Placed::Call { op, reads, writes, then: None, .. } if matches!(op.name(), "matmul" | "linear") => {
            let turned = op.name() == "linear";
            let (left, right) = (&reads[0], &reads[1]);
            let ([rows, inner], [first, second]) = (&left.spec.shape[..], &right.spec.shape[..]) else {
                return Err("it is a batch of products".to_string());
            };
            if left.spec.dtype != DType::F32 {
                return Err("it is not of f32".to_string());
            }
            let cols = if turned { *first } else { *second };
            let factor = |read: &Read, turned: bool| {
                let [down, across] = read.layout.strides[..] else { return Err("it is no matrix".to_string()) };
                let (Ok(down), Ok(across)) = (usize::try_from(down), usize::try_from(across)) else {
                    return Err("it runs backwards".to_string());
                };
                let place = format!("{} + {}", place(read.span).0, read.layout.offset * 4);
                Ok(Factor { place, steps: if turned { [across, down] } else { [down, across] } })
            };
            let bias = reads.get(2).map(|bias| {
                (bias.layout.is_contiguous()).then(|| format!("{} + {}", place(bias.span).0, bias.layout.offset * 4))
            });
            if bias == Some(None) {
                return Err("its bias is strided".to_string());
            }
            let (a, b) = (factor(left, false)?, factor(right, turned)?);
            let to = place(writes[0].0).0;
            team.add_product([*rows, *inner, cols], &a, &b, &to, bias.flatten().as_deref(), stays(right.span))
        }
        Placed::Copy { read, write } if read.layout.is_contiguous() && read.spec.bytes().is_multiple_of(4) => {
            let from = format!("{} + {}", place(read.span).0, read.layout.offset as usize * read.spec.dtype.size());
            team.add_copy(&from, &place(*write).0, read.spec.bytes());
            Ok(())
        }
        _ => Err("it has a kernel of its own".to_string()),
    }
}

/// The most steps of one kernel: a longer text would take long to compile.
pub const MOST_STEPS: usize = 64;

/// Whether a step of a plan is worth less than a launch.
pub fn is_small(step: &Placed) -> bool {
    match step {
        Placed::Loops(loops) => loops.iter().map(|placed| placed.body.elements()).sum::<usize>() <= MOST_ELEMENTS,
        Placed::Call { op, reads, then: None, .. } if matches!(op.name(), "matmul" | "linear") => {
            let product = |read: &Read| read.spec.shape.elements();
            reads[0].spec.shape.rank() == 2
                && reads.iter().all(|read| read.spec.bytes() > 0)
                && product(&reads[0]) * product(&reads[1]) / reads[0].spec.shape[1].max(1) <= MOST_PRODUCTS
        }
        _ => false,
    }
}

/// Whether a small step adds numbers up.
pub fn has_sums(step: &Placed) -> bool {
    match step {
        Placed::Loops(loops) => {
            loops.iter().any(|placed| placed.body.outputs.iter().any(|output| output.destination != Destination::Each))
        }
        _ => true,
    }
}

/// The regions that a kernel refers to, as its parameters.
#[derive(Default)]
struct Regions(std::cell::RefCell<Vec<usize>>);

impl Regions {
    fn place(&self, span: Span) -> (String, bool) {
        let mut known = self.0.borrow_mut();
        let number = known.iter().position(|region| *region == span.region).unwrap_or_else(|| {
            known.push(span.region);
            known.len() - 1
        });
        (format!("r{number} + {}", span.start), span.start.is_multiple_of(16))
    }

    fn parameters(&self) -> String {
        let names: Vec<String> = (0..self.0.borrow().len()).map(|number| format!("char *r{number}")).collect();
        names.join(", ")
    }

    fn arguments(&self) -> Vec<Vec<Word>> {
        let address = |region: &usize| vec![Word::Address(Span { region: *region, start: 0, length: 0 })];
        self.0.borrow().iter().map(address).collect()
    }
}

/// Steps one after the other, by one block; says whether it can be done.
pub fn run(lowering: &mut Lowering, steps: &[Placed]) -> bool {
    let (mut team, regions) = (Team::default(), Regions::default());
    let place = |span: Span| regions.place(lowering.at(span));
    if steps.iter().any(|step| add(&mut team, step, &place, &|_| false).is_err()) {
        return false;
    }
    let Team { functions, first, body, .. } = team;
    let text = format!("{functions}KERNEL(256) team({}) {{\n{first}{body}}}\n", regions.parameters());
    lowering.launch("team", with_words(&text), Shape::line(1, 256), regions.arguments());
    true
}

/// All steps of a scan in one launch, with one block for each part; says whether it can be done.
pub fn scan(lowering: &mut Lowering, scan: &Scan<Vec<PlacedLoop>>, reads: &[(Span, &Read)], writes: &[Span]) -> bool {
    let Scan { consts, carry, length, reverse, parts, ref body, .. } = *scan;
    if length == 0 {
        return false;
    }
    let inputs = body.inputs.len();
    let regions = Regions::default();
    // Shared memory: the workspace of a step, then two buffers for every carried value.
    let aligned = |bytes: usize| bytes.next_multiple_of(ALIGNMENT);
    let mut shared = aligned(body.plan.arena);
    let buffers: Vec<[usize; 2]> = body.outputs[..carry]
        .iter()
        .map(|spec| {
            let size = aligned(spec.bytes());
            shared += 2 * size;
            [shared - 2 * size, shared - size]
        })
        .collect();
    if shared > MOST_SHARED {
        return false;
    }
    let constants = lowering.nested_constants(&body.plan);
    let start = |(span, read): &(Span, &Read)| span.start + read.layout.offset as usize * read.spec.dtype.size();
    // An operand that is split by parts, and how its address grows with the part.
    let of_part = |whole: usize, spec: &Spec| if whole == spec.bytes() || parts == 1 { 0 } else { spec.bytes() };
    // Where operands are: for the whole scan, and for each step.
    let (mut firsts, mut each) = (String::new(), String::new());
    let mut is_even = Vec::new();
    for (place, (read, spec)) in reads.iter().zip(&body.inputs).enumerate() {
        let size = spec.dtype.size();
        let base = Span { start: start(read), ..read.0 };
        let (address, mut aligned) = regions.place(base);
        let text = if place < consts + carry {
            let part = of_part(read.1.spec.bytes(), spec);
            aligned &= part.is_multiple_of(16);
            format!("const char *g{place} = {address} + (i64)part * {part};\n")
        } else {
            let (part, step) = (of_part(read.1.spec.bytes() / length, spec), read.1.layout.strides[0] as usize * size);
            aligned &= part.is_multiple_of(16) && step.is_multiple_of(16);
            format!("const char *g{place} = {address} + (i64)part * {part} + (i64)at * {step};\n")
        };
        is_even.push(aligned);
        if place < consts + carry { firsts += &text } else { each += &text }
    }
    let mut even_out = Vec::new();
    for (place, span) in writes.iter().enumerate() {
        let bytes = body.outputs[place].bytes();
        let (address, aligned) = regions.place(*span);
        even_out.push(aligned && bytes.is_multiple_of(16));
        match place < carry {
            true => firsts += &format!("char *y{place} = {address} + (i64)part * {bytes};\n"),
            false => each += &format!("char *y{place} = {address} + ((i64)at * {parts} + part) * {bytes};\n"),
        }
    }
    for (place, [even, odd]) in buffers.iter().enumerate() {
        let bytes = body.outputs[place].bytes();
        if !bytes.is_multiple_of(4) {
            return false;
        }
        firsts += &format!("copy_bytes(memory + {even}, g{}, {bytes});\n", consts + place);
        each += &format!(
            "char *from{place} = memory + (step % 2 ? {odd} : {even}), *to{place} = memory + (step % 2 ? {even} : {odd});\n"
        );
    }
    let mut team = Team::default();
    let place = |span: Span| -> (String, bool) {
        let plain = span.start.is_multiple_of(16);
        let (text, aligned) = match span.region {
            0 => ("memory".to_string(), true),
            region if region <= inputs => match region - 1 {
                input if (consts..consts + carry).contains(&input) => (format!("from{}", input - consts), true),
                input => (format!("g{input}"), is_even[input]),
            },
            region if region <= inputs + constants.len() => (regions.place(constants[region - 1 - inputs]).0, true),
            region => match region - 1 - inputs - constants.len() {
                output if output < carry => (format!("to{output}"), true),
                output => (format!("y{output}"), even_out[output]),
            },
        };
        (format!("{text} + {}", span.start), aligned && plain)
    };
    let stays = |span: Span| (1..=consts).contains(&span.region);
    if body.plan.steps.iter().any(|step| add(&mut team, step, &place, &stays).is_err()) {
        return false;
    }
    let mut last = String::new();
    for (place, buffers) in buffers.iter().enumerate() {
        let (bytes, from) = (body.outputs[place].bytes(), buffers[length % 2]);
        last += &format!("copy_bytes(y{place}, memory + {from}, {bytes});\n");
    }
    let at = if reverse { format!("{} - step", length - 1) } else { "step".to_string() };
    let Team { functions, first, body: work, .. } = team;
    let text = format!(
        "{functions}KERNEL(256) scan({}) {{\n#ifdef SHIM\nchar *memory = shim_dynamic;\n#else\nextern __shared__ __align__(1024) char memory[];\n#endif\n\
         const int part = blockIdx.x;\n{firsts}{first}__syncthreads();\n\
         for (int step = 0; step < {length}; step++) {{\nconst int at = {at};\n{each}{work}}}\n{last}}}\n",
        regions.parameters()
    );
    let shape = Shape { shared: shared as u32, ..Shape::line(parts, 256) };
    lowering.launch("scan", with_words(&text), shape, regions.arguments());
    true
}
