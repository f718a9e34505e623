//! Groups that several threads share.

mod group;
mod interleavings;
