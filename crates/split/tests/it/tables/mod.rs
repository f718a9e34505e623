//! Table techniques: published tables, and promises that all of them keep.

mod golden;
mod properties;
