//! CONGA, HULA, ConWeave, Flowcut, ARS and GLB in fabrics: what they gain, what failures do, what their messages cost.

#![allow(clippy::unwrap_used)] // A test may fail, its helpers too.

mod alike;
mod ars;
mod conga;
mod conweave;
mod flowcut;
mod glb;
mod hula;
mod setup;
