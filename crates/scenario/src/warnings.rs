//! Warnings about a scenario, for its user to read before it runs.

use crate::Resolved;
use crate::section::traffic::Demand;
use crate::tier::tier_name;
use anabranch_balancers::{Granularity, Mutation};
use anabranch_fabric::{Fabric, LinkState, Marking, NextHops, Tier};
use anabranch_form::unit::{Time, Unit};
use anabranch_plan::{Groups, Probe, TierUse, upward_use};
use anabranch_sim::transport::Transport;
use anabranch_sim::{Header, horizon_ps, salt};
use anabranch_split::picks::{mix, uniform};
use anabranch_traffic::sizes::{Convention, Sizes};
use anabranch_traffic::workload::{Arrivals, Poisson};
use anabranch_traffic::{Flow, FlowSource, Ports, TierLoad, Workload};

/// Largest load without a warning: a little above the capacity is how papers show what a full fabric does.
const LOAD_UNREMARKED_MAX: f64 = 1.2;

/// A tier as people call it: what stands above aggregation switches is the core.
fn tier_word(fabric: &Fabric, tier: Tier) -> &'static str {
    let three_tiers = || fabric.nodes().iter().any(|node| node.tier == Tier::Aggregation);
    if tier == Tier::Spine && three_tiers() { "core" } else { tier_name(tier) }
}

impl Resolved {
    /// Each in a sentence: a mechanism that is broken on purpose, traffic without a flow, what the fabric's file says and nothing reads, hosts whose names count otherwise, flows that no path carries, an end that the clock does not reach, offered loads above what
    /// links carry, polarisation, ECN that nobody marks, what the load balancer cannot do on this fabric, and by which
    /// convention sizes are drawn.
    #[must_use]
    pub fn warnings(&self, flows: &impl FlowSource, offered: &[TierLoad]) -> Vec<String> {
        let mut warnings = Vec::from_iter(self.scenario().routing.mutation.map(Mutation::warning));
        warnings.extend(self.without_flows(flows));
        warnings.extend_from_slice(self.file_warnings());
        warnings.extend(self.severed(flows));
        warnings.extend(self.renumbered_hosts());
        warnings.extend(self.beyond_the_clock());
        warnings.extend(overloads(self.fabric(), offered));
        warnings.extend(self.polarised());
        warnings.extend(self.unread_ports(flows));
        warnings.extend(self.unmarked());
        for workload in self.workloads() {
            if let Workload::Graph(job) = workload {
                warnings.extend_from_slice(job.work.graph.warnings());
            }
        }
        if let Some(load_balancer) = self.settings().balancing.scheme.get() {
            warnings.extend(load_balancer.warnings(self.fabric(), &self.links_at(0)));
        }
        warnings.extend(self.workloads().iter().enumerate().filter_map(|(index, workload)| {
            let sizes = match workload {
                Workload::Poisson(poisson) => &poisson.sizes,
                Workload::Once(once) => &once.sizes,
                _ => return None,
            };
            convention(index, sizes)
        }));
        warnings.extend(self.workloads().iter().enumerate().filter_map(|(index, workload)| match workload {
            Workload::Poisson(Poisson { arrivals: Arrivals::Load(load), .. }) => {
                above_capacity(index, load.fraction)
            }
            _ => None,
        }));
        warnings
    }

    /// Traffic that has no flow at all, so that nothing is simulated.
    fn without_flows(&self, flows: &impl FlowSource) -> Option<String> {
        (flows.outline().flows == 0).then(|| {
            "no flow begins, so that nothing is measured: what the traffic draws comes to none; give a longer \
             traffic.duration, a higher load or rate, or another seed"
                .to_owned()
        })
    }

    /// Hosts whose names count otherwise than the fabric, where traffic names hosts by number.
    fn renumbered_hosts(&self) -> Option<String> {
        if !self.scenario().traffic.iter().any(|traffic| traffic.demand.names_hosts()) {
            return None;
        }
        let names =
            self.fabric().nodes()[..self.fabric().named_hosts() as usize].iter().map(|node| &*node.name);
        let counted = |name: &str| -> Option<(String, u64)> {
            let before = name.trim_end_matches(|letter: char| letter.is_ascii_digit());
            Some((before.to_owned(), name[before.len()..].parse().ok()?))
        };
        let names: Vec<(&str, String, u64)> = names
            .map(|name| counted(name).map(|(before, number)| (name, before, number)))
            .collect::<Option<_>>()?;
        let alike = names.windows(2).all(|pair| pair[0].1 == pair[1].1);
        let at = names.windows(2).position(|pair| pair[0].2 > pair[1].2)? + 1;
        alike.then(|| {
            format!(
                "hosts are not numbered as their names count: host {} is {}, and host {at} is {}; traffic that names hosts means \
                 these numbers, and flow lists may give names",
                at - 1,
                names[at - 1].0,
                names[at].0
            )
        })
    }

