//! How control-flow operations run their programs, as data.

use crate::program::ProgramAttr;

/// How an operation runs its programs.
pub enum Flow {
    /// A loop over the leading axis of elements.
    Scan(ScanForm),
    /// A loop while a test holds.
    While(WhileForm),
    /// One of several branches, by index.
    Switch(Vec<ProgramAttr>),
}

/// The attributes of a scan.
#[derive(Clone)]
pub struct ScanForm {
    pub consts: usize,
    pub carry: usize,
    pub length: usize,
    pub reverse: bool,
    pub body: ProgramAttr,
}

/// The attributes of a loop.
#[derive(Clone)]
pub struct WhileForm {
    pub consts: usize,
    pub test: ProgramAttr,
    pub body: ProgramAttr,
}
