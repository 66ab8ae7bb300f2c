//! A printable listing of the Wengert list of a result.

use crate::bind::try_bind;
use crate::interp::{Node, Role};
use crate::location::{self, Line};
use crate::primitive::{Attrs, Primitive};
use crate::{Error, Tensor};
use rustc_hash::FxHashMap;
use std::fmt;
use std::sync::Arc;

/// One record of the list.
#[derive(Clone, Debug)]
pub struct TapeRow {
    /// Its name, such as `v3`, from its position in the list.
    pub name: String,
    /// The operation with its attributes, or `leaf`.
    pub operation: String,
    /// Names of the operands; `-` where no gradient flows.
    pub operands: Vec<String>,
    /// The values of all operands, if values were recorded.
    pub inputs: Vec<Tensor>,
    /// The value, if values were recorded.
    pub value: Option<Tensor>,
    /// The values that the rule keeps, with their data while it is still held.
    pub saved: Vec<(String, Option<Tensor>)>,
    /// The derivative rule as text.
    pub rule: String,
    /// The complete adjoint, if values were recorded and `backward` has run.
    pub adjoint: Option<Tensor>,
    /// The contribution of this record to the adjoint of each operand, under the same conditions.
    pub contributions: Vec<Option<Tensor>>,
    /// The line of user code.
    pub line: Line,
    call: Option<(&'static dyn Primitive, Attrs)>,
    id: u64,
}

impl TapeRow {
    /// Whether this is the record of a tensor.
    ///
    /// ```
    /// use wengert::prelude::*;
    /// let x = Tensor::from(2.0).require_grad();
    /// let tape = Tape::of(&x.sin());
    /// assert!(tape.rows()[0].is_of(&x) && !tape.rows()[1].is_of(&x));
    /// ```
    pub fn is_of(&self, tensor: &Tensor) -> bool {
        tensor.link.as_ref().is_some_and(|node| node.id() == self.id)
    }

    /// Calls the operation with other operands. A leaf calls nothing, and has no outputs.
    ///
    /// ```
    /// use wengert::prelude::*;
    /// let x = Tensor::from(2.0).require_grad();
    /// let tape = Tape::of(&(&x * 3.0));
    /// let product = tape.rows()[1].call(&[Tensor::from(5.0), Tensor::from(7.0)]).unwrap();
    /// assert_eq!(product[0].item(), 35.0);
    /// ```
    pub fn call(&self, operands: &[Tensor]) -> Result<Vec<Tensor>, Error> {
        let Some((op, attrs)) = &self.call else { return Ok(Vec::new()) };
        let operands: Vec<&Tensor> = operands.iter().collect();
        try_bind(*op, attrs.clone(), &operands, self.line).map(|outputs| outputs.into_vec())
    }
}

/// The records that a tensor depends on, oldest first.
///
/// ```
/// use wengert::prelude::*;
/// let x = Tensor::from(2.0).require_grad();
/// let tape = Tape::of(&(x.sin() * 3.0));
/// assert_eq!(tape.rows().len(), 3);
/// assert_eq!(tape.rows()[1].operation, "sin");
/// println!("{tape}");
/// ```
#[derive(Clone, Debug)]
pub struct Tape {
    rows: Vec<TapeRow>,
}

impl Tape {
    /// The list below `output`. It has values and adjoints if [`record_values`](crate::autograd::record_values) was on.
    pub fn of(output: &Tensor) -> Tape {
        let mut nodes: Vec<&Arc<Node>> = Vec::new();
        let mut seen: FxHashMap<u64, usize> = FxHashMap::default();
        let mut stack: Vec<&Arc<Node>> = output.link.iter().collect();
        while let Some(node) = stack.pop() {
            if seen.insert(node.id(), 0).is_none() {
                nodes.push(node);
                stack.extend(node.edges().iter().flatten());
            }
        }
        nodes.sort_by_key(|node| node.id());
        for (place, node) in nodes.iter().enumerate() {
            seen.insert(node.id(), place);
        }
        let name = |node: &Arc<Node>| format!("v{}", seen[&node.id()] + 1);
        Tape { rows: nodes.iter().map(|node| row(node, &name)).collect() }
    }

    /// The records, oldest first.
    pub fn rows(&self) -> &[TapeRow] {
        &self.rows
    }

