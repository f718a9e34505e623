//! Captures: formats, headers, what is wrong in them, and another parser beside ours.

mod bytes;
mod corpus;
mod errors;
mod etherparse;
mod formats;
mod headers;
