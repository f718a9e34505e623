//! Scripted exchanges over a wire, worked out from the texts of the RFCs.

mod acknowledging;
mod by_time;
mod cubic_window;
mod delivery;
mod duplicates;
mod holding;
mod loss;
mod marking;
mod pacing;
mod reuse;
mod slow_start;
mod timeout;
mod wire;

use super::{Control, Reorder, Tcp};
use wire::{Fate, MS, MSS, US, Wire};

/// NewReno with SACK, an acknowledgement for each segment, and a timeout of 10 ms.
fn plain() -> Tcp {
    Tcp {
        control: Control::NewReno,
        initial_window: 10,
        window_max_bytes: 1 << 30,
        sack: true,
        dup_ack_threshold: 3,
        rack: false,
        dsack: false,
        ack_every: 1,
        ack_delay_ps: 500 * US,
        rto_min_ps: 10 * MS,
        rto_initial_ps: 20 * MS,
        rto_max_ps: 1_000 * MS,
        ecn: false,
        handshake: false,
        persistent: false,
        reorder: Reorder::None,
        pace: None,
        payload_bytes_max: None,
    }
}

/// Drops the first transmissions of these segments, counted from 0.
fn drops(segments: &[u64]) -> impl FnMut(&crate::Packet) -> Fate + use<> {
    let mut left = segments.to_vec();
    move |packet| {
        let segment = packet.seq / MSS;
        match left.iter().position(|&s| s == segment) {
            Some(at) if packet.kind == crate::Kind::Data => {
                left.remove(at);
                Fate::Lost
            }
            _ => Fate::Arrives,
        }
    }
}
