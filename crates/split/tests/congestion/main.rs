//! Schemes with news of congestion: CONGA, HULA, ConWeave, each on known cases.

#![allow(clippy::unwrap_used)] // A test may fail, its helpers too.

mod conga;
mod conweave;
mod environment;
mod hula;
