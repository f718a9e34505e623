//! The C library as its users have it: the header, programs in C beside the same in Rust, and what is refused.

#![allow(clippy::unwrap_used)] // A test may fail, its helpers too.

mod header;
mod installed;
mod programs;
mod proxy;
mod refusals;
mod threads;
mod vectors;
