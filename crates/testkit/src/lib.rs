//! Tests of primitives.
