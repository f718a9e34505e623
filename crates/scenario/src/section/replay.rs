//! `[replay]`: messages of graphs that repeat, and are not simulated packet by packet any more.

use anabranch_form::Form;
use anabranch_form::unit::{Count, Fraction};
use anabranch_sim::Replay;

/// The values where the table is there and its keys are not.
pub(crate) const DEFAULT: Replay = Replay { sample: 0.05, learn: 3, band: 0.03 };

/// The keys.
pub(crate) fn visit(form: &mut impl Form, replay: &mut Replay) {
    form.key(
        "sample",
        Fraction,
        &mut replay.sample,
        "Share of the messages that are carried packet by packet all the same, a phase from time to time; what they take \
         beside what was expected is the error that the run states.",
    );
    if replay.sample <= 0.0 || replay.sample >= 1.0 {
        form.refuse(
            "sample",
            format!("{:?} leaves nothing to compare, or nothing to replay", replay.sample),
            "give a number above 0 and below 1, such as 0.05; or leave out [replay]".to_owned(),
        );
    }
    form.key(
        "learn",
        Count { least: 2, most: 8 },
        &mut replay.learn,
        "Messages of one stream (graph, source, destination and size alike) that are carried before one is replayed.",
    );
    form.key(
        "band",
        Fraction,
        &mut replay.band,
        "Largest standard deviation of the durations of a stream that is replayed, as a part of their mean.",
    );
}
