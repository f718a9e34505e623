//! Calm runs: where nothing fails, ports have room and there was time, no flow is left unfinished and little is sent in
//! vain.
//!
//! *Nothing fails*: no link or switch is taken down, loses or swallows, and no path has the weight 0; rates may change.
//! *Room*: each port holds three times all that flows bring, or nothing was dropped or trimmed. *Time*: [`needed_ps`], a
//! multiple of all that each packet may wait for.

use crate::arrival;
use crate::arrival::{frames, parts, wire_bytes};
use crate::broken::{Broken, holds};
use anabranch_balancers::Settings;
use anabranch_fabric::{Fabric, Marking, Port, What, longest_round_trip_ps};
use anabranch_scenario::{Demand, Resolved, Weights};
use anabranch_sim::transport::control::Law;
use anabranch_sim::transport::roce::{Recovery, Roce, Semantics};
use anabranch_sim::transport::uec::{Credits, Uec};
use anabranch_sim::transport::{Mptcp, Transport};
use anabranch_sim::{Class, Outcome, horizon_ps};
use anabranch_traffic::{Flow, PlacedWork, Start};

/// Most bytes that a transport may send, as a multiple of those that its flows bring.
const TIMES_MAX: u64 = 3;
/// Most grants in advance for one flow; of more, nothing is claimed.
const GRANTS_MAX: f64 = 1000.0;
/// Most packets and grants that all flows need; more may take more events than a run may have, over several links and with
/// answers.
const NEEDED_PACKETS_MAX: u64 = 50_000;
/// What UEC's default timeout allows for in ports without a bound: six of `uet-htsim`'s.
const ALLOWED_BYTES: u64 = 6 * 178_450;
/// Longest time that a receiver of RoCE asks for.
const RNR_PS_MAX: u128 = 655_360_000_000;

/// Whether nothing fails.
fn nothing_fails(resolved: &Resolved) -> bool {
    let rates_alone =
        resolved.settings().changes.iter().all(|change| matches!(change.what, What::PortRate(..)));
    let weights = &resolved.scenario().routing.weights;
    rates_alone && !matches!(weights, Weights::Given(given) if given.iter().any(|row| row.1 == 0))
}

/// Whether each port has room for three times all that flows bring: only a transport that sends more than that fills one.
fn has_room(fabric: &Fabric, settings: &Settings, flows: &[Flow]) -> bool {
    let bytes: u64 = flows.iter().map(|flow| TIMES_MAX * wire_bytes(settings, flow)).sum();
    let packets: u64 = flows.iter().map(|flow| TIMES_MAX * (frames(settings, flow) + 4)).sum();
    let own_room = |port: &Port| {
        let holds = |limit: u32, wanted: u64| limit == u32::MAX || u64::from(limit) >= wanted;
        holds(port.buffer.bytes, bytes) && holds(port.buffer.packets, packets)
    };
    let shares = fabric.switches().and_then(|switches| Some((switches, switches.shared?)));
    let shared_room = shares.is_none_or(|(switches, shared)| {
        let pauses = switches.classes[Class::Data as usize].lossless && shared.lossless_alpha.is_none();
        pauses || shared.bytes as f64 * shared.alpha / (1.0 + shared.alpha) >= bytes as f64
    });
    // RED's ramp drops what cannot be marked. Control has a port's own room also where data share that of a switch.
    let roomy = |port: &Port| !matches!(port.marking, Marking::Ramp { .. }) && own_room(port);
    shared_room && fabric.ports().iter().all(roomy)
}

fn nothing_dropped(outcome: &Outcome) -> bool {
    outcome.totals.dropped_packets == 0 && outcome.ports.iter().all(|record| record.trimmed_packets == 0)
}

