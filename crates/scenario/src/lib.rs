//! Scenario files: what the user wrote, resolved into what it means.
//!
//! A scenario is a TOML document. Every key is described once, in `section`; reading, the canonical text with every
//! default written out, and the reference page follow from that description.

mod catalogue;
mod directory;
mod expected;
mod explicit_paths;
mod fabric_file;
mod file;
mod hashes;
mod identity;
mod jobs;
mod keys;
mod pair;
mod port_paths;
mod reference;
mod resolve;
mod scenario;
mod section;
mod threads;
mod tier;
mod warnings;
mod workloads;

pub use catalogue::{BALANCE, Entry, TRANSPORT, catalogue};
pub use explicit_paths::path_table;
pub use fabric_file::fabric_of;
pub use file::{Files, NamedFile};
pub use identity::MODEL_VERSION;
pub use keys::{every_key, keys_of};
pub use pair::plan_pair;
pub use port_paths::PortPaths;
pub use reference::{Parameter, reference, scheme_parameters, transport_parameters};
pub use resolve::Resolved;
pub use scenario::Scenario;
pub use section::change::{Alteration, Effect};
pub use section::fabric::Shape;
pub use section::graph::{EdgeSetting, GraphSetting};
pub use section::hash::{HashSetting, Seed};
pub use section::host::HostSetting;
pub use section::measure::Measure;
pub use section::record::Record;
pub use section::routing::{Routing, Weights};
pub use section::traffic::{
    Amount, CollectiveName, Demand, InferenceSetting, Rate, SizeSource, SizesSetting, Traffic, Training,
    WorkSetting,
};
pub use tier::tier_name;
