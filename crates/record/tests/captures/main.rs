//! Captures of simulations, read back by other programs.
#![allow(clippy::unwrap_used)] // A test may fail, its helpers too.

mod bytes;
mod files;
mod headers;
mod late;
mod pauses;
mod reader;
mod roce;
mod simulated;
mod trimming;
mod tshark;
mod uec;
mod wireshark;
