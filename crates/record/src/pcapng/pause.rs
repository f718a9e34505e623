//! Frames that pause a class, or end its pause (PFC: IEEE 802.1Q, clause 36; MAC control: IEEE 802.3, annex 31D).

use anabranch_sim::Packet;

/// Group address that no bridge forwards.
const DESTINATION: [u8; 6] = [0x01, 0x80, 0xc2, 0x00, 0x00, 0x01];
const MAC_CONTROL: u16 = 0x8808;
const PRIORITY_FLOW_CONTROL: u16 = 0x0101;
const PRIORITIES: usize = 8;
/// Bits of the link's time that a pause is counted in.
const QUANTUM_BITS: u128 = 512;
const PS_PER_S: u128 = 1_000_000_000_000;

/// Writes a frame of a switch's port. Its priority is the number of the class.
pub(super) fn write(packet: &Packet, port: u32, rate_bps: u64, out: &mut Vec<u8>) {
    let class = packet.tag as usize;
    let mut quanta = [0u16; PRIORITIES];
    let bits = (u128::from(packet.seq) * u128::from(rate_bps)).div_ceil(PS_PER_S);
    quanta[class] = u16::try_from(bits.div_ceil(QUANTUM_BITS)).unwrap_or(u16::MAX);
    out.extend(DESTINATION);
    let [a, b, c, d] = port.to_be_bytes();
    out.extend([0x02, 1, a, b, c, d]);
    for field in [MAC_CONTROL, PRIORITY_FLOW_CONTROL, 1 << class].into_iter().chain(quanta) {
        out.extend(field.to_be_bytes());
    }
}
