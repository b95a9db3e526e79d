//! Allocator of the simulator: it keeps everything that nodes allocate in huge pages.
//!
//! Nodes run in turns, and each touches about a hundred pages in its turn. With pages of 4 KiB, some tens of
//! nodes need more pages than the host's translation buffers hold, so that each turn begins with misses
//! (docs/decisions/0026).

use std::alloc::{GlobalAlloc, Layout};
use std::io::Write;

#[cfg(not(feature = "jemalloc"))]
use std::alloc::System as Allocator;
#[cfg(feature = "jemalloc")]
use tikv_jemallocator::Jemalloc as Allocator;

#[global_allocator]
static ALLOCATOR: Granting = Granting(Allocator);

/// Allocator that never fails: if the system has no more memory, the command ends with a sentence.
struct Granting(Allocator);

// SAFETY: each call is passed on as it is, and so is what comes back, unless it is nothing.
unsafe impl GlobalAlloc for Granting {
    #[inline]
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        // SAFETY: what the caller owes goes on to whom it is owed.
        granted(unsafe { self.0.alloc(layout) }, layout.size())
    }
    #[inline]
    unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
        // SAFETY: as above.
        granted(unsafe { self.0.alloc_zeroed(layout) }, layout.size())
    }
    #[inline]
    unsafe fn dealloc(&self, at: *mut u8, layout: Layout) {
        // SAFETY: as above.
        unsafe { self.0.dealloc(at, layout) }
    }
    #[inline]
    unsafe fn realloc(&self, at: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        // SAFETY: as above.
        granted(unsafe { self.0.realloc(at, layout, size) }, size)
    }
}

#[inline]
fn granted(at: *mut u8, size: usize) -> *mut u8 {
    if at.is_null() {
        refused(size);
    }
    at
}

/// Ends the process, and with it the ranks: nothing that allocates memory is possible any more.
#[cold]
fn refused(size: usize) -> ! {
    let mut text = [0; 256];
    let mut rest = &mut text[..];
    let said = writeln!(
        rest,
        "sunstar: the system refuses {size} bytes of memory; allow more of it (ulimit -v, the \
         control group's memory.max) or take fewer ranks"
    );
    let left = if said.is_ok() { rest.len() } else { 0 };
    let used = text.len() - left;
    // SAFETY: the first bytes of our own text; then the process ends, without a destructor that could
    // allocate.
    unsafe {
        libc::write(libc::STDERR_FILENO, text.as_ptr().cast(), used);
        libc::_exit(1)
    }
}

/// Options that jemalloc reads when it starts: it advises the kernel to use huge pages for all memory.
// SAFETY: no other symbol has this name: it is the one that jemalloc asks its users to define.
#[cfg(feature = "jemalloc")]
#[allow(non_upper_case_globals)]
#[used]
#[export_name = "_rjem_malloc_conf"]
static malloc_conf: &std::ffi::CStr = c"thp:always,metadata_thp:auto,narenas:2";

#[cfg(all(test, feature = "jemalloc"))]
mod tests {
    #[test]
    #[ignore = "of builds that are used; make soak"]
    fn the_allocator_was_told_of_huge_pages() {
        let mut value: *const std::ffi::c_char = std::ptr::null();
        let mut size = std::mem::size_of_val(&value);
        // SAFETY: the option's value is a pointer to a string that lives as long as the process.
        let value = unsafe {
            let into = (&raw mut value).cast();
            let name = c"opt.thp".as_ptr();
            let status = tikv_jemalloc_sys::mallctl(name, into, &mut size, std::ptr::null_mut(), 0);
            assert_eq!(status, 0, "jemalloc knows the option");
            std::ffi::CStr::from_ptr(value)
        };
        assert_eq!(value, c"always");
    }
}
