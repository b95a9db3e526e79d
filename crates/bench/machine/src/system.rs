//! The operating systems of the nodes, with their parameters of the machine.

use crate::parameters::Parameters;
use host::{Memory, Paging};
use portals::{Bridge, System};

/// An operating system.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Os {
    /// Contiguous memory, qkbridge.
    Catamount,
    /// 4 KB pages, ukbridge.
    Linux,
}

impl Os {
    /// Operating system of node `nid`.
    pub fn of(p: &Parameters, nid: u32) -> Os {
        match p.choice("host.os") {
            "linux" => Os::Linux,
            _ if nid < p.number("host.linux_nodes") => Os::Linux,
            _ => Os::Catamount,
        }
    }

    /// Makes a node's memory map processes as this system does.
    pub fn map(self, p: &Parameters, memory: &mut Memory) {
        match self {
            // Users in the kernel have spaces of their own.
            Os::Catamount => {
                let ranks = p.number::<u32>("host.ranks_per_node");
                let in_kernel = if p.choice("host.kernel_programs") == "on" { ranks } else { 0 };
                memory.make_room(ranks + in_kernel + u32::from(p.choice("host.echo") == "all"));
            }
            Os::Linux => memory.set_paging(Paging::Pages { run: p.number("linux.page_run") }),
        }
    }

    /// Costs of the host's primitives under it.
    pub fn host(self, p: &Parameters) -> host::Costs {
        let section = match self {
            Os::Catamount => "host",
            Os::Linux => "linux",
        };
        let own = |name: &str| p.duration(&format!("{section}.{name}"));
        host::Costs {
            kernel_entry: own("kernel_entry"),
            kernel_exit: own("kernel_exit"),
            interrupt_entry: own("interrupt_entry"),
            interrupt_exit: own("interrupt_exit"),
            mmio_write: p.duration("host.mmio_write"),
            copy_start: p.duration("host.copy_start"),
            copy_rate: p.number("host.copy_rate"),
            poll_period: p.duration("host.poll_period"),
            lock_take: p.duration("host.lock_take"),
            lock_pass: p.duration("host.lock_pass"),
        }
    }

    /// Properties of the system that matter to Portals.
    pub fn portals(self, p: &Parameters) -> System {
        match self {
            Os::Catamount => System::CATAMOUNT,
            Os::Linux => System {
                bridge: Bridge::Uk {
                    ioctl: p.duration("linux.ioctl"),
                    copy_in: p.duration("linux.copy_in"),
                    copy_out: p.duration("linux.copy_out"),
                },
                pin_page: p.duration("linux.pin_page"),
                translate_page: p.duration("linux.translate_page"),
            },
        }
    }
}
