//! Hosts that choose what switches hash, on several threads: what they learn from answers, and the numbers that they draw, are
//! the same for any cut of the fabric.

use super::setup::*;
use super::threads::{bursts, by_lot, compare, outcome};
use super::threads_of_classes::{classed, trimming};
use super::threads_of_queue_pairs::{over, queue_pairs};
use super::threads_of_uec::{controls, spraying};
use anabranch_balancers::{Decider, Descriptor, Settings, Task, registry};
use anabranch_sim::transport::{Control, Tcp, Transport};
use anabranch_sim::{Partition, Progress};

/// Load balancers of hosts that are simulated in parts.
fn of_hosts() -> impl Iterator<Item = &'static Descriptor> {
    registry::all()
        .filter(|descriptor| descriptor.decider == Decider::Hosts)
        .filter(|descriptor| descriptor.balancing().scheme.get().is_some_and(|scheme| scheme.runs_in_parts()))
}

/// Trimming ports, links that lose frames and die: over UEC of one and of several contexts, and over TCP.
#[test]
fn hosts_that_choose_entropies_have_the_same_bits() {
    let fabric = classed(trimming);
    let [_, _, uec] = controls();
    let [several, ..] = queue_pairs();
    let tcp = Tcp { rto_min_ps: 300 * PS_PER_US, ..Tcp::plain(Control::Dctcp { gain: 1.0 / 16.0 }) };
    let uec = Transport::Uec(uec);
    let transports = [uec.clone(), over(uec, several), Transport::Tcp(tcp)];
    let flows = &bursts(&fabric)[..64];
    for descriptor in of_hosts() {
        for (seed, transport) in (0..).zip(&transports) {
            let settings =
                Settings { balancing: descriptor.balancing(), ..spraying(&fabric, transport.clone(), seed) };
            let whole = outcome(&fabric, flows, &settings, None);
            assert!(whole.totals.lost_packets > 0 && whole.totals.flows_finished > 40);
            for cut in [Partition::by_leaves(&fabric, 2), by_lot(&fabric, seed, 4)] {
                let parts = outcome(&fabric, flows, &settings, Some(&cut));
                compare(&whole, &parts, &format!("{}, transport {seed}", descriptor.name));
            }
        }
    }
    let names: Vec<&str> = of_hosts().map(|descriptor| descriptor.name).collect();
    let uec = ["uec-oblivious", "uec-bitmap", "uec-mixed"];
    for name in ["reps", "reps-legacy", "mp-rdma", "plb", "flowbender"].into_iter().chain(uec) {
        assert!(names.contains(&name), "{name} is not among {names:?}");
    }
}

/// A message that is acknowledged and waits for those before it has an open connection still, of which its host may learn.
#[test]
fn kept_queue_pairs_of_hosts_that_choose_entropies_take_one_thread() {
    let fabric = classed(trimming);
    let (flows, progress, cut) =
        (vec![flow(0, 4, 1000, 0)], Progress::default(), Partition::by_leaves(&fabric, 2));
    let [uec, ..] = controls();
    let reason = |queue_pairs| {
        let balancing = registry::all().find(|one| one.name == "reps").unwrap().balancing();
        let transport = over(Transport::Uec(uec.clone()), queue_pairs);
        let settings = Settings { balancing, ..spraying(&fabric, transport, 1) };
        Task::new(&fabric, &flows, &settings, &progress).unwrap().one_thread(&cut)
    };
    let [own, kept, _] = queue_pairs();
    assert_eq!(reason(own), None);
    assert!(reason(kept).is_some_and(|what| what.contains("kept")));
}
