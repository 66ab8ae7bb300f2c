//! A backend that runs launches on a processor: their texts, compiled as C++ with a header that emulates blocks and threads.

use std::fmt::Write as _;
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::LazyLock;
use std::sync::atomic::{AtomicUsize, Ordering};
use wengert::backend::{Backend, Input, Plan, Runner, Target};
use wengert::prelude::*;
use wengert::{Line, Tensor};
use wengert_cuda::launch::{Control, Launch, Launches, Slice, Turn, Word, Work};
use wengert_cuda::lower::lower;
use wengert_cuda::product::{Matrix, Product};
use wengert_cuda::source::{PRELUDE, SPECIAL, WORDS};
use wengert_kernels::memory::Span;

/// The emulator, for programs with this name.
pub struct Emulator(pub &'static str);

/// A compiled plan.
struct Emulated {
    program: PathBuf,
    folder: PathBuf,
    arena: usize,
    constants: Vec<Tensor>,
    nested: Vec<Tensor>,
}

/// Runs a compiler. Kernels are compiled once and run once: more time to make them faster would be lost.
fn compile_text(compiler: &mut Command) {
    let built = compiler.args(["-std=c++17", "-O1", "-w"]).output().expect("a C++ compiler");
    assert!(built.status.success(), "{}", String::from_utf8_lossy(&built.stderr));
}

/// What all programs begin with, as a header beside which lies what the compiler made of it.
static HEADER: LazyLock<PathBuf> = LazyLock::new(|| {
    let shim = include_str!("shim.h");
    let text =
        format!("{shim}\n{PRELUDE}\n{WORDS}\n{}\n#undef KERNEL\n#define KERNEL(...) static void\n{FRAME}", *SPECIAL);
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join("emulator");
    let [header, compiled] = ["emulator.h", "emulator.h.gch"].map(|name| folder.join(name));
    if !compiled.exists() || std::fs::read_to_string(&header).ok().is_none_or(|old| old != text) {
        // Other processes may do the same: they find the whole file or none.
        let own = folder.join(format!("{}.gch", std::process::id()));
        let _ = std::fs::create_dir_all(&folder).and_then(|()| std::fs::remove_file(&compiled));
        std::fs::write(&header, text).unwrap();
        compile_text(Command::new("g++").args(["-x", "c++-header", "-o"]).args([&own, &header]));
        std::fs::rename(own, compiled).unwrap();
    }
    header
});

static NEXT: AtomicUsize = AtomicUsize::new(0);

impl Backend for Emulator {
    fn target(&self) -> Target {
        wengert_cuda::TARGET
    }

    fn runs(&self, equation: &Program) -> bool {
        wengert_cuda::runs(equation, 90)
    }

    fn runner(&self, plan: Plan) -> Result<Box<dyn Runner>, Error> {
        let (launches, nested, _) = lower(&plan, 90)?;
        let number = NEXT.fetch_add(1, Ordering::Relaxed);
        let folder = std::env::temp_dir().join(format!("wengert-cuda-{}-{}-{number}", self.0, std::process::id()));
        std::fs::create_dir_all(&folder).unwrap();
        std::fs::write(folder.join("plan.cpp"), text(&launches)).unwrap();
        let program = folder.join("plan");
        compile_text(
            Command::new("g++").arg("-include").arg(&*HEADER).arg("-o").arg(&program).arg(folder.join("plan.cpp")),
        );
        Ok(Box::new(Emulated { program, folder, arena: launches.arena, constants: plan.constants, nested }))
    }
}

impl Runner for Emulated {
    fn run<'a>(
        &'a self,
        inputs: &mut dyn Iterator<Item = Input<'a>>,
        outputs: &mut dyn Iterator<Item = &'a mut Tensor>,
        _line: Line,
    ) -> Result<(), Error> {
        // The workspace begins with numbers that mean nothing.
        let mut regions: Vec<Vec<u8>> = vec![vec![0xff; self.arena]];
        let mut written: Vec<Option<&mut Tensor>> = vec![None];
        for input in inputs {
            match input {
                Input::Read(tensor) => {
                    regions.push(tensor.row_major_bytes().to_vec());
                    written.push(None);
                }
                Input::Update(tensor) => {
                    regions.push(tensor.row_major_bytes().to_vec());
                    written.push(Some(tensor));
                }
            }
        }
        for constant in &self.constants {
            regions.push(constant.row_major_bytes().to_vec());
            written.push(None);
        }
        for output in outputs {
            regions.push(vec![0xff; output.spec().bytes()]);
            written.push(Some(output));
        }
        for constant in &self.nested {
            regions.push(constant.row_major_bytes().to_vec());
            written.push(None);
        }
        let mut child =
            Command::new(&self.program).stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().expect("it was built");
        let mut sent: Vec<u8> = (regions.len() as u64).to_ne_bytes().to_vec();
        for region in &regions {
            sent.extend((region.len() as u64).to_ne_bytes());
            sent.extend(region);
        }
        child.stdin.take().expect("it is piped").write_all(&sent).expect("it reads everything first");
        let result = child.wait_with_output().expect("it runs");
        assert!(result.status.success(), "{:?}", result.status);
        let mut rest = &result.stdout[..];
        for (region, tensor) in regions.iter().zip(written) {
            let (bytes, more) = rest.split_at(region.len());
            if let Some(tensor) = tensor {
                tensor.out().bytes.copy_from_slice(bytes);
            }
            rest = more;
        }
        Ok(())
    }
}

