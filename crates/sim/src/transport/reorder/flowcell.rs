//! Flowcells as a receiver sees them (Presto, SIGCOMM 2015, section 3.1).

use crate::Framing;

/// The flowcell of a byte: whole segments from the stream's beginning, as many as `cell_bytes` holds of frames, which
/// is how [`anabranch_split::scheme::flowcell::Flowcell`] is told them. Retransmissions, which the sender's side
/// counts too, shift the true borders; Presto's receiver reads them from the packets.
pub(super) fn of(seq: u64, cell_bytes: u64, framing: Framing) -> u64 {
    let segment = framing.payload_bytes_max;
    let segments = (cell_bytes / u64::from(framing.frame_bytes(segment))).max(1);
    seq / (segments * u64::from(segment))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_cell_of_64_kib_holds_43_frames_of_1518_bytes() {
        assert_eq!(of(43 * 1448 - 1, 65_536, Framing::ETHERNET), 0);
        assert_eq!(of(43 * 1448, 65_536, Framing::ETHERNET), 1);
        assert_eq!(of(86 * 1448, 65_536, Framing::ETHERNET), 2);
    }

    #[test]
    fn a_cell_holds_a_segment_at_least() {
        assert_eq!(of(1448, 1, Framing::ETHERNET), 1);
    }
}
