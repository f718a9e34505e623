//! Keys of files, described once and used three times: to read a document, to write it out in full, and to list its keys
//! on the reference page.

pub mod document;
mod error;
mod form;
mod millionths;
pub mod nearest;
mod origin;
mod period;
mod read;
mod reference;
pub mod unit;
mod word;
mod write;

pub use error::{FormError, Position};
pub use form::{AnyKeys, Form, Keys};
pub use millionths::millionths;
pub use origin::Origin;
pub use period::refuse_zero;
pub use read::Reader;
pub use reference::{Reference, Row, Wants};
pub use word::word;
pub use write::{Writer, key};
