//! Tests of the command, its documents and its training run.

mod command;
mod documents;
mod training;
