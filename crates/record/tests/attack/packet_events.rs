//! Conditions on events of single packets: as many as ports and flows count, port by port and flow by flow.

use crate::broken::{Broken, holds, same};
use anabranch_scenario::Resolved;
use anabranch_sim::{EventKind, FlowRecord, Kind, Outcome, PacketEvent, PortRecord};
use std::collections::BTreeSet;

pub(crate) fn check(resolved: &Resolved, outcome: &Outcome) -> Result<(), Broken> {
    let most = resolved.settings().observe.events_max;
    if most == 0 {
        return holds(outcome.events.is_empty(), "events are recorded where they are asked for", || {
            format!("{:?}", outcome.events)
        });
    }
    let in_order = outcome.events.windows(2).all(|pair| pair[0].time_ps <= pair[1].time_ps);
    holds(in_order, "events are in the order of time", || format!("{:?}", outcome.events))?;
    for what in EventKind::ALL {
        let events: Vec<_> = outcome.events.iter().filter(|event| event.what == what).collect();
        let recorded = events.len() as u64;
        holds(recorded <= most, "no more events are recorded than asked for", || {
            format!("{recorded} {what:?}, {most} asked for")
        })?;
        match what {
            EventKind::Dropped => same_totals(&events, most, outcome.totals.dropped_packets, outcome)?,
            EventKind::Lost => same_totals(&events, most, outcome.totals.lost_packets, outcome)?,
            EventKind::Marked => same_totals(&events, most, outcome.totals.marked_packets, outcome)?,
            EventKind::Trimmed => {
                let trimmed = outcome.ports.iter().map(|record| record.trimmed_packets).sum();
                same_totals(&events, most, trimmed, outcome)?;
            }
            EventKind::Discarded => {
                let counted =
                    outcome.counts.iter().find(|(name, _)| name.starts_with("segments that receivers"));
                same_totals(&events, most, counted.map_or(0, |&(_, count)| count), outcome)?;
            }
            EventKind::OtherPath => {}
        }
        if recorded < most {
            by_flow(what, &events, outcome)?;
        }
    }
    Ok(())
}

/// Checks that as many events are recorded as there were, up to the limit, and that each port has its own.
fn same_totals(events: &[&PacketEvent], most: u64, total: u64, outcome: &Outcome) -> Result<(), Broken> {
    same("every event is recorded", "recorded, counted", events.len() as u64, total.min(most))?;
    let Some(first) = events.first() else { return Ok(()) };
    if events.len() as u64 == most {
        return Ok(());
    }
    let count: fn(&PortRecord) -> u64 = match first.what {
        EventKind::Dropped => |record| record.dropped_packets,
        EventKind::Lost => |record| record.lost_packets,
        EventKind::Trimmed => |record| record.trimmed_packets,
        EventKind::Marked | EventKind::OtherPath => |record| record.marked_packets,
        EventKind::Discarded => |_| 0,
    };
    let ports = outcome.ports.iter().map(|record| record.port as usize + 1).max().unwrap_or(0);
    let (mut counted, mut recorded) = (vec![0; ports], vec![0; ports]);
    outcome.ports.iter().for_each(|record| counted[record.port as usize] += count(record));
    events.iter().filter_map(|event| event.port).for_each(|port| recorded[port as usize] += 1);
    holds(counted == recorded, "ports have the events that they count", || {
        format!("{:?}: counted {counted:?}, recorded {recorded:?}", first.what)
    })
}

/// Checks that each flow has the events that it counts.
fn by_flow(what: EventKind, events: &[&PacketEvent], outcome: &Outcome) -> Result<(), Broken> {
    let segments = |flow: u32| {
        let of_flow = move |event: &&&PacketEvent| {
            event.flow == Some(flow) && matches!(event.kind, Kind::Data | Kind::Datagram)
        };
        events.iter().filter(of_flow)
    };
    for (flow, record) in (0..).zip(&outcome.flows) {
        let told = |recorded: u64| move || format!("{what:?} of flow {flow}: {recorded}, {record:?}");
        let recorded = segments(flow).count() as u64;
        let FlowRecord { dropped_packets, lost_packets, marked_packets, paths, .. } = *record;
        match what {
            EventKind::Dropped => {
                holds(recorded == dropped_packets, "flows have the events that they count", told(recorded))?;
            }
            EventKind::Lost => {
                holds(recorded == lost_packets, "flows have the events that they count", told(recorded))?;
            }
            EventKind::Marked => {
                // A segment that was marked at several ports, or lost later, arrived marked once at most.
                holds(recorded >= marked_packets, "marks that arrive were set", told(recorded))?;
            }
            EventKind::Trimmed => {}
            EventKind::Discarded => {
                let arrived = record.delivered_packets;
                holds(recorded <= arrived, "what is discarded has arrived", told(recorded))?;
            }
            EventKind::OtherPath => {
                // Counters tell 256 paths apart.
                let seen: BTreeSet<u16> = segments(flow).map(|event| event.path & 255).collect();
                let seen = seen.len() as u64;
                holds(seen == u64::from(paths), "events name every path of a flow", told(seen))?;
            }
        }
    }
    Ok(())
}
