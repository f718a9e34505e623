//! `[routing.scheme]` of CONGA, HULA, ConWeave, Flowcut, ARS, GLB and MP-RDMA: what is read, and what is refused.

use anabranch_balancers::Scheme;
use anabranch_balancers::ars::load::Profile;
use anabranch_balancers::ars::pick as ars;
use anabranch_balancers::conga::pick as conga;
use anabranch_balancers::conweave::pick as conweave;
use anabranch_balancers::flowcut::pick as flowcut;
use anabranch_balancers::glb::pick as glb;
use anabranch_balancers::hula::pick as hula;
use anabranch_balancers::mp_rdma::pick as mp_rdma;
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
        "period = \"50 us\"\nalpha = 0.25\nlevel_bits = 4\nown_rates = false\ngap = \"13 ms\"\nage = \"500 us\"\ncandidates = 4\nwrap = false\ndata_only = true",
    );
    let written = conga::Parameters {
        period_ns: 50_000,
        alpha: 0.25,
        level_bits: 4,
        own_rates: false,
        gap_ns: 13_000_000,
        age_ns: 500_000,
        candidates: 4,
        wrap: false,
        data_only: true,
    };
    assert_eq!(read.unwrap(), Scheme::new(written));
    let read = scheme(
        "hula",
        "gap = \"50 us\"\nperiod = \"40 us\"\nprobe = \"84 B\"\ntau = \"80 us\"\nkeep = \"1 ms\"",
    );
    let written = hula::Parameters {
        gap_ns: 50_000,
        period_ns: 40_000,
        probe_bytes: 84,
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
fn keys_of_adaptive_switches_and_of_paths_by_acknowledgement_are_read() {
    let read = scheme(
        "flowcut",
        "drain = false\nratio = 3.0\nalpha = 0.5\nleast = \"9 KB\"\ntimeout = \"1 ms\"\ncontrol = \"84 B\"",
    );
    let written = flowcut::Parameters {
        drain: false,
        ratio: 3.0,
        alpha: 0.5,
        least_bytes: 9000,
        timeout_ns: 1_000_000,
        control_bytes: 84,
    };
    assert_eq!(read.unwrap(), Scheme::new(written));
    let keys = "mode = \"packet-quality\"\nidle = \"64 us\"\nflows = 0\nsampling = \"4 us\"\npast_weight = 8\n\
                future_weight = 4\ncurrent = true\npast_min = 0.2\npast_max = 0.7\nfuture_min = \"1 KB\"\n\
                future_max = \"50 KB\"\npast_share = 0.8";
    let written = ars::Parameters {
        mode: ars::Mode::PacketQuality,
        idle_ns: 64_000,
        flows: 0,
        profile: Profile {
            sampling_ns: 4_000,
            past_weight: 8,
            future_weight: 4,
            current: true,
            past_min: 0.2,
            past_max: 0.7,
            future_min_bytes: 1_000,
            future_max_bytes: 50_000,
            past_share: 0.8,
        },
    };
    assert_eq!(scheme("ars", keys).unwrap(), Scheme::new(written));
    let read = scheme("glb", &format!("{keys}\nperiod = \"20 us\"")).unwrap();
    assert_eq!(read, Scheme::new(glb::Parameters { local: written, period_ns: 20_000 }));
    let read = scheme("mp-rdma", "entropies = 100\nprobe = 0.05\nreordering = 64").unwrap();
    assert_eq!(read, Scheme::new(mp_rdma::Parameters { entropies: 100, probe: 50_000, reordering: 64 }));
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
        ("flowcut", "alpha = 0", "alpha: "),
        ("ars", "mode = \"quality\"", "mode: "),
        ("ars", "sampling = \"0 s\"", "sampling: it is zero; give a time above zero"),
        ("ars", "past_max = 0.1", "past_max: 0.1 is not above past_min; give more than 0.1"),
        ("glb", "future_max = \"1 KB\"", "future_max: 1000 B is not above future_min; give more than 3000 B"),
        ("glb", "period = \"0 s\"", "period: it is zero; give a time above zero"),
        ("mp-rdma", "probe = 1.5", "probe: "),
        ("ecmp", "gap = \"1 us\"", "routing.scheme"),
    ] {
        let error = scheme(balance, keys).unwrap_err();
        assert!(error.contains(said) && error.contains("s.toml:4"), "{balance}, {keys}: {error}");
    }
}
