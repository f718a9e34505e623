//! Plans of load balancers: DBB's dispatching tables and SAPS' virtual topologies.

mod dispatch;
mod virtual_topology;
