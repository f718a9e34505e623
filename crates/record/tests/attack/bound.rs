//! Least time that a flow can take, from first principles: no path, or set of paths, is quicker.

use crate::arrival::{frames, wire_bytes};
use crate::broken::{Broken, holds};
use anabranch_balancers::Settings;
use anabranch_fabric::{Fabric, Rate, What};
use anabranch_scenario::Resolved;
use anabranch_sim::FlowRecord;
use anabranch_traffic::Flow;
use std::collections::BTreeMap;

/// Highest rate that each port ever has.
fn fastest(fabric: &Fabric, settings: &Settings) -> Vec<Rate> {
    let mut rates: Vec<Rate> = fabric.ports().iter().map(|port| port.rate).collect();
    for change in &settings.changes {
        if let What::PortRate(port, rate) = change.what {
            rates[port as usize] = rates[port as usize].max(rate);
        }
    }
    rates
}

/// Least time from each node to a host for a frame of `bytes`, without that host's own link.
fn quickest(fabric: &Fabric, rates: &[Rate], to: u32, bytes: u64) -> Vec<u64> {
    let mut times = vec![u64::MAX; fabric.nodes().len()];
    times[fabric.leaf_of(to) as usize] = 0;
    // Bellman and Ford: the fabrics are small.
    loop {
        let mut settled = true;
        for (port, rate) in fabric.ports().iter().zip(rates) {
            let between = port.from >= fabric.hosts() && port.to >= fabric.hosts();
            let behind = times[port.to as usize];
            if !between || behind == u64::MAX {
                continue;
            }
            let time = behind + rate.serialization().bytes_ps(bytes) + port.delay_ps;
            if time < times[port.from as usize] {
                times[port.from as usize] = time;
                settled = false;
            }
        }
        if settled {
            return times;
        }
    }
}

/// Refuses a flow that took less. All of it leaves by the sender's link, and the frame that leaves last, even if it is
/// the smallest, still has its path before it; all of it arrives by the receiver's link, and the frame that arrives
/// first had its path before.
pub(crate) fn check(resolved: &Resolved, flows: &[Flow], records: &[FlowRecord]) -> Result<(), Broken> {
    let (fabric, settings) = (resolved.fabric(), resolved.settings());
    let rates = fastest(fabric, settings);
    let gap = u64::from(settings.framing.gap_bytes);
    let mut known: BTreeMap<(u32, u64), Vec<u64>> = BTreeMap::new();
    for (index, (flow, record)) in flows.iter().zip(records).enumerate() {
        if record.fct_ps == u64::MAX {
            continue;
        }
        let pairs = settings.transports[usize::from(flow.transport)].queue_pairs();
        let parts = pairs.map_or(1, |pairs| pairs.parts(flow.size_bytes).count());
        let smallest = match frames(settings, flow) {
            1 if parts == 1 => wire_bytes(settings, flow),
            _ => u64::from(settings.framing.frame_bytes(1)) + gap,
        };
        let way =
            known.entry((flow.dst, smallest)).or_insert_with(|| quickest(fabric, &rates, flow.dst, smallest))
                [fabric.leaf_of(flow.src) as usize];
        let out = fabric.ports_of(flow.src)[0];
        let into = fabric.ports()[fabric.ports_of(flow.dst)[0] as usize].reverse;
        let time = |port: u32, bytes: u64| rates[port as usize].serialization().bytes_ps(bytes);
        let delay = |port: u32| fabric.ports()[port as usize].delay_ps;
        let all = wire_bytes(settings, flow);
        let (all_out, all_in) =
            (time(out, all) + time(into, smallest), time(out, smallest) + time(into, all));
        let least_ps = all_out.max(all_in) + way + delay(out) + delay(into);
        holds(record.fct_ps >= least_ps, "no flow is faster than its links", || {
            format!("flow {index}, {flow:?}, needs {least_ps} ps: {record:?}")
        })?;
    }
    Ok(())
}
