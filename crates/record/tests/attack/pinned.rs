//! Scenarios in which transports fought themselves, each by a fault that is mended. Draws change; these stay.

use crate::campaign::folder;
use crate::trial;
use crate::trial::{Passed, Verdict};
use anabranch_sim::Progress;

/// What the fault was, the most timeouts without it, and the least that shows it.
const PINNED: [(&str, u64, &str); 7] = [
    (
        "clear-to-send messages asked for a posted receive",
        0,
        r#"
        fabric = { kind = "leaf-spine", leaves = 2, spines = 1, hosts_per_leaf = 1 }
        transport = { kind = "roce", semantics = "send", persistent = true }
        traffic = [{ kind = "graph", ranks = 2, size = "40 KB", rendezvous = "clear-to-send" }]
        "#,
    ),
    (
        "selective recovery discarded what overtook a message's first packet",
        0,
        r#"
        fabric = { kind = "leaf-spine", leaves = 3, spines = 3, hosts_per_leaf = 3 }
        routing.balance = "spray"
        transport = { kind = "roce", recovery = "selective", semantics = "send", rto = "40 ms", rto_low = "40 ms" }
        traffic = [{ kind = "once", pattern = "all-to-all", sizes = "2897 B" }]
        "#,
    ),
    (
        "packets timed out while they waited in their own FIFO card",
        0,
        r#"
        fabric = { kind = "leaf-spine", leaves = 2, spines = 1, hosts_per_leaf = 8 }
        host = { nic = "fifo", jitter = false }
        transport = { kind = "uec", control = "rccc" }
        traffic = [{ kind = "once", pattern = { pairs = [[0, 8], [0, 9], [0, 10], [0, 11], [0, 12], [0, 13], [0, 14], [0, 15]] }, sizes = "1 MB" }]
        "#,
    ),
    (
        "or would in a fair one, which holds a window each",
        0,
        r#"
        fabric = { kind = "leaf-spine", leaves = 2, spines = 1, hosts_per_leaf = 8 }
        host = { nic = "fair", limit = "1 MB", jitter = false }
        transport = { kind = "uec", control = "rccc" }
        traffic = [{ kind = "once", pattern = { pairs = [[0, 8], [0, 9], [0, 10], [0, 11], [0, 12], [0, 13], [0, 14], [0, 15]] }, sizes = "1 MB" }]
        "#,
    ),
    (
        "UEC's default timeout did not know slow links",
        0,
        r#"
        fabric = { kind = "leaf-spine", preset = "lossless-roce", leaves = 2, spines = 1, hosts_per_leaf = 4 }
        host.nic = "rdma"
        transport = { kind = "uec", control = "nscc" }
        traffic = [{ kind = "once", pattern = "all-to-all", sizes = "60 KB" }]
        change = [{ at = "20 us", link = "leaf0-spine0", rate = "1 Gbps" }]
        "#,
    ),
    (
        "nor long ones",
        0,
        r#"
        fabric = { kind = "leaf-spine", leaves = 2, spines = 1, hosts_per_leaf = 1, link.delay = "1 ms" }
        transport = { kind = "uec", control = "nscc" }
        traffic = [{ kind = "once", sizes = "100 B" }]
        "#,
    ),
    (
        "a sender of UEC whose packets arrived after they had timed out let all that followed time out too",
        200,
        r#"
        fabric = { kind = "dumbbell", link = { rate = "40 Gbps", ecn = "off" }, bottleneck = { rate = "20 Gbps", buffer = "unlimited" } }
        framing.mss = "57300 B"
        transport = { kind = "uec", queue_pairs = 12 }
        traffic = [{ kind = "once", pattern = { pairs = [[1, 2], [1, 3]] }, sizes = "40 MB" }]
        "#,
    ),
];

/// Holds each to every invariant, those of calm runs among them, and to its timeouts: a transport that fights itself may end
/// all the same.
#[test]
fn mended_transports_do_not_fight_themselves_again() {
    let verdict =
        |text: &str| trial::run(&format!("{text}\nstop.at = \"5000 s\"\n"), &folder(), &Progress::default());
    let tried = PINNED.map(|(fault, most, text)| (fault, most, verdict(text)));
    let quiet = |passed: &Passed, most| passed.calm && passed.timeouts <= most;
    let fights = |(_, most, verdict): &&(_, _, Verdict)| !matches!(verdict, Verdict::Passed(passed) if quiet(passed, *most));
    let broken: Vec<_> = tried.iter().filter(fights).collect();
    assert!(broken.is_empty(), "{broken:#?}");
}
