//! RoCE in the engine: flows of another simulator to the nanosecond, losses, reordering, sharing.

use super::setup::*;
use anabranch_balancers::{Balancing, Granularity, Settings, simulate};
use anabranch_fabric::{Buffer, Change, Fabric, Marking, SwitchSettings, What};
use anabranch_sim::transport::Transport;
use anabranch_sim::transport::control::{DcqcnSettings, HpccSettings, Law, SwiftSettings, TimelySettings};
use anabranch_sim::transport::roce::{Completion, Notification, Recovery, Roce};
use anabranch_sim::{Framing, Nic, Progress};
use std::path::Path;

/// 100 Gbit/s, 1 us.
const HUNDRED_GIG: Link = Link { rate_bps: 100_000_000_000, ..TEN_GIG };

const SELECTIVE: Recovery = Recovery::Selective { rto_low_ps: 100 * PS_PER_US };

/// The frames of `conweave-ns3`.
const FRAMING: Framing =
    Framing { payload_bytes_max: 1000, header_bytes: 48, frame_bytes_min: 1, gap_bytes: 0, whole_ns: true };

/// Its go-back-N: an answer of 60 bytes to each packet.
fn roce() -> Roce {
    Roce {
        law: Law::Dcqcn(DcqcnSettings::DEFAULT),
        answer_bytes: 60,
        cnp: Notification { interval_ps: 0, in_answer: true, out_of_order: true },
        completion: Completion::Acknowledged,
        ..Roce::plain()
    }
}

/// Its IRN: one round trip's worth in flight.
fn irn() -> Roce {
    Roce { recovery: SELECTIVE, rto_ps: 320 * PS_PER_US, window_bytes: Some(104_000), ..roce() }
}

fn over(roce: Roce) -> Settings {
    Settings { framing: FRAMING, nic: Nic::FAIR, ..settings(Transport::Roce(roce)) }
}

/// Single flows of eleven sizes, between racks and in one, 1 ms apart: the completion times of `conweave-ns3`, all of them
/// to the nanosecond, with either card.
#[test]
fn lone_flows_take_what_they_take_in_conweave_ns3() {
    // Host 0 of the first rack and host 127 of the last, hosts 1 and 2 of the first.
    let fabric = leaf_spine(2, 1, 4, HUNDRED_GIG);
    let host = |number: &str| if number == "127" { 7 } else { number.parse().unwrap() };
    for (name, roce) in [("gbn", roce()), ("irn", irn())] {
        let path = format!("../../vectors/conweave/lone_{name}.csv");
        let text = std::fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join(path)).unwrap();
        let rows: Vec<Vec<&str>> = text.lines().skip(1).map(|line| line.split(',').collect()).collect();
        let flows: Vec<_> = rows
            .iter()
            .map(|row| {
                let start_ns: u64 = row[5].parse().unwrap();
                let start_ps = (start_ns - 1_999_000_000) * 1000;
                flow(host(row[0]), host(row[1]), row[4].parse().unwrap(), start_ps)
            })
            .collect();
        assert_eq!(flows.len(), 22);
        for nic in [Nic::FIFO, Nic { jitter: false, ..Nic::FAIR }] {
            let outcome = run(&fabric, &flows, &Settings { nic, ..over(roce.clone()) });
            for (record, row) in outcome.flows.iter().zip(&rows) {
                let fct_ns: u64 = row[6].parse().unwrap();
                assert_eq!(record.fct_ps, fct_ns * 1000, "{name} {row:?}");
            }
        }
    }
}

/// The receive is complete before the sender knows: by the way of the acknowledgement.
#[test]
fn a_receive_completes_before_its_write() {
    let fabric = leaf_spine(2, 1, 1, HUNDRED_GIG);
    let fct_ps = |completion| {
        let settings = over(Roce { completion, ..roce() });
        run(&fabric, &[flow(0, 1, 5000, 0)], &settings).flows[0].fct_ps
    };
    assert_eq!(fct_ps(Completion::Acknowledged) - fct_ps(Completion::Delivered), 4 * (PS_PER_US + 4000));
}

/// One packet in a thousand is lost on the link into host 1: every message arrives, and only what must be is sent again.
#[test]
fn losses_are_repaired() {
    let fabric = leaf_spine(2, 2, 2, HUNDRED_GIG);
    let flows: Vec<_> = (0..2).map(|host| flow(host, host + 2, 3_000_000, 0)).collect();
    let lossy = |roce| {
        let change = |port| Change { at_ps: 0, what: What::PortLoss(port, 0.001) };
        Settings { changes: vec![change(2 * 2 + 1), change(2 * 3 + 1)], ..over(roce) }
    };
    let mut again = [0, 0];
    for (count, roce) in again.iter_mut().zip([roce(), irn()]) {
        let outcome = run(&fabric, &flows, &lossy(Roce { law: Law::None, ..roce }));
        for record in &outcome.flows {
            assert_ne!(record.fct_ps, u64::MAX);
            assert_eq!(record.received_bytes, 3_000_000);
            assert_eq!(
                record.sent_packets,
                record.delivered_packets + record.dropped_packets + record.lost_packets
            );
            *count += record.retransmitted_packets;
            assert_eq!(record.sent_packets - record.retransmitted_packets, 3000);
        }
        let lost: u64 = outcome.flows.iter().map(|record| record.lost_packets).sum();
        assert!(lost > 0 && *count >= lost, "{lost} {count}");
    }
    let [go_back, selective] = again;
    assert!(go_back > 20 * selective, "{go_back} {selective}");
}

