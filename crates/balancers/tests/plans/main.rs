//! Plans of load balancers: DBB's dispatching tables and SAPS' virtual topologies.

#![allow(clippy::unwrap_used)] // A test may fail, its helpers too.

mod dispatch;
mod virtual_topology;
