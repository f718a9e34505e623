//! The two doors of load balancing: what switches ask ([`SwitchBalancer`]) and what hosts ask ([`HostBalancer`]).
//!
//! Who implements them stands in other crates. State belongs to a switch or a host, and each hook names the one whose
//! state it may touch; so one value may serve all of them, or several values a part each ([`crate::Partition`]). Routing
//! tells every value what it believes.

mod host;
mod switch;

pub use host::{HostBalancer, Opened};
pub use switch::{Choice, GroupPlan, Junction, Route, SwitchBalancer};
