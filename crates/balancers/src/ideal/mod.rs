//! The ideal split: flows dealt to paths beforehand.

#[cfg(feature = "engine")]
mod descriptor;
#[cfg(feature = "engine")]
mod spread;

#[cfg(feature = "engine")]
pub use descriptor::{IDEAL, Ideal};
