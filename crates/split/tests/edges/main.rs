//! Schemes of hosts and hypervisors: what they make of what comes back.

#![allow(clippy::unwrap_used)] // A test may fail, its helpers too.

mod clove;
mod hermes;
mod place;
mod vms;
