//! Runs lists of launches. A list is cut at loops and branches, for which the host reads numbers; what lies between is a stretch, which
//! becomes a graph when it runs again with the same addresses.

use crate::driver::{Function, Gpu, Graph, Prepared, Stream};
use crate::launch::{Control, Launch, Launches, Slice, Turn, Word, Work};
use crate::product::Product;
use std::ops::Range;
use std::sync::Arc;
use wengert_core::Error;
use wengert_kernels::memory::Span;

/// The most launches that are as fast one by one as in a graph.
const FEW: usize = 3;

/// A part of a list.
enum Part {
    /// Launches without loops and branches, and the number of the stretch.
    Stretch(Range<usize>, usize),
    /// The place of a loop or a branch.
    Control(usize),
}

/// How far a stretch is with a set of addresses.
#[derive(Default)]
pub enum Stage {
    /// It did not run yet.
    #[default]
    New,
    /// It ran once, so it may come again.
    Known,
    /// It is a graph.
    Recorded(Graph),
}

/// Launches that are ready to run.
pub struct Sequence {
    /// The launches.
    pub launches: Launches,
    functions: Vec<Function>,
    products: Vec<Prepared>,
    /// The parts of the list, and of the lists of loops and branches.
    main: Vec<Part>,
    nested: Vec<Vec<Part>>,
    /// The number of stretches.
    stretches: usize,
}

/// One run of a sequence.
struct Run<'a> {
    sequence: &'a Sequence,
    gpu: &'a Arc<Gpu>,
    addresses: &'a [u64],
    stages: &'a mut [Stage],
}

/// The parts of a list; `next` is the number of the next stretch.
fn parts(list: &[Launch], next: &mut usize) -> Vec<Part> {
    let is_control = |launch: &Launch| matches!(launch.work, Work::Control(_));
    let mut first = 0;
    let part = |launches: &[Launch]| {
        let range = first..first + launches.len();
        first = range.end;
        if is_control(&launches[0]) {
            return Part::Control(range.start);
        }
        *next += 1;
        Part::Stretch(range, *next - 1)
    };
    list.chunk_by(|one, other| !is_control(one) && !is_control(other)).map(part).collect()
}

impl Sequence {
    /// Loads kernels and prepares products.
    pub fn new(gpu: &Arc<Gpu>, launches: Launches) -> Result<Sequence, Error> {
        let mut shared = vec![0; launches.kernels.len()];
        for launch in launches.lists.iter().chain([&launches.list]).flatten() {
            if let Work::Kernel { kernel, shape, .. } = &launch.work {
                shared[*kernel] = shape.shared.max(shared[*kernel]);
            }
        }
        let functions = gpu.modules().load(gpu, &launches.kernels, &shared)?;
        let products = launches.products.iter().map(|product| gpu.prepare(product)).collect::<Result<_, _>>()?;
        let mut stretches = 0;
        let main = parts(&launches.list, &mut stretches);
        let nested = launches.lists.iter().map(|list| parts(list, &mut stretches)).collect();
        Ok(Sequence { launches, functions, products, main, nested, stretches })
    }

    /// The stages of all stretches with a new set of addresses.
    pub fn stages(&self) -> Vec<Stage> {
        (0..self.stretches).map(|_| Stage::New).collect()
    }

    /// Runs everything.
    pub fn run(&self, gpu: &Arc<Gpu>, addresses: &[u64], stages: &mut [Stage]) -> Result<(), Error> {
        Run { sequence: self, gpu, addresses, stages }.parts(&self.launches.list, &self.main)
    }

    /// Runs one launch of the list, which is part of no graph.
    pub fn run_one(
        &self,
        gpu: &Arc<Gpu>,
        addresses: &[u64],
        stages: &mut [Stage],
        launch: &Launch,
    ) -> Result<(), Error> {
        let mut run = Run { sequence: self, gpu, addresses, stages };
        match &launch.work {
            Work::Control(control) => run.control(control),
            _ => gpu.run(|stream| run.put(stream, launch)),
        }
    }
}

