//! Out-of-memory handling: detects requests that exceed the machine's memory before the system kills the process, and reports them.
//!
//! Fresh memory is only mapped, and is committed when it is written to. So too large a request would succeed, and the process would be
//! killed later. To prevent this, large requests are compared with the memory that is left.

use std::any::Any;
use std::cell::Cell;
use std::fmt;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};

/// A request for more memory than is available.
///
/// ```
/// use wengert_kernels::pool::{Block, attempt};
/// let refused = attempt(|| Block::new(1 << 60)).unwrap_err();
/// assert_eq!(refused.bytes, 1 << 60);
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct OutOfMemory {
    /// The number of bytes requested.
    pub bytes: usize,
    /// The number of bytes available, if the system reports it.
    pub available: Option<usize>,
    /// The limit that [`within`](super::within) set, if that refused the request.
    pub excess: Option<Excess>,
}

/// A limit, and the smallest one that would have granted the request.
///
/// ```
/// use wengert_kernels::{Block, pool};
/// let refused = pool::within(0, |_| false, || pool::attempt(|| Block::new(1 << 20))).unwrap_err();
/// let excess = refused.excess.unwrap();
/// assert!(excess.limit == 0 && excess.least >= 1 << 20);
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Excess {
    /// The limit, in bytes.
    pub limit: usize,
    /// The bytes in use, with the request.
    pub least: usize,
}

impl fmt::Display for OutOfMemory {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "out of memory: {} bytes were asked for", self.bytes)?;
        match self.available {
            Some(available) => write!(f, ", {available} are left"),
            None => Ok(()),
        }
    }
}

impl std::error::Error for OutOfMemory {}

/// Smaller requests are not checked: reading the system's statistics would cost more than it is worth.
const LARGE: usize = 64 << 20;

thread_local! {
    /// The number of active calls of [`attempt`].
    static ATTEMPTS: Cell<usize> = const { Cell::new(0) };
}

/// Runs `f`, and returns an out-of-memory failure as a value instead of a panic. Other panics propagate.
///
/// ```
/// use wengert_kernels::pool::attempt;
/// assert_eq!(attempt(|| 3), Ok(3));
/// ```
#[inline]
pub fn attempt<T>(f: impl FnOnce() -> T) -> Result<T, OutOfMemory> {
    struct Depth;
    impl Drop for Depth {
        #[inline]
        fn drop(&mut self) {
            ATTEMPTS.set(ATTEMPTS.get() - 1);
        }
    }
    ATTEMPTS.set(ATTEMPTS.get() + 1);
    let _depth = Depth;
    catch_unwind(AssertUnwindSafe(f)).map_err(refused)
}

#[cold]
#[inline(never)]
fn refused(payload: Box<dyn Any + Send>) -> OutOfMemory {
    *payload.downcast::<OutOfMemory>().unwrap_or_else(|other| resume_unwind(other))
}

/// Resumes a panic of another thread that was not an out-of-memory failure.
#[cold]
pub fn resume(payload: Box<dyn Any + Send>) -> ! {
    match payload.downcast::<OutOfMemory>() {
        Ok(refused) => refused.raise(),
        Err(other) => resume_unwind(other),
    }
}

/// Checks that there is memory for this many bytes, which the caller will not take from the pool. Small requests are granted at once.
///
/// ```
/// use wengert_kernels::pool::request;
/// assert!(request(1000).is_ok());
/// assert!(request(usize::MAX).is_err());
/// ```
#[inline]
pub fn request(bytes: usize) -> Result<(), OutOfMemory> {
    if bytes < LARGE { Ok(()) } else { request_large(bytes) }
}

#[cold]
#[inline(never)]
fn request_large(bytes: usize) -> Result<(), OutOfMemory> {
    let available = available();
    match bytes > isize::MAX as usize || available.is_some_and(|available| bytes > available) {
        true => Err(OutOfMemory { bytes, available, excess: None }),
        false => Ok(()),
    }
}

impl OutOfMemory {
    /// A request that the system rejected.
    #[cold]
    pub(super) fn of(bytes: usize) -> OutOfMemory {
        OutOfMemory { bytes, available: available(), excess: None }
    }

