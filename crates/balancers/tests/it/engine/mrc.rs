//! MRC in the engine: what a link that swallows packets costs, by formulas.

use super::setup::*;
use anabranch_balancers::mrc::pick::Parameters;
use anabranch_balancers::{Balancing, Scheme, Settings, registry};
use anabranch_fabric::topology::{LinkSettings, MultiPlane};
use anabranch_fabric::{Buffer, Change, Fabric, MarkAt, Marking, Rate, SwitchSettings, What};
use anabranch_sim::transport::Transport;
use anabranch_sim::transport::roce::{Completion, Recovery, Roce};
use anabranch_sim::transport::uec::Uec;
use anabranch_sim::{Nic, Observe, Outcome, PortRecord};

const INTERVAL_PS: u64 = 100 * PS_PER_US;
const SPINES: u32 = 8;
const LINK: Link = Link { rate_bps: 100_000_000_000, ..TEN_GIG };

/// Both directions of a link swallow what they carry, or no longer do.
fn swallow(port: u32, fabric: &Fabric, at_ps: u64, probability: f64) -> [Change; 2] {
    [port, fabric.ports()[port as usize].reverse]
        .map(|port| Change { at_ps, what: What::PortLoss(port, probability) })
}

fn over(transport: Transport, scheme: Scheme, changes: Vec<Change>) -> Settings {
    Settings {
        balancing: Balancing { scheme, ..Balancing::ECMP },
        nic: Nic::FAIR,
        changes,
        observe: Observe { interval_ps: INTERVAL_PS, ..Observe::default() },
        ..settings(transport)
    }
}

fn uec() -> Transport {
    Transport::Uec(Uec { ack_bytes: 1, completion: Completion::Acknowledged, ..Uec::DEFAULT })
}

fn named(name: &str) -> Scheme {
    registry::find(name).unwrap().balancing().scheme
}

/// What a port did between two times.
fn between(outcome: &Outcome, port: u32, from_ps: u64, to_ps: u64, of: fn(&PortRecord) -> u64) -> u64 {
    let within = |record: &&PortRecord| record.port == port && (from_ps..to_ps).contains(&record.start_ps);
    outcome.ports.iter().filter(within).map(of).sum()
}

/// Times that values were taken out and came back, probes of those out.
fn counted(outcome: &Outcome) -> [u64; 3] {
    let count = |words: &str| outcome.counts.iter().find(|(what, _)| what.contains(words)).unwrap().1;
    [count("taken out"), count("came back"), count("probes of entropy values that were out")]
}

/// One of eight paths swallows packets. 128 values, a good eighth of which lead there, are found out within the first
/// timeouts. From then on nothing is lost there but probes: of each value one at 100, 300, 700 and 1,500 us after its loss.
#[test]
fn after_detection_only_probes_are_lost() {
    let fabric = leaf_spine(2, SPINES, 1, LINK);
    let dead = uplink(2, SPINES, 1, 0, 0);
    let changes = swallow(dead, &fabric, 0, 1.0).to_vec();
    let settings = over(uec(), Scheme::new(Parameters::DEFAULT), changes.clone());
    let outcome = run(&fabric, &[flow(0, 1, 25_000_000, 0)], &settings);
    let record = &outcome.flows[0];
    assert_eq!(record.received_bytes, 25_000_000);
    let us = |us: u64| us * PS_PER_US;
    assert!((us(2_000)..us(2_600)).contains(&record.fct_ps), "{record:?}");
    let [out, back, probes] = counted(&outcome);
    // 16 of 128 by a hash: standard deviation 3.7.
    let still_out = out - back;
    assert!((4..32).contains(&still_out), "{out} {back}");
    // One probe for values of answers is under way at a time: not more than round trips of four links there and back.
    assert!((1..record.fct_ps / (8 * PS_PER_US)).contains(&asked(&outcome)), "{}", asked(&outcome));
    // Those that came back were out for an acknowledgement that was lost, and one probe brought each back.
    assert_eq!(probes, 4 * still_out + back);
    let late = |of| between(&outcome, dead, us(700), us(100_000), of);
    assert_eq!(late(|port| port.lost_packets), 2 * still_out, "the probes at 700 and 1,500 us");
    let (frames, bytes) = (late(|port| port.sent_packets), late(|port| port.sent_bytes));
    assert_eq!((frames, bytes), (2 * still_out, 2 * still_out * 64), "nothing else goes there");

    let blind = run(&fabric, &[flow(0, 1, 25_000_000, 0)], &over(uec(), named("uec-oblivious"), changes));
    let lost = between(&blind, dead, us(700), us(100_000), |port| port.lost_packets);
    assert!(lost > 20 * 2 * still_out, "{lost} packets where nothing is learned");
    assert!(blind.flows[0].fct_ps > 2 * record.fct_ps, "{}", blind.flows[0].fct_ps);
}

