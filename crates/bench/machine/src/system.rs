//! The operating systems of the nodes, with their parameters of the machine.

use crate::parameters::hosts::{Host, Linux};
use crate::parameters::Parameters;
use host::{Memory, Paging};
use portals::{Bridge, System};

pub use crate::parameters::hosts::{Echo, Os};

/// The operating systems of a machine.
#[derive(Clone, Copy, Debug)]
pub struct Systems {
    /// Parameters of all hosts, and of those under Catamount.
    pub host: Host,
    /// Parameters of those under Linux.
    pub linux: Linux,
}

impl Systems {
    /// Those of a machine.
    pub fn of(p: &Parameters) -> Systems {
        Systems { host: Host::of(p), linux: Linux::of(p) }
    }

    /// Operating system of node `nid`.
    pub fn os(&self, nid: u32) -> Os {
        if nid < self.host.linux_nodes {
            Os::Linux
        } else {
            self.host.os
        }
    }

    /// True if the kernel of a node with this system echoes messages.
    pub fn echoes(&self, os: Os) -> bool {
        match self.host.echo {
            Echo::Off => false,
            Echo::OnLinux => os == Os::Linux,
            Echo::All => true,
        }
    }

    /// Makes a node's memory map processes as this system does.
    pub fn map(&self, os: Os, memory: &mut Memory) {
        match os {
            // Users in the kernel have spaces of their own.
            Os::Catamount => {
                let Host { ranks_per_node: ranks, kernel_programs, echo, .. } = self.host;
                let in_kernel = if kernel_programs { ranks } else { 0 };
                memory.make_room(ranks + in_kernel + u32::from(echo == Echo::All));
            }
            Os::Linux => memory.set_paging(Paging::Pages { run: self.linux.page_run }),
        }
    }

    /// Costs of the host's primitives under it.
    pub fn costs(&self, os: Os) -> host::Costs {
        let Systems { host, linux } = self;
        let own = host::Costs {
            kernel_entry: host.kernel_entry,
            kernel_exit: host.kernel_exit,
            interrupt_entry: host.interrupt_entry,
            interrupt_exit: host.interrupt_exit,
            mmio_write: host.mmio_write,
            copy_start: host.copy_start,
            copy_rate: host.copy_rate,
            poll_period: host.poll_period,
            poll_most: host.poll_most,
            lock_take: host.lock_take,
            lock_pass: host.lock_pass,
        };
        match os {
            Os::Catamount => own,
            Os::Linux => host::Costs {
                kernel_entry: linux.kernel_entry,
                kernel_exit: linux.kernel_exit,
                interrupt_entry: linux.interrupt_entry,
                interrupt_exit: linux.interrupt_exit,
                ..own
            },
        }
    }

    /// Properties of the system that matter to Portals.
    pub fn portals(&self, os: Os) -> System {
        let Linux { ioctl, copy_in, copy_out, pin_page, translate_page, .. } = self.linux;
        match os {
            Os::Catamount => System::CATAMOUNT,
            Os::Linux => {
                System { bridge: Bridge::Uk { ioctl, copy_in, copy_out }, pin_page, translate_page }
            }
        }
    }
}