/// Whether a transport may send again what was not lost, or wait for long, by its nature or because the scenario asks for
/// it. These are all exceptions.
fn is_excused(resolved: &Resolved, flows: &[Flow], outcome: &Outcome) -> bool {
    let settings = resolved.settings();
    let wait_ps = arrival::wait_ps(resolved.fabric(), settings, flows);
    let hasty = |timeout_ps: u64| u128::from(timeout_ps) < wait_ps;
    let trimmed = outcome.ports.iter().any(|record| record.trimmed_packets > 0);
    flows.iter().zip(&outcome.flows).any(|(flow, record)| {
        match &settings.transports[usize::from(flow.transport)] {
            // Wino cuts slices anew where a rate changes; a leaf has no path then for what hosts marked before, and nothing
            // sends a datagram again.
            Transport::Udp(_) => {
                let scheme = settings.balancing.scheme.get();
                outcome.totals.lost_packets > 0
                    && scheme.is_some_and(|scheme| scheme.descriptor().name == "wino")
            }
            // A timeout that is shorter than a wait in queues calls lost what is not: TCP's until it has measured a round
            // trip, RoCE's as its cards have it. UEC's default knows the fabric and has no excuse.
            Transport::Tcp(tcp) | Transport::Mptcp(Mptcp { tcp, .. }) => {
                hasty(tcp.rto_min_ps.min(tcp.rto_initial_ps).min(tcp.rto_max_ps))
            }
            Transport::Roce(roce) => {
                let hasty = match roce.recovery {
                    Recovery::Selective { rto_low_ps } => hasty(rto_low_ps.min(roce.rto_ps)),
                    // Go-back-N discards what overtakes, and sends all again that followed it.
                    Recovery::GoBackN { .. } => hasty(roce.rto_ps) || record.reordered_packets > 0,
                };
                hasty || is_unexpected(resolved, roce, flow)
            }
            Transport::Uec(uec) => {
                // Receivers grant credit for their own links. They do not see those between switches, and alone let senders
                // fill them; and they grant in advance what their own link carries in a round trip (LIMITATIONS.md).
                let advances = |credits: &Credits| grants_in_advance(resolved, credits) > GRANTS_MAX;
                uec.rto_ps != 0 && hasty(uec.rto_ps)
                    || uec.rto_ps == 0 && is_crowded(resolved.fabric(), settings, flows)
                    || uec.credits.is_some() && uec.law == Law::None && trimmed
                    || uec.credits.as_ref().is_some_and(advances)
            }
        }
    })
}

/// Whether the first frames of all that is sent to some host fill more than what UEC's default timeout allows for in ports
/// without a bound: it does not know how many will send at once, so they are sent again, each after twice the time.
fn is_crowded(fabric: &Fabric, settings: &Settings, flows: &[Flow]) -> bool {
    let is_unbounded = |port: &Port| port.buffer.bytes == u32::MAX && port.buffer.packets == u32::MAX;
    let mut to_host = vec![0u64; fabric.hosts() as usize];
    for flow in flows {
        let most_bytes = settings.transports[usize::from(flow.transport)].payload_bytes_max(settings.framing);
        let first_bytes = |part: u64| settings.framing.frame_bytes(part.min(most_bytes.into()) as u16);
        let first = parts(settings, flow).map(|part| u64::from(first_bytes(part)));
        to_host[flow.dst as usize] += first.sum::<u64>();
    }
    fabric.ports().iter().any(is_unbounded) && to_host.iter().any(|&bytes| bytes > ALLOWED_BYTES)
}

/// Whether a send may come before its receive is posted: it is repeated until there is one. Messages that wait for theirs
/// by rendezvous never do, nor do those of rendezvous itself.
fn is_unexpected(resolved: &Resolved, roce: &Roce, flow: &Flow) -> bool {
    let (Semantics::Send { .. }, Start::Ready { work, .. }) = (roce.semantics, flow.start) else {
        return false;
    };
    let jobs = resolved.scenario().traffic.iter().filter_map(|traffic| match &traffic.demand {
        Demand::Graph(setting) => Some(setting),
        _ => None,
    });
    let job = jobs.into_iter().nth(work as usize);
    !job.is_some_and(|job| job.rendezvous.is_some() && job.eager_bytes == 0)
}

/// Number of packets by which a receiver grants a flow credit before it asks.
fn grants_in_advance(resolved: &Resolved, credits: &Credits) -> f64 {
    let fabric = resolved.fabric();
    let framing = resolved.settings().framing;
    let frame_bytes =
        u32::from(framing.frame_bytes(framing.payload_bytes_max)) + u32::from(framing.gap_bytes);
    let round_trip_s = longest_round_trip_ps(fabric, frame_bytes, frame_bytes) as f64 / 1e12;
    let fastest_bps = fabric.ports().iter().map(|port| port.rate.bps()).max().unwrap_or(0);
    let window_bytes =
        credits.most_bytes.map_or(1.5 * round_trip_s * fastest_bps as f64 / 8.0, |most| most as f64);
    window_bytes / f64::from(credits.grant_bytes)
}

