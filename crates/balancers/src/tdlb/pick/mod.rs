//! Decisions of TDLB; its rule and where it differs from the paper stand on `page.md`.

pub mod delays;
mod parameters;
pub mod separator;

use anabranch_split::picks::paths::Paths;
use anabranch_split::picks::store::Store;
use anabranch_split::picks::{Flows, Packet, Pick, uniform};
use anabranch_split::{Env, capability};
use core::marker::PhantomData;
use delays::Delays;
pub use parameters::{Clear, Detect, Initial, Parameters};
use separator::Separator;

/// Bits of [`Packet::tag`].
pub mod tag {
    /// Bit of a packet whose flow congests its path (T in Algorithm 1).
    pub const CONGESTING: u32 = 1;
    /// Bit that reports that the opposite flow congests the port to its host: the last hop notifies the source leaf.
    pub const REPORTED: u32 = 1 << 1;
}

/// Number of bits of a probe that names `switches`: 24 for each, and the time it was sent in 32.
#[must_use]
pub const fn probe_bits(switches: u32) -> u32 {
    switches * 24 + 32
}

/// Bytes of the probe's frame with Ethernet and IP header and checksum, at least the smallest of Ethernet.
#[must_use]
pub const fn probe_frame_bytes(switches: u32) -> u32 {
    let bytes = 14 + 20 + probe_bits(switches).div_ceil(8) + 4;
    if bytes < 64 { 64 } else { bytes }
}

/// Paths with the uplinks that they begin with.
pub trait Uplinks: Paths {
    /// Number of the leaf's port that `path` to `destination` leaves by.
    fn uplink(&self, destination: u32, path: u16) -> u16;
    /// Queue length above which a port of the leaf may be congested (phi), in bytes.
    fn threshold_bytes(&self, port: u16) -> u32;
}

/// Parameters and paths.
#[derive(Clone, Debug)]
pub struct Plan<P> {
    /// Parameters of TDLB.
    pub parameters: Parameters,
    /// Living paths by destination.
    pub paths: P,
}

/// State of a source leaf.
pub struct State<M, S: Store> {
    /// Path of each flow and the time of its last packet.
    pub flows: M,
    /// Record of the flows that congest each uplink.
    pub separator: Separator<S>,
    /// Delays that probes measured.
    pub delays: Delays<S>,
    /// What became of packets on congested paths.
    pub counts: Counts,
}

/// Packets that found their path congested, by what they did.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub struct Counts {
    /// Their flow is recorded as one to blame, and stays.
    pub to_blame: u64,
    /// Their flow is innocent, and paused for no longer than the timeout.
    pub within_flowlet: u64,
    /// They began a flowlet that went to another path.
    pub rerouted: u64,
}

/// Feedback to a source leaf.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Feedback {
    /// A probe came back.
    Delay {
        /// Destination of the probe.
        destination: u32,
        /// Path of the probe.
        path: u16,
        /// Delay of the probe, in nanoseconds; negative if clocks differ.
        delay_ns: i64,
    },
    /// The last hop found that `flow` congests the port to its host.
    Congesting {
        /// Destination of the flow.
        destination: u32,
        /// Flow that congests.
        flow: u64,
    },
}

/// Pick that reroutes flowlets of flows that do not themselves congest a congested path. Members are paths;
/// [`Env::backlog_bytes`] is the queue of the uplink that a path begins with.
pub struct Tdlb<P, M, S>(PhantomData<(P, M, S)>);

/// Number of table entries that are searched for idle flows with each new flow.
const SWEPT_PER_FLOW: usize = 8;

impl<P: Uplinks, M: Flows<Note = u64>, S: Store> Pick for Tdlb<P, M, S> {
    const NAME: &'static str = "tdlb";
    const NEEDS: u32 = capability::CLOCK
        | capability::BACKLOG
        | capability::TIMER
        | capability::PROBE
        | capability::TAG
        | capability::RANDOM;
    type Plan = Plan<P>;
    type State = State<M, S>;
    type Feedback = Feedback;

    #[inline(always)]
    fn pick<E: Env>(plan: &Plan<P>, state: &mut State<M, S>, packet: &mut Packet, env: &mut E) -> u16 {
        let State { flows, separator, delays, counts } = state;
        let (now_ns, destination) = (env.now_ns(), packet.destination);
        let (flow, hash, bytes) = (packet.flow, packet.hash(), packet.bytes);
        let mut leaf = Leaf { plan, separator, delays, destination, now_ns };
        let mut is_new = false;
        let mut congesting = false;
        let path = flows.upsert(flow, |known| {
            let known = known.filter(|&(path, last_ns)| {
                env.up(path) && now_ns.saturating_sub(last_ns) <= plan.parameters.idle_ns
            });
            let Some((path, last_ns)) = known else {
                is_new = true;
                return (leaf.begin(hash, env), now_ns);
            };
            let is_congested = leaf.is_congested(path, env);
            congesting = leaf.separator.is_congesting(plan.paths.uplink(destination, path), flow);
            if congesting {
                counts.to_blame += 1;
                return (path, now_ns);
            }
            if !is_congested {
                return (path, now_ns);
            }
            if now_ns.saturating_sub(last_ns) <= leaf.timeout_ns() {
                counts.within_flowlet += 1;
                return (path, now_ns);
            }
            let better = leaf.preferred(env).unwrap_or(path);
            counts.rerouted += u64::from(better != path);
            (better, now_ns)
        });
        if congesting {
            packet.tag |= tag::CONGESTING;
        }
        leaf.separator.depart(plan.paths.uplink(destination, path), flow, bytes, now_ns);
        if is_new {
            let idle_ns = plan.parameters.idle_ns;
            flows.sweep(SWEPT_PER_FLOW, |_, &last_ns| now_ns.saturating_sub(last_ns) > idle_ns, |_| ());
        }
        path
    }