impl Drop for Emulated {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.folder);
    }
}

/// What the emulator needs besides kernels: the call of a kernel, and products.
const FRAME: &str = r#"
#include <cstdio>
#include <cstdlib>
static std::vector<char *> R;
// A launch, of which little is compiled for each kernel: the kernel, and the words of its arguments side by side.
struct Launch { void (*kernel)(); const u64 *words, *end; };
template <class A> static A take(const u64 *&words) {
    A x;
    memcpy(&x, words, sizeof x);
    words += (sizeof x + 7) / 8;
    return x;
}
// In braces, arguments are evaluated from left to right.
template <class... A> struct Call { Call(void (*kernel)(A...), A... arguments) { kernel(arguments...); } };
template <class... A> static void call(const void *launch) {
    auto &[kernel, words, end] = *(const Launch *)launch;
    const u64 *at = words;
    Call<A...>{(void (*)(A...))kernel, take<A>(at)...};
    if (at != end) exit(4);
}
static void run(void (*call)(const void *), const Launch &launch, dim3 grid, dim3 block, size_t shared) {
    // Shared memory begins with numbers that mean nothing, and what the launch did not ask for stays as it was.
    static const std::vector<char> nothing(sizeof shim_dynamic, 0xff);
    memcpy(shim_dynamic, nothing.data(), sizeof shim_dynamic);
    shim_launch(grid, block, call, &launch);
    if (memcmp(shim_dynamic + shared, nothing.data(), sizeof shim_dynamic - shared)) exit(3);
}
typedef std::initializer_list<u64> Words;
template <class... A> static void launch(void (*kernel)(A...), dim3 grid, dim3 block, size_t shared, Words words) {
    run(call<A...>, {(void (*)())kernel, words.begin(), words.end()}, grid, block, shared);
}
struct Side { char *at; i64 down, across, batch; };
template <class T> static void multiply(int batch, int rows, int inner, int cols, Side a, Side b, char *c, char *bias) {
    for (int n = 0; n < batch; n++) for (int i = 0; i < rows; i++) for (int j = 0; j < cols; j++) {
        double sum = bias ? get((T *)bias, j) : 0;
        for (int k = 0; k < inner; k++)
            sum += (double)get((T *)a.at, n * a.batch + i * a.down + k * a.across) * get((T *)b.at, n * b.batch + k * b.down + j * b.across);
        put((T *)c, ((i64)n * rows + i) * cols + j, sum);
    }
}
"#;

fn address(span: &Span) -> String {
    format!("R[{}] + {}", span.region, span.start)
}

/// A program that reads all regions, runs the launches, and writes the regions.
fn text(launches: &Launches) -> String {
    let mut text = String::new();
    for (number, kernel) in launches.kernels.iter().enumerate() {
        let body =
            kernel.text.replace("extern \"C\" __global__", "static").replace(WORDS, "").replace(SPECIAL.as_str(), "");
        writeln!(text, "namespace k{number} {{\n{body}\n}}").unwrap();
        let names = kernel.text.lines().filter_map(|line| line.trim_start().strip_prefix("#define "));
        for name in names {
            let end = name.find(|c: char| !c.is_alphanumeric() && c != '_').unwrap_or(name.len());
            writeln!(text, "#undef {}", &name[..end]).unwrap();
        }
    }
    for number in 0..launches.lists.len() {
        writeln!(text, "static void list{number}();").unwrap();
    }
    for (number, list) in launches.lists.iter().enumerate() {
        writeln!(text, "static void list{number}() {{\n{}}}", statements(launches, list)).unwrap();
    }
    write!(text, "static void run() {{\n{}}}\n", statements(launches, &launches.list)).unwrap();
    text + r#"static u64 number() { u64 x; if (fread(&x, 8, 1, stdin) != 1) exit(2); return x; }
int main() {
    std::vector<u64> lengths(number());
    for (auto &length : lengths) {
        length = number();
        R.push_back((char *)aligned_alloc(256, (length + 511) / 256 * 256));
        if (fread(R.back(), 1, length, stdin) != length) return 2;
    }
    run();
    for (size_t i = 0; i < lengths.size(); i++) fwrite(R[i], 1, lengths[i], stdout);
    return 0;
}
"#
}

