//! Hosts from outside: programs, interrupts, memory.

mod cores;
mod fibres;
mod memory;
mod small_worlds;
mod world;
