//! Steps of messages over Portals in hosts: those of the libraries of a process and of its kernel, in the
//! order in which a message passes them. A model puts those of its hardware between them.

use super::{cause, step, Cause, Layer, Part, PathStep, Waypoint};
use crate::parameters::hosts::{Catamount, Fabric, Host, Linux, Mpi, MpiOverPortals, Portals};

/// The libfabric provider, from the program's call to that of Portals.
pub const PROVIDER_SENDS: PathStep = step(
    Waypoint::PROVIDER_CALLED,
    "libfabric provider, send",
    Layer::HOST,
    Part::Library,
    cause(
        "the provider makes the operation, and copies what is injected",
        &[
            Fabric::send,
            Fabric::tsend,
            Fabric::write,
            Fabric::read,
            Fabric::atomic,
            Host::copy_rate,
        ],
    ),
);
/// The sender's library, from its call to that of Portals.
pub const LIBRARY_SENDS: PathStep = step(
    Waypoint::PUT_ENTERED,
    "MPI library, send",
    Layer::HOST,
    Part::Library,
    cause(
        "the library makes the request, and copies what is short",
        &[Mpi::call, Mpi::request, Host::copy_rate],
    ),
);
/// The library of a process on the network interface, to its command: there is no kernel on its way.
pub const USER_SENDS: PathStep = step(
    Waypoint::LIBRARY_COMMANDED,
    "Portals library, send",
    Layer::HOST,
    Part::Library,
    cause(
        "the process's library checks the call and writes header and command itself",
        &[Portals::api_call, Portals::api_check, Portals::translate, Host::mmio_write],
    ),
);
/// The other way, to its kernel.
pub const KERNEL_ENTRY: PathStep = step(
    Waypoint::KERNEL_ENTERED,
    "kernel entry",
    Layer::HOST,
    Part::Kernel,
    cause(
        "the process enters the kernel",
        &[Catamount::kernel_entry, Linux::kernel_entry, Portals::api_call],
    ),
);
/// The kernel, to its command to the network interface.
pub const KERNEL_SENDS: PathStep = step(
    Waypoint::COMMAND_WRITTEN,
    "kernel Portals, send",
    Layer::HOST,
    Part::Kernel,
    cause(
        "the kernel checks the call and writes header and command",
        &[Portals::api_check, Portals::translate, Host::mmio_write],
    ),
);
/// The search in the match list.
pub const KERNEL_MATCHES: PathStep = step(
    Waypoint::MATCHED,
    "kernel Portals, match",
    Layer::HOST,
    Part::Kernel,
    Cause {
        sentence: "the kernel finds the receive in the match list",
        parameters: &[Portals::list_entry],
        function: "",
        walks: true,
    },
);
/// From there to the Portals event in the process's queue.
pub const KERNEL_RECEIVES: PathStep = step(
    Waypoint::EVENT_POSTED,
    "kernel Portals, receive",
    Layer::HOST,
    Part::Kernel,
    cause("the kernel posts the event", &[Portals::event_post, Host::copy_rate]),
);
/// The same by the library of a process on the network interface.
pub const USER_RECEIVES: PathStep = step(
    Waypoint::LIBRARY_POSTED,
    "Portals library, receive",
    Layer::HOST,
    Part::Library,
    cause("the process's library posts the event", &[Portals::event_post, Host::copy_rate]),
);
/// The process is elsewhere.
pub const PROCESS_LATE: PathStep = step(
    Waypoint::PROCESS_LOOKED,
    "waiting for the process",
    Layer::HOST,
    Part::Library,
    cause("a late receiver: the process was elsewhere, and looked at its queue later", &[]),
);
/// From there to the library that has the event.
pub const RETURN: PathStep = step(
    Waypoint::EVENT_RETURNED,
    "return to the process",
    Layer::HOST,
    Part::Library,
    cause(
        "the handler returns, behind others that came, and the process finds the event",
        &[Catamount::interrupt_exit, Linux::interrupt_exit, Host::poll_period, Portals::event_get],
    ),
);
/// The message is unexpected, and waits for its receive.
pub const RECEIVE_LATE: PathStep = step(
    Waypoint::CLAIMED,
    "waiting for the receive",
    Layer::HOST,
    Part::Library,
    cause("a late receiver: the message was unexpected, and its receive was called later", &[]),
);
/// The receiver's library, to the return of the program's call.
pub const LIBRARY_RECEIVES: PathStep = step(
    Waypoint::CALL_RETURNED,
    "MPI library, receive",
    Layer::HOST,
    Part::Library,
    cause(
        "the library completes the request",
        &[Mpi::event, MpiOverPortals::unexpected_entry, Host::copy_rate],
    ),
);
