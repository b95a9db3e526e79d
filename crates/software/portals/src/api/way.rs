//! Entry of calls into the kernel, and its cost.

use crate::kernel::{Bridge, Kernel};
use host::Cpu;

/// The way into the kernel.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Way {
    /// Calls from user level.
    User(Bridge),
    /// Calls from the kernel itself.
    Kbridge,
}

impl Way {
    /// Runs `f` in the kernel, with its Portals to itself.
    pub(super) fn enter<R>(self, cpu: &Cpu, kernel: &Kernel, f: impl FnOnce() -> R) -> R {
        self.cross(cpu, || kernel.lock.hold(cpu, f))
    }

    /// Runs `f` in the kernel, whose Portals other cores may use meanwhile.
    pub(super) fn cross<R>(self, cpu: &Cpu, f: impl FnOnce() -> R) -> R {
        match self {
            Way::User(Bridge::Qk) => cpu.kernel(f),
            Way::User(Bridge::Uk { ioctl, copy_in, copy_out }) => cpu.kernel(|| {
                cpu.spend(ioctl + copy_in);
                let result = f();
                cpu.spend(copy_out);
                result
            }),
            Way::Kbridge => cpu.kernel_section(f),
        }
    }
}
