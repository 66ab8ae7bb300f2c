//! What the doctor reports.

use crate::json::{array, number, object, optional, string};
use std::fmt;
use wengert_engine::{Error, Line};

/// What can be wrong.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fault {
    /// The loss could not be computed or differentiated.
    Failed,
    /// An operation without a gradient separates a parameter from the loss.
    Detached,
    /// The loss does not use a parameter.
    Unused,
    /// A parameter consists of integers or booleans.
    Integer,
    /// A rectifier is zero for all its inputs.
    DeadRectifier,
    /// An operation turns its cotangent into zeros.
    Zero,
    /// An operation makes its cotangent smaller by many orders of magnitude, or many operations together do.
    Vanishing,
    /// An operation makes its cotangent larger by many orders of magnitude.
    Exploding,
    /// The first value that is not finite.
    NotFinite,
    /// The first cotangent that is not finite.
    GradientNotFinite,
    /// A rule disagrees with finite differences.
    WrongRule,
    /// A parameter is in the tree twice. It may be meant so.
    Shared,
}

impl Fault {
    /// Its name, in words.
    ///
    /// ```
    /// assert_eq!(wengert_view::Fault::WrongRule.name(), "wrong rule");
    /// ```
    pub fn name(self) -> &'static str {
        match self {
            Fault::Failed => "failed",
            Fault::Detached => "detached",
            Fault::Unused => "unused",
            Fault::Integer => "integer",
            Fault::DeadRectifier => "dead rectifier",
            Fault::Zero => "zero",
            Fault::Vanishing => "vanishing",
            Fault::Exploding => "exploding",
            Fault::NotFinite => "not finite",
            Fault::GradientNotFinite => "gradient not finite",
            Fault::WrongRule => "wrong rule",
            Fault::Shared => "shared",
        }
    }

    /// Whether it may well be meant so.
    ///
    /// ```
    /// use wengert_view::Fault;
    /// assert!(Fault::Shared.is_note() && !Fault::Zero.is_note());
    /// ```
    pub fn is_note(self) -> bool {
        self == Fault::Shared
    }
}

/// One thing that is wrong.
#[derive(Clone, Debug, PartialEq)]
pub struct Finding {
    /// What is wrong.
    pub fault: Fault,
    /// The paths of the parameters that it concerns; empty if it concerns the function.
    pub parameters: Vec<String>,
    /// The operation where it happens.
    pub operation: Option<String>,
    /// The line of that operation.
    pub line: Option<Line>,
    /// What was seen.
    pub message: String,
    /// What one can do.
    pub suggestion: String,
}

/// What the doctor found. It prints as a short report.
#[derive(Clone, Debug, PartialEq)]
pub struct Diagnosis {
    loss: f64,
    parameters: usize,
    findings: Vec<Finding>,
}

impl Diagnosis {
    pub(super) fn new(loss: f64, parameters: usize, findings: Vec<Finding>) -> Diagnosis {
        Diagnosis { loss, parameters, findings }
    }

    pub(super) fn failed(error: Error) -> Diagnosis {
        let finding = Finding {
            fault: Fault::Failed,
            parameters: Vec::new(),
            operation: Some(error.operation().to_string()),
            line: error.line(),
            message: error.message().to_string(),
            suggestion: error.suggestion().unwrap_or_default().to_string(),
        };
        Diagnosis::new(f64::NAN, 0, vec![finding])
    }

    /// The value of the loss.
    pub fn loss(&self) -> f64 {
        self.loss
    }

    /// Everything that was found, notes too.
    pub fn findings(&self) -> &[Finding] {
        &self.findings
    }

    /// Whether nothing was found but notes.
    ///
    /// ```
    /// use wengert::prelude::*;
    /// assert!(wengert_view::doctor(|x: &Tensor| x.square().sum(), &Tensor::from([1.0, 2.0])).is_healthy());
    /// ```
    pub fn is_healthy(&self) -> bool {
        self.findings.iter().all(|finding| finding.fault.is_note())
    }

    /// The report as a JSON object; numbers that are not finite are strings.
    ///
    /// ```
    /// use wengert::prelude::*;
    /// let diagnosis = wengert_view::doctor(|x: &Tensor| x.square().sum(), &Tensor::from([1.0, 2.0]));
    /// assert_eq!(diagnosis.json(), r#"{"loss":5.0,"parameters":1,"findings":[]}"#);
    /// ```
    pub fn json(&self) -> String {
        object(&[
            ("loss", number(self.loss)),
            ("parameters", self.parameters.to_string()),
            ("findings", array(self.findings.iter().map(written))),
        ])
    }
}

fn written(finding: &Finding) -> String {
    object(&[
        ("fault", string(finding.fault.name())),
        ("note", finding.fault.is_note().to_string()),
        ("parameters", array(finding.parameters.iter().map(|name| string(name)))),
        ("operation", optional(&finding.operation, |operation| string(operation))),
        ("line", optional(&finding.line, |line| string(&line.to_string()))),
        ("message", string(&finding.message)),
        ("suggestion", string(&finding.suggestion)),
    ])
}

impl fmt::Display for Finding {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let note = if self.fault.is_note() { " (a note)" } else { "" };
        write!(f, "{}{note}: {}", self.fault.name(), self.message)?;
        match (&self.operation, self.line) {
            (Some(operation), Some(line)) => write!(f, "\n  at {operation}, {line}")?,
            (Some(operation), None) => write!(f, "\n  at {operation}")?,
            (None, Some(line)) => write!(f, "\n  at {line}")?,
            (None, None) => {}
        }
        if !self.parameters.is_empty() {
            write!(f, "\n  parameters: {}", self.parameters.join(", "))?;
        }
        match self.suggestion.is_empty() {
            true => Ok(()),
            false => write!(f, "\n  help: {}", self.suggestion),
        }
    }
}

impl fmt::Display for Diagnosis {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let counted = |count: usize, one: &str| format!("{count} {one}{}", if count == 1 { "" } else { "s" });
        let notes = self.findings.iter().filter(|finding| finding.fault.is_note()).count();
        let found = match (self.findings.len() - notes, notes) {
            (0, 0) => "nothing wrong".to_string(),
            (faults, 0) => counted(faults, "fault"),
            (faults, notes) => format!("{}, {}", counted(faults, "fault"), counted(notes, "note")),
        };
        writeln!(f, "loss {}, {}: {found}", self.loss, counted(self.parameters, "parameter"))?;
        self.findings.iter().try_for_each(|finding| writeln!(f, "\n{finding}"))
    }
}
