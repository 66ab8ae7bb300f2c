//! Tests of the protocol, of worked examples, of differences and of workloads.

mod asking;
mod differences;
mod examples;
mod protocol;
mod workloads;