/// Spraying reorders. Go-back-N takes that for losses, at the link's rate over and over; `conweave-ns3`'s quirk of
/// notifying the sender of each slows it down until there is less. Selective recovery sends little again.
#[test]
fn reordering_is_loss_to_go_back_n() {
    let fabric = leaf_spine(2, 4, 8, HUNDRED_GIG);
    let flows: Vec<_> = (0..8).map(|host| flow(host, host + 8, 500_000, 0)).collect();
    let again = |roce| {
        let balancing = Balancing { granularity: Granularity::Packet, ..Balancing::ECMP };
        let outcome = run(&fabric, &flows, &Settings { balancing, ..over(roce) });
        assert!(outcome.flows.iter().all(|record| record.received_bytes == 500_000));
        outcome.flows.iter().map(|record| record.retransmitted_packets).sum::<u64>()
    };
    let quiet = Notification { out_of_order: false, ..roce().cnp };
    let (notified, unnotified) = (again(roce()), again(Roce { cnp: quiet, ..roce() }));
    let selective = again(Roce { cnp: quiet, window_bytes: Some(208_000), ..irn() });
    assert!(notified > 1000 && unnotified > 10 * notified, "{notified} {unnotified}");
    assert!(selective < notified, "{selective} {notified}");
}

/// Two flows into one host: each law fills the link and shares it.
#[test]
fn two_flows_share_a_link() {
    let marking = Marking::Ramp { low_bytes: 100_000, high_bytes: 400_000, probability: 0.2 };
    let fabric = leaf_spine(3, 2, 1, Link { marking, buffer: Buffer::UNLIMITED, ..HUNDRED_GIG });
    let flows = [flow(0, 2, 20_000_000, 0), flow(1, 2, 20_000_000, 0)];
    for (law, slow) in [
        (Law::None, 1.05),
        (Law::Dcqcn(DcqcnSettings::DEFAULT), 3.0),
        (Law::Timely(TimelySettings::DEFAULT), 3.0),
        (Law::Swift(SwiftSettings::DEFAULT), 1.2),
    ] {
        let outcome = run(&fabric, &flows, &over(Roce { law, cnp: Roce::plain().cnp, ..roce() }));
        let fct_ps = [0, 1].map(|index| outcome.flows[index].fct_ps as f64);
        let ideal_ps = 2.0 * 20_000.0 * 83_000.0;
        let last_ps = fct_ps[0].max(fct_ps[1]);
        assert!(last_ps > ideal_ps && last_ps < slow * ideal_ps, "{law:?}: {fct_ps:?} {ideal_ps}");
        assert!(fct_ps[0].min(fct_ps[1]) > 0.6 * last_ps, "{law:?}: {fct_ps:?}");
        let again: u64 = outcome.flows.iter().map(|record| record.retransmitted_packets).sum();
        assert_eq!(again, 0);
    }
}

/// Three leaves with a host each, whose ports tell classes apart.
fn telling() -> Fabric {
    let mut fabric = leaf_spine(3, 2, 1, HUNDRED_GIG);
    fabric.set_switches(Some(SwitchSettings::default()));
    fabric
}

fn under_hpcc(hpcc: HpccSettings) -> Settings {
    let framing = Framing { whole_ns: false, ..FRAMING };
    Settings { framing, ..over(Roce { law: Law::Hpcc(hpcc), cnp: Roce::plain().cnp, ..roce() }) }
}

/// 20,000 frames of 1048 bytes take 1.677 ms at the link's rate, and a lone flow takes the share of it that it aims for.
#[test]
fn hpcc_fills_the_share_of_a_link_that_it_aims_for() {
    for utilization in [0.95, 0.5] {
        let settings = under_hpcc(HpccSettings { utilization, ..HpccSettings::DEFAULT });
        let outcome = run(&telling(), &[flow(0, 2, 20_000_000, 0)], &settings);
        let share = 20_000.0 * 83_840.0 / outcome.flows[0].fct_ps as f64;
        assert!((share / utilization - 1.0).abs() < 0.03, "{share} instead of {utilization}");
    }
}

/// Two flows into one host, the second of which begins later: both have half, and next to nothing waits once the second's
/// first window has drained. Where only the cards limit, a whole message waits.
#[test]
fn hpcc_shares_a_link_with_an_empty_queue() {
    let flows = [flow(0, 2, 20_000_000, 0), flow(1, 2, 20_000_000, 50 * PS_PER_US)];
    let to_host = 2 * 2 + 1;
    let hpcc = run(&telling(), &flows, &under_hpcc(HpccSettings::DEFAULT));
    let took_ps = [0, 1].map(|index| hpcc.flows[index].fct_ps as f64);
    let half_ps = 2.0 * 20_000.0 * 83_840.0 / 0.95;
    assert!(took_ps.iter().all(|took_ps| (took_ps / half_ps - 1.0).abs() < 0.06), "{took_ps:?} {half_ps}");
    let waiting = |outcome: &anabranch_sim::Outcome| {
        let record = outcome.ports.iter().find(|record| record.port == to_host).unwrap();
        record.backlog_byte_ps as f64 / record.length_ps as f64
    };
    let free = Roce { law: Law::None, ..roce() };
    let none = run(&telling(), &flows, &over(free));
    assert!(waiting(&hpcc) < 3_000.0, "{}", waiting(&hpcc));
    assert!(waiting(&none) > 1_000_000.0, "{}", waiting(&none));
}

#[test]
fn hpcc_needs_ports_that_tell_of_themselves() {
    let fabric = leaf_spine(3, 2, 1, HUNDRED_GIG);
    let settings = under_hpcc(HpccSettings::DEFAULT);
    let error = simulate(&fabric, &[flow(0, 2, 1, 0)], &settings, &Progress::default()).unwrap_err();
    assert_eq!(
        error.to_string(),
        "transport 0: HPCC reads telemetry, which only ports with classes write; set fabric.preset, for example to \
         \"lossless-roce\""
    );
}
