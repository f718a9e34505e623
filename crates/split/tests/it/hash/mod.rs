//! Hashes: their list, published values, other implementations, and what switches need of them.

mod by_name;
mod open_vswitch;
mod published;
mod stages;