    /// Panics; inside [`attempt`], silently, as that returns the failure.
    #[cold]
    pub(super) fn raise(self) -> ! {
        if ATTEMPTS.get() > 0 {
            resume_unwind(Box::new(self));
        }
        panic!("{self}");
    }
}

/// The number of bytes still available, if the system reports it: of the machine, or of the control groups with limits that the process is
/// in.
#[cfg(all(target_os = "linux", not(miri)))]
fn available() -> Option<usize> {
    let of_groups = groups().into_iter().filter_map(|group| group_available(&group));
    of_groups.chain(machine_available(&std::fs::read_to_string("/proc/meminfo").ok()?)).min()
}

#[cfg(not(all(target_os = "linux", not(miri))))]
fn available() -> Option<usize> {
    None
}

/// Memory that programs can get without taking it from others: free and reclaimable memory, and free swap space.
#[cfg(any(test, all(target_os = "linux", not(miri))))]
fn machine_available(text: &str) -> Option<usize> {
    let kilobytes = |name: &str| named(text, name);
    let left = kilobytes("MemAvailable:")?.saturating_add(kilobytes("SwapFree:").unwrap_or(0));
    Some(left.saturating_mul(1024))
}

/// The number after `name` at the start of a line.
#[cfg(any(test, all(target_os = "linux", not(miri))))]
fn named(text: &str, name: &str) -> Option<usize> {
    let mut words = text.lines().map(str::split_whitespace);
    words.find_map(|mut words| words.next().filter(|first| *first == name).and_then(|_| words.next()?.parse().ok()))
}

/// The folders of the control groups of this process, and of their ancestors.
#[cfg(all(target_os = "linux", not(miri)))]
fn groups() -> Vec<std::path::PathBuf> {
    let own = std::fs::read_to_string("/proc/self/cgroup").unwrap_or_default();
    let lines = own.lines().filter_map(|line| {
        let (_, line) = line.split_once(':')?;
        let (controllers, path) = line.split_once(':')?;
        let root = match controllers {
            "" => "/sys/fs/cgroup",
            _ if controllers.split(',').any(|controller| controller == "memory") => "/sys/fs/cgroup/memory",
            _ => return None,
        };
        Some((std::path::Path::new(root), path.trim_start_matches('/')))
    });
    // Inside a container the path is that of the host, and the group itself is the root.
    let each = |(root, path): (&'static std::path::Path, &str)| {
        let own = root.join(path);
        own.ancestors().take_while(|folder| folder.starts_with(root)).map(Into::into).collect::<Vec<_>>()
    };
    lines.flat_map(each).collect()
}

/// The limit of a group minus its usage, not counting reclaimable file caches; `None` without a limit.
#[cfg(all(target_os = "linux", not(miri)))]
fn group_available(group: &std::path::Path) -> Option<usize> {
    let read = |name: &str| std::fs::read_to_string(group.join(name)).ok();
    let number = |names: [&str; 2]| names.into_iter().find_map(|name| read(name)?.trim().parse::<usize>().ok());
    let limit = number(["memory.max", "memory.limit_in_bytes"])?;
    let used = number(["memory.current", "memory.usage_in_bytes"])?;
    let statistics = read("memory.stat").unwrap_or_default();
    // In cgroup v1, the names without `total_` do not include nested groups.
    let files =
        |name: &str| named(&statistics, &format!("total_{name}")).or_else(|| named(&statistics, name)).unwrap_or(0);
    Some(limit.saturating_sub(used.saturating_sub(files("active_file").saturating_add(files("inactive_file")))))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_machine_tells_what_is_left() {
        let text =
            "MemTotal:       1000 kB\nMemFree:          10 kB\nMemAvailable:     30 kB\nSwapFree:          2 kB\n";
        assert_eq!(machine_available(text), Some(32 << 10));
        assert_eq!(machine_available("MemTotal: 1000 kB\n"), None);
        assert_eq!(machine_available("MemAvailable:\n"), None);
    }

    #[test]
    fn other_panics_pass_through_an_attempt() {
        let outcome = catch_unwind(|| attempt(|| resume_unwind(Box::new("another"))).is_ok());
        assert_eq!(outcome.unwrap_err().downcast_ref::<&str>(), Some(&"another"));
        assert_eq!(ATTEMPTS.get(), 0);
    }
}
