//! Allocator of the simulator: it keeps everything that nodes allocate in huge pages.
//!
//! Nodes run in turns, and each touches about a hundred pages in its turn. With pages of 4 KiB, some tens of
//! nodes need more pages than the host's translation buffers hold, so that each turn begins with misses
//! (docs/decisions/0146).

use std::alloc::{GlobalAlloc, Layout, System};
use std::io::Write;
use std::sync::atomic::{AtomicUsize, Ordering};

#[global_allocator]
static ALLOCATOR: Huge = Huge { advised: AtomicUsize::new(0) };

/// Bytes of a page, for which advice is given. The system joins neighbours that have the same advice.
const PAGE: usize = 4 << 10;
/// Bytes by which the heap grows: few calls of the system, and whole pages.
const GROWTH: usize = 32 << 20;

/// The C library's allocator with huge pages. It never fails: if the system has no more memory, the command
/// ends with a sentence.
struct Huge {
    /// End of the part of the heap that is to be in huge pages. The heap only grows.
    advised: AtomicUsize,
}

// SAFETY: each call is passed on as it is, and so is what comes back, unless it is nothing.
unsafe impl GlobalAlloc for Huge {
    #[inline]
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        // SAFETY: what the caller owes goes on to whom it is owed.
        self.granted(unsafe { System.alloc(layout) }, layout.size())
    }
    #[inline]
    unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
        // SAFETY: as above.
        self.granted(unsafe { System.alloc_zeroed(layout) }, layout.size())
    }
    #[inline]
    unsafe fn dealloc(&self, at: *mut u8, layout: Layout) {
        // SAFETY: as above.
        unsafe { System.dealloc(at, layout) }
    }
    #[inline]
    unsafe fn realloc(&self, at: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        // SAFETY: as above.
        self.granted(unsafe { System.realloc(at, layout, size) }, size)
    }
}

impl Huge {
    #[inline]
    fn granted(&self, at: *mut u8, size: usize) -> *mut u8 {
        if at.is_null() {
            refused(size);
        }
        if at as usize + size > self.advised.load(Ordering::Relaxed) {
            self.advise(at as usize, size);
        }
        at
    }

    /// Asks for huge pages for memory that is new: the heap's new part, or what is too large for the heap.
    #[cold]
    fn advise(&self, at: usize, size: usize) {
        // SAFETY: calls that read or set a number of the C library's allocator.
        let end = unsafe {
            if self.advised.load(Ordering::Relaxed) == 0 {
                // One heap for all threads, which grows in large steps and never shrinks.
                libc::mallopt(libc::M_ARENA_MAX, 1);
                libc::mallopt(libc::M_TOP_PAD, GROWTH as i32);
                libc::mallopt(libc::M_TRIM_THRESHOLD, i32::MAX);
                libc::mallopt(libc::M_MMAP_THRESHOLD, GROWTH as i32);
            }
            libc::sbrk(0) as usize
        };
        let (begin, end) = if at < end {
            // From where the last advice ended, not from this piece: another thread may have taken one before
            // it, and come here later.
            match self.advised.fetch_max(end, Ordering::Relaxed) {
                0 => (at, end),
                advised => (advised, end),
            }
        } else if size >= GROWTH {
            (at, at + size)
        } else {
            return;
        };
        let (begin, end) = (begin.next_multiple_of(PAGE), end / PAGE * PAGE);
        if begin < end {
            // SAFETY: advice for pages of the heap, or of this piece of memory; their content stays.
            unsafe { libc::madvise(begin as *mut libc::c_void, end - begin, libc::MADV_HUGEPAGE) };
        }
    }
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

#[cfg(test)]
mod tests {
    use std::sync::Barrier;

    /// Parts of this process's memory, each with whether huge pages were asked for (`hg`).
    fn parts() -> Vec<(std::ops::Range<usize>, bool)> {
        let mut parts = Vec::new();
        for line in std::fs::read_to_string("/proc/self/smaps").unwrap().lines() {
            let range = line.split(' ').next().and_then(|range| range.split_once('-'));
            if let Some((from, to)) = range {
                let number = |digits| usize::from_str_radix(digits, 16);
                if let (Ok(from), Ok(to)) = (number(from), number(to)) {
                    parts.push((from..to, false));
                }
            } else if let (Some(flags), Some(part)) =
                (line.strip_prefix("VmFlags:"), parts.last_mut())
            {
                part.1 = flags.split(' ').any(|flag| flag == "hg");
            }
        }
        parts
    }

    /// Threads make the heap grow against each other, so that one takes what another has asked for.
    #[test]
    fn the_heap_and_large_pieces_are_to_be_in_huge_pages() {
        const THREADS: usize = 4;
        let together = Barrier::new(THREADS);
        let piece = |bytes| {
            together.wait();
            vec![1u8; bytes]
        };
        let all = || (0..64).map(|count| piece((1 << 20) + count * 4096 + 24)).collect();
        let pieces: Vec<Vec<Vec<u8>>> = std::thread::scope(|scope| {
            let threads: Vec<_> = (0..THREADS).map(|_| scope.spawn(all)).collect();
            threads.into_iter().map(|thread| thread.join().unwrap()).collect()
        });
        let large = vec![1u8; 80 << 20];
        let plain = || {
            let parts = parts();
            let pieces = pieces.iter().flatten().chain([&large]);
            let mut places = pieces.map(|piece| {
                piece.as_ptr() as usize + 4096..piece.as_ptr() as usize + piece.len() - 4096
            });
            places.find(|place| {
                let common = |part: &std::ops::Range<usize>| {
                    part.start.max(place.start) < part.end.min(place.end)
                };
                parts.iter().any(|(part, advised)| !advised && common(part))
            })
        };
        // A thread of another test may have taken the heap's new part, and not yet advised it.
        for _ in 0..100 {
            if plain().is_none() {
                return;
            }
            std::thread::sleep(std::time::Duration::from_millis(10));
        }
        panic!("{:#x?} is in pages of 4 KiB", plain());
    }
}
