//! Load balancers from outside: their plans, their picks, and whole simulations.

#![allow(clippy::unwrap_used)] // A test may fail, its helpers too.

mod congestion;
mod engine;
mod picks;
mod plans;
mod source_routes;
mod validation;
