//! Reads what was recorded, and sets TCP as the recordings had it.

use anabranch_balancers::{Balancing, Settings};
use anabranch_fabric::topology::LinkSettings;
use anabranch_fabric::{Buffer, Marking, Rate};
use anabranch_sim::transport::{Control, Reorder, Tcp, Transport};
use anabranch_sim::{Framing, Nic, Observe};
use std::path::PathBuf;

pub(crate) const PS_PER_US: u64 = 1_000_000;

/// A CSV file below `vectors/`: a column by its name.
pub(crate) struct Recording {
    file: String,
    header: Vec<String>,
    rows: Vec<Vec<String>>,
}

impl Recording {
    pub(crate) fn read(file: &str) -> Self {
        let path = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../vectors").join(file);
        let text = std::fs::read_to_string(&path).unwrap_or_else(|error| panic!("{file}: {error}"));
        let mut lines = text.lines().map(|line| line.split(',').map(str::to_owned).collect());
        let header = lines.next().unwrap_or_default();
        Self { file: file.to_owned(), header, rows: lines.collect() }
    }

    pub(crate) fn column<T: std::str::FromStr>(&self, name: &str) -> Vec<T> {
        let at = self.header.iter().position(|column| column == name);
        let at = at.unwrap_or_else(|| panic!("{}: no column {name}", self.file));
        self.rows
            .iter()
            .map(|row| row[at].parse().unwrap_or_else(|_| panic!("{}: {name}: {}", self.file, row[at])))
            .collect()
    }
}

pub(crate) fn link(rate_bps: u64, delay_ps: u64, buffer_bytes: u32, marking: Marking) -> LinkSettings {
    LinkSettings {
        rate: Rate::from_bps(rate_bps).unwrap(),
        delay_ps,
        buffer: Buffer { bytes: buffer_bytes, packets: u32::MAX },
        marking,
    }
}

/// With handshake, SACK and an acknowledgement per segment.
pub(crate) fn tcp(control: Control, window_max_bytes: u64, rto_ps: u64) -> Tcp {
    Tcp {
        control,
        initial_window: 10,
        window_max_bytes,
        sack: true,
        dup_ack_threshold: 3,
        rack: false,
        dsack: false,
        ack_every: 1,
        ack_delay_ps: 1_000 * PS_PER_US,
        rto_min_ps: rto_ps,
        rto_initial_ps: rto_ps,
        rto_max_ps: 60_000_000 * PS_PER_US,
        ecn: matches!(control, Control::Dctcp { .. }),
        handshake: true,
        persistent: false,
        reorder: Reorder::None,
        pace: None,
        payload_bytes_max: None,
    }
}

pub(crate) fn settings(tcp: Tcp, header_bytes: u16) -> Settings {
    Settings {
        seed: 1,
        balancing: Balancing::ECMP,
        transports: vec![Transport::Tcp(tcp)],
        works: Vec::new(),
        replay: None,
        nic: Nic::FIFO,
        framing: Framing {
            payload_bytes_max: 1448,
            header_bytes,
            frame_bytes_min: 0,
            gap_bytes: 0,
            whole_ns: false,
        },
        changes: Vec::new(),
        routing_delay_ps: 0,
        switch_hashes: Vec::new(),
        end_ps: u64::MAX,
        observe: Observe::default(),
    }
}

pub(crate) fn mean(values: &[f64]) -> f64 {
    values.iter().sum::<f64>() / values.len() as f64
}
