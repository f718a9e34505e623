//! Flows with their packets, what groups' members write into them, and random bits that are the same in every run.

use anabranch_kernel::Output;
use anabranch_split::FiveTuple;
use anabranch_split::picks::mix;
use anabranch_split::protocol::UDP;

/// VXLAN's, so that the source port can be a member's mark.
pub(crate) const TUNNEL: u16 = 4789;

/// 32 bits for each number.
pub(crate) fn random(number: u32) -> u32 {
    mix::finalise(number.wrapping_mul(0x9e37_79b9) ^ 0x5bd1_e995)
}

/// A UDP packet of a flow to a group's prefix, `10.group/16` or `fd00:group::/32`: IPv4, every third flow IPv6.
pub(crate) fn packet(flow: u32, group: u8) -> (FiveTuple, Vec<u8>) {
    let (bits, port) = (random(flow), 1000 + flow as u16);
    let mut frame = vec![2; 12];
    let tuple = if flow % 3 == 2 {
        let (mut from, mut to) = ([0xfd; 16], [0; 16]);
        from[12..].copy_from_slice(&bits.to_be_bytes());
        to[..4].copy_from_slice(&[0xfd, 0, 0, group]);
        to[12..].copy_from_slice(&random(bits).to_be_bytes());
        frame.extend([0x86, 0xdd, 0x60, 0, 0, 0, 0, 26, UDP, 64]);
        frame.extend([from, to].concat());
        FiveTuple::v6(from, to, UDP, port, TUNNEL)
    } else {
        let [.., a, b] = random(bits).to_be_bytes();
        let (from, to) = (bits.to_be_bytes(), [10, group, a, b]);
        frame.extend([0x08, 0x00, 0x45, 0, 0, 46, 0, 1, 0, 0, 64, UDP, 0, 0]);
        frame.extend([from, to].concat());
        FiveTuple::v4(from, to, UDP, port, TUNNEL)
    };
    frame.extend([port.to_be_bytes(), TUNNEL.to_be_bytes(), 26u16.to_be_bytes(), [0; 2]].concat());
    frame.extend([0; 18]);
    (tuple, frame)
}

/// Mark of the member in such a packet; `None` if the output leaves the packet alone.
pub(crate) fn mark(output: Output, frame: &[u8]) -> Option<u32> {
    let v6 = frame[12] == 0x86;
    let word = u32::from_be_bytes([frame[14], frame[15], frame[16], frame[17]]);
    match output {
        Output::Redirect | Output::Route => None,
        Output::Dscp => Some(if v6 { word >> 22 & 63 } else { word >> 18 & 63 }),
        Output::FlowLabel => v6.then_some(word & 0xf_ffff),
        Output::TunnelPort => {
            let transport = if v6 { 54 } else { 34 };
            Some(u16::from_be_bytes([frame[transport], frame[transport + 1]]).into())
        }
    }
}
