//! Presto's parameters.

use crate::presto::parameters::{Order, Settings};
use anabranch_form::Keys;
use anabranch_form::unit::{Bytes, Choice, Time};

const ORDERS: [&str; 2] = ["lex", "random"];

pub(crate) fn visit(form: &mut impl Keys, settings: &mut Settings) {
    let mut cell_bytes = settings.cell_bytes.into();
    form.key(
        "cell",
        Bytes { least: 1, most: 1 << 30 },
        &mut cell_bytes,
        "Payload of a flowcell; 14 KB in the public ns-3 implementation.",
    );
    settings.cell_bytes = cell_bytes as u32;
    let mut order = ORDERS[usize::from(settings.order == Order::Random)];
    form.key(
        "order",
        Choice(&ORDERS),
        &mut order,
        "In which order flowcells take paths: by number, so that paths with the same first links follow each other, or \
         in an order drawn for each pair of leaves.",
    );
    settings.order = if order == ORDERS[0] { Order::Lexicographic } else { Order::Random };
    form.key(
        "hold",
        Time,
        &mut settings.hold_ps,
        "Longest hold of a gap at a flowcell's border, at TCP's receivers without `reorder` of their own; 0 s: no hold.",
    );
}
