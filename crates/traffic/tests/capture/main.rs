//! Captures: formats, headers, what is wrong in them, and another parser beside ours.

#![allow(clippy::unwrap_used)] // A test may fail, its helpers too.

mod bytes;
mod corpus;
mod errors;
mod etherparse;
mod formats;
mod headers;
