//! TDLB probes the pairs of leaves that are in use, or all.

use crate::engine::setup::*;
use anabranch_balancers::tdlb::parameters::{DelayFeedback, Probing, Tdlb};
use anabranch_balancers::{Balancing, Scheme, Settings};
use anabranch_fabric::{Buffer, Fabric, LinkState};
use anabranch_sim::transport::{Control, Tcp, Transport};

const SPINES: u32 = 4;

/// One flow among four leaves: the pair in use is probed, in both directions, and no other.
#[test]
fn a_pair_in_use_is_probed_and_no_other_unless_all_are() {
    let fabric = leaf_spine(4, SPINES, 1, Link { delay_ps: 5 * PS_PER_US, ..TEN_GIG });
    let sent = |probing| {
        let settings = Settings {
            balancing: Balancing {
                scheme: Scheme::new(Tdlb { probing, ..Tdlb::default() }),
                ..Balancing::ECMP
            },
            end_ps: 4_000 * PS_PER_US,
            ..settings(Transport::Tcp(Tcp::plain(Control::NewReno)))
        };
        let outcome = run(&fabric, &[flow(0, 1, 1 << 30, 0)], &settings);
        outcome
            .counts
            .iter()
            .find(|(name, _)| name.starts_with("probes sent"))
            .map(|&(_, count)| count)
            .unwrap()
    };
    // 40 periods, a probe and an answer on four paths of each direction; and once more when the pair begins.
    let round = 2 * 2 * u64::from(SPINES);
    let in_use = sent(Probing::PairsInUse);
    assert!((39 * round..=42 * round).contains(&in_use), "{in_use}");
    // Leaves 2 and 3, which have nothing to send, end their probes after 10 ms, not within these 4.
    let all = sent(Probing::AllPairs);
    assert!((39 * 6 * round..=41 * 6 * round).contains(&all), "{all}");
}

/// Probes of a pair that begins follow the packet that begins it: before it they would take the only place in the queue
/// from each first packet.
#[test]
fn the_probes_of_a_new_pair_follow_its_first_packet() {
    let one = Buffer { packets: 1, ..Buffer::UNLIMITED };
    let fabric = leaf_spine(4, SPINES, 1, Link { buffer: one, ..TEN_GIG });
    // No pause is short enough: each packet begins the pair anew.
    let mut tdlb = Tdlb::default();
    tdlb.rules.idle_ns = 0;
    let settings = Settings {
        balancing: Balancing { scheme: Scheme::new(tdlb), ..Balancing::ECMP },
        ..settings(Transport::Tcp(Tcp::plain(Control::NewReno)))
    };
    let outcome = run(&fabric, &[flow(0, 1, 1, 50 * PS_PER_US)], &settings);
    assert_eq!((outcome.flows[0].timeouts, outcome.flows[0].dropped_packets), (0, 0));
}

#[test]
fn probes_that_fill_the_uplinks_are_warned_of() {
    let warnings = |tdlb: Tdlb, fabric: &Fabric| {
        Scheme::new(tdlb).get().unwrap().warnings(fabric, &LinkState::of(fabric))
    };
    let all = Tdlb { probing: Probing::AllPairs, ..Tdlb::default() };
    let fabric = leaf_spine(40, SPINES, 1, TEN_GIG);
    // 39 leaves by 4 paths, probes and answers, 84 bytes with preamble and gap: 2.1 of 40 Gb/s.
    let warned = warnings(all, &fabric);
    assert!(
        warned.len() == 1 && warned[0].contains("312 probes and answers every 100 us, 5 %"),
        "{warned:?}"
    );
    assert!(warnings(Tdlb { feedback: DelayFeedback::Symmetric, ..all }, &fabric).is_empty());
    assert!(warnings(Tdlb { period_ns: 200_000, ..all }, &fabric).is_empty());
    assert!(warnings(Tdlb::default(), &fabric).is_empty());
}
