//! The facts about a primitive, from its file and its trait.

use crate::header::Header;
use crate::methods::{Method, methods, variants};
use wengert::primitive::{Attrs, Case, Dependency, Jet, Mask, Primitive, Saves, Spec, SpecRef, sources};

/// One primitive, described.
pub struct Facts {
    /// Its name.
    pub name: &'static str,
    /// The folder of its file.
    pub family: &'static str,
    /// The header of the file.
    pub header: Header,
    /// The methods that users call.
    pub methods: Vec<Method>,
    /// Names of further methods, which differ by a number or a word.
    pub variants: Vec<&'static str>,
    /// The derivative rule in words; empty if the primitive has none.
    pub rule: &'static str,
    /// Label and lines of the other properties, in the order of the page.
    pub properties: Vec<(&'static str, Vec<String>)>,
    /// The values that the rule saves if every real operand is differentiated.
    pub saves: String,
}

impl Facts {
    /// The formula on one line, or the title if the file has none.
    pub fn summary(&self) -> String {
        let Header { title, formulas, .. } = &self.header;
        if formulas.is_empty() { title.clone() } else { formulas.join(",   ") }
    }

    /// Every primitive, in the order of the documentation.
    ///
    /// ```
    /// use wengert_pages::facts::Facts;
    /// let tanh = Facts::all().into_iter().find(|facts| facts.name == "tanh").unwrap();
    /// assert_eq!(tanh.saves, "the output");
    /// assert_eq!(tanh.summary(), "y = tanh x,   dy = (1 - y^2) dx");
    /// ```
    pub fn all() -> Vec<Facts> {
        let mut all: Vec<Facts> = sources().map(|(op, family, source)| Facts::of(op, family, source)).collect();
        // Families span several crates.
        let mut families: Vec<&str> = Vec::new();
        all.iter().for_each(|facts| {
            if !families.contains(&facts.family) {
                families.push(facts.family)
            }
        });
        all.sort_by_key(|facts| families.iter().position(|family| *family == facts.family));
        all
    }

    fn of(op: &'static dyn Primitive, family: &'static str, source: &'static str) -> Facts {
        let example = Example::of(op);
        let saves = example.saves(op);
        let properties = vec![
            ("operands", vec![op.operands().to_string()]),
            ("outputs", vec![op.outputs(&example.attrs).to_string()]),
            ("attributes", vec![example.attributes(op)]),
            (
                "saved values",
                std::iter::once(saves.clone())
                    .chain(example.saves_by_operand(op))
                    .chain(example.alternatives(op))
                    .collect(),
            ),
            ("cost", vec![example.cost(op).to_string()]),
            ("dependency", vec![dependency(op.dependency())]),
            ("Taylor mode", vec![jet(op.jet()).to_string()]),
        ];
        let (name, rule) = (op.name(), op.rule_text());
        let (header, methods, variants) = (Header::parse(name, source), methods(source), variants(source));
        Facts { name, family, header, methods, variants, rule, properties, saves }
    }
}

/// The families in order, each with its primitives.
pub fn families(all: &[Facts]) -> Vec<(&'static str, &[Facts])> {
    all.chunk_by(|a, b| a.family == b.family).map(|facts| (facts[0].family, facts)).collect()
}

/// An example call for queries to the trait: saved values and costs depend on attributes and shapes.
struct Example {
    attrs: Attrs,
    operands: Vec<Spec>,
}

impl Example {
    /// The first test case.
    fn of(op: &dyn Primitive) -> Example {
        let spec_of = |case: &Case| case.operands.iter().map(|s| Spec::new(s.shape.clone(), s.dtype)).collect();
        match op.cases().first() {
            Some(case) => Example { attrs: case.attrs.clone(), operands: spec_of(case) },
            None => Example { attrs: Attrs::new(), operands: Vec::new() },
        }
    }

    fn attributes(&self, op: &dyn Primitive) -> String {
        match op.attributes() {
            [] => "none".to_string(),
            names => format!("{}, as in {}{}", names.join(", "), op.name(), self.attrs),
        }
    }

    fn is_real(&self, position: usize) -> bool {
        self.operands.get(position).is_some_and(|spec| spec.dtype.is_float())
    }

    fn saves_for(&self, op: &dyn Primitive, wanted: Mask) -> String {
        saves_text(op.saves(&self.attrs, wanted), op.operands(), op.outputs(&self.attrs))
    }

