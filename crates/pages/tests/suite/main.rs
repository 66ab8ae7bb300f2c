//! Tests of the generated pages.

mod documents;