    fn learn<E: Env>(plan: &Plan<P>, state: &mut State<M, S>, feedback: &Feedback, env: &mut E) {
        let now_ns = env.now_ns();
        let State { flows, separator, delays, .. } = state;
        match *feedback {
            Feedback::Delay { destination, path, delay_ns } => {
                delays.heard(plan.paths.living(destination), destination, path, delay_ns, now_ns);
            }
            Feedback::Congesting { destination, flow } => {
                let Some((path, _)) = flows.get(flow) else { return };
                let hold_ns = Leaf { plan, separator, delays, destination, now_ns }.hold_ns();
                separator.report(plan.paths.uplink(destination, path), flow, hold_ns, now_ns);
            }
        }
    }

    fn tick<E: Env>(plan: &Plan<P>, state: &mut State<M, S>, env: &mut E) {
        let (now_ns, idle_ns) = (env.now_ns(), plan.parameters.idle_ns);
        state.flows.sweep(usize::MAX, |_, &last_ns| now_ns.saturating_sub(last_ns) > idle_ns, |_| ());
    }
}

/// Source leaf at the moment of a decision about one destination.
struct Leaf<'a, P, S: Store> {
    plan: &'a Plan<P>,
    separator: &'a mut Separator<S>,
    delays: &'a mut Delays<S>,
    destination: u32,
    now_ns: u64,
}

impl<P: Uplinks, S: Store> Leaf<'_, P, S> {
    fn timeout_ns(&self) -> u64 {
        self.plan.parameters.timeout_ns(self.delays.difference_ns(self.destination))
    }

    /// Preferred path, the fastest, of those that are not congested, or of all if all are.
    fn preferred<E: Env>(&self, env: &mut E) -> Option<u16> {
        let &Self { plan, ref delays, destination, now_ns, .. } = self;
        let (living, tie_ns) = (plan.paths.living(destination), plan.parameters.tie_ns);
        let free = |path, env: &mut E| {
            let is_reported = self.separator.is_reported(plan.paths.uplink(destination, path), now_ns);
            !is_reported && !self.is_full(path, env.backlog_bytes(path))
        };
        delays
            .preferred(living, destination, tie_ns, now_ns, free, env)
            .or_else(|| delays.preferred(living, destination, tie_ns, now_ns, |_, _| true, env))
    }

    /// Line 1 of Algorithm 1 for a path with `backlog_bytes` in the queue that it begins with.
    fn is_full(&self, path: u16, backlog_bytes: u32) -> bool {
        let Parameters { detect, delay_factor_milli, .. } = self.plan.parameters;
        let uplink = self.plan.paths.uplink(self.destination, path);
        detect.at_uplink()
            && backlog_bytes > self.plan.paths.threshold_bytes(uplink)
            && self.delays.is_slow(self.destination, path, delay_factor_milli, self.now_ns)
    }

    fn hold_ns(&self) -> u64 {
        let living = self.plan.paths.living(self.destination);
        match self.plan.parameters.hold_ns {
            0 => self
                .delays
                .round_trip_ns(self.destination, living, self.now_ns)
                .unwrap_or(self.plan.parameters.timeout_max_ns),
            hold_ns => hold_ns,
        }
    }

    /// Algorithm 1, the first half: whether `path` is congested. If the queue that it begins with is too long, its
    /// flows are recorded.
    fn is_congested<E: Env>(&mut self, path: u16, env: &mut E) -> bool {
        let Parameters { record, clear, .. } = self.plan.parameters;
        let uplink = self.plan.paths.uplink(self.destination, path);
        let (threshold_bytes, backlog) = (self.plan.paths.threshold_bytes(uplink), env.backlog_bytes(path));
        self.separator.relieve(uplink, backlog, threshold_bytes / 2, clear == Clear::Never, self.now_ns);
        let is_found = self.is_full(path, backlog);
        if is_found {
            self.separator.detect(uplink, backlog, record, self.hold_ns(), self.now_ns);
        }
        is_found || self.separator.is_reported(uplink, self.now_ns)
    }

    /// Picks the path of a new flow.
    fn begin<E: Env>(&mut self, hash: u32, env: &mut E) -> u16 {
        let living = self.plan.paths.living(self.destination);
        let hashed = living.get(uniform::index(hash, living.len())).copied().unwrap_or(0);
        let elsewhere = self.plan.parameters.initial == Initial::Fastest || self.is_congested(hashed, env);
        if elsewhere { self.preferred(env).unwrap_or(hashed) } else { hashed }
    }
}

#[cfg(test)]
mod tests;
