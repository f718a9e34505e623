//! `balance = "conweave"`.

use crate::conweave::pick::Parameters;
use anabranch_form::Keys;
use anabranch_form::unit::{Bytes, Nanoseconds};

pub(crate) fn visit(form: &mut impl Keys, parameters: &mut Parameters) {
    let Parameters {
        extra_reply_ns,
        pause_ns,
        extra_hold_ns,
        default_hold_ns,
        expiry_ns,
        age_ns,
        control_bytes,
    } = parameters;
    form.key(
        "extra_reply",
        Nanoseconds,
        extra_reply_ns,
        "What a reply may take beyond the round trip of an empty fabric before its path counts as congested.",
    );
    form.key(
        "pause",
        Nanoseconds,
        pause_ns,
        "How long a path is not chosen after a marked packet came by it.",
    );
    form.key(
        "extra_hold",
        Nanoseconds,
        extra_hold_ns,
        "How much later than predicted the last packets on the old path may come before the new path's are let go.",
    );
    form.key(
        "default_hold",
        Nanoseconds,
        default_hold_ns,
        "How long the new path's packets are held where nothing came by the old one to predict from.",
    );
    form.key("expiry", Nanoseconds, expiry_ns, "Pause after which a flow may choose a path anew.");
    form.key("age", Nanoseconds, age_ns, "Pause after which a flow is forgotten.");
    let mut frame_bytes = (*control_bytes).into();
    form.key(
        "control",
        Bytes { least: 1, most: 1518 },
        &mut frame_bytes,
        "Frame of a reply, a clearance or a notice.",
    );
    *control_bytes = frame_bytes as u16;
}
