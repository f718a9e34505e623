//! The kernel's datapath from outside: its programs against the library's picks, and datapaths as they stand.

#![allow(clippy::unwrap_used)] // A test may fail, its helpers too.

mod any_packet;
mod differential;
mod flows;
mod frames;
mod groups;
mod history;
mod objects;
mod pinned;
mod privilege;
mod reference;
mod verifier;
mod ways_out;
