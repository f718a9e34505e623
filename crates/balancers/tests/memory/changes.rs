//! Memory stays as it is however often links change.

use super::{ALONE, PEAK, USED};
use anabranch_balancers::{Balancing, Granularity, Settings, Table, simulate};
use anabranch_fabric::topology::FatTree;
use anabranch_fabric::{Change, What};
use anabranch_plan::Weighing;
use anabranch_sim::transport::{Control, Tcp, Transport};
use anabranch_sim::{Framing, Nic, Observe, Progress};
use anabranch_traffic::{Flow, Ports, Start};
use std::sync::atomic::Ordering;

const US: u64 = 1_000_000;

/// Most bytes in use during a run in which links of a fat-tree go down and come back, three of them down at any time.
fn peak(changes: usize, table: Table) -> usize {
    let fabric = FatTree { k: 6, ..FatTree::default() }.build().unwrap();
    let links: Vec<(u32, u32)> = (0..)
        .zip(fabric.ports())
        .filter(|(index, port)| port.from.min(port.to) >= fabric.hosts() && *index < port.reverse)
        .map(|(index, port)| (index, port.reverse))
        .collect();
    let link = |number: usize| links[number * 7 % links.len()];
    let change = |index: usize| {
        let (number, what): (_, fn(u32) -> What) =
            if index.is_multiple_of(2) { (index / 2 + 3, What::PortDown) } else { (index / 2, What::PortUp) };
        let at_ps = index as u64 * US;
        [link(number).0, link(number).1].map(|port| Change { at_ps, what: what(port) })
    };
    let settings = Settings {
        seed: 1,
        balancing: Balancing {
            granularity: Granularity::Flow,
            weighing: Weighing::Capacity,
            table,
            ..Balancing::ECMP
        },
        transports: vec![Transport::Tcp(Tcp::plain(Control::NewReno))],
        works: Vec::new(),
        replay: None,
        nic: Nic::FIFO,
        framing: Framing::ETHERNET,
        changes: (0..changes).flat_map(change).collect(),
        routing_delay_ps: 0,
        switch_hashes: Vec::new(),
        end_ps: u64::MAX,
        observe: Observe::default(),
    };
    let flow = Flow {
        src: 0,
        dst: fabric.hosts() - 1,
        size_bytes: 1,
        start: Start::At(changes as u64 * US),
        path: None,
        job: None,
        transport: 0,
        ports: Ports::CHOSEN,
    };
    PEAK.store(USED.load(Ordering::Relaxed), Ordering::Relaxed);
    let outcome = simulate(&fabric, &[flow], &settings, &Progress::default()).unwrap();
    assert_eq!(outcome.totals.flows_finished, 1);
    PEAK.load(Ordering::Relaxed)
}

#[test]
fn changes_of_links_cost_no_memory() {
    let _alone = ALONE.lock().unwrap();
    for table in [Table::Uniform, Table::Valo] {
        // All links have been down once after the first: groups of all kinds are there.
        let (some, many) = (peak(600, table), peak(3600, table));
        // What is known of each beforehand: that it happens at both ports, and that routing learns of it.
        let listed = 3000 * 2 * 3 * size_of::<Change>();
        assert!(
            many <= some + listed + (64 << 10),
            "{table:?}: {some} and {many} bytes, {listed} of them listed"
        );
    }
}
