//! `balance = "luopan"`, and the flowcells of `"omniscient"` and `"random-path"`.

use crate::luopan::parameters::{Cells, Luopan, Metric, Probing};
use crate::luopan::pick::{Resample, Stale};
use anabranch_form::Keys;
use anabranch_form::refuse_zero;
use anabranch_form::unit::{Bytes, Count, Nanoseconds};
use anabranch_form::word;
use anabranch_sim::PROBE_BYTES_MIN;

/// Most samples of a destination: more than any pair of leaves has paths.
const SAMPLES_MAX: u32 = 2046;

/// The keys of Luopan.
pub(crate) fn visit(form: &mut impl Keys, luopan: &mut Luopan) {
    let Luopan { cells, sampling, metric, probing, probe_bytes } = luopan;
    let mut samples = sampling.samples.into();
    form.key(
        "samples",
        Count { least: 1, most: SAMPLES_MAX },
        &mut samples,
        "Paths sampled of each destination (d).",
    );
    sampling.samples = samples as u16;
    form.key("expiry", Nanoseconds, &mut sampling.expiry_ns, "Time between two rounds of probes (T).");
    refuse_zero(form, "expiry", sampling.expiry_ns);
    form.key(
        "patience",
        Nanoseconds,
        &mut sampling.patience_ns,
        "Time after which a probe without an answer counts as lost.",
    );
    form.key(
        "idle",
        Nanoseconds,
        &mut sampling.idle_ns,
        "A destination to which no flowcell began for so long is no longer probed.",
    );
    word(
        form,
        "stale",
        &["keep", "random"],
        &[Stale::Keep, Stale::Random],
        &mut sampling.stale,
        "Expired samples are used until the next are there, or dropped, and paths drawn at random meanwhile.",
    );
    word(
        form,
        "resample",
        &["independent", "keep-best"],
        &[Resample::Independent, Resample::KeepBest],
        &mut sampling.resample,
        "All paths of a round are drawn anew, or all but the best of the round before.",
    );
    word(
        form,
        "metric",
        &["bytes", "7bit", "utilisation"],
        &[Metric::Bytes, Metric::SevenBits, Metric::Utilisation],
        metric,
        "In what paths are compared: bytes that wait, the same in 127 steps for full buffers along the longest path, or \
         how busy the busiest link was over the last `expiry`.",
    );
    word(
        form,
        "probing",
        &["packets", "express", "instant"],
        &[Probing::Packets, Probing::Express, Probing::Instant],
        probing,
        "Probes wait in queues as all packets do; or every port serves them first, and they take no room; or samples \
         are there at once when a flowcell begins and those before have expired, as in no fabric: a yardstick for what \
         their age costs.",
    );
    frame(form, probe_bytes);
    visit_cells(form, cells);
}

/// The keys of flowcells that a leaf remembers.
pub(crate) fn visit_cells(form: &mut impl Keys, cells: &mut Cells) {
    form.key("cell", Bytes { least: 1, most: 1 << 30 }, &mut cells.bytes, "Payload of a flowcell.");
    form.key(
        "flow_idle",
        Nanoseconds,
        &mut cells.idle_ns,
        "Pause after which a leaf forgets where a flowcell went.",
    );
}

/// The key of a probe's size.
pub(crate) fn frame(form: &mut impl Keys, probe_bytes: &mut u16) {
    let mut bytes = (*probe_bytes).into();
    let size = Bytes { least: PROBE_BYTES_MIN.into(), most: 1518 };
    form.key("probe", size, &mut bytes, "Frame of a probe and of its answer.");
    *probe_bytes = bytes as u16;
}
