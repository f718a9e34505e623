//! The two doors of load balancing: what switches ask ([`SwitchBalancer`]) and what hosts ask ([`HostBalancer`]).
//!
//! Who implements them stands in other crates. One value serves all switches, another all hosts, and each hook names
//! the switch or host whose state it may touch.

mod host;
mod switch;

pub use host::{HostBalancer, Opened};
pub use switch::{Choice, GroupPlan, Junction, SwitchBalancer};