/// Number of probes for values of answers.
fn asked(outcome: &Outcome) -> u64 {
    outcome.counts.iter().find(|(what, _)| what.contains("of answers")).unwrap().1
}

/// Every host of a leaf sends to every host of another, and a link between a leaf and a spine swallows both directions. If
/// acknowledgements had the path of their flow for good, no flow would end whose path that is, though its data arrives by
/// others; MRC's take values that are known to work.
#[test]
fn acknowledgements_leave_a_dead_path() {
    const HOSTS: u32 = 4;
    let fabric = leaf_spine(2, SPINES, HOSTS, LINK);
    let changes = swallow(uplink(2, SPINES, HOSTS, 0, 0), &fabric, 0, 1.0).to_vec();
    let pairs = (0..HOSTS * HOSTS).map(|pair| (pair / HOSTS, HOSTS + pair % HOSTS));
    let flows: Vec<_> = pairs.flat_map(|(a, b)| [flow(a, b, 400_000, 0), flow(b, a, 400_000, 0)]).collect();
    let end_ps = 50_000 * PS_PER_US;
    let settings = Settings { end_ps, ..over(uec(), Scheme::new(Parameters::DEFAULT), changes) };
    let outcome = run(&fabric, &flows, &settings);
    assert_eq!(outcome.flows.iter().filter(|record| record.fct_ps == u64::MAX).count(), 0);
}

/// A host that has found the dead values sends no probe when it has nothing more to send.
#[test]
fn probes_end_with_the_last_flow() {
    let fabric = leaf_spine(2, SPINES, 2, LINK);
    let changes = swallow(uplink(2, SPINES, 2, 0, 0), &fabric, 0, 1.0).to_vec();
    let flows = [flow(0, 2, 2_000_000, 0), flow(1, 3, 60_000_000, 0)];
    let outcome = run(&fabric, &flows, &over(uec(), Scheme::new(Parameters::DEFAULT), changes));
    let ended_ps = outcome.flows[0].fct_ps;
    assert!(outcome.flows[1].fct_ps > 3 * ended_ps, "{:?}", outcome.flows);
    let own = fabric.ports_of(0)[0];
    let after = |from_ps| between(&outcome, own, from_ps, u64::MAX, |port| port.sent_packets);
    assert!(after(0) > 2_000_000 / 1448);
    assert_eq!(after(ended_ps + INTERVAL_PS), 0);
}

/// Go-back-N sends everything again from what is missing: only the first packet is held against its value.
#[test]
fn what_only_follows_a_loss_is_not_held_against_its_value() {
    let fabric = leaf_spine(2, 1, 1, LINK);
    let changes = swallow(uplink(2, 1, 1, 0, 0), &fabric, 0, 0.001).to_vec();
    let roce = Roce {
        // The receiver asks once in a round trip at most.
        recovery: Recovery::GoBackN { nack_ps: 100 * PS_PER_US },
        rto_ps: 320 * PS_PER_US,
        completion: Completion::Acknowledged,
        ..Roce::plain()
    };
    let settings = over(Transport::Roce(roce), Scheme::new(Parameters::DEFAULT), changes);
    let outcome = run(&fabric, &[flow(0, 1, 10_000_000, 0)], &settings);
    let record = &outcome.flows[0];
    let [out, _, _] = counted(&outcome);
    assert!(record.retransmitted_packets > 10 * record.lost_packets, "{record:?}");
    assert!((1..=record.lost_packets).contains(&out), "{out}: {record:?}");
}

