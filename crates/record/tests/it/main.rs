//! Records from outside: tables, and captures as other programs read them.

#![allow(clippy::unwrap_used)] // A test may fail, its helpers too.

mod captures;
mod tables;
