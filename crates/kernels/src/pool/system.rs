//! Zeroed memory from the operating system, in huge pages where that helps.

use super::limit;
use std::alloc::{Layout, alloc_zeroed, dealloc};
use std::ptr::NonNull;

/// The size and alignment of a huge page.
pub(super) const HUGE_PAGE: usize = 2 << 20;

const PAGE: usize = 4 << 10;

/// From this size on, memory is mapped directly and aligned for huge pages.
const MAPPED: usize = if super::IS_WATCHED { usize::MAX } else { 4 << 20 };

/// Rounds a size up so that freed memory fits later requests of nearly the same size.
pub(super) fn round(bytes: usize) -> Option<usize> {
    let unit = match bytes {
        ..0x10_0000 => PAGE,
        _ if bytes < MAPPED => 64 << 10,
        _ => HUGE_PAGE,
    };
    to_multiple(bytes, unit)
}

/// Rounds a size up to whole pages.
pub(super) fn round_to_pages(bytes: usize) -> Option<usize> {
    to_multiple(bytes, PAGE)
}

fn to_multiple(bytes: usize, unit: usize) -> Option<usize> {
    let unit = if super::IS_WATCHED { 1 } else { unit };
    bytes.checked_next_multiple_of(unit).filter(|&total| total <= isize::MAX as usize)
}

fn layout(bytes: usize) -> Layout {
    let align = if bytes >= HUGE_PAGE { HUGE_PAGE } else { 64 };
    Layout::from_size_align(bytes, align).expect("sizes are rounded and bounded by `round`")
}

/// `bytes` zero bytes, aligned to a huge page if mapped, else to 64. `None` if there is not enough memory.
pub(super) fn allocate(bytes: usize) -> Option<NonNull<u8>> {
    limit::request(bytes).ok()?;
    #[cfg(all(target_os = "linux", not(miri)))]
    if bytes >= MAPPED {
        return mapped::allocate(bytes);
    }
    // SAFETY: the size is not zero: there is room for a header.
    NonNull::new(unsafe { alloc_zeroed(layout(bytes)) })
}

/// Releases memory.
///
/// # Safety
/// `pointer` came from `allocate(bytes)` and nothing refers to it any more.
pub(super) unsafe fn release(pointer: NonNull<u8>, bytes: usize) {
    #[cfg(all(target_os = "linux", not(miri)))]
    if bytes >= MAPPED {
        // SAFETY: `allocate` took memory of this size from `mapped::allocate`, and the caller guarantees that there is no reference to it.
        return unsafe { mapped::release(pointer, bytes) };
    }
    // SAFETY: `allocate` used the same layout.
    unsafe { dealloc(pointer.as_ptr(), layout(bytes)) }
}

/// One zeroed chunk of [`HUGE_PAGE`] bytes, aligned to its size, that is never released.
pub(super) fn chunk() -> Option<NonNull<u8>> {
    #[cfg(all(target_os = "linux", not(miri)))]
    return mapped::allocate(HUGE_PAGE);
    #[cfg(not(all(target_os = "linux", not(miri))))]
    return allocate(HUGE_PAGE);
}

#[cfg(all(target_os = "linux", not(miri)))]
mod mapped {
    use super::{HUGE_PAGE, PAGE};
    use std::ptr::NonNull;

    /// Maps whole pages and one extra huge page, then unmaps the parts outside the aligned range.
    pub(super) fn allocate(bytes: usize) -> Option<NonNull<u8>> {
        let bytes = bytes.checked_next_multiple_of(PAGE)?;
        let total = bytes.checked_add(HUGE_PAGE)?;
        // SAFETY: a private anonymous mapping at an address of the kernel's choice touches no existing memory.
        let start = unsafe {
            libc::mmap(
                std::ptr::null_mut(),
                total,
                libc::PROT_READ | libc::PROT_WRITE,
                libc::MAP_PRIVATE | libc::MAP_ANONYMOUS | libc::MAP_NORESERVE,
                -1,
                0,
            )
        };
        if start == libc::MAP_FAILED {
            return None;
        }
        let before = start.align_offset(HUGE_PAGE);
        let after = HUGE_PAGE - before;
        // SAFETY: `before + bytes + after == total`; the three parts lie in the new mapping, and only the outer two, which are not in use
        // yet, are unmapped. `madvise` is a hint.
        unsafe {
            let aligned = start.byte_add(before);
            if before > 0 {
                libc::munmap(start, before);
            }
            if after > 0 {
                libc::munmap(aligned.byte_add(bytes), after);
            }
            libc::madvise(aligned, bytes, libc::MADV_HUGEPAGE);
            NonNull::new(aligned.cast())
        }
    }

    /// # Safety
    /// `pointer` came from `allocate(bytes)` and nothing refers to it any more.
    pub(super) unsafe fn release(pointer: NonNull<u8>, bytes: usize) {
        // SAFETY: the whole mapping made by `allocate`, of as many pages, is unmapped, once.
        unsafe { libc::munmap(pointer.as_ptr().cast(), bytes.next_multiple_of(PAGE)) };
    }
}
