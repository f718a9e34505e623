//! Picks of load balancers, step by step against their published rules: what they choose, and what they make of what
//! comes back.

mod ars;
mod clove;
mod conga;
mod congestion_environment;
mod conweave;
mod edges_environment;
mod environment;
mod explicit;
mod flowcut;
mod hermes;
mod host_feedback;
mod hula;
mod mp_rdma;
mod mrc;
mod presto;
mod queues_environment;
mod recorded_choices;
mod spritz;
mod vms;
