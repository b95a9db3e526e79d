//! How calls come into the kernel, and what that costs.

use crate::nal::Bridge;
use host::Cpu;

/// The way into the kernel.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Way {
    /// From user level.
    User(Bridge),
    /// From the kernel itself.
    Kbridge,
}

impl Way {
    /// Runs `f` in the kernel.
    pub(super) fn enter<R>(self, cpu: &Cpu, f: impl FnOnce() -> R) -> R {
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
