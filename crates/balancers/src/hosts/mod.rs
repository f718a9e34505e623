//! Common parts of host balancers: paths, flows and random numbers of a host, and news that hosts relay.

pub(crate) mod ends;
pub(crate) mod entropy;
pub(crate) mod few_paths;
pub(crate) mod host_env;
pub(crate) mod one_flow;
pub(crate) mod pairs;
pub(crate) mod per_connection;
pub(crate) mod prober;
pub(crate) mod relayed;
pub(crate) mod returned;
pub(crate) mod sent;
