//! The `sunstar` command from end to end: real programs, the real firmware, the real command line.
//!
//! The tests need the MPI library and the firmware from `make build`.

// Clippy takes only functions with #[test] for tests; here everything is one.
#![allow(clippy::unwrap_used)]

mod accelerated;
mod account;
mod aids;
mod alpu;
mod amata;
mod bad_files;
mod boot;
mod bringup;
mod bypass;
mod causes;
mod children;
mod collectives;
// Words that this backend cannot say stay unused.
#[allow(dead_code)]
#[path = "../../../../software/portals/tests/clause/mod.rs"]
mod clause;
mod compute;
mod contract;
mod corners;
mod counter;
mod diff;
mod directed_point;
mod disk;
mod dist;
mod documents;
mod dp;
mod endings;
mod example;
mod fabric;
mod fabtests;
mod faults;
mod firmware;
mod foreign_mpi;
mod forth;
mod fortran;
mod gdb;
mod gdb_packets;
mod golden;
mod guests;
mod hostile;
mod ideal;
mod interrupted;
mod json;
mod ladder;
mod launchers;
mod lease;
mod leftovers;
mod library;
mod linux;
mod loops;
mod matrix;
mod misuse;
mod monitor;
mod mpi4py_suite;
mod mpich_suite;
mod mutants;
mod names;
mod network;
mod nulls;
mod observers;
mod own_mpi;
mod parameters_read;
mod parts;
mod pcap;
mod pico;
mod polls;
mod portals;
mod profile;
mod programs;
mod progress;
mod queuepair;
mod queues;
mod random;
mod rdma;
mod recomputed;
mod recovery;
mod refused;
mod report;
mod rtl;
mod runner;
mod scale;
mod seeds;
mod soak;
mod sockets;
mod suite;
mod sweep;
mod tables;
mod timeline;
mod told;
mod tools;
mod turns;
mod types;
mod units;
mod until;
mod usage_errors;
mod validate;
mod verbs;
mod verdicts;
mod vn;
mod waveforms;
mod wrong;
