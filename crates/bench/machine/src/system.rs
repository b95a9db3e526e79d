//! The operating systems of the nodes, with their parameters of the machine.

use crate::parameters::hosts::{
    Bridge, Catamount, Choice, Cores, Crossings, Host, KernelPrograms, Linux, Pages, Pins,
};
use crate::parameters::Parameters;
use des::Duration;
use host::{Memory, Paging};
use portals::System;

pub use crate::parameters::hosts::{Echo, Os};

/// The operating systems of a machine. What the hosts of its model are not made of is not there.
#[derive(Clone, Copy, Debug)]
pub struct Systems {
    /// Parameters of all hosts.
    host: Host,
    /// Cores and ranks; without it a node has one of each.
    pub cores: Option<Cores>,
    choice: Option<Choice>,
    programs: Option<KernelPrograms>,
    catamount: Option<Crossings>,
    linux: Option<Crossings>,
    bridge: Option<(Bridge, Pins)>,
    pages: Option<Pages>,
}

impl Systems {
    /// Those of a machine.
    pub fn of(p: &Parameters) -> Systems {
        Systems {
            host: Host::of(p),
            cores: Cores::find(p),
            choice: Choice::find(p),
            programs: KernelPrograms::find(p),
            catamount: Catamount::find(p),
            linux: Linux::find(p),
            bridge: Bridge::find(p).zip(Pins::find(p)),
            pages: Pages::find(p),
        }
    }

    /// Operating system of node `nid`.
    pub fn os(&self, nid: u32) -> Os {
        match self.choice {
            Some(Choice { linux_nodes, .. }) if nid < linux_nodes => Os::Linux,
            Some(Choice { os, .. }) => os,
            None if self.catamount.is_some() => Os::Catamount,
            None => Os::Linux,
        }
    }

    /// Parameters of an operating system that none of so many nodes has; guests have Linux.
    pub fn idle(&self, nodes: u32, in_guests: bool) -> impl Iterator<Item = &'static str> {
        let has = |os| match in_guests {
            true => os == Os::Linux,
            false => (0..nodes).any(|nid| self.os(nid) == os),
        };
        let systems = [(Os::Catamount, Catamount::ROWS), (Os::Linux, Linux::ROWS)];
        let idle = systems.map(|(os, rows)| if has(os) { &[][..] } else { rows });
        idle.into_iter().flatten().map(|row| row.key)
    }

    /// The nodes whose kernel echoes messages.
    pub fn echo(&self) -> Echo {
        self.programs.map_or(Echo::Off, |programs| programs.echo)
    }

    /// True if programs use Portals in the kernel.
    pub fn kernel_programs(&self) -> bool {
        self.programs.is_some_and(|programs| programs.kernel_programs)
    }

    /// True if the kernel of a node with this system echoes messages.
    pub fn echoes(&self, os: Os) -> bool {
        match self.echo() {
            Echo::Off => false,
            Echo::OnLinux => os == Os::Linux,
            Echo::All => true,
        }
    }

    /// Makes a node's memory map processes as this system does.
    pub fn map(&self, os: Os, memory: &mut Memory) {
        match (os, self.pages) {
            // Users in the kernel have spaces of their own.
            (Os::Catamount, _) => {
                let ranks = self.cores.map_or(1, |cores| cores.ranks_per_node);
                let in_kernel = if self.kernel_programs() { ranks } else { 0 };
                memory.make_room(ranks + in_kernel + u32::from(self.echo() == Echo::All));
            }
            (Os::Linux, Some(pages)) => {
                memory.set_paging(Paging::Pages { run: pages.page_run });
            }
            (Os::Linux, None) => {}
        }
    }

    /// Costs of the host's primitives under it.
    pub fn costs(&self, os: Os) -> host::Costs {
        let host = self.host;
        let (crossings, system) = match os {
            Os::Catamount => (self.catamount, "Catamount"),
            Os::Linux => (self.linux, "Linux"),
        };
        let crossings = crossings.unwrap_or_else(|| panic!("no host has {system}"));
        let none = Duration::ZERO;
        let (lock_take, lock_pass) =
            self.cores.map_or((none, none), |cores| (cores.lock_take, cores.lock_pass));
        host::Costs {
            kernel_entry: crossings.kernel_entry,
            kernel_exit: crossings.kernel_exit,
            interrupt_entry: crossings.interrupt_entry,
            interrupt_exit: crossings.interrupt_exit,
            mmio_write: host.mmio_write,
            copy_start: host.copy_start,
            copy_rate: host.copy_rate,
            poll_period: host.poll_period,
            poll_most: host.poll_most,
            lock_take,
            lock_pass,
        }
    }

    /// Properties of the system that matter to Portals.
    pub fn portals(&self, os: Os) -> System {
        match (os, self.bridge) {
            (Os::Linux, Some((bridge, Pins { pin_page }))) => {
                let Bridge { ioctl, copy_in, copy_out, translate_page } = bridge;
                let bridge = portals::Bridge::Uk { ioctl, copy_in, copy_out };
                System { bridge, pin_page, translate_page }
            }
            _ => System::CATAMOUNT,
        }
    }
}
