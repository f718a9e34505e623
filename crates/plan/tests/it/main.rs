//! Plans from outside: groups of degraded fabrics, and slices with their meters and noise.

#![allow(clippy::unwrap_used)] // A test may fail, its helpers too.

mod groups;
mod slice_meters;
mod slice_noise;
mod slices;
