//! Memory for code of the host's own. It is mapped twice, to be written and to be executed: nothing is
//! ever both.

use std::ptr;

/// Code, one block behind the other.
pub(super) struct Arena {
    written: *mut u8,
    executed: *const u8,
    used: usize,
    room: usize,
}

impl Arena {
    /// An empty one of `room` bytes, which are not there until they are used; `None` if the system does not
    /// give one.
    pub fn new(room: usize) -> Option<Arena> {
        // SAFETY: a name that ends with 0; the file has no other owner.
        let file = unsafe { libc::memfd_create(c"sunstar-code".as_ptr(), libc::MFD_CLOEXEC) };
        if file < 0 {
            return None;
        }
        let map = |rights| {
            // SAFETY: a new mapping, where the system likes.
            let at =
                unsafe { libc::mmap(ptr::null_mut(), room, rights, libc::MAP_SHARED, file, 0) };
            (at != libc::MAP_FAILED).then_some(at.cast::<u8>())
        };
        // SAFETY: the file is open; mappings keep it when it is closed.
        let sized = unsafe { libc::ftruncate(file, room as libc::off_t) } == 0;
        let written = sized.then(|| map(libc::PROT_READ | libc::PROT_WRITE)).flatten();
        let executed = written.and_then(|_| map(libc::PROT_READ | libc::PROT_EXEC));
        // SAFETY: opened above, and closed once.
        unsafe { libc::close(file) };
        match (written, executed) {
            (Some(written), Some(executed)) => Some(Arena { written, executed, used: 0, room }),
            (Some(written), None) => {
                // SAFETY: mapped above, and nobody has seen it.
                unsafe { libc::munmap(written.cast(), room) };
                None
            }
            _ => None,
        }
    }
    /// Address at which the next block will be executed.
    pub fn next(&self) -> *const u8 {
        self.executed.wrapping_add(self.used)
    }
    /// Puts a block there; `None` if it does not fit.
    pub fn put(&mut self, code: &[u8]) -> Option<*const u8> {
        // A block that begins at a line of the host's cache needs fewer lines.
        let end = (self.used + code.len()).next_multiple_of(64);
        if end > self.room {
            return None;
        }
        let at = self.next();
        // SAFETY: the room is within the mapping, and it holds nothing that is executed.
        unsafe {
            ptr::copy_nonoverlapping(code.as_ptr(), self.written.add(self.used), code.len());
        }
        self.used = end;
        Some(at)
    }
    /// The jump whose distance (four bytes) is at `at` goes to `target` from now on.
    pub fn link(&mut self, at: *const u8, target: *const u8) {
        let place = at as usize - self.executed as usize;
        assert!(place + 4 <= self.used, "a jump of this arena");
        let distance = (target as isize - (at as isize + 4)) as i32;
        // SAFETY: within what was written; this thread, the only one that executes it, is here.
        unsafe { self.written.add(place).cast::<i32>().write_unaligned(distance) };
    }
    /// Forgets all code.
    pub fn clear(&mut self, keep: *const u8) {
        self.used = keep as usize - self.executed as usize;
    }
}

impl Drop for Arena {
    fn drop(&mut self) {
        // SAFETY: both were mapped with this length, and nothing executes there any more.
        unsafe {
            libc::munmap(self.written.cast(), self.room);
            libc::munmap(self.executed.cast_mut().cast(), self.room);
        }
    }
}
