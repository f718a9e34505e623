//! Techniques with state: distance from the weights, changes, the flow table, and turns.

#![allow(clippy::unwrap_used)] // A test may fail, its helpers too.

mod accuracy;
mod changes;
mod flow_table;
mod turns;
