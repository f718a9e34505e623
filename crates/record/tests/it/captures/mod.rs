//! Captures of simulations, read back by other programs.

mod bytes;
mod files;
mod headers;
mod late;
mod pauses;
mod reader;
mod roce;
mod simulated;
mod trimming;
mod tshark;
mod uec;
mod wireshark;
