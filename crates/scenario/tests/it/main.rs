//! Scenario files from outside: what their keys mean, what is refused, what is written back.

#![allow(clippy::unwrap_used)] // A test may fail, its helpers too.

mod congestion_keys;
mod corpus;
mod errors;
mod examples;
mod expected_packet_hops;
mod explicit_paths;
mod inference_keys;
mod input_warnings;
mod meaning;
mod message_keys;
mod recorded_rates;
mod replay;
mod round_trip;
mod source_routes;
mod training_keys;
