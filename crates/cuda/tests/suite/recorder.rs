//! A backend that only lowers plans.

use std::sync::{Arc, Mutex};
use wengert::backend::{Backend, Plan, Runner, Target};
use wengert::prelude::*;
use wengert_cuda::launch::Launches;
use wengert_cuda::lower::lower;

/// Keeps the launches of a plan, and does not run it.
#[derive(Clone, Default)]
pub struct Recorder(Arc<Mutex<Option<Launches>>>);

impl Recorder {
    /// Those of the last plan, unless it was refused.
    pub fn take(&self) -> Option<Launches> {
        self.0.lock().unwrap().take()
    }
}

impl Backend for Recorder {
    fn target(&self) -> Target {
        wengert_cuda::TARGET
    }

    fn runner(&self, plan: Plan) -> Result<Box<dyn Runner>, Error> {
        *self.0.lock().unwrap() = Some(lower(&plan, 90)?.0);
        Err(Error::new(ErrorKind::Device, "record", "nothing runs"))
    }
}
