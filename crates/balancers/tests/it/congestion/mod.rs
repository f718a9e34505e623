//! CONGA, HULA, ConWeave, Flowcut, ARS and GLB in fabrics: what they gain, what failures do, what their messages cost.

mod alike;
mod ars;
mod conga;
mod conweave;
mod flowcut;
mod glb;
mod hula;
mod setup;
