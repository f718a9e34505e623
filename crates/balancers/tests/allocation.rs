//! No allocation per packet: ten times the packets cost no more allocations.
//!
//! A program of its own, because its allocator counts what all threads ask for.

#![allow(clippy::unwrap_used)] // A test may fail, its helpers too.

use anabranch_balancers::{Balancing, Granularity, Settings, simulate};
use anabranch_fabric::topology::LeafSpine;
use anabranch_sim::transport::{Control, Mptcp, Tcp, Transport};
use anabranch_sim::{Framing, Nic, Observe, Progress};
use anabranch_traffic::{Flow, Ports, Start};
use std::alloc::{GlobalAlloc, Layout, System};
use std::sync::atomic::{AtomicU64, Ordering};

static ALLOCATIONS: AtomicU64 = AtomicU64::new(0);

struct Counting;

// SAFETY: every call is handed on to the system's allocator unchanged.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        ALLOCATIONS.fetch_add(1, Ordering::Relaxed);
        // SAFETY: the caller keeps the contract of `alloc`.
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, pointer: *mut u8, layout: Layout) {
        // SAFETY: the pointer came from `alloc` above, with this layout.
        unsafe { System.dealloc(pointer, layout) }
    }

    unsafe fn realloc(&self, pointer: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        ALLOCATIONS.fetch_add(1, Ordering::Relaxed);
        // SAFETY: as for `dealloc`; the caller keeps the contract of `realloc`.
        unsafe { System.realloc(pointer, layout, size) }
    }
}

#[global_allocator]
static ALLOCATOR: Counting = Counting;

const US: u64 = 1_000_000;

/// Allocations and packet-hops of eight sprayed flows of this size into two hosts, perhaps over subflows: losses,
/// reordering, marks.
fn cost(size_bytes: u64, subflows: Option<u8>) -> (u64, u64) {
    let mut shape = LeafSpine { leaves: 4, spines: 4, hosts_per_leaf: 4, ..LeafSpine::default() };
    shape.uplink.buffer.bytes = 60_000;
    shape.host_link.buffer.bytes = 60_000;
    let fabric = shape.build().unwrap();
    let flows: Vec<Flow> = (0..8)
        .map(|i| Flow {
            src: i,
            dst: 12 + i % 2,
            size_bytes,
            start: Start::At(0),
            path: None,
            job: None,
            transport: 0,
            ports: Ports::CHOSEN,
        })
        .collect();
    let tcp = Tcp {
        window_max_bytes: 1 << 20,
        ack_every: 2,
        ack_delay_ps: 500 * US,
        handshake: true,
        ..Tcp::plain(Control::NewReno)
    };
    let settings = Settings {
        seed: 1,
        balancing: Balancing { granularity: Granularity::Packet, ..Balancing::ECMP },
        transports: vec![match subflows {
            None => Transport::Tcp(tcp),
            Some(subflows) => Transport::Mptcp(Mptcp { tcp, subflows, ..Mptcp::plain() }),
        }],
        works: Vec::new(),
        replay: None,
        nic: Nic::FIFO,
        framing: Framing::ETHERNET,
        changes: Vec::new(),
        routing_delay_ps: 0,
        switch_hashes: Vec::new(),
        end_ps: u64::MAX,
        observe: Observe::default(),
    };
    let before = ALLOCATIONS.load(Ordering::Relaxed);
    let outcome = simulate(&fabric, &flows, &settings, &Progress::default()).unwrap();
    assert_eq!(outcome.totals.flows_finished, 8);
    assert!(outcome.totals.dropped_packets > 100, "the test wants losses: {:?}", outcome.totals);
    (ALLOCATIONS.load(Ordering::Relaxed) - before, outcome.totals.packet_hops)
}

#[test]
fn ten_times_the_packets_cost_no_more_allocations() {
    for subflows in [None, Some(4)] {
        let (short, short_hops) = cost(4_000_000, subflows);
        let (long, long_hops) = cost(40_000_000, subflows);
        assert!(long_hops - short_hops > 1_000_000, "{short_hops} and {long_hops}");
        // What may still grow: a ring, the timers, a list of ranges, by doubling.
        let connections = u64::from(subflows.unwrap_or(1));
        assert!(
            long <= short + 24 * connections,
            "{subflows:?}: {short} allocations for {short_hops} hops, {long} for {long_hops}"
        );
    }
}
