//! `[framing]`: bytes around a payload.

use anabranch_form::Form;
use anabranch_form::unit::{Bytes, Flag};
use anabranch_sim::Framing;

/// Largest frame the simulator's 16-bit lengths hold with room for a header.
const FRAME_MOST: u64 = 65_000;

/// Largest payload of a segment that may be asked for.
pub(crate) const MSS_MOST: u64 = 60_000;

/// The keys.
pub(crate) fn visit(form: &mut impl Form, framing: &mut Framing) {
    let mut size = |name, least, most, value: &mut u16, meaning| {
        let mut bytes = u64::from(*value);
        form.key(name, Bytes { least, most }, &mut bytes, meaning);
        *value = bytes as u16;
    };
    size(
        "mss",
        1,
        MSS_MOST,
        &mut framing.payload_bytes_max,
        "Largest payload of a segment. 1448 B is what Ethernet leaves with TCP timestamps, 8948 B with jumbo frames.",
    );
    size(
        "headers",
        0,
        1000,
        &mut framing.header_bytes,
        "Headers and checksum around a payload: 18 of Ethernet, 20 of IPv4, 20 of TCP, 12 of timestamps.",
    );
    size(
        "least_frame",
        1,
        FRAME_MOST,
        &mut framing.frame_bytes_min,
        "Shortest frame; shorter ones are padded.",
    );
    size(
        "gap",
        0,
        1000,
        &mut framing.gap_bytes,
        "Preamble and gap beside each frame: they take time on the link and no room in a queue.",
    );
    form.key(
        "whole_ns",
        Flag,
        &mut framing.whole_ns,
        "A frame takes whole nanoseconds on a link, rounded down, as in ns-3: 83 ns for 1048 B at 100 Gbit/s, which are \
         83.84 ns. For comparisons with it.",
    );
}
