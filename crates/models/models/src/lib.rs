//! The models that there are: the one place that names them all. `nic.model` of a machine chooses.

#![forbid(unsafe_code)]

use machine::models::Models;

pub use model_myrinet as myrinet;
pub use model_seastar as seastar;

/// All of them, in the order in which they are listed.
pub static MODELS: Models = Models::new(&[
    &model_seastar::MODEL,
    &model_ideal::MODEL,
    &model_example::MODEL,
    &model_queuepair::MODEL,
    &model_rdma::MODEL,
    &model_myrinet::MODEL,
    &model_ethernet::MODEL,
    &model_bell::MODEL,
    &model_offload::MODEL,
    &model_offload::ON_MESH,
]);
