//! The simulator against what others did with the same work: ns-3 and the Linux kernel, recorded in `vectors/`.

#![allow(clippy::print_stdout)] // The figures of docs/validation, by `-- --nocapture`.

mod linux;
mod ns3;
mod recording;
