//! Tests of the command and its training run.

mod command;
mod grad;
mod training;
