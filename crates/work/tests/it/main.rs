//! Workload graphs from outside: collectives, readers and damaged files, end times of other programs.

#![allow(clippy::unwrap_used)] // A test may fail, its helpers too.

mod aicb;
mod chakra;
mod collectives;
mod damage;
mod golden;
mod inference;
mod messages;
mod readers;
mod rendezvous;
mod training;
