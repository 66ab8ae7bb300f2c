//! Requests that the machine has no memory for: how they are found before the system kills the process, and how they are told.
//!
//! Fresh memory is only mapped, and becomes real when it is written to. Too large a request would therefore succeed, and the process
//! would die later, so large requests are compared with what is left.

use std::any::Any;
use std::cell::Cell;
use std::fmt;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};

/// A request for more memory than there is.
///
/// ```
/// use wengert_kernels::pool::{Block, attempt};
/// let refused = attempt(|| Block::new(1 << 60)).unwrap_err();
/// assert_eq!(refused.bytes, 1 << 60);
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct OutOfMemory {
    /// What was asked for.
    pub bytes: usize,
    /// What was left, where the system says so.
    pub available: Option<usize>,
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

/// Smaller requests are not compared with anything: reading the system's numbers would cost more than it is worth.
const LARGE: usize = 64 << 20;

thread_local! {
    /// How many calls of [`attempt`] are running.
    static ATTEMPTS: Cell<usize> = const { Cell::new(0) };
}

/// Runs `f`, and returns a request for too much memory as a value instead of a panic. Other panics pass through.
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

/// Goes on with a panic of another thread, which said nothing about a lack of memory.
#[cold]
pub fn resume(payload: Box<dyn Any + Send>) -> ! {
    match payload.downcast::<OutOfMemory>() {
        Ok(refused) => refused.raise(),
        Err(other) => resume_unwind(other),
    }
}

/// Whether there is memory for this many bytes, which the caller takes from elsewhere than the pool. Small requests are granted at once.
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
        true => Err(OutOfMemory { bytes, available }),
        false => Ok(()),
    }
}

impl OutOfMemory {
    /// A request that the system refused.
    #[cold]
    pub(super) fn of(bytes: usize) -> OutOfMemory {
        OutOfMemory { bytes, available: available() }
    }

    /// Panics; silently inside [`attempt`], which returns it.
    #[cold]
    pub(super) fn raise(self) -> ! {
        if ATTEMPTS.get() > 0 {
            resume_unwind(Box::new(self));
        }
        panic!("{self}");
    }
}

/// Bytes that can still be had, where the system says so: of the machine, or of the groups with limits that the process is in.
#[cfg(all(target_os = "linux", not(miri)))]
fn available() -> Option<usize> {
    let of_groups = groups().into_iter().filter_map(|group| group_available(&group));
    of_groups.chain(machine_available(&std::fs::read_to_string("/proc/meminfo").ok()?)).min()
}

#[cfg(not(all(target_os = "linux", not(miri))))]
fn available() -> Option<usize> {
    None
}

/// What programs can get without others losing theirs: memory that is free or can be freed, and free swap space.
#[cfg(any(test, all(target_os = "linux", not(miri))))]
fn machine_available(text: &str) -> Option<usize> {
    let kilobytes = |name: &str| named(text, name);
    let left = kilobytes("MemAvailable:")?.saturating_add(kilobytes("SwapFree:").unwrap_or(0));
    Some(left.saturating_mul(1024))
}

/// The number behind `name` at the start of a line.
#[cfg(any(test, all(target_os = "linux", not(miri))))]
fn named(text: &str, name: &str) -> Option<usize> {
    let mut words = text.lines().map(str::split_whitespace);
    words.find_map(|mut words| words.next().filter(|first| *first == name).and_then(|_| words.next()?.parse().ok()))
}

/// The folders of the control groups of this process, and of those around them.
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
    // Inside a container the path is that of the machine outside, and the group itself is the root.
    let each = |(root, path): (&'static std::path::Path, &str)| {
        let own = root.join(path);
        own.ancestors().take_while(|folder| folder.starts_with(root)).map(Into::into).collect::<Vec<_>>()
    };
    lines.flat_map(each).collect()
}

/// The limit of a group less what it uses, apart from copies of files, which can be freed; `None` without a limit.
#[cfg(all(target_os = "linux", not(miri)))]
fn group_available(group: &std::path::Path) -> Option<usize> {
    let read = |name: &str| std::fs::read_to_string(group.join(name)).ok();
    let number = |names: [&str; 2]| names.into_iter().find_map(|name| read(name)?.trim().parse::<usize>().ok());
    let limit = number(["memory.max", "memory.limit_in_bytes"])?;
    let used = number(["memory.current", "memory.usage_in_bytes"])?;
    let statistics = read("memory.stat").unwrap_or_default();
    // Of the old kind of groups, those names without `total_` leave out the groups inside.
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
