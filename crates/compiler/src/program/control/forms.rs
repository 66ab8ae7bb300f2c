//! How operations run the programs that they carry, as data.

use crate::program::ProgramAttr;

/// How an operation runs the programs that it carries.
pub enum Flow {
    /// Over the leading axis of elements.
    Scan(ScanForm),
    /// As long as a test says.
    While(WhileForm),
    /// One of several, by an index.
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
