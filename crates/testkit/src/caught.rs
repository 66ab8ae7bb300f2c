//! Errors and panics as text.

use std::any::Any;
use std::panic::{AssertUnwindSafe, catch_unwind};
use wengert::prelude::*;

/// The result of `f`, or the text of its failure: a typed error, or any other panic.
pub(crate) fn caught<T>(f: impl FnOnce() -> T) -> Result<T, String> {
    match catch_unwind(AssertUnwindSafe(|| catch(f))) {
        Ok(Ok(value)) => Ok(value),
        Ok(Err(error)) => Err(format!("stopped with the error: {error}")),
        Err(panic) => Err(format!("panicked: {}", panic_text(&*panic))),
    }
}

/// The message of a panic.
pub(crate) fn panic_text(panic: &(dyn Any + Send)) -> &str {
    let text = panic.downcast_ref::<String>().map(String::as_str);
    text.or_else(|| panic.downcast_ref::<&str>().copied()).unwrap_or("without a message")
}
