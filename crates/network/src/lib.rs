//! Network that another program drives: it sends messages, lets time pass up to a moment of its choice or to the end of a
//! message, and decides then what to send next.
//!
//! ```
//! use anabranch_network::{DrivenNetwork, Message, UNINTERRUPTED};
//! use anabranch_scenario::Scenario;
//! use std::{path::Path, sync::Arc};
//!
//! let text = "[fabric]\nleaves = 2\nspines = 2\nhosts_per_leaf = 2\n";
//! let scenario = Scenario::parse_driven(text, "scenario.toml", &[])?.resolve(Path::new(""))?;
//! let mut network = DrivenNetwork::new(Arc::new(scenario), false)?;
//! let ping = network.send(&[Message { src: 0, dst: 2, bytes: 1000, at_ps: None, transport: 0 }])?.start;
//! network.run_until_any_done(None, UNINTERRUPTED)?;
//! assert_eq!(network.take_done()[0].message, ping);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

mod driven_network;
mod simulation_thread;

pub use anabranch_sim::MessageEnd;
pub use driven_network::{DrivenNetwork, Message, UNINTERRUPTED};
