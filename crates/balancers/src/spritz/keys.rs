//! Parameters of `balance = "spritz-scout"` and `"spritz-spray"`.

use crate::spritz::pick::{CACHED_MAX, Parameters};
use anabranch_form::Keys;
use anabranch_form::unit::{Bytes, Count, Nanoseconds};

pub(crate) fn visit(form: &mut impl Keys, parameters: &mut Parameters) {
    let mut cached = parameters.cached.into();
    form.key(
        "cached",
        Count { least: 0, most: CACHED_MAX as u32 },
        &mut cached,
        "Good paths that a pair of hosts remembers, at most. 0: each packet is drawn, whatever came of others.",
    );
    parameters.cached = cached as u8;
    form.key(
        "weight_scaling",
        Count { least: 0, most: 1 << 16 },
        &mut parameters.weight_scaling,
        "Factor of the weights of all paths but the longest. 0: all paths weigh the same.",
    );
    let mut packets = parameters.explore_threshold.into();
    form.key(
        "explore_threshold",
        Count { least: 0, most: u16::MAX.into() },
        &mut packets,
        "Once more packets of a flow than this went by good paths, one is drawn. 0: only when none is remembered.",
    );
    parameters.explore_threshold = packets as u16;
    if !parameters.spray {
        let mut marks = parameters.ecn_threshold.into();
        form.key(
            "ecn_threshold",
            Count { least: 0, most: u16::MAX.into() },
            &mut marks,
            "Once more packets of a flow than this came marked by good paths, the path of the last one is forgotten.",
        );
        parameters.ecn_threshold = marks as u16;
    }
    form.key(
        "small_flow",
        Bytes { least: 0, most: 1 << 40 },
        &mut parameters.small_flow_bytes,
        "Flows below this size draw the shortest paths with `small_flow_weight`, and all others with 1.",
    );
    form.key(
        "small_flow_weight",
        Count { least: 1, most: 1 << 16 },
        &mut parameters.small_flow_weight,
        "Weight of the shortest paths for flows below `small_flow`.",
    );
    form.optional(
        "block",
        Nanoseconds,
        &mut parameters.block_ns,
        "Time for which a path is not drawn after one of its packets timed out; for good if not given.",
    );
    form.optional(
        "memory",
        Nanoseconds,
        &mut parameters.memory_ns,
        "Silence after which a new flow takes up no good paths of others. Default: a round trip on the longest path.",
    );
}
