//! Times that Clove and VMS take from the fabric where they are not given.

use super::setup::*;
use anabranch_balancers::clove::{Clove, pick as clove};
use anabranch_balancers::vms::{Vms, pick as vms};
use anabranch_balancers::{Balancing, Scheme};
use anabranch_fabric::{Buffer, Marking};
use anabranch_sim::Outcome;
use anabranch_sim::transport::{Control, Tcp, Transport};
use anabranch_traffic::Flow;

const LEAVES: u32 = 2;
const SPINES: u32 = 4;
const HOSTS: u32 = 4;
const GIGABIT: Link = Link {
    rate_bps: 1_000_000_000,
    delay_ps: 50 * PS_PER_US,
    buffer: Buffer { bytes: 1_000_000, packets: u32::MAX },
    marking: Marking::Step { bytes: 20 * 1518, packets: u32::MAX },
};
/// Four links there with 1538 bytes on the wire and four back with 90 (70 of headers and 20 of gap), at a gigabit: a byte takes 8 ns.
const ROUND_TRIP_NS: u64 = 8 * 50_000 + 4 * 8 * (1538 + 90);

fn outcome(scheme: Scheme) -> Outcome {
    let all = (0..3).flat_map(|round| (0..HOSTS).map(move |host| (round, host)));
    let flows: Vec<Flow> = all
        .map(|(round, host)| {
            flow(host, HOSTS + (host + round) % HOSTS, 1_000_000, u64::from(round) * 1000 * PS_PER_US)
        })
        .collect();
    let mut settings = settings(Transport::Tcp(Tcp::plain(Control::Dctcp { gain: 1.0 / 16.0 })));
    settings.balancing = Balancing { scheme, ..Balancing::ECMP };
    run(&leaf_spine(LEAVES, SPINES, HOSTS, GIGABIT), &flows, &settings)
}

fn times(outcome: &Outcome) -> Vec<u64> {
    outcome.flows.iter().map(|flow| flow.fct_ps).collect()
}

#[test]
fn cloves_times_follow_the_round_trip_of_an_empty_path() {
    for selection in [clove::Selection::Turns, clove::Selection::Score] {
        let given = |round_trip_ns: u64| {
            let mut clove = Clove::new(selection);
            clove.gap_ns = Some(round_trip_ns);
            clove.half_rtt_ns = Some(round_trip_ns / 2);
            clove.congested_ns = Some(round_trip_ns);
            times(&outcome(Scheme::new(clove)))
        };
        let derived = times(&outcome(Scheme::new(Clove::new(selection))));
        assert_eq!(derived, given(ROUND_TRIP_NS), "{selection:?}");
        assert_ne!(
            derived,
            given(80_000),
            "{selection:?}: the clocks do not matter here, so that nothing is tested"
        );
    }
}

#[test]
fn the_rounds_of_vms_follow_the_round_trip_of_an_empty_path() {
    for selection in [vms::Selection::HeavierOfTwo, vms::Selection::ScoreOfUnit, vms::Selection::Window] {
        let given = |round_trip_ns: u64| {
            let mut vms = Vms::new(selection);
            vms.round_ns = Some(round_trip_ns);
            vms.lost_after_ns = Some(3 * ROUND_TRIP_NS);
            times(&outcome(Scheme::new(vms)))
        };
        let derived = times(&outcome(Scheme::new(Vms::new(selection))));
        assert_eq!(derived, given(ROUND_TRIP_NS), "{selection:?}");
        assert_ne!(
            derived,
            given(80_000),
            "{selection:?}: the clocks do not matter here, so that nothing is tested"
        );
    }
}
