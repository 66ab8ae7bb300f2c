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
        unsafe { driver::stream::begin_capture(stream, CU_STREAM_CAPTURE_MODE_THREAD_LOCAL) }
            .map_err(driver_error("recording"))?;
        let result = work(&Stream { gpu, stream });
        // SAFETY: recording began above; the stream is used no more.
        let graph = unsafe {
            let graph = driver::stream::end_capture(stream).map_err(driver_error("recording"));
            let _ = driver::stream::destroy(stream);
            result.and(graph)?
        };
        let mut executable = std::ptr::null_mut();
        // SAFETY: the graph is valid, and its executable form is owned below.
        let made = unsafe { sys::cuGraphInstantiateWithFlags(&raw mut executable, graph, 0) };
        made.result().map_err(driver_error("a graph"))?;
        Ok(Graph { gpu: gpu.clone(), graph, executable })
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
            let _ = driver::graph::exec_destroy(self.executable);
            let _ = driver::graph::destroy(self.graph);
        }
    }
}
