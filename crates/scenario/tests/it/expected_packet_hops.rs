//! Packet-hops that a run is expected to have, beside those that it has.

use anabranch_balancers::simulate;
use anabranch_scenario::Scenario;
use anabranch_sim::Progress;
use std::path::Path;

/// Expected and real packet-hops of messages between all hosts of a leaf-spine.
fn packet_hops(mss: &str, transport: &str) -> (u64, u64) {
    let text = format!(
        r#"
        fabric = {{ kind = "leaf-spine", leaves = 2, spines = 2, hosts_per_leaf = 2, link.buffer = "unlimited" }}
        framing.mss = "{mss}"
        transport = {{ {transport} }}
        traffic = [{{ kind = "once", pattern = "all-to-all", sizes = "200 KB" }}]
        stop.at = "100 ms"
        "#
    );
    let resolved = Scenario::parse(&text, "hops.toml", &[]).unwrap().resolve(Path::new("")).unwrap();
    let flows = resolved.flows().unwrap();
    let outcome = simulate(resolved.fabric(), &flows, resolved.settings(), &Progress::default()).unwrap();
    assert_eq!(outcome.totals.flows_finished, 12, "{transport}");
    (resolved.expected_packet_hops(&flows), outcome.totals.packet_hops)
}

#[test]
fn what_is_expected_is_what_is_sent() {
    // Receivers of credit grant some in advance, too.
    for (transport, least) in [
        (r#"kind = "udp", rate = "1 Gbps""#, 0.99),
        (r#"kind = "dctcp""#, 0.95),
        (r#"kind = "roce""#, 0.99),
        (r#"kind = "uec""#, 0.9),
        (r#"kind = "uec", ack_bytes = "1 B""#, 0.99),
        (r#"kind = "uec", control = "rccc""#, 0.7),
    ] {
        for mss in ["1000 B", "4096 B"] {
            let (expected, real) = packet_hops(mss, transport);
            let share = expected as f64 / real as f64;
            assert!((least..=1.1).contains(&share), "{transport}, {mss}: {expected} instead of {real}");
        }
    }
}
