//! Schemes of hosts and hypervisors: their reactions to feedback.

#![allow(clippy::unwrap_used)] // A test may fail, its helpers too.

mod clove;
mod environment;
mod hermes;
mod vms;
