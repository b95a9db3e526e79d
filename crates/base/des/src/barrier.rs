//! Barrier at which the workers of a run wait for one another.

use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::sync::{Condvar, Mutex};

pub(crate) fn lock<T>(mutex: &Mutex<T>) -> std::sync::MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(std::sync::PoisonError::into_inner)
}

/// A barrier that spins for a while (windows are short), then sleeps (the cores may be shared). It spins less
/// and less often while that is in vain.
pub(crate) struct Barrier {
    parties: u32,
    arrived: AtomicU32,
    generation: AtomicU32,
    poisoned: AtomicBool,
    sleepers: Mutex<()>,
    wake: Condvar,
    /// Waits of late whose spinning was in vain, at most [`VAIN_MAX`]. A hint: an update may be lost.
    vain: AtomicU32,
}

/// Number of times that a waiting worker spins before it sleeps: 50 us (25 ns each, measured), longer than
/// most windows take if each worker has a processor.
const SPINS: u32 = 2_000;
/// Most doublings of the number of waits of which a worker spins in one: spinning in vain takes the share of
/// a processor that another worker may need.
const VAIN_MAX: u32 = 8;

impl Barrier {
    pub(crate) fn new(parties: usize) -> Barrier {
        Barrier {
            parties: parties as u32,
            arrived: AtomicU32::new(0),
            generation: AtomicU32::new(0),
            poisoned: AtomicBool::new(false),
            sleepers: Mutex::new(()),
            wake: Condvar::new(),
            vain: AtomicU32::new(0),
        }
    }
    pub(crate) fn wait(&self) {
        let generation = self.generation.load(Ordering::Acquire);
        if self.arrived.fetch_add(1, Ordering::AcqRel) + 1 == self.parties {
            self.arrived.store(0, Ordering::Relaxed);
            let _guard = lock(&self.sleepers);
            self.generation.store(generation.wrapping_add(1), Ordering::Release);
            self.wake.notify_all();
            return;
        }
        let vain = self.vain.load(Ordering::Relaxed);
        if generation % (1 << vain) == 0 {
            for _ in 0..SPINS {
                if self.passed(generation) {
                    if vain > 0 {
                        self.vain.store(0, Ordering::Relaxed);
                    }
                    return;
                }
                std::hint::spin_loop();
            }
            self.vain.store((vain + 1).min(VAIN_MAX), Ordering::Relaxed);
        }
        let mut guard = lock(&self.sleepers);
        while !self.passed(generation) {
            guard = self.wake.wait(guard).unwrap_or_else(std::sync::PoisonError::into_inner);
        }
    }
    fn passed(&self, generation: u32) -> bool {
        assert!(!self.poisoned.load(Ordering::Acquire), "another worker panicked");
        self.generation.load(Ordering::Acquire) != generation
    }
}

/// Guard that frees the other workers if this one panics; without it they would wait for ever.
pub(crate) struct PoisonOnPanic<'a>(pub(crate) &'a Barrier);

impl Drop for PoisonOnPanic<'_> {
    fn drop(&mut self) {
        if std::thread::panicking() {
            self.0.poisoned.store(true, Ordering::Release);
            let _guard = lock(&self.0.sleepers);
            self.0.wake.notify_all();
        }
    }
}
