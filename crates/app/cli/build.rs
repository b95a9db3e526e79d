//! Tells the tests whether there is a kernel for guests.

include!("../../software/guest/kernel.rs");
