//! MPTCP: what one subflow, two paths, a shared link and a dead link must make of it.

use super::setup::*;
use anabranch_fabric::topology::LeafSpine;
use anabranch_fabric::{Buffer, Change, Fabric, Rate, What};
use anabranch_sim::transport::{Control, Coupling, Mptcp, Reorder, Tcp, Transport};
use anabranch_sim::{Kind, Observe, Outcome, Progress, Settings, simulate};
use anabranch_traffic::Flow;
use proptest::prelude::*;

fn mptcp(subflows: u8, coupling: Coupling, tcp: Tcp) -> Transport {
    Transport::Mptcp(Mptcp { tcp, subflows, coupling })
}

fn lia(subflows: u8) -> Transport {
    mptcp(subflows, Coupling::Lia, Tcp::plain(Control::NewReno))
}

fn small_buffers(packets: u32) -> Link {
    Link { buffer: Buffer { bytes: u32::MAX, packets }, ..TEN_GIG }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(60))]
    /// With one subflow a = 1, and everything is as without MPTCP, event for event: under losses, timeouts, delayed
    /// acknowledgements and small windows, and whichever way losses are found.
    #[test]
    fn one_subflow_is_newreno_to_the_bit(
        sizes in prop::collection::vec((0u32..4, 1u64..2_000_000, 0u64..500), 1..6),
        (sack, rack, handshake, linked) in any::<(bool, bool, bool, bool)>(),
        ack_every in 1u32..3,
        window_segments in 2u64..300,
        buffer in 5u32..60,
        hold in any::<bool>(),
    ) {
        let fabric = leaf_spine(3, 2, 2, small_buffers(buffer));
        let tcp = Tcp {
            sack,
            rack,
            handshake,
            ack_every,
            ack_delay_ps: 100 * PS_PER_US,
            window_max_bytes: window_segments * 1448 + 7,
            reorder: if hold { Reorder::Hold { timeout_ps: 30 * PS_PER_US } } else { Reorder::None },
            ..Tcp::plain(Control::NewReno)
        };
        let flows: Vec<Flow> =
            sizes.iter().map(|&(src, size, start_us)| flow(src, 4 + src % 2, size, start_us * PS_PER_US)).collect();
        let coupling = if linked { Coupling::Lia } else { Coupling::Uncoupled };
        let [alone, one] = [Transport::Tcp(tcp.clone()), mptcp(1, coupling, tcp)].map(|transport| {
            let mut settings = settings(transport);
            settings.end_ps = 400_000 * PS_PER_US;
            settings.observe.window_flows = vec![0];
            run(&fabric, &flows, &settings)
        });
        prop_assert_eq!(alone.flows, one.flows);
        prop_assert_eq!(alone.windows, one.windows);
        prop_assert_eq!(alone.ports, one.ports);
        prop_assert_eq!(alone.totals, one.totals);
    }
}

/// Two leaves, as many spines as asked for; hosts' links are ten times as fast as the spines'.
fn fast_hosts(spines: u32, spine_bps: u64, buffer_bytes: u32) -> Fabric {
    let mut shape = LeafSpine { leaves: 2, spines, hosts_per_leaf: 2, ..LeafSpine::default() };
    for (link, rate_bps) in [(&mut shape.host_link, 10 * spine_bps), (&mut shape.uplink, spine_bps)] {
        link.rate = Rate::from_bps(rate_bps).unwrap();
        link.delay_ps = 5 * PS_PER_US;
        link.buffer = Buffer { bytes: buffer_bytes, packets: u32::MAX };
    }
    shape.build().unwrap()
}

/// Seeds with which two subflows of flow 0 take different spines of two.
fn seed_with_two_paths(fabric: &Fabric) -> u64 {
    (0..50)
        .find(|&seed| {
            let mut settings = settings(lia(2));
            settings.seed = seed;
            run(fabric, &[flow(0, 2, 1_000_000, 0)], &settings).flows[0].paths == 2
        })
        .unwrap()
}

fn goodput_bps(outcome: &Outcome, flow: usize, size: u64) -> f64 {
    size as f64 * 8e12 / outcome.flows[flow].fct_ps as f64
}

#[test]
fn two_disjoint_equal_paths_carry_twice_as_much() {
    let fabric = fast_hosts(2, 10_000_000_000, 150_000);
    let seed = seed_with_two_paths(&fabric);
    let size = 200_000_000;
    let goodput = |transport| {
        let mut settings = settings(transport);
        settings.seed = seed;
        goodput_bps(&run(&fabric, &[flow(0, 2, size, 0)], &settings), 0, size)
    };
    let link_bps = 1e10 * 1448.0 / 1538.0;
    let one = goodput(Transport::Tcp(Tcp::plain(Control::NewReno)));
    assert!((one / link_bps - 1.0).abs() < 0.02, "{one}");
    for coupling in [Coupling::Lia, Coupling::Uncoupled] {
        let two = goodput(mptcp(2, coupling, Tcp::plain(Control::NewReno)));
        assert!((two / one - 2.0).abs() < 0.06, "{coupling:?}: {two} against {one}");
    }
}

/// Bytes that the flow from host 0 sends between 1 s and 3 s over those that the flow from host 1 does, both over one
/// spine at 1 Gbit/s.
fn share(first: Transport, seed: u64) -> f64 {
    let fabric = fast_hosts(1, 1_000_000_000, 150_000);
    let mut settings = settings(first);
    settings.transports.push(Transport::Tcp(Tcp::plain(Control::NewReno)));
    settings.seed = seed;
    let size = 1 << 40;
    let flows = [flow(0, 2, size, 0), Flow { transport: 1, ..flow(1, 3, size, 37 * seed * PS_PER_US) }];
    let [before, after] = [1_000_000, 3_000_000].map(|end_us| {
        settings.end_ps = end_us * PS_PER_US;
        run(&fabric, &flows, &settings).flows
    });
    eprintln!("{:?} {:?}", after[0], after[1]);
    (after[0].sent_bytes - before[0].sent_bytes) as f64 / (after[1].sent_bytes - before[1].sent_bytes) as f64
}

fn mean_share(first: &Transport) -> f64 {
    let seeds = 3;
    (0..seeds).map(|seed| share(first.clone(), seed)).sum::<f64>() / seeds as f64
}

#[test]
fn linked_subflows_take_one_connections_share_of_a_link() {
    let plain = || Tcp::plain(Control::NewReno);
    for n in [1, 2, 4] {
    eprintln!("{n} lia {} unc {}", mean_share(&mptcp(n, Coupling::Lia, plain())), mean_share(&mptcp(n, Coupling::Uncoupled, plain())));
    }
    panic!();
}
