//! The C library: weighted groups to pick from, and a network that another program drives.
//!
//! `include/anabranch.h` is made of these functions and says what C has to know. Handles come as references, which C
//! sees as pointers: NULL is `None`. Arrays, texts and results come as pointers, which [`argument`] looks at before
//! anything reads or writes them. No panic leaves the library: [`outcome`] turns it into a status.

// What a pointer has to be, the header says once, at its head.
#![allow(clippy::missing_safety_doc)]

mod argument;
mod bounded;
mod draining;
mod group;
mod network;
mod outcome;
mod reader;
mod slow_start;
mod snapshot;

pub use bounded::anabranch_group_pick_bounded;
pub use draining::{
    Connections, anabranch_connections_free, anabranch_connections_new, anabranch_connections_pick,
    anabranch_connections_state_bytes, anabranch_group_drain, anabranch_group_undrain,
};
pub use group::{
    Group, NO_MEMBER, anabranch_group_copy, anabranch_group_free, anabranch_group_members,
    anabranch_group_new, anabranch_group_pick, anabranch_group_pick_batch, anabranch_group_shares,
    anabranch_group_table, anabranch_group_update,
};
pub use network::{
    End, Message, NO_TIME, Network, anabranch_network_change, anabranch_network_done, anabranch_network_free,
    anabranch_network_host, anabranch_network_hosts, anabranch_network_ideal, anabranch_network_next_event,
    anabranch_network_now, anabranch_network_of_text, anabranch_network_open, anabranch_network_run_until,
    anabranch_network_run_until_any_done, anabranch_network_send, anabranch_network_send_many,
    anabranch_network_take_done, anabranch_network_unfinished,
};
pub use outcome::{Status, anabranch_last_error, anabranch_version};
pub use reader::{Reader, anabranch_reader_free, anabranch_reader_new, anabranch_reader_pick};
pub use slow_start::{NO_AGE, SlowStart, anabranch_group_slow_start};
pub use snapshot::{
    Revision, anabranch_group_adopt, anabranch_group_delta, anabranch_group_restore,
    anabranch_group_revision, anabranch_group_snapshot,
};
