//! Flows that come one after the other: same records as from a list, and memory that their number does not change.

use super::{ALONE, PEAK, USED};
use anabranch_balancers::{Balancing, Settings, registry, simulate};
use anabranch_fabric::topology::LeafSpine;
use anabranch_fabric::{Fabric, Rate};
use anabranch_sim::transport::roce::Roce;
use anabranch_sim::transport::uec::Uec;
use anabranch_sim::transport::{Control, Coupling, Mptcp, Tcp, Transport, Udp};
use anabranch_sim::{FlowRecord, FlowSink, Framing, Nic, Observe, Progress};
use anabranch_traffic::sizes::Sizes;
use anabranch_traffic::workload::{Amount, Arrivals, Poisson};
use anabranch_traffic::{DrawnFlows, Flow, Pattern, Ports, Start, Workload};
use std::io;
use std::sync::atomic::Ordering;
use std::sync::{Arc, Mutex};

/// Takes the records, or throws them away.
#[derive(Debug)]
struct Taken(Option<Mutex<Vec<FlowRecord>>>);

impl FlowSink for Taken {
    fn write(&self, first: u32, records: &[FlowRecord]) -> io::Result<()> {
        if let Some(taken) = &self.0 {
            let (mut taken, first) = (taken.lock().unwrap(), first as usize);
            let end = taken.len().max(first + records.len());
            taken.resize(end, FlowRecord::default());
            taken[first..first + records.len()].copy_from_slice(records);
        }
        Ok(())
    }
}

/// Short flows, and a few that last for as long as thousands of others.
fn flows(fabric: &Fabric, count: u64, transport: u8) -> DrawnFlows {
    let poisson = |bytes, per_s, count| {
        Workload::Poisson(Poisson {
            pattern: Pattern::RandomPairs,
            sizes: Sizes::Fixed(bytes),
            arrivals: Arrivals::PerSecond(per_s),
            amount: Amount::Count(count),
            start_ps: 0,
            transport,
        })
    };
    DrawnFlows::of(&[poisson(1000, 4e6, count), poisson(300_000, 4e6 / 2000.0, count / 2000)], fabric, 1)
        .unwrap()
}

fn settings(transport: Transport, omit_ps: u64) -> Settings {
    Settings {
        seed: 1,
        balancing: Balancing::ECMP,
        transports: vec![transport],
        works: Vec::new(),
        replay: None,
        nic: Nic::FIFO,
        framing: Framing::ETHERNET,
        changes: Vec::new(),
        routing_delay_ps: 0,
        switch_hashes: Vec::new(),
        end_ps: u64::MAX,
        observe: Observe { omit_ps, ..Observe::default() },
    }
}

fn tcp() -> Tcp {
    Tcp::plain(Control::NewReno)
}

/// Timeouts shorter than a round trip: most segments are sent again while they wait, and arrive after their flow ended.
fn hasty() -> Tcp {
    Tcp { rto_min_ps: 10_000_000, rto_initial_ps: 10_000_000, ..tcp() }
}

/// All ports drop: segments of flows that have ended are still under way, and copies of segments arrive late.
fn fabric() -> Fabric {
    let mut shape = LeafSpine::default();
    shape.uplink.buffer.bytes = 6_000;
    shape.host_link.buffer.bytes = 6_000;
    shape.build().unwrap()
}

