//! Parameters of explicit paths.

use crate::explicit::pick::{Parameters, Spread};
use anabranch_form::unit::Nanoseconds;
use anabranch_form::{Keys, word};

pub(crate) fn visit(form: &mut impl Keys, parameters: &mut Parameters) {
    word(
        form,
        "spread",
        &["flows", "packets"],
        &[Spread::Flows, Spread::Packets],
        &mut parameters.spread,
        "What takes one path: all packets of a connection in one direction, or each packet by itself.",
    );
    form.key(
        "probe",
        Nanoseconds,
        &mut parameters.probe_ns,
        "Time between two probes of a path between two hosts with open connections. 0: no probe is sent.",
    );
    form.key(
        "timeout",
        Nanoseconds,
        &mut parameters.timeout_ns,
        "Time after which a probe that is not answered takes its path out of use.",
    );
    if parameters.probe_ns > 0 && parameters.timeout_ns == 0 {
        form.refuse(
            "timeout",
            "0 takes every path out of use before an answer can come".to_owned(),
            "give more than the longest round trip with its queues, such as \"500 us\"".to_owned(),
        );
    }
}
