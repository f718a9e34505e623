//! Table techniques: published tables, and promises that all of them keep.

#![allow(clippy::unwrap_used)] // A test may fail, its helpers too.

mod golden;
mod properties;
