//! Results of a run: tables whose columns carry units and meanings, and captures.

mod column;
mod error;
mod flows;
mod pcapng;
mod ports;
mod tables;
mod whole_file;

pub use column::{Column, Values};
pub use error::RecordError;
pub use flows::flow_columns;
pub use pcapng::{write_capture, write_captures};
pub use ports::{port_columns, queue_columns, window_columns};
pub use tables::{tables, totals};
