//! Ports with classes against traces of other programs, and by themselves.

mod pausing;
mod probes;
mod service;
mod trimming;

use std::io::Read;

/// Rows of a compressed table below its head, each with its cells.
fn rows(compressed: &[u8]) -> Vec<Vec<String>> {
    let mut text = String::new();
    flate2::read::GzDecoder::new(compressed).read_to_string(&mut text).unwrap();
    text.lines().skip(1).map(|line| line.split(',').map(str::to_owned).collect()).collect()
}