    /// Number of flows between hosts that no path joins after the last change.
    #[must_use]
    pub fn severed_flows(&self, flows: &impl FlowSource) -> usize {
        let Some(state) = self.last_links() else { return 0 };
        let fabric = self.fabric();
        let hops = NextHops::shortest(fabric, &state);
        let joined = |host: u32| state.link_up(fabric, fabric.ports_of(host)[0]);
        let path = |flow: &Flow| {
            let [from, to] = [flow.src, flow.dst].map(|host| fabric.leaf_of(host));
            let reached = hops.destination(to).and_then(|to| hops.distance(from, to));
            joined(flow.src) && joined(flow.dst) && reached.is_some()
        };
        flows.pass().filter(|flow| !path(flow)).count()
    }

    /// The links after the last change; none if nothing goes down.
    fn last_links(&self) -> Option<LinkState> {
        let last = self.links_at(u64::MAX);
        let whole = last.up.iter().chain(&last.node_up).all(|&up| up);
        (!whole).then_some(last)
    }

    /// The links after the changes up to a moment.
    fn links_at(&self, at_ps: u64) -> LinkState {
        let mut links = LinkState::of(self.fabric());
        for change in self.settings().changes.iter().filter(|change| change.at_ps <= at_ps) {
            links.apply(change.what);
        }
        links
    }

    fn severed(&self, flows: &impl FlowSource) -> Option<String> {
        let severed = self.severed_flows(flows);
        let last_ps = self.settings().changes.last()?.at_ps;
        (severed > 0).then(|| {
            format!(
                "{severed} of {} flows are between hosts that no path joins after the last change, at {}: what is not \
                 received by then never is",
                flows.outline().flows,
                Time.write(&last_ps).trim_matches('"')
            )
        })
    }

    /// An end after the last picosecond that the clock has on this fabric.
    fn beyond_the_clock(&self) -> Option<String> {
        let (horizon_ps, end_ps) = (horizon_ps(self.fabric()), self.settings().end_ps);
        (end_ps > horizon_ps).then(|| {
            let [horizon, end] = [horizon_ps, end_ps].map(|at_ps| at_ps / 1_000_000_000_000);
            format!(
                "the simulation ends at {horizon} s at the latest, not at {end} s: on a fabric of {} ports its clock, \
                 which counts picoseconds, goes no further",
                self.fabric().ports().len()
            )
        })
    }

    /// Tiers of which a part of the next hops starves, because the switches before them chose by the same hash. Only
    /// where two choices by hash follow each other.
    fn polarised(&self) -> Vec<String> {
        let (fabric, settings) = (self.fabric(), self.settings());
        let by_flow = settings.balancing.granularity == Granularity::Flow;
        if !by_flow || !fabric.nodes().iter().any(|node| node.tier == Tier::Aggregation) {
            return Vec::new();
        }
        let groups = Groups::plan(fabric, &LinkState::of(fabric), &settings.balancing.weighing);
        let mut hosts = vec![Vec::new(); groups.leaves.len()];
        for host in 0..fabric.hosts() {
            if let Ok(leaf) = groups.leaves.binary_search(&fabric.leaf_of(host)) {
                hosts[leaf].push(host);
            }
        }
        let transport = &settings.transports[0];
        let hash = |probe: &Probe, switch: u32| {
            let configured = settings.switch_hashes.get(switch as usize).copied().flatten();
            match configured {
                Some(hash) => hash.of(&self.header_of(probe, &hosts, transport)),
                None => probe.ideal_hash(salt(settings.seed, switch)),
            }
        };
        let cause = if settings.switch_hashes.is_empty() {
            "the switches before them choose by the same hash"
        } else {
            "the hashes of routing.hash do not tell apart there what the switches before them send"
        };
        let sentence = |used: &TierUse| {
            format!(
                "{}: {} of {} next hops upwards carry less than half of their share: {cause} (polarisation)",
                tier_word(fabric, used.tier),
                used.starved,
                used.next_hops
            )
        };
        upward_use(fabric, &groups, hash).iter().filter(|used| used.is_polarised()).map(sentence).collect()
    }

