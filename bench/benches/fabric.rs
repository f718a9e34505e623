//! Packet-hops per second of the whole engine, data and acknowledgements alike, on one core.

use anabranch_balancers::{Balancing, Granularity, Settings, simulate};
use anabranch_fabric::capacity::Reference;
use anabranch_fabric::topology::{FatTree, LeafSpine};
use anabranch_fabric::{Change, Fabric, MarkAt, SharedBuffer, SwitchSettings, What};
use anabranch_sim::transport::{Control, Tcp, Transport};
use anabranch_sim::{Framing, HugePages, Nic, Observe, Progress};
use anabranch_traffic::load::Load;
use anabranch_traffic::sizes::{Convention, Published, Sizes};
use anabranch_traffic::{Flow, Pattern, Ports, Start, workload};
use criterion::{BenchmarkId, Criterion, Throughput, criterion_group, criterion_main};

/// The allocator of the extension module.
#[global_allocator]
static ALLOCATOR: HugePages = HugePages;

const US: u64 = 1_000_000;

/// Settings with DCTCP and an acknowledgement per segment, as the peers are measured (one core, same fabric and sizes).
fn settings(granularity: Granularity) -> Settings {
    let tcp = Tcp { handshake: true, ..Tcp::plain(Control::Dctcp { gain: 1.0 / 16.0 }) };
    Settings {
        seed: 1,
        balancing: Balancing { granularity, ..Balancing::ECMP },
        transports: vec![Transport::Tcp(tcp)],
        works: Vec::new(),
        replay: None,
        nic: Nic::FAIR,
        framing: Framing::ETHERNET,
        changes: Vec::new(),
        routing_delay_ps: 0,
        switch_hashes: Vec::new(),
        end_ps: u64::MAX,
        observe: Observe::default(),
    }
}

/// Web-search flows between racks at 0.6 of the uplinks.
fn web_search(fabric: &Fabric, duration_us: u64) -> Vec<Flow> {
    let cdf = Published::named("web-search").expect("a published table").cdf(Convention::Linear);
    let poisson = workload::Poisson {
        pattern: Pattern::InterRack,
        sizes: Sizes::Cdf(cdf),
        arrivals: workload::Arrivals::Load(Load {
            fraction: 0.6,
            reference: Reference::Uplink,
            capacity_bps: None,
        }),
        amount: workload::Amount::Duration(duration_us * US),
        start_ps: 0,
        transport: 0,
    };
    workload::Workload::Poisson(poisson).flows(fabric, 1).expect("a load below one")
}

fn packet_hops(criterion: &mut Criterion) {
    let leaf_spine = |side, hosts_per_leaf| LeafSpine {
        leaves: side,
        spines: side,
        hosts_per_leaf,
        ..LeafSpine::default()
    };
    let fat_tree = FatTree { k: 12, hosts_per_leaf: 24, ..FatTree::default() };
    // Ports with classes, that pause or trim where FIFO ports drop.
    let classed = |settings: SwitchSettings| {
        leaf_spine(4, 8).build().map(|mut fabric| {
            fabric.set_switches(Some(settings));
            fabric
        })
    };
    let data = 2;
    let mut lossless = SwitchSettings { shared: Some(SharedBuffer::default()), ..SwitchSettings::default() };
    lossless.classes[data].lossless = true;
    let mut trimming = SwitchSettings { mark_at: MarkAt::Dequeue, ..SwitchSettings::default() };
    trimming.classes[data].trim = true;
    let fabrics = [
        ("4x4x8", leaf_spine(4, 8).build(), 50_000),
        ("4x4x8-lossless", classed(lossless), 50_000),
        ("4x4x8-trimming", classed(trimming), 50_000),
        ("16x16x16", leaf_spine(16, 16).build(), 5_000),
        ("fat-tree-12-1728", fat_tree.build(), 3_000),
    ];
    let mut benches = criterion.benchmark_group("packet-hops");
    benches.sample_size(10);
    for (name, fabric, duration_us) in fabrics {
        let fabric = fabric.expect("sizes of a fabric");
        let flows = web_search(&fabric, duration_us);
        for (scheme, granularity) in [("ecmp", Granularity::Flow), ("spray", Granularity::Packet)] {
            let settings = settings(granularity);
            let run =
                || simulate(&fabric, &flows, &settings, &Progress::default()).expect("a sound simulation");
            benches.throughput(Throughput::Elements(run().totals.packet_hops));
            benches.bench_function(BenchmarkId::new(scheme, name), |b| b.iter(run));
        }
    }
}

/// Cost of one change of a link at 3,456 hosts: routing plans anew, and switches adopt it.
fn link_changes(criterion: &mut Criterion) {
    let fabric = FatTree { k: 24, ..FatTree::default() }.build().expect("a fat-tree");
    let uplink = (0..).zip(fabric.ports()).find(|(_, port)| port.from.min(port.to) >= fabric.hosts());
    let (port, reverse) = uplink.map(|(index, port)| (index, port.reverse)).expect("a link between switches");
    let flow = Flow {
        src: 0,
        dst: fabric.hosts() - 1,
        size_bytes: 1,
        start: Start::At(100 * US),
        path: None,
        job: None,
        transport: 0,
        ports: Ports::CHOSEN,
    };
    let mut benches = criterion.benchmark_group("link-changes");
    benches.sample_size(10);
    for count in [0u64, 8] {
        let mut settings = settings(Granularity::Flow);
        settings.changes = (0..count)
            .flat_map(|index| {
                let what = if index % 2 == 0 { What::PortDown } else { What::PortUp };
                [port, reverse].map(|port| Change { at_ps: index * US, what: what(port) })
            })
            .collect();
        let run = || simulate(&fabric, &[flow], &settings, &Progress::default()).expect("a sound simulation");
        benches.bench_function(BenchmarkId::new("fat-tree-24-3456", count), |b| b.iter(run));
    }
}

criterion_group!(benches, packet_hops, link_changes);
criterion_main!(benches);