/// The link works again after a millisecond: all values come back with their next probe, and carry their part again.
#[test]
fn values_come_back_when_the_path_does() {
    let fabric = leaf_spine(2, SPINES, 1, LINK);
    let dead = uplink(2, SPINES, 1, 0, 0);
    let mut changes = swallow(dead, &fabric, 0, 1.0).to_vec();
    changes.extend(swallow(dead, &fabric, 1_000 * PS_PER_US, 0.0));
    let settings = over(uec(), Scheme::new(Parameters::DEFAULT), changes);
    let outcome = run(&fabric, &[flow(0, 1, 40_000_000, 0)], &settings);
    let [out, back, _] = counted(&outcome);
    assert_eq!(out, back);
    // The probe at 1,500 us after losses in the first 300.
    let (from_ps, to_ps) = (2_000 * PS_PER_US, 3_000 * PS_PER_US);
    let up = |spine| {
        between(&outcome, uplink(2, SPINES, 1, 0, spine), from_ps, to_ps, |port| port.sent_packets) as f64
    };
    let share = up(0) / (0..SPINES).map(up).sum::<f64>();
    assert!((4.0 / 128.0..32.0 / 128.0).contains(&share), "{share}");
}

/// Seven hosts send to one whose ports trim: trims are signs of congestion, so that no value is taken out.
#[test]
fn what_is_trimmed_takes_nothing_out() {
    let mut switches = SwitchSettings { mark_at: MarkAt::Dequeue, ..SwitchSettings::default() };
    switches.classes[2].trim = true;
    let buffer = Buffer { bytes: 60_000, packets: u32::MAX };
    let marking = Marking::Ramp { low_bytes: 12_000, high_bytes: 48_000, probability: 1.0 };
    let mut fabric = leaf_spine(8, 4, 1, Link { buffer, marking, ..LINK });
    fabric.set_switches(Some(switches));
    let flows: Vec<_> = (1..8).map(|host| flow(host, 0, 1_000_003, 0)).collect();
    let outcome = run(&fabric, &flows, &over(uec(), Scheme::new(Parameters::DEFAULT), Vec::new()));
    let trimmed: u64 = outcome.ports.iter().map(|record| record.trimmed_packets).sum();
    assert!(trimmed > 200, "{trimmed}");
    assert_eq!(counted(&outcome), [0, 0, 0]);
}

/// One of four planes swallows what a host sends into it. Under IRN overtaken packets count as lost until they arrive; the
/// dead plane gets probes alone in the end.
#[test]
fn a_dead_plane_gets_probes_alone() {
    let rate = Rate::from_bps(25_000_000_000).unwrap();
    let link = LinkSettings { rate, delay_ps: PS_PER_US, buffer: Buffer::UNLIMITED, marking: Marking::Off };
    let planes =
        MultiPlane { planes: 4, leaves: 2, spines: 2, hosts_per_leaf: 1, host_link: link, uplink: link };
    let fabric = planes.build().unwrap();
    // Node 2 is the first network card; its first port leads to the host.
    let dead = fabric.ports_of(2)[1];
    let roce = Roce {
        recovery: Recovery::Selective { rto_low_ps: 100 * PS_PER_US },
        rto_ps: 320 * PS_PER_US,
        completion: Completion::Acknowledged,
        ..Roce::plain()
    };
    let changes = swallow(dead, &fabric, 0, 1.0).to_vec();
    let lost_late = |scheme| {
        let settings = over(Transport::Roce(roce.clone()), scheme, changes.clone());
        let outcome = run(&fabric, &[flow(0, 1, 40_000_000, 0)], &settings);
        assert_eq!(outcome.flows[0].received_bytes, 40_000_000);
        let late = |of| between(&outcome, dead, 2_000 * PS_PER_US, u64::MAX, of);
        (late(|port| port.lost_packets), late(|port| port.sent_bytes), outcome)
    };
    let (frames, bytes, outcome) = lost_late(Scheme::new(Parameters::DEFAULT));
    let [out, back, _] = counted(&outcome);
    // 32 of 128 by a hash: standard deviation 4.9.
    assert!((16..50).contains(&(out - back)), "{out} {back}");
    assert_eq!(bytes, 64 * frames, "probes alone");
    assert!(frames > 0);
    let (blind, _, _) = lost_late(named("uec-oblivious"));
    assert!(blind > 10 * frames, "{blind} {frames}");
}
