//! The keys of schemes that route at the source leaf: what is written is what is meant, and read again.

use anabranch_balancers::Scheme;
use anabranch_balancers::luopan::parameters::{Luopan, Metric, Probing};
use anabranch_balancers::luopan::pick::{Resample, Stale};
use anabranch_balancers::tdlb::parameters::{self as tdlb, DelayFeedback, Tdlb};
use anabranch_balancers::tdlb::pick::delays::Algorithm;
use anabranch_balancers::tdlb::pick::separator::Record;
use anabranch_balancers::tdlb::pick::{Clear, Detect, Initial};
use anabranch_scenario::Scenario;

fn scheme(keys: &str) -> Scheme {
    let traffic = "[[traffic]]\nload = 0.5\nduration = \"1 ms\"\n";
    let text = format!("{traffic}[routing]\n{keys}");
    let scenario = Scenario::parse(&text, "first.toml", &[]).unwrap();
    let canonical = scenario.to_toml();
    let again = Scenario::parse(&canonical, "again.toml", &[]).unwrap();
    assert_eq!(again, scenario, "{canonical}");
    scenario.routing.scheme
}

fn refused(keys: &str) -> String {
    let traffic = "[[traffic]]\nload = 0.5\nduration = \"1 ms\"\n";
    Scenario::parse(&format!("{traffic}[routing]\n{keys}"), "first.toml", &[]).unwrap_err().to_string()
}

#[test]
fn defaults_are_the_papers() {
    let scheme_luopan = scheme("balance = \"luopan\"");
    let luopan: &Luopan = scheme_luopan.parameters().unwrap();
    assert_eq!((luopan.sampling.samples, luopan.sampling.expiry_ns, luopan.cells.bytes), (2, 40_000, 65_536));
    assert_eq!((luopan.sampling.stale, luopan.metric, luopan.probe_bytes), (Stale::Keep, Metric::Bytes, 64));
    assert_eq!(luopan.probing, Probing::Packets);
    let scheme_tdlb = scheme("balance = \"tdlb\"");
    let tdlb: &Tdlb = scheme_tdlb.parameters().unwrap();
    assert_eq!((tdlb.period_ns, tdlb.threshold_bytes, tdlb.rules.detect), (100_000, None, Detect::Uplink));
    assert_eq!((tdlb.probing, tdlb.rules.initial), (tdlb::Probing::PairsInUse, Initial::Fastest));
    assert_eq!(
        scheme("balance = \"omniscient\""),
        Scheme::new(anabranch_balancers::luopan::parameters::Cells::default())
    );
}

#[test]
fn every_other_reading_can_be_written() {
    let scheme_luopan = scheme(
        "balance = \"luopan\"\n[routing.scheme]\nsamples = 9\nexpiry = \"20 us\"\npatience = \"1 ms\"\n\
         idle = \"5 ms\"\nstale = \"random\"\nresample = \"keep-best\"\nmetric = \"7bit\"\nprobing = \"express\"\nprobe = \"84 B\"\n\
         cell = \"14 KB\"\nflow_idle = \"2 ms\"",
    );
    let luopan: &Luopan = scheme_luopan.parameters().unwrap();
    let sampling = luopan.sampling;
    assert_eq!((sampling.samples, sampling.expiry_ns, sampling.patience_ns), (9, 20_000, 1_000_000));
    assert_eq!(
        (sampling.idle_ns, sampling.stale, sampling.resample),
        (5_000_000, Stale::Random, Resample::KeepBest)
    );
    assert_eq!(
        (luopan.metric, luopan.probing, luopan.probe_bytes),
        (Metric::SevenBits, Probing::Express, 84)
    );
    assert_eq!((luopan.cells.bytes, luopan.cells.idle_ns), (14_000, 2_000_000));
    let scheme_tdlb = scheme(
        "balance = \"tdlb\"\n[routing.scheme]\ndetect = \"both\"\nprobing = \"all-pairs\"\nphi = \"600 KB\"\ndelay_factor = 1.25\n\
         record = \"window\"\nwindow = \"30 us\"\nclear = \"never\"\nhold = \"1 ms\"\narray = 1024\nperiod = \"50 us\"\n\
         probe = \"128 B\"\nfeedback = \"symmetric\"\nskew = \"3 us\"\nalg2 = \"literal\"\ntimeout_min = \"0 s\"\n\
         timeout_max = \"100 us\"\ntie = \"300 ns\"\ninitial = \"ecmp\"\nidle = \"1 s\"",
    );
    let tdlb: &Tdlb = scheme_tdlb.parameters().unwrap();
    let rules = tdlb.rules;
    assert_eq!(
        (rules.detect, tdlb.threshold_bytes, rules.delay_factor_milli),
        (Detect::Both, Some(600_000), 1250)
    );
    assert_eq!((rules.record, rules.clear, rules.hold_ns), (Record::Window(30_000), Clear::Never, 1_000_000));
    assert_eq!((tdlb.array, tdlb.period_ns, tdlb.probe_bytes), (1024, 50_000, 128));
    assert_eq!(tdlb.probing, tdlb::Probing::AllPairs);
    assert_eq!(
        (tdlb.feedback, tdlb.skew_ns, rules.algorithm),
        (DelayFeedback::Symmetric, 3000, Algorithm::Literal)
    );
    assert_eq!((tdlb.timeout_min_ns, rules.timeout_max_ns, rules.tie_ns), (Some(0), 100_000, 300));
    assert_eq!((rules.initial, rules.idle_ns), (Initial::Ecmp, 1_000_000_000));
}

#[test]
fn what_makes_no_sense_is_refused_by_its_key() {
    for (keys, key) in [
        ("balance = \"luopan\"\nscheme.expiry = \"0 s\"", "expiry"),
        ("balance = \"luopan\"\nscheme.samples = 0", "samples"),
        ("balance = \"hula\"\nscheme.probe = \"63 B\"", "probe"),
        ("balance = \"tdlb\"\nscheme.period = \"0 s\"", "period"),
        ("balance = \"tdlb\"\nscheme.probe = \"63 B\"", "probe"),
        ("balance = \"tdlb\"\nscheme.window = \"1 us\"", "window"),
    ] {
        assert!(refused(keys).contains(key), "{}", refused(keys));
    }
}
