//! Fabrics that are built by a rule.

mod builder;
mod clos;
mod dragonfly;
mod dumbbell;
mod fat_tree;
mod hosts;
mod leaf_spine;
mod multi_plane;
mod rail_optimised;
mod slim_fly;
mod vl2;

pub(crate) use builder::Builder;
pub use builder::LinkSettings;
pub use clos::Clos;
pub use dragonfly::Dragonfly;
pub use dumbbell::Dumbbell;
pub use fat_tree::FatTree;
pub use leaf_spine::LeafSpine;
pub use multi_plane::MultiPlane;
pub use rail_optimised::RailOptimised;
pub use slim_fly::SlimFly;
pub use vl2::Vl2;

#[cfg(test)]
mod tests;