#[test]
fn records_that_are_sent_away_are_those_that_are_kept() {
    let _alone = ALONE.lock().unwrap();
    let fabric = fabric();
    let persistent = Tcp { persistent: true, ..tcp() };
    let mptcp = Mptcp { tcp: tcp(), subflows: 2, coupling: Coupling::Lia };
    for (transport, omit_ps) in [
        (Transport::Tcp(tcp()), 0),
        (Transport::Tcp(tcp()), 2_000_000_000),
        (Transport::Tcp(hasty()), 0),
        (Transport::Tcp(Tcp { persistent: true, ..hasty() }), 0),
        (Transport::Tcp(persistent), 0),
        (Transport::Mptcp(mptcp), 0),
        (Transport::Roce(Roce::plain()), 0),
        (Transport::Udp(Udp { rate: Rate::from_bps(2_000_000_000).unwrap(), payload_bytes_max: None }), 0),
    ] {
        let drawn = flows(&fabric, 20_000, 0);
        let listed: Vec<Flow> = drawn.iter().collect();
        let settings = settings(transport, omit_ps);
        let kept = simulate(&fabric, &listed, &settings, &Progress::default()).unwrap();
        assert!(kept.totals.dropped_packets > 0, "ports drop");
        let (progress, sink) = (Progress::default(), Arc::new(Taken(Some(Mutex::default()))));
        progress.send_flows_to(Arc::<Taken>::clone(&sink));
        let sent = simulate(&fabric, &drawn, &settings, &progress).unwrap();
        assert_eq!(sent.totals, kept.totals);
        // Segments that arrive after their flow has ended are accounted for by it all the same.
        let sum = |count: fn(&FlowRecord) -> u64| kept.flows.iter().map(count).sum::<u64>();
        let arrived = sum(|flow| flow.delivered_packets + flow.dropped_packets + flow.lost_packets);
        assert_eq!(sum(|flow| flow.sent_packets), arrived, "{:?}", settings.transports);
        assert!(sent.flows.is_empty());
        let taken = sink.0.as_ref().unwrap().lock().unwrap();
        assert!(*taken == kept.flows, "records differ");
    }
}

/// Most bytes in use during a run whose records nobody keeps.
fn peak(count: u64) -> usize {
    let fabric = fabric();
    let (flows, settings) = (flows(&fabric, count, 0), settings(Transport::Tcp(tcp()), 0));
    let progress = Progress::default();
    progress.send_flows_to(Arc::new(Taken(None)));
    PEAK.store(USED.load(Ordering::Relaxed), Ordering::Relaxed);
    let outcome = simulate(&fabric, &flows, &settings, &progress).unwrap();
    assert_eq!(outcome.totals.flows_finished, flows.len() as u64);
    PEAK.load(Ordering::Relaxed)
}

#[test]
fn flows_that_have_ended_cost_no_memory() {
    let _alone = ALONE.lock().unwrap();
    let (some, many) = (peak(40_000), peak(160_000));
    // A list of the others would take 25 MB. The kilobyte of a connection serves 256 flows, and the table of connections
    // doubles when it is full.
    assert!(many <= some + (2 << 20), "{some} and {many} bytes");
}

/// Most bytes that a flow of this size has in use under MRC.
fn peak_under_mrc(size_bytes: u64) -> usize {
    let fabric = LeafSpine::default().build().unwrap();
    let flow = Flow {
        src: 0,
        dst: fabric.hosts() - 1,
        size_bytes,
        start: Start::At(0),
        path: None,
        job: None,
        transport: 0,
        ports: Ports::CHOSEN,
    };
    let settings = Settings {
        balancing: registry::find("mrc").unwrap().balancing(),
        nic: Nic::FAIR,
        ..settings(Transport::Uec(Uec::DEFAULT), 0)
    };
    let before = USED.load(Ordering::Relaxed);
    PEAK.store(before, Ordering::Relaxed);
    let outcome = simulate(&fabric, &[flow], &settings, &Progress::default()).unwrap();
    assert_eq!(outcome.totals.flows_finished, 1);
    PEAK.load(Ordering::Relaxed) - before
}

#[test]
fn mrc_forgets_packets_that_are_acknowledged() {
    let _alone = ALONE.lock().unwrap();
    let (short, long) = (peak_under_mrc(1_000_000), peak_under_mrc(40_000_000));
    // It remembers 32 bytes of each packet under way; those of the longer flow would take 870 KB.
    assert!(long <= short + 100_000, "{short} and {long} bytes");
}
