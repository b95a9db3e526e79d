//! Where everything that nodes allocate stands: in huge pages.
//!
//! Nodes have their turns one after the other, and what one touches in its turn lies in a hundred
//! pages or so. With pages of 4 KiB some tens of nodes need more of them than the host's
//! translation buffers hold, and each turn begins with misses (docs/decisions/0026).

use tikv_jemallocator::Jemalloc;

#[global_allocator]
static ALLOCATOR: Jemalloc = Jemalloc;

/// What jemalloc reads when it starts: all memory is advised to be huge pages.
// SAFETY: no other symbol has this name: it is the one that jemalloc asks its users to define.
#[allow(non_upper_case_globals)]
#[used]
#[export_name = "_rjem_malloc_conf"]
static malloc_conf: &std::ffi::CStr = c"thp:always,metadata_thp:auto,narenas:2";

#[cfg(test)]
mod tests {
    #[test]
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