    /// Header of a flow between any hosts of two leaves, from any port and to any queue pair.
    fn header_of(&self, probe: &Probe, hosts: &[Vec<u32>], transport: &Transport) -> Header {
        let mut state = probe.ideal_hash(probe.leaves[1]);
        let mut below = |bound: usize| {
            state = mix::finalise(mix::absorb(state, 1));
            uniform::index(state, bound)
        };
        let [source, destination] = probe.leaves.map(|leaf| {
            let hosts = &hosts[leaf as usize];
            hosts[below(hosts.len())]
        });
        let source_port = 49_152 + below(1 << 14) as u16;
        let queue_pair = below(1 << 24) as u32;
        Header::of(transport, [source, destination], source_port, queue_pair)
    }

    /// Ports of flows and queue pairs that nothing reads, since switches hash ideally.
    fn unread_ports(&self, flows: &impl FlowSource) -> Option<String> {
        let settings = self.settings();
        let listed =
            self.scenario().traffic.iter().any(|traffic| matches!(traffic.demand, Demand::FlowList(_)));
        let has_ports = |transport: &Transport| {
            transport.queue_pairs().is_some_and(|pairs| !pairs.source_ports.as_slice().is_empty())
        };
        let what = if settings.transports.iter().any(has_ports) {
            "source_ports"
        } else if listed && flows.pass().any(|flow| flow.ports != Ports::CHOSEN) {
            "src_port and dst_port of the flow list"
        } else {
            return None;
        };
        settings.switch_hashes.is_empty().then(|| {
            format!("{what}: nothing reads them, since switches hash ideally; add [[routing.hash]] to hash header fields")
        })
    }

    fn unmarked(&self) -> Option<String> {
        let wants = |transport: &Transport| transport.tcp().is_some_and(|tcp| tcp.ecn);
        let hosts = self.fabric().hosts();
        let mut switch_ports = self.fabric().ports().iter().filter(|port| port.from >= hosts);
        let idle = self.settings().transports.iter().any(wants)
            && switch_ports.all(|port| port.marking == Marking::Off);
        idle.then(|| {
            "fabric.link.ecn is \"off\" everywhere: a transport with ecn = true is never told of congestion, and \
             learns of it by losses only"
                .to_owned()
        })
    }
}

fn overloads(fabric: &Fabric, loads: &[TierLoad]) -> Vec<String> {
    // One host's link is overloaded for a while wherever sizes have a long tail; links between switches carry many.
    let shared = |load: &TierLoad| load.from != Tier::Host && load.to != Tier::Host;
    let beyond = |load: &&TierLoad| load.load >= 1.0 || shared(load) && load.load_busiest >= 1.0;
    let sentence = |load: &TierLoad| {
        let tiers = format!("{} to {}", tier_word(fabric, load.from), tier_word(fabric, load.to));
        if load.load >= 1.0 {
            format!(
                "{tiers}: the offered load is {:.3} of the capacity: queues grow as long as flows arrive",
                load.load
            )
        } else {
            format!(
                "{tiers}: the busiest link is offered {:.3} of its capacity even if every switch splits evenly",
                load.load_busiest
            )
        }
    };
    loads.iter().filter(beyond).map(sentence).collect()
}

/// A load that no queue can hold, which is more often a slip of the pen than an experiment.
fn above_capacity(index: usize, load: f64) -> Option<String> {
    (load > LOAD_UNREMARKED_MAX).then(|| {
        format!(
            "traffic.{index}.load: {load} is {load} times the capacity, of which hosts can send no more than their links \
             carry: flows wait at their senders, and their times tell how long flows arrive"
        )
    })
}

/// The mean by the convention in use and by the other one.
fn convention(index: usize, sizes: &Sizes) -> Option<String> {
    let Sizes::Cdf(cdf) = sizes else { return None };
    let [used, other] = match cdf.convention() {
        Convention::Linear => [Convention::Linear, Convention::Step],
        Convention::Step => [Convention::Step, Convention::Linear],
    };
    let other_bytes = cdf.clone().with(other).mean_bytes();
    Some(format!(
        "traffic.{index}.sizes: drawn by the {} convention with a mean of {:.0} bytes; the {} convention would give \
         {other_bytes:.0}",
        used.name(),
        cdf.mean_bytes(),
        other.name(),
    ))
}
