//! Ports with classes on several threads: frames are marked until they are sent, cut for want of room, and paused over links
//! that cross, with the same bits for any cut of the fabric.

use super::setup::*;
use super::threads::{bursts, by_lot, changes, compare, outcome, settings_of};
use super::threads_of_jobs::{GO_BACK_N, roce};
use anabranch_balancers::{Settings, Table, Task};
use anabranch_fabric::topology::{LeafSpine, LinkSettings};
use anabranch_fabric::{Buffer, Fabric, MarkAt, Marking, SharedBuffer, SwitchSettings, What};
use anabranch_sim::transport::Transport;
use anabranch_sim::transport::control::{HpccSettings, Law};
use anabranch_sim::transport::roce::Roce;
use anabranch_sim::{Class, Framing, Nic, Partition, Progress, check_switches};

/// Leaves and spines whose ports tell classes apart, with little room.
pub(super) fn classed(make: impl FnOnce(&mut SwitchSettings)) -> Fabric {
    let link = LinkSettings {
        marking: Marking::Ramp { low_bytes: 5_000, high_bytes: 40_000, probability: 0.2 },
        buffer: Buffer { bytes: 60_000, packets: u32::MAX },
        ..LinkSettings::default()
    };
    let topology = LeafSpine {
        leaves: 4,
        spines: 3,
        hosts_per_leaf: 3,
        host_link: link,
        uplink: link,
        ..LeafSpine::default()
    };
    let mut fabric = topology.build().unwrap();
    let mut switches = SwitchSettings::default();
    make(&mut switches);
    fabric.set_switches(Some(switches));
    check_switches(&fabric, Framing::ETHERNET, &Nic::FAIR).unwrap();
    fabric
}

pub(super) fn lossless(switches: &mut SwitchSettings) {
    switches.classes[Class::Data as usize].lossless = true;
    switches.mark_at = MarkAt::Dequeue;
    switches.shared = Some(SharedBuffer { bytes: 180_000, ..SharedBuffer::default() });
}

pub(super) fn trimming(switches: &mut SwitchSettings) {
    switches.classes[Class::Data as usize].trim = true;
    switches.mark_at = MarkAt::Dequeue;
}

fn lossy(switches: &mut SwitchSettings) {
    switches.shared = Some(SharedBuffer { bytes: 100_000, ..SharedBuffer::default() });
    switches.mark_at = MarkAt::Enqueue;
}

/// Links lose frames and change their rate, and with it the time of the frame that is being sent; where nothing is paused
/// they die too.
#[test]
fn ports_with_classes_have_the_same_bits() {
    let spray = Table::Turns { block: false };
    let nics = [Nic::FIFO, Nic { jitter: true, ..Nic::FAIR }, Nic::RDMA];
    let runs = [(classed(lossless), true), (classed(trimming), false), (classed(lossy), false)];
    for (seed, ((fabric, pauses), nic)) in (0..).zip(runs.iter().zip(nics)) {
        let mut settings = settings_of(spray, changes(fabric), seed);
        settings.transports = vec![roce(GO_BACK_N, false)];
        settings.nic = nic;
        if *pauses {
            let stays = |what| matches!(what, What::PortLoss(..) | What::PortRate(..));
            settings.changes.retain(|change| stays(change.what));
        }
        let flows: Vec<_> = bursts(fabric).into_iter().take(96).collect();
        let whole = outcome(fabric, &flows, &settings, None);
        let sum = |count: fn(&anabranch_sim::PortRecord) -> u64| whole.ports.iter().map(count).sum::<u64>();
        assert!(whole.totals.marked_packets > 100 && whole.totals.lost_packets > 10);
        assert_eq!(
            (sum(|port| port.pauses_sent) > 100, sum(|port| port.trimmed_packets) > 100),
            (*pauses, seed == 1)
        );
        for (number, cut) in
            [Partition::by_leaves(fabric, 2), by_lot(fabric, seed, 2), by_lot(fabric, seed, 5)]
                .iter()
                .enumerate()
        {
            let parts = outcome(fabric, &flows, &settings, Some(cut));
            compare(&whole, &parts, &format!("run {seed}, cut {number}"));
        }
    }
}

/// HPCC reads what the ports on both sides of a cut tell of themselves. Links change their rate under way, and what is on them is
/// timed anew; where nothing is paused they die.
#[test]
fn telemetry_crosses_with_its_packets() {
    for (seed, fabric) in [classed(lossless), classed(lossy)].iter().enumerate() {
        // Where packets take turns among paths, two answers in a row tell of different ports, and HPCC learns nothing.
        let mut settings = settings_of(Table::Uniform, changes(fabric), seed as u64);
        let law = Law::Hpcc(HpccSettings::DEFAULT);
        settings.transports = vec![Transport::Roce(Roce { law, rto_ps: 300 * PS_PER_US, ..Roce::plain() })];
        if seed == 0 {
            settings.changes.retain(|change| matches!(change.what, What::PortLoss(..) | What::PortRate(..)));
        }
        let flows: Vec<_> = bursts(fabric).into_iter().take(96).collect();
        let whole = outcome(fabric, &flows, &settings, None);
        assert!(whole.totals.flows_finished > 80 && whole.totals.lost_packets > 10);
        let lowered = whole.windows.iter().filter(|sample| sample.rate_bps < Some(5_000_000_000)).count();
        assert!(lowered > 10, "{lowered} rates below half of the links'");
        for (number, cut) in [Partition::by_leaves(fabric, 2), by_lot(fabric, 1, 5)].iter().enumerate() {
            let parts = outcome(fabric, &flows, &settings, Some(cut));
            compare(&whole, &parts, &format!("run {seed}, cut {number}"));
        }
    }
}

/// A deadlock would be a matter of the whole fabric: where links die, paths may go round.
#[test]
fn pauses_that_may_wait_in_a_circle_take_one_thread() {
    let fabric = classed(lossless);
    let settings =
        Settings { transports: vec![roce(GO_BACK_N, false)], ..settings_of(Table::Uniform, Vec::new(), 1) };
    let (flows, progress) = (vec![flow(0, 4, 1000, 0)], Progress::default());
    let cut = Partition::by_leaves(&fabric, 2);
    let reason =
        |settings: &Settings| Task::new(&fabric, &flows, settings, &progress).unwrap().one_thread(&cut);
    assert_eq!(reason(&settings), None);
    let dying = Settings { changes: changes(&fabric), ..settings };
    assert!(reason(&dying).is_some_and(|what| what.contains("circle")));
}

/// A run ends with the last byte, whose acknowledgement is being sent then, and so is not captured.
#[test]
fn what_is_being_sent_at_the_end_is_not_captured() {
    let fabric = classed(lossy);
    // Each segment is acknowledged.
    let settings = settings_of(Table::Uniform, Vec::new(), 6);
    for bytes in [2895, 2 * 2895, 7 * 1448] {
        let flows = [flow(1, 0, bytes, 0)];
        let whole = outcome(&fabric, &flows, &settings, None);
        for seed in 0..6 {
            let parts = outcome(&fabric, &flows, &settings, Some(&by_lot(&fabric, seed, 3)));
            compare(&whole, &parts, &format!("{bytes} bytes, cut {seed}"));
        }
    }
}