    /// The bytes of memory that the records keep for their rules. What several of them keep counts once; what is packed, promised by a
    /// checkpoint or evicted does not count.
    ///
    /// ```
    /// use wengert::prelude::*;
    /// let x = Tensor::linspace(0.0, 1.0, 1000).require_grad();
    /// // exp keeps its output, which is also what sin keeps.
    /// assert_eq!(Tape::of(&x.exp().sin()).bytes(), 8000);
    /// ```
    pub fn bytes(&self) -> usize {
        let saved = self.rows.iter().flat_map(|row| &row.saved).filter_map(|(_, value)| value.as_ref()?.holders());
        let blocks: FxHashMap<usize, usize> = saved.map(|holders| (holders.block, holders.bytes)).collect();
        blocks.values().sum()
    }
}

fn row(node: &Arc<Node>, name: &dyn Fn(&Arc<Node>) -> String) -> TapeRow {
    let (operation, rule, operand_count) = match node.role() {
        Role::Leaf => ("leaf".to_string(), String::new(), 0),
        Role::Output(position) => (format!("output {position}"), String::new(), 1),
        Role::Operation => {
            let op = node.op();
            (format!("{}{}", op.name(), node.attrs()), op.rule_text().to_string(), node.operand_count())
        }
    };
    let operands =
        node.edges()[..operand_count].iter().map(|edge| edge.as_ref().map_or_else(|| "-".to_string(), name)).collect();
    let mut row = TapeRow {
        name: name(node),
        operation,
        operands,
        inputs: Vec::new(),
        value: None,
        saved: node.saved_values(),
        rule,
        adjoint: None,
        contributions: Vec::new(),
        line: location::shown(node.line),
        call: (node.role() == Role::Operation).then(|| (node.op(), node.attrs().clone())),
        id: node.id(),
    };
    node.extras(|extras| {
        row.inputs.clone_from(&extras.operands);
        row.value = extras.value.as_ref().map(Tensor::plain);
        row.adjoint = extras.adjoint.as_ref().map(Tensor::plain);
        row.contributions = extras.contributions.iter().map(|c| c.as_ref().map(Tensor::plain)).collect();
    });
    row
}

impl Tensor {
    /// Prints the Wengert list below this tensor.
    ///
    /// ```
    /// use wengert::prelude::*;
    /// let x = Tensor::from(2.0).require_grad();
    /// (&x * &x).print_tape();
    /// ```
    pub fn print_tape(&self) {
        print!("{}", Tape::of(self));
    }
}

fn short(tensor: &Option<Tensor>) -> String {
    match tensor {
        None => String::new(),
        Some(tensor) if tensor.elements() <= 4 => tensor.to_string().replace('\n', ""),
        Some(tensor) => tensor.spec().to_string(),
    }
}

impl fmt::Display for Tape {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let header = ["name", "operation", "value", "saved", "rule", "adjoint", "contributions"];
        let cells = |row: &TapeRow| {
            let saved = row.saved.iter().map(|(name, value)| match short(value) {
                text if text.is_empty() => name.clone(),
                text => format!("{name} = {text}"),
            });
            let contributions = row.operands.iter().zip(&row.contributions).filter_map(|(operand, contribution)| {
                contribution.as_ref().map(|_| format!("{operand} += {}", short(contribution)))
            });
            [
                row.name.clone(),
                format!("{} {}", row.operation, row.operands.join(" ")).trim_end().to_string(),
                short(&row.value),
                saved.collect::<Vec<_>>().join(", "),
                row.rule.clone(),
                short(&row.adjoint),
                contributions.collect::<Vec<_>>().join(", "),
            ]
        };
        let mut table = vec![header.map(String::from)];
        table.extend(self.rows.iter().map(cells));
        let used: Vec<usize> =
            (0..header.len()).filter(|&column| table[1..].iter().any(|row| !row[column].is_empty())).collect();
        let width = |column: usize| table.iter().map(|row| row[column].chars().count()).max().unwrap_or(0);
        for (number, row) in table.iter().enumerate() {
            let line: Vec<String> = used.iter().map(|&column| format!("{:<1$}", row[column], width(column))).collect();
            writeln!(f, "{}", line.join("  ").trim_end())?;
            if number == 0 {
                let rules: Vec<String> = used.iter().map(|&column| "-".repeat(width(column))).collect();
                writeln!(f, "{}", rules.join("  "))?;
            }
        }
        Ok(())
    }
}
