//! Results of a run: tables whose columns carry units and meanings, and captures.

mod card_loads;
mod column;
mod error;
mod events;
mod flows;
mod ideals;
mod pcapng;
mod ports;
mod record_file;
mod requests;
mod steps;
mod tables;
mod whole_file;

pub use column::{Column, Values, WORD_LETTERS_MAX};
pub use error::RecordError;
pub use events::event_columns;
pub use flows::{FlowPieces, flow_columns};
pub use ideals::Ideals;
pub use pcapng::{write_capture, write_captures};
pub use ports::{port_columns, queue_columns, window_columns};
pub use record_file::RecordFile;
pub use requests::request_columns;
pub use steps::{critical_columns, step_columns};
pub use tables::{tables, tables_beside_flows, totals};
