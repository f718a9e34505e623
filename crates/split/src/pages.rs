//! Page of each scheme: its rule, its known differences from the paper, its limits, its source.

/// Page of a scheme in Markdown, by the name that scenarios give it; `None` for an unknown name.
#[must_use]
pub fn page(name: &str) -> Option<&'static str> {
    PAGES.iter().find(|(known, _)| *known == name).map(|(_, page)| *page)
}

/// Pages by scheme. Variants of one rule share a page.
const PAGES: &[(&str, &str)] = &[
    ("ecmp", include_str!("scheme/ecmp.md")),
    ("random", include_str!("scheme/ecmp.md")),
    ("weighted", include_str!("scheme/weighted.md")),
    ("weighted-random", include_str!("scheme/weighted-random.md")),
    ("wrr", include_str!("scheme/wrr.md")),
    ("wcmp", include_str!("scheme/wcmp.md")),
    ("scoring", include_str!("scheme/scoring.md")),
    ("valo", include_str!("scheme/valo.md")),
    ("deficit", include_str!("scheme/deficit.md")),
    ("letflow", include_str!("scheme/letflow.md")),
    ("flowcell", include_str!("scheme/flowcell.md")),
    ("local-sampling", include_str!("scheme/local-sampling.md")),
    ("spray", include_str!("scheme/spray.md")),
    ("weighted-spray", include_str!("scheme/spray.md")),
    ("drill", include_str!("scheme/drill.md")),
    ("weighted-drill", include_str!("scheme/drill.md")),
    ("dbb", include_str!("scheme/dbb.md")),
    ("saps", include_str!("scheme/saps.md")),
    ("wino", include_str!("scheme/wino.md")),
    ("ideal", include_str!("scheme/ideal.md")),
    ("flowbender", include_str!("scheme/flowbender.md")),
    ("plb", include_str!("scheme/plb.md")),
    ("presto", include_str!("scheme/presto.md")),
    ("weighted-presto", include_str!("scheme/presto.md")),
    ("clove-ecn", include_str!("scheme/clove.md")),
    ("clove-int", include_str!("scheme/clove.md")),
    ("clove+valo", include_str!("scheme/clove.md")),
    ("vms", include_str!("scheme/vms.md")),
    ("vms-window", include_str!("scheme/vms.md")),
    ("vms+valo", include_str!("scheme/vms.md")),
    ("hermes", include_str!("scheme/hermes.md")),
    ("uec-oblivious", include_str!("scheme/uec.md")),
    ("uec-bitmap", include_str!("scheme/uec.md")),
    ("uec-mixed", include_str!("scheme/uec.md")),
    ("reps", include_str!("scheme/reps.md")),
    ("reps-legacy", include_str!("scheme/reps.md")),
    ("luopan", include_str!("scheme/luopan.md")),
    ("omniscient", include_str!("scheme/omniscient.md")),
    ("tdlb", include_str!("scheme/tdlb.md")),
    ("conga", include_str!("scheme/conga.md")),
    ("hula", include_str!("scheme/hula.md")),
    ("conweave", include_str!("scheme/conweave.md")),
];
