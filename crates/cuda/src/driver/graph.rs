//! Work that is recorded once and launched as a whole.

use super::{Gpu, Stream, driver_error};
use cudarc::driver::sys::CUstreamCaptureMode::CU_STREAM_CAPTURE_MODE_THREAD_LOCAL;
use cudarc::driver::{result as driver, sys};
use std::sync::Arc;
use wengert_core::Error;

/// Recorded work.
pub struct Graph {
    gpu: Arc<Gpu>,
    graph: sys::CUgraph,
    executable: sys::CUgraphExec,
}

// SAFETY: the handles belong to the driver; a graph is launched by one thread at a time, which its owner sees to.
unsafe impl Send for Graph {}

impl Graph {
    /// Records work, which does not run yet.
    pub fn record(gpu: &Arc<Gpu>, work: impl FnOnce(&Stream<'_>) -> Result<(), Error>) -> Result<Graph, Error> {
        gpu.enter()?;
        let stream =
            driver::stream::create(driver::stream::StreamKind::NonBlocking).map_err(driver_error("a stream"))?;
        // SAFETY: the stream is new, and ends below.
        let recorded = unsafe { driver::stream::begin_capture(stream, CU_STREAM_CAPTURE_MODE_THREAD_LOCAL) }
            .map_err(driver_error("recording"))
            .and_then(|()| {
                let result = work(&Stream { gpu, stream });
                // SAFETY: recording began above.
                let graph = unsafe { driver::stream::end_capture(stream) }.map_err(driver_error("recording"))?;
                // From here on the graph is dropped with what owns it.
                let graph = Graph { gpu: gpu.clone(), graph, executable: std::ptr::null_mut() };
                result.map(|()| graph)
            });
        // SAFETY: the stream is used no more.
        let _ = unsafe { driver::stream::destroy(stream) };
        let mut recorded = recorded?;
        // SAFETY: the graph is valid, and owns its executable form.
        let made = unsafe { sys::cuGraphInstantiateWithFlags(&raw mut recorded.executable, recorded.graph, 0) };
        made.result().map_err(driver_error("a graph"))?;
        Ok(recorded)
    }

    /// Runs it, behind the work that was begun before.
    pub fn launch(&self) -> Result<(), Error> {
        self.gpu.enter()?;
        // SAFETY: the graph is valid, and the caller holds the blocks that it was recorded with.
        unsafe { driver::graph::launch(self.executable, self.gpu.stream) }.map_err(driver_error("a launch"))
    }
}

impl Drop for Graph {
    fn drop(&mut self) {
        // SAFETY: both are valid and used no more; the driver keeps a running one until it ends.
        unsafe {
            if !self.executable.is_null() {
                let _ = driver::graph::exec_destroy(self.executable);
            }
            let _ = driver::graph::destroy(self.graph);
        }
    }
}
