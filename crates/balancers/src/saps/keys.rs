//! `[routing.scheme]` of `saps`.

use crate::saps::virtual_topology::Saps;
use anabranch_form::Keys;
use anabranch_form::unit::{Bytes, Capacity, Nanoseconds};

/// The keys.
pub(crate) fn visit(form: &mut impl Keys, saps: &mut Saps) {
    form.key(
        "threshold",
        Bytes { least: 0, most: i64::MAX as u64 },
        &mut saps.hosts.threshold_bytes,
        "Payload of the largest short flow.",
    );
    form.key(
        "quantum",
        Capacity,
        &mut saps.quantum_bps,
        "Bandwidths of paths are rounded down to multiples of this before they are compared.",
    );
    form.key("idle", Nanoseconds, &mut saps.hosts.idle_ns, "Silence after which a flow's turn is forgotten.");
}
