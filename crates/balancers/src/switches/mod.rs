//! Common parts of switch balancers: ports, paths and random numbers of a switch, and flows kept together.

pub(crate) mod flowcell_paths;
pub(crate) mod kept;
pub(crate) mod port_env;
pub(crate) mod source_routes;
pub(crate) mod telemetry;