/// A list as statements.
fn statements(launches: &Launches, list: &[Launch]) -> String {
    let mut text = String::new();
    for launch in list {
        match &launch.work {
            Work::Kernel { kernel, shape, arguments } => {
                let word = |word: &Word| match word {
                    Word::Address(span) => format!("(u64)({})", address(span)),
                    Word::Number(number) => format!("{number}ull"),
                };
                let [[x, y, z], [i, j, k]] = [shape.grid, shape.block];
                let bytes = 8 * arguments.iter().map(Vec::len).sum::<usize>();
                // The driver refuses other launches.
                assert!(
                    shape.is_possible() && bytes <= 4096,
                    "{}: {shape:?} with {bytes} bytes of arguments",
                    launches.kernels[*kernel].name
                );
                let name = &launches.kernels[*kernel].name;
                let arguments = arguments.iter().flatten().map(word).collect::<Vec<_>>().join(", ");
                // The blocks of a cluster are one, side by side.
                let (x, j) = (x / shape.cluster, j * shape.cluster);
                let shape = format!("dim3({x}, {y}, {z}), dim3({i}, {j}, {k}), {}", shape.shared * shape.cluster);
                writeln!(text, "launch(k{kernel}::{name}, {shape}, {{{arguments}}});").unwrap();
            }
            Work::Product(number) => {
                let Product { dtype, batch, rows, cols, inner, a, b, c, bias, .. } = &launches.products[*number];
                let side = |Matrix { span, is_transposed, leading, batch }: &Matrix| {
                    let (down, across) = if *is_transposed { (1, *leading) } else { (*leading, 1) };
                    format!("{{{}, {down}, {across}, {batch}}}", address(span))
                };
                let of = wengert_cuda::source::stored(*dtype);
                let bias = bias.as_ref().map_or("nullptr".to_string(), address);
                let (a, b, c) = (side(a), side(b), address(c));
                writeln!(text, "multiply<{of}>({batch}, {rows}, {inner}, {cols}, {a}, {b}, {c}, {bias});").unwrap();
            }
            Work::Copy { from, to } => {
                writeln!(text, "std::memmove({}, {}, {});", address(to), address(from), from.length).unwrap();
            }
            Work::Control(control) => writeln!(text, "{}", loop_or_branch(control)).unwrap(),
        }
    }
    text
}

fn loop_or_branch(control: &Control) -> String {
    match control {
        Control::While { answer, turns } => {
            let step = |turn: usize| {
                let Turn { test, body, end } = turns[turn];
                format!("list{test}(); if (!*({})) {{ list{end}(); break; }} list{body}();", address(answer))
            };
            format!("for (;;) {{ {} {} }}", step(0), step(1))
        }
        Control::Switch { index, branches } => {
            let index = match index.length {
                1 => format!("(i64)*(u8 *)({})", address(index)),
                _ => format!("*(i64 *)({})", address(index)),
            };
            let case = |(number, list): (usize, &usize)| format!("if (number == {number}) list{list}();");
            let cases: Vec<String> = branches.iter().enumerate().map(case).collect();
            let last = branches.len() - 1;
            format!(
                "{{ i64 chosen = {index}, number = chosen < 0 ? 0 : chosen > {last} ? {last} : chosen; {} }}",
                cases.join(" ")
            )
        }
        Control::Repeat { steps, loads, turns: [even, odd], stores } => {
            let copy = |Slice { moving, by, fixed }: &Slice, is_load: bool| {
                let (at, fixed) = (format!("{} + step * ({by})", address(moving)), address(fixed));
                let (to, from) = if is_load { (fixed, at) } else { (at, fixed) };
                format!("std::memcpy({to}, {from}, {});", moving.length)
            };
            let loads: String = loads.iter().map(|slice| copy(slice, true)).collect();
            let stores: String = stores.iter().map(|slice| copy(slice, false)).collect();
            format!(
                "for (i64 step = 0; step < {steps}; step++) {{ {loads} if (step % 2) list{odd}(); else list{even}(); {stores} }}"
            )
        }
    }
}
