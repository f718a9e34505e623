//! The tables of a scenario: what stands in them, in which order, with which defaults.

pub(crate) mod change;
pub(crate) mod fabric;
pub(crate) mod framing;
pub(crate) mod graph;
pub(crate) mod hash;
pub(crate) mod host;
mod kinds;
mod link;
pub(crate) mod measure;
pub(crate) mod record;
pub(crate) mod replay;
pub(crate) mod routing;
pub(crate) mod stop;
pub(crate) mod switch;
pub(crate) mod traffic;
pub(crate) mod transport;
