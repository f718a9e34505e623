//! `[routing.scheme]` of CONGA, HULA and ConWeave: what is read, and what is refused.
#![allow(clippy::unwrap_used)] // A test may fail, its helpers too.

use anabranch_balancers::Scheme;
use anabranch_balancers::conga::pick as conga;
use anabranch_balancers::conweave::pick as conweave;
use anabranch_balancers::hula::pick as hula;
use anabranch_scenario::Scenario;
use std::path::Path;

const TRAFFIC: &str = "[[traffic]]\nload = 0.5\nduration = \"1 ms\"\n";

fn scheme(balance: &str, keys: &str) -> Result<Scheme, String> {
    let text = format!("[routing]\nbalance = \"{balance}\"\n[routing.scheme]\n{keys}\n{TRAFFIC}");
    let scenario = Scenario::parse(&text, "s.toml", &[]).map_err(|error| error.to_string())?;
    let resolved = scenario.resolve(Path::new("")).map_err(|error| error.to_string())?;
    Ok(resolved.settings().balancing.scheme.clone())
}

#[test]
fn what_is_not_written_is_the_default() {
    assert_eq!(scheme("conga", "").unwrap(), Scheme::new(conga::Parameters::default()));
    assert_eq!(scheme("hula", "").unwrap(), Scheme::new(hula::Parameters::default()));
    assert_eq!(scheme("conweave", "").unwrap(), Scheme::new(conweave::Parameters::default()));
    let read = scheme(
        "conga",
        "period = \"50 us\"\nalpha = 0.25\nlevel_bits = 4\nown_rates = false\ngap = \"13 ms\"\nage = \"500 us\"\ncandidates = 4",
    );
    let written = conga::Parameters {
        period_ns: 50_000,
        alpha: 0.25,
        level_bits: 4,
        own_rates: false,
        gap_ns: 13_000_000,
        age_ns: 500_000,
        candidates: 4,
    };
    assert_eq!(read.unwrap(), Scheme::new(written));
    let read = scheme(
        "hula",
        "gap = \"50 us\"\nperiod = \"40 us\"\nprobe = \"38 B\"\ntau = \"80 us\"\nkeep = \"1 ms\"",
    );
    let written = hula::Parameters {
        gap_ns: 50_000,
        period_ns: 40_000,
        probe_bytes: 38,
        tau_ns: 80_000,
        keep_ns: 1_000_000,
    };
    assert_eq!(read.unwrap(), Scheme::new(written));
    let read = scheme(
        "conweave",
        "default_hold = \"600 us\"\nextra_hold = \"64 us\"\nexpiry = \"1 ms\"\ncontrol = \"84 B\"",
    );
    let written = conweave::Parameters {
        default_hold_ns: 600_000,
        extra_hold_ns: 64_000,
        expiry_ns: 1_000_000,
        control_bytes: 84,
        ..conweave::Parameters::default()
    };
    assert_eq!(read.unwrap(), Scheme::new(written));
}

#[test]
fn what_cannot_work_is_refused_with_its_key() {
    for (balance, keys, said) in [
        ("conga", "alpha = 0.01", "alpha: 0.01 is less than 1/32; give 0.03125 or more"),
        ("conga", "period = \"0 s\"", "period: it is zero; give a time above zero"),
        ("conga", "level_bits = 8", "level_bits: `8` is out of range; give a whole number from 1 to 7"),
        ("conga", "gaps = \"1 us\"", "gap"),
        ("hula", "period = \"0 s\"", "period: it is zero; give a time above zero"),
        ("hula", "tau = \"5 s\"", "tau: it is too long; give at most 4 s"),
        ("hula", "probe = \"2 KB\"", "probe: "),
        ("conweave", "pause = 3", "pause: "),
        ("ecmp", "gap = \"1 us\"", "routing.scheme"),
    ] {
        let error = scheme(balance, keys).unwrap_err();
        assert!(error.contains(said) && error.contains("s.toml:4"), "{balance}, {keys}: {error}");
    }
}
