//! The explorer: graphs as one page for a browser.
//!
//! Everything is computed here: places, histograms, memory over time, differences of programs. The page draws it and reacts; its parts are
//! the files of `page/`, which `page.rs` puts together.

mod difference;
mod level;
mod memory;
mod page;
mod row;
mod stages;

use crate::graph::model::Subject;
use crate::graph::{Collapse, Graph, plan};
use crate::json::{array, object, optional, string};
use level::level;
use memory::Memory;
use wengert_engine::PlanSummary;
use wengert_engine::program::Program;

pub use stages::{Stage, stages};

/// Graphs as one HTML page that opens from disk and needs nothing else: no network, no server.
///
/// The page zooms, searches and collapses. A node shows its formula, rule, shape, value and adjoint, what it keeps and why, and its line. A
/// slider plays the forward and then the reverse pass, beside a timeline of the memory. Values of more than six elements are summarised, never
/// embedded; names and lines are escaped.
///
/// ```
/// use wengert::prelude::*;
/// use wengert_view::{Explorer, graph};
///
/// let x = Tensor::from([1.0, 2.0]).require_grad();
/// let y = record_values(|| {
///     let y = x.sin().sum();
///     y.backward_with(Backward::new().retain_graph());
///     y
/// });
/// let page = Explorer::new(graph(&Tape::of(&y))).titled("A sum of sines").html();
/// assert!(page.starts_with("<!DOCTYPE html>") && page.contains("A sum of sines"));
/// ```
#[derive(Clone, Debug)]
pub struct Explorer {
    title: String,
    sheets: Vec<Sheet>,
    stages: Vec<Stage>,
}

/// A graph with the memory that it needs over time.
#[derive(Clone, Debug)]
struct Sheet {
    graph: Graph,
    memory: Option<Memory>,
}

impl Explorer {
    /// A page about a graph: of a tape, a program, a plan or a run of the debugger.
    ///
    /// ```
    /// use wengert::prelude::*;
    /// use wengert_view::{Explorer, run};
    ///
    /// let f = compile(grad(|x: &Tensor| x.sin()));
    /// let page = Explorer::new(run(&f.debug().run(&Tensor::from(2.0)))).html();
    /// assert!(page.contains("Run of"));
    /// ```
    pub fn new(graph: Graph) -> Explorer {
        Explorer { title: graph.title().to_string(), sheets: Vec::new(), stages: Vec::new() }.and(graph)
    }

    /// Another graph on the same page.
    ///
    /// ```
    /// use wengert::prelude::*;
    /// use wengert_view::{Explorer, graph, program};
    ///
    /// let f = |x: &Tensor| x.sin();
    /// let (tape, text) = (Tape::of(&f(&Tensor::from(2.0).require_grad())), compile(f).program(&Tensor::from(2.0)));
    /// let page = Explorer::new(graph(&tape)).and(program(&text)).html();
    /// assert!(page.contains("Tape of") && page.contains("Program of"));
    /// ```
    pub fn and(mut self, graph: Graph) -> Explorer {
        let memory = if graph.subject == Subject::Tape { Memory::of_tape(&graph) } else { None };
        self.sheets.push(Sheet { graph, memory });
        self
    }

    /// Adds the kernels of a plan, and the workspace over time.
    ///
    /// ```
    /// use wengert::prelude::*;
    /// use wengert_view::{Explorer, program};
    ///
    /// let (f, x) = (compile(|x: &Tensor| x.matmul(x).cumsum(0).matmul(x)), Tensor::zeros([16, 16]));
    /// let page = Explorer::new(program(&f.program(&x))).plan(&f.plan(&x)).html();
    /// assert!(page.contains("Workspace of a call"));
    /// ```
    pub fn plan(mut self, summary: &PlanSummary) -> Explorer {
        let graph = plan(summary);
        let memory = Memory::of_plan(&graph, summary);
        self.sheets.push(Sheet { graph, memory });
        self
    }

    /// Adds the text of a program before and after every pass, side by side.
    ///
    /// ```
    /// use wengert::prelude::*;
    /// use wengert_view::{Explorer, program};
    ///
    /// let program_of_f = compile(|x: &Tensor| x.sin() * 1.0).program(&Tensor::from(2.0));
    /// assert!(Explorer::new(program(&program_of_f)).passes(&program_of_f).html().contains("after simplify"));
    /// ```
    pub fn passes(mut self, program: &Program) -> Explorer {
        self.stages = stages(program);
        self
    }

    /// Replaces the title, which is that of the first graph.
    ///
    /// ```
    /// use wengert::prelude::*;
    /// use wengert_view::{Explorer, graph};
    ///
    /// let explorer = Explorer::new(graph(&Tape::of(&Tensor::from(2.0).require_grad().sin())));
    /// assert!(explorer.titled("a < b").html().contains("<title>a &lt; b</title>"));
    /// ```
    pub fn titled(mut self, title: impl Into<String>) -> Explorer {
        self.title = title.into();
        self
    }

    /// The page.
    ///
    /// ```
    /// use wengert::prelude::*;
    /// use wengert_view::{Explorer, graph};
    ///
    /// let tape = Tape::of(&Tensor::from(2.0).require_grad().sin());
    /// let page = Explorer::new(graph(&tape).titled("</script>")).html();
    /// assert!(page.ends_with("</html>\n") && !page.contains("http://") && !page.contains("https://"));
    /// assert_eq!(page.matches("</script>").count(), 2, "of the data, and of the page's own script");
    /// ```
    pub fn html(&self) -> String {
        let stages = if self.stages.is_empty() { None } else { Some(&self.stages) };
        let data = object(&[
            ("title", string(&self.title)),
            ("sheets", array(self.sheets.iter().map(Sheet::json))),
            ("passes", optional(&stages, |stages| stages::json(stages))),
        ]);
        page::page(&self.title, &data)
    }
}

impl Sheet {
    /// The graph as it is, and collapsed where that makes it smaller.
    fn json(&self) -> String {
        let mut levels = vec![level("Nodes", &self.graph)];
        for (name, by) in [("Groups", Collapse::Group), ("Lines", Collapse::Line), ("Files", Collapse::File)] {
            let nodes = self.graph.nodes().len();
            if by == Collapse::Group && self.graph.groups().is_empty() {
                continue;
            }
            let collapsed = self.graph.clone().collapsed(by);
            if (2..nodes).contains(&collapsed.nodes().len()) {
                levels.push(level(name, &collapsed));
            }
        }
        let name = match self.graph.subject {
            Subject::Tape => "Tape",
            Subject::Program => "Program",
            Subject::Plan => "Kernels",
        };
        object(&[
            ("name", string(name)),
            ("title", string(self.graph.title())),
            ("levels", array(levels.into_iter())),
            ("memory", optional(&self.memory, Memory::json)),
        ])
    }
}
