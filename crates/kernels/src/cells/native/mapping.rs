//! Memory that the processor may execute.

use std::ptr::NonNull;

/// Machine code in its own memory mapping: readable and executable, and not writable while it is executable.
pub(super) struct Mapping {
    start: NonNull<u8>,
    bytes: usize,
}

// SAFETY: nothing writes to the memory after `new`. `drop` has exclusive access, and may unmap it on any thread.
unsafe impl Send for Mapping {}
// SAFETY: as above; a shared reference only gives out an address.
unsafe impl Sync for Mapping {}

impl Mapping {
    /// Maps a copy of some code; `None` if the system provides no memory for it.
    pub fn new(code: &[u8]) -> Option<Mapping> {
        let (readable, executable) = (libc::PROT_READ | libc::PROT_WRITE, libc::PROT_READ | libc::PROT_EXEC);
        let private = libc::MAP_PRIVATE | libc::MAP_ANONYMOUS;
        // SAFETY: a private anonymous mapping at an address of the kernel's choice touches no existing memory.
        let start = unsafe { libc::mmap(std::ptr::null_mut(), code.len(), readable, private, -1, 0) };
        if start == libc::MAP_FAILED {
            return None;
        }
        let mapping = Mapping { start: NonNull::new(start.cast())?, bytes: code.len() };
        // SAFETY: the mapping has at least `code.len()` bytes, is writable, and is not shared yet, so `code` does not overlap it.
        unsafe { mapping.start.copy_from_nonoverlapping(NonNull::from(code).cast(), code.len()) };
        // SAFETY: the range is the mapping that was made above; nothing writes to it from here on.
        let refused = unsafe { libc::mprotect(start, code.len(), executable) } != 0;
        (!refused).then_some(mapping)
    }

    /// The address of a byte. Panics if it is out of range.
    pub fn at(&self, byte: usize) -> *const u8 {
        assert!(byte < self.bytes, "byte {byte} of {}", self.bytes);
        // SAFETY: the byte lies within the mapping.
        unsafe { self.start.as_ptr().add(byte) }
    }
}

impl Drop for Mapping {
    fn drop(&mut self) {
        // SAFETY: the whole mapping made by `new` is unmapped, once. Addresses from `at` must not outlive the mapping: `Native` keeps both,
        // and runs its functions only while it is borrowed.
        unsafe { libc::munmap(self.start.as_ptr().cast(), self.bytes) };
    }
}
