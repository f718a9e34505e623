//! Meetings of threads, and what else they share.

mod interleavings;
mod threads;