    fn saves(&self, op: &dyn Primitive) -> String {
        self.saves_for(op, Mask::of(op.operands(), |position| self.is_real(position)))
    }

    /// The alternatives to a residual, saved instead of it if they are kept anyway.
    fn alternatives(&self, op: &dyn Primitive) -> impl Iterator<Item = String> {
        let (operands, outputs) = (op.operands(), op.outputs(&self.attrs));
        let line =
            move |&saves: &Saves| format!("{} instead, where it is held anyway", saves_text(saves, operands, outputs));
        op.alternatives().iter().map(line)
    }

    /// One line for each operand, if the saved values depend on which one is differentiated.
    fn saves_by_operand(&self, op: &dyn Primitive) -> impl Iterator<Item = String> {
        let real: Vec<usize> = (0..op.operands()).filter(|&position| self.is_real(position)).collect();
        let alone: Vec<String> = real.iter().map(|&position| self.saves_for(op, Mask::from_iter([position]))).collect();
        let all = self.saves(op);
        let matters = alone.iter().any(|saves| *saves != all);
        let lines = real
            .into_iter()
            .zip(alone)
            .map(|(position, saves)| format!("{saves}, if only operand {position} is differentiated"));
        lines.filter(move |_| matters)
    }

    /// Whether the work is nothing, one pass over the elements, or more, judged by the size of the example.
    fn cost(&self, op: &dyn Primitive) -> &'static str {
        let operands: Vec<SpecRef<'_>> = self.operands.iter().map(Spec::as_ref).collect();
        let Ok(outputs) = op.infer(&self.attrs, &operands) else { return "unknown" };
        let cost = op.cost(&self.attrs, &operands, &outputs);
        let elements: usize = self.operands.iter().chain(&outputs).map(|spec| spec.shape.elements()).sum();
        match (cost.flops, cost.bytes) {
            (0.0, 0.0) => "free: nothing is computed or copied",
            (flops, _) if flops > elements as f64 => "computing: more arithmetic than numbers read and written",
            _ => "streaming: every number is read or written once",
        }
    }
}

fn saves_text(saves: Saves, operands: usize, outputs: usize) -> String {
    let operand = |i: usize| if operands == 1 { "the operand".to_string() } else { format!("operand {i}") };
    let output = |i: usize| if outputs == 1 { "the output".to_string() } else { format!("output {i}") };
    let shape = |i: usize| if operands == 1 { "the shape".to_string() } else { format!("the shape of operand {i}") };
    let parts = (saves.operands.iter().map(operand))
        .chain(saves.outputs.iter().map(output))
        .chain(saves.shapes.iter().map(shape))
        .chain(saves.residual.then(|| "a residual of bits or integers".to_string()));
    let parts: Vec<String> = parts.collect();
    if parts.is_empty() { "nothing".to_string() } else { parts.join(", ") }
}

fn dependency(dependency: Dependency) -> String {
    let text = match dependency {
        Dependency::Elementwise => "elementwise: output i depends on element i of every operand",
        Dependency::Movement => "movement: every output is a copy of one element, or a constant",
        Dependency::Accumulation => "accumulation: every operand element is added to one output element",
        Dependency::Reduction => "reduction: outputs depend on the elements along the reduced axes",
        Dependency::Product { transposed: false } => {
            "product: outputs depend on a row of the left and a column of the right"
        }
        Dependency::Product { transposed: true } => {
            "product: outputs depend on a row of the left and a row of the right"
        }
        Dependency::Blocks(1) => "blocks: outputs depend on their row, along the last axis",
        Dependency::Blocks(2) => "blocks: outputs depend on their matrix, along the last two axes",
        Dependency::Blocks(axes) => {
            return format!("blocks: outputs depend on their block, along the last {axes} axes");
        }
        Dependency::Dense => "dense: every output may depend on everything",
        Dependency::None => "none: no output depends differentiably on anything",
    };
    text.to_string()
}

fn jet(jet: Jet) -> &'static str {
    match jet {
        Jet::Linear => "linear: coefficient by coefficient",
        Jet::Bilinear => "bilinear: the product rule over coefficients",
        Jet::Quotient(_) => "quotient: by division of series",
        Jet::MatrixFunction => "matrix function: by a matrix of blocks",
        Jet::Slope => "slope: by the differential equation that the slope gives",
        Jet::Nested => "nested: by the differential equation that the tangent rule gives",
        Jet::Constant => "constant: only the value passes",
    }
}
