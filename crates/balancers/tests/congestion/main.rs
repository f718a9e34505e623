//! CONGA, HULA and ConWeave in fabrics: what they gain, what failures do, what their messages cost.

#![allow(clippy::unwrap_used)] // A test may fail, its helpers too.

mod alike;
mod conga;
mod conweave;
mod hula;
mod setup;