/// Time in which all has long arrived, with what RDMA may wait for by itself.
pub(crate) fn needed_ps(resolved: &Resolved, flows: &[Flow]) -> u64 {
    let settings = resolved.settings();
    let wait_ps = arrival::wait_ps(resolved.fabric(), settings, flows);
    let packets: u64 = flows.iter().map(|flow| frames(settings, flow) + 4).sum();
    let of_rdma = settings.transports.iter().map(|transport| match transport {
        Transport::Roce(roce) => u128::from(roce.rto_ps) + RNR_PS_MAX,
        Transport::Uec(uec) => {
            let share = uec.credits.as_ref().map_or(1.0, |credits| credits.share);
            u128::from(uec.rto_ps) + (wait_ps as f64 / share) as u128
        }
        Transport::Tcp(_) | Transport::Mptcp(_) | Transport::Udp(_) => 0,
    });
    let all_ps = of_rdma.max().unwrap_or(0) * u128::from(packets + 50);
    arrival::needed_ps(resolved, flows).saturating_add(u64::try_from(all_ps).unwrap_or(u64::MAX))
}

/// Packets of data and grants of credit that all flows need.
fn needed_packets(settings: &Settings, flows: &[Flow]) -> u64 {
    let of = |flow: &Flow| {
        let grants = match &settings.transports[usize::from(flow.transport)] {
            Transport::Uec(Uec { credits: Some(credits), .. }) => {
                flow.size_bytes / u64::from(credits.grant_bytes)
            }
            _ => 0,
        };
        frames(settings, flow) + grants
    };
    flows.iter().map(of).sum()
}

/// Whether a flow is to begin: messages of idle jobs are not.
fn begins(settings: &Settings, flow: &Flow) -> bool {
    match flow.start {
        Start::Ready { work, .. } => settings.works[work as usize].start_ps != PlacedWork::NEVER_PS,
        Start::At(_) | Start::After { .. } | Start::AfterJob { .. } => true,
    }
}

/// Holds a run to the invariants if it is calm, and says whether it is. `given_up`: it was ended before its time.
pub(crate) fn check(
    resolved: &Resolved,
    flows: &[Flow],
    outcome: &Outcome,
    given_up: bool,
) -> Result<bool, Broken> {
    let (fabric, settings) = (resolved.fabric(), resolved.settings());
    let in_time = settings.end_ps.min(horizon_ps(fabric)) >= needed_ps(resolved, flows);
    let calm = in_time
        && nothing_fails(resolved)
        && (has_room(fabric, settings, flows) || !given_up && nothing_dropped(outcome))
        && !is_excused(resolved, flows, outcome);
    if !calm {
        return Ok(false);
    }
    let needed: u64 = flows.iter().filter(|flow| begins(settings, flow)).map(|flow| flow.size_bytes).sum();
    let sent: u64 = outcome.flows.iter().map(|record| record.sent_bytes).sum();
    let counted = || format!("{:?}, {:?}", outcome.totals, outcome.counts);
    holds(sent <= TIMES_MAX * needed, "a calm run sends three times the bytes needed at most", || {
        format!("{sent} bytes were sent where {needed} were needed: {}", counted())
    })?;
    let is_long = needed_packets(settings, flows) > NEEDED_PACKETS_MAX;
    holds(!given_up || is_long, "a calm run ends", counted)?;
    if given_up {
        return Ok(true);
    }
    for (index, (flow, record)) in flows.iter().zip(&outcome.flows).enumerate() {
        let told = || format!("flow {index}, {flow:?}, {record:?}, {}", counted());
        let done = record.fct_ps != u64::MAX || !begins(settings, flow);
        holds(done, "a calm run leaves no flow unfinished", told)?;
        // UEC's default timeout counts on ports with room for what uet-htsim's have, and its acknowledgements may wait for
        // more bytes than a window holds.
        let uec = matches!(settings.transports[usize::from(flow.transport)], Transport::Uec(_));
        let quiet = uec || record.timeouts == 0 || !nothing_dropped(outcome);
        holds(quiet, "nothing times out that was not lost", told)?;
    }
    Ok(true)
}
