//! Keys of messages: queue pairs, write and send, rendezvous. What is read, and what is refused.

use anabranch_scenario::{Resolved, Scenario};
use anabranch_sim::transport::roce::{Roce, Semantics};
use anabranch_sim::transport::uec::Uec;
use anabranch_sim::transport::{QueuePairMode, QueuePairs, Transport};
use anabranch_traffic::FlowSource;
use std::path::Path;

const TRAFFIC: &str = "[[traffic]]\nload = 0.5\nduration = \"1 ms\"\n";

fn resolved(text: &str) -> Result<Resolved, String> {
    let scenario = Scenario::parse(text, "s.toml", &[]).map_err(|error| error.to_string())?;
    let resolved =
        scenario.resolve(Path::new(env!("CARGO_TARGET_TMPDIR"))).map_err(|error| error.to_string())?;
    // What is written in full reads as the same.
    let again = Scenario::parse(&resolved.to_toml(), "again.toml", &[]).unwrap();
    assert_eq!(again.to_toml(), resolved.to_toml());
    Ok(resolved)
}

fn transport(keys: &str) -> Result<Transport, String> {
    let resolved = resolved(&format!("{TRAFFIC}[transport]\n{keys}"))?;
    Ok(resolved.settings().transports[0].clone())
}

#[test]
fn queue_pairs_and_semantics_are_read() {
    let Transport::Roce(Roce { queue_pairs, semantics, .. }) = transport("kind = \"roce\"").unwrap() else {
        panic!("no RoCE");
    };
    assert_eq!((queue_pairs, semantics), (QueuePairs::ONE, Semantics::Write));
    let keys = "queue_pairs = 8\nqueue_pair_mode = \"round-robin\"\npersistent = true\n";
    let asked = QueuePairs { count: 8, mode: QueuePairMode::RoundRobin, persistent: true, ..QueuePairs::ONE };
    let read = transport(&format!("kind = \"uec\"\n{keys}")).unwrap();
    assert!(matches!(read, Transport::Uec(Uec { queue_pairs, .. }) if queue_pairs == asked));
    let send = "semantics = \"send\"\nrnr_timer = \"80 us\"";
    let read = transport(&format!("kind = \"roce\"\n{keys}{send}")).unwrap();
    let Transport::Roce(Roce { queue_pairs, semantics, .. }) = read else { panic!("no RoCE") };
    assert_eq!((queue_pairs, semantics), (asked, Semantics::Send { rnr_ps: 80_000_000 }));
}

/// The 32 times of the table: each step is a third or a half more than the one before, up to the thousands.
#[test]
fn timers_of_rnr_naks_are_those_of_the_specification() {
    let us = Semantics::RNR_TIMERS_PS.map(|time_ps| time_ps / 1_000_000);
    assert_eq!(us[..8], [10, 20, 30, 40, 60, 80, 120, 160]);
    assert!(us[5..].windows(3).all(|times| times[2] == 2 * times[0]), "{us:?}");
    assert_eq!(us[31], 655_360);
    assert!(Semantics::RNR_TIMERS_PS.is_sorted());
}

#[test]
fn what_makes_no_sense_is_refused_with_its_line_and_a_hint() {
    for (keys, expected) in [
        (
            "kind = \"roce\"\nsemantics = \"send\"\nrnr_timer = \"700 us\"",
            "s.toml:7: transport.rnr_timer: \"700 us\" is no time that an RNR NAK can name; give \"640 us\" or \"960 us\"",
        ),
        (
            "kind = \"roce\"\nsemantics = \"send\"\nrnr_timer = \"1 s\"",
            "s.toml:7: transport.rnr_timer: \"1 s\" is no time that an RNR NAK can name; give \"655360 us\"",
        ),
        (
            "kind = \"uec\"\nqueue_pairs = 0",
            "s.toml:6: transport.queue_pairs: `0` is out of range; give a whole number from 1 to 64",
        ),
        (
            "kind = \"roce\"\nqueue_pair_mode = \"round-robin\"",
            "s.toml:6: transport.queue_pair_mode: messages with queue pairs of their own cannot take them in turn; set \
             persistent = true, or queue_pair_mode = \"split\"",
        ),
        (
            "kind = \"roce\"\nsemantics = \"sent\"",
            "s.toml:6: transport.semantics: `sent` is unknown; did you mean `send`?",
        ),
        ("kind = \"uec\"\nsemantics = \"send\"", "s.toml:6: transport.semantics: unknown key"),
    ] {
        let message = transport(keys).unwrap_err();
        assert!(message.starts_with(expected), "{message}\n{expected}");
    }
}

fn graph(file: &str, goal: &str, traffic: &str, more: &str) -> Result<u64, String> {
    std::fs::write(Path::new(env!("CARGO_TARGET_TMPDIR")).join(file), goal).unwrap();
    let text = format!("[[traffic]]\nkind = \"graph\"\nfile = \"{file}\"\nhosts = [0, 9]\n{traffic}{more}");
    let resolved = resolved(&text)?;
    Ok(resolved.flows().map_err(|error| error.to_string())?.outline().flows)
}

/// Small messages are flows beside those that wait for them.
#[test]
fn rendezvous_adds_messages() {
    let goal = "num_ranks 2\nrank 0 {\nl1: send 5000b to 1 tag 0\nl2: send 100b to 1 tag 1\n}\n\
                rank 1 {\nl1: recv 5000b from 0 tag 0\nl2: recv 100b from 0 tag 1\n}\n";
    let flows = |traffic| graph("two.goal", goal, traffic, "").unwrap();
    assert_eq!(flows(""), 2);
    assert_eq!(flows("rendezvous = \"clear-to-send\"\n"), 4);
    assert_eq!(flows("rendezvous = \"request-to-send\"\n"), 6);
    assert_eq!(flows("rendezvous = \"request-to-send\"\neager = \"100 B\"\n"), 4);
    let error = graph("two.goal", goal, "eager = \"100 B\"\n", "").unwrap_err();
    assert!(error.starts_with("s.toml:5: traffic.0.eager: unknown key"), "{error}");
}

#[test]
fn graphs_that_cannot_end_are_refused_with_the_place_in_their_file() {
    let goal = "num_ranks 2\nrank 0 {\nl1: send 9b to 1 tag 0\nl2: recv 9b from 1 tag 0\nl2 requires l1\n}\n\
                rank 1 {\nl1: send 9b to 0 tag 0\nl2: recv 9b from 0 tag 0\nl2 requires l1\n}\n";
    assert_eq!(graph("both.goal", goal, "", "").unwrap(), 2);
    let send = "[transport]\nkind = \"roce\"\nsemantics = \"send\"\n";
    let error = graph("both.goal", goal, "", send).unwrap_err();
    assert!(
        error.contains("both.goal:3: this message waits forever under semantics = \"send\"")
            && error.starts_with("s.toml:1: traffic.0: "),
        "{error}"
    );
    let error = graph("both.goal", goal, "rendezvous = \"clear-to-send\"\n", "").unwrap_err();
    assert!(error.contains("both.goal:3: this message waits forever under rendezvous"), "{error}");
    let wild = "num_ranks 2\nrank 0 {\nl1: send 9b to 1 tag 0\n}\nrank 1 {\nl1: recv 9b from -1 tag 0\n}\n";
    assert_eq!(graph("wild.goal", wild, "", send).unwrap(), 1);
    let error = graph("wild.goal", wild, "rendezvous = \"request-to-send\"\n", "").unwrap_err();
    assert!(error.contains("wild.goal:6: rendezvous: this receive takes messages of any source"), "{error}");
}
