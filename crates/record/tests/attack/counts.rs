//! Conditions on the counts of every outcome: nothing unaccounted, sums that agree, intervals without gaps.

use crate::broken::{Broken, holds, same};
use anabranch_scenario::{Resolved, Weights};
use anabranch_sim::transport::Transport;
use anabranch_sim::{FlowRecord, Outcome, PortRecord};
use anabranch_traffic::{Flow, Start};

/// Counters of packets that meters and hosts drop; no port's record contains them.
const BESIDE_PORTS: [&str; 2] =
    ["packets dropped by meters", "headers of trimmed packets that reached hosts"];

pub(crate) fn check(resolved: &Resolved, flows: &[Flow], outcome: &Outcome) -> Result<(), Broken> {
    check_packets(resolved, outcome)?;
    check_intervals(resolved, outcome)?;
    check_flows(resolved, flows, outcome)
}

fn check_packets(resolved: &Resolved, outcome: &Outcome) -> Result<(), Broken> {
    let totals = &outcome.totals;
    let ended = totals.delivered_packets + totals.dropped_packets + totals.lost_packets;
    holds(totals.sent_packets == ended + totals.packets_left, "every packet is accounted for", || {
        format!("sent is not delivered + dropped + lost + left: {totals:?}")
    })?;
    let sum = |count: fn(&PortRecord) -> u64| outcome.ports.iter().map(count).sum::<u64>();
    let invariant = "totals are the sums of records";
    same(invariant, "packet-hops", totals.packet_hops, sum(|record| record.sent_packets))?;
    same(invariant, "marked packets", totals.marked_packets, sum(|record| record.marked_packets))?;
    let beside: u64 =
        outcome.counts.iter().filter(|(name, _)| BESIDE_PORTS.contains(name)).map(|(_, count)| count).sum();
    let dropped = sum(|record| record.dropped_packets);
    same(invariant, "dropped packets", totals.dropped_packets, dropped + beside)?;
    let lost = sum(|record| record.lost_packets);
    holds(lost <= totals.lost_packets, invariant, || format!("ports lost {lost} packets, {totals:?}"))?;
    let weighed = matches!(resolved.scenario().routing.weights, Weights::Given(_));
    holds(
        !resolved.settings().changes.is_empty() || weighed || totals.lost_packets == 0,
        "nothing is lost where nothing fails",
        || format!("{totals:?}"),
    )
}

/// Checks that intervals follow each other from the start to the end and hold no more than their length.
fn check_intervals(resolved: &Resolved, outcome: &Outcome) -> Result<(), Broken> {
    let ports = resolved.fabric().ports().len();
    same("every interval has a row per port", "ports, rows", 0, (outcome.ports.len() % ports) as u64)?;
    let mut start_ps = 0;
    for rows in outcome.ports.chunks(ports) {
        let length_ps = rows[0].length_ps;
        for (number, row) in rows.iter().enumerate() {
            let told = || format!("{row:?}, expected port {number} from {start_ps} ps for {length_ps} ps");
            let regular =
                row.port as usize == number && row.start_ps == start_ps && row.length_ps == length_ps;
            holds(regular, "intervals follow each other", told)?;
            holds(row.busy_ps <= length_ps, "no port is busy for longer than an interval", told)?;
            let most = u128::from(row.backlog_max_bytes) * u128::from(length_ps);
            holds(row.backlog_byte_ps <= most, "the mean backlog is no more than the largest", told)?;
        }
        start_ps += length_ps;
    }
    same("intervals follow each other", "end of the last, end of the run", start_ps, outcome.totals.end_ps)
}

/// Number of segments of a flow that are still in the fabric, or in its host's card.
fn left_packets(record: &FlowRecord) -> u64 {
    record
        .sent_packets
        .saturating_sub(record.delivered_packets + record.dropped_packets + record.lost_packets)
}

fn check_flows(resolved: &Resolved, flows: &[Flow], outcome: &Outcome) -> Result<(), Broken> {
    same("every flow has a row", "flows, rows", flows.len() as u64, outcome.flows.len() as u64)?;
    let left: u64 = outcome.flows.iter().map(left_packets).sum();
    holds(left <= outcome.totals.packets_left, "every flow's packets are accounted for", || {
        format!("{left} segments of flows are left, {:?}", outcome.totals)
    })?;
    let finished = outcome.flows.iter().filter(|record| record.fct_ps != u64::MAX).count();
    same("totals are the sums of records", "flows finished", outcome.totals.flows_finished, finished as u64)?;
    let end_ps = outcome.totals.end_ps;
    for (index, (flow, record)) in flows.iter().zip(&outcome.flows).enumerate() {
        let told = || format!("flow {index}, {flow:?}, {record:?}, end at {end_ps} ps");
        let begun = record.start_ps != u64::MAX;
        let done = record.fct_ps != u64::MAX;
        holds(begun || !done, "only what began has finished", told)?;
        holds(!begun || record.start_ps <= end_ps, "flows begin before the end", told)?;
        holds(!done || record.fct_ps <= end_ps - record.start_ps, "flows finish before the end", told)?;
        holds(
            record.retransmitted_packets <= record.sent_packets,
            "what is sent again is counted as sent",
            told,
        )?;
        let whole = record.sent_bytes >= flow.size_bytes;
        holds(!done || whole, "a finished flow has sent all of its bytes", told)?;
        holds(!done || record.delivered_bytes >= flow.size_bytes, "a finished flow is delivered", told)?;
        let ended = record.delivered_packets + record.dropped_packets + record.lost_packets;
        holds(ended <= record.sent_packets, "every flow's packets are accounted for", told)?;
        let datagrams =
            matches!(resolved.settings().transports[usize::from(flow.transport)], Transport::Udp(_));
        let once = !datagrams || record.sent_bytes <= flow.size_bytes;
        holds(once, "datagrams are sent once", told)?;
        let on_time = match flow.start {
            Start::At(at_ps) => !begun || record.start_ps == at_ps,
            Start::After { flow, delay_ps } => {
                let awaited = &outcome.flows[flow as usize];
                !begun
                    || awaited.fct_ps != u64::MAX
                        && record.start_ps == awaited.start_ps + awaited.fct_ps + delay_ps
            }
            Start::AfterJob { .. } | Start::Ready { .. } => true,
        };
        holds(on_time, "flows begin when they are told to", told)?;
    }
    Ok(())
}
