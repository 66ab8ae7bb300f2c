//! Tests of the command and its training run.

mod command;
mod grad;
mod hostile;
mod output;
mod shells;
mod training;