impl Run<'_> {
    fn at(&self, span: &Span) -> u64 {
        self.addresses[span.region] + span.start as u64
    }

    /// Puts a launch on a stream.
    fn put(&self, stream: &Stream<'_>, launch: &Launch) -> Result<(), Error> {
        let at = |span: &Span| self.at(span);
        match &launch.work {
            Work::Kernel { kernel, shape, arguments } => {
                let word = |word: &Word| match word {
                    Word::Address(span) => at(span),
                    Word::Number(number) => *number,
                };
                let arguments: Vec<Vec<u64>> = arguments.iter().map(|words| words.iter().map(word).collect()).collect();
                stream.launch(self.sequence.functions[*kernel], shape, &arguments)
            }
            Work::Product(number) => {
                let Product { a, b, c, bias, workspace, .. } = &self.sequence.launches.products[*number];
                let prepared = &self.sequence.products[*number];
                stream.multiply(prepared, [at(&a.span), at(&b.span), at(c), bias.as_ref().map_or(0, at), at(workspace)])
            }
            Work::Copy { from, to } => stream.copy(at(from), at(to), from.length),
            Work::Control(_) => unreachable!("lists are cut at loops and branches"),
        }
    }

    fn parts(&mut self, list: &[Launch], parts: &[Part]) -> Result<(), Error> {
        parts.iter().try_for_each(|part| match part {
            Part::Stretch(range, number) => self.stretch(&list[range.clone()], *number),
            Part::Control(place) => match &list[*place].work {
                Work::Control(control) => self.control(control),
                _ => unreachable!("it is a loop or a branch"),
            },
        })
    }

    /// Runs a list of a loop or a branch.
    fn list(&mut self, number: usize) -> Result<(), Error> {
        let sequence = self.sequence;
        self.parts(&sequence.launches.lists[number], &sequence.nested[number])
    }

    /// Runs a stretch: directly at first, as a graph when it comes again.
    fn stretch(&mut self, launches: &[Launch], number: usize) -> Result<(), Error> {
        let all = |stream: &Stream<'_>| launches.iter().try_for_each(|launch| self.put(stream, launch));
        // A plan that is one stretch is always worth a graph.
        let is_worth = launches.len() > FEW || self.sequence.stretches == 1;
        let made = match &self.stages[number] {
            Stage::Recorded(graph) => return graph.launch(),
            Stage::Known if is_worth => Graph::record(self.gpu, all)?,
            Stage::Known => return self.gpu.run(all),
            Stage::New => {
                self.gpu.run(all)?;
                self.stages[number] = Stage::Known;
                return Ok(());
            }
        };
        let result = made.launch();
        self.stages[number] = Stage::Recorded(made);
        result
    }

    /// Waits, and reads an integer or a truth value.
    fn number(&self, span: &Span) -> Result<i64, Error> {
        let mut bytes = [0; 8];
        self.gpu.read(self.at(span), &mut bytes[..span.length])?;
        Ok(i64::from_le_bytes(bytes))
    }

    fn copy(&self, from: &Span, to: &Span) -> Result<(), Error> {
        self.gpu.run(|stream| stream.copy(self.at(from), self.at(to), from.length))
    }

    fn control(&mut self, control: &Control) -> Result<(), Error> {
        match control {
            Control::While { answer, turns } => {
                for Turn { test, body, end } in turns.iter().cycle() {
                    self.list(*test)?;
                    if self.number(answer)? == 0 {
                        return self.list(*end);
                    }
                    self.list(*body)?;
                }
                unreachable!("it goes round until the test fails")
            }
            Control::Switch { index, branches } => {
                let chosen = self.number(index)?.clamp(0, branches.len() as i64 - 1);
                self.list(branches[chosen as usize])
            }
            Control::Repeat { steps, loads, turns, stores } => (0..*steps).try_for_each(|step| {
                let copy_in = |slice: &Slice| self.copy(&slice.at(step), &slice.fixed);
                loads.iter().try_for_each(copy_in)?;
                self.list(turns[step % 2])?;
                stores.iter().try_for_each(|slice| self.copy(&slice.fixed, &slice.at(step)))
            }),
        }
    }
}
