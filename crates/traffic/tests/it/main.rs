//! Traffic from outside: captures that are read, workloads that are drawn.

#![allow(clippy::unwrap_used)] // A test may fail, its helpers too.

mod capture;
mod workload;
