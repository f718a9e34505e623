//! Table techniques: published tables, and promises that all of them keep.

mod exported;
mod golden;
mod properties;
