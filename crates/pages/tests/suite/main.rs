//! Tests of the generated pages.

mod case_studies;
mod documents;
mod site;
