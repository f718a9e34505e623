//! Decisions of Flowcut; its rule and where it differs from the paper stand on `page.md`.

use crate::flowcut::header::{Header, next};
use anabranch_split::picks::least::Least;
use anabranch_split::picks::paths::Paths;
use anabranch_split::picks::{Flows, Packet, Pick};
use anabranch_split::{Env, capability};
use core::marker::PhantomData;

/// Answer of the pick instead of a path: the flow is being drained, so the packet must wait.
pub const WAIT: u16 = u16::MAX;

/// The source leaf's half of Flowcut: living paths in `P`, flows in `M`.
pub struct Flowcut<P, M>(PhantomData<(P, M)>);

/// Parameters of Flowcut.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Parameters {
    /// Whether flowcuts on congested paths are drained.
    pub drain: bool,
    /// Ratio of a flowcut's mean delay to the least of its flow beyond which it is drained.
    pub ratio: f64,
    /// Weight of the newest delay in the mean.
    pub alpha: f64,
    /// Bytes that a flowcut has sent at least before it is drained.
    pub least_bytes: u64,
    /// Time without an answer after which packets under way count as lost, in nanoseconds.
    pub timeout_ns: u64,
    /// Frame of an answer, in bytes.
    pub control_bytes: u16,
}

impl Default for Parameters {
    /// Defaults: ratio, weight and least size of the authors' artefact; answers of a least Ethernet frame.
    fn default() -> Self {
        Self {
            drain: true,
            ratio: 6.0,
            alpha: 0.7,
            least_bytes: 20_000,
            timeout_ns: 5_000_000,
            control_bytes: 64,
        }
    }
}

/// What a leaf needs to decide.
#[derive(Clone, Copy, Debug)]
pub struct Plan<P> {
    /// Living paths to a destination.
    pub paths: P,
    /// Parameters.
    pub parameters: Parameters,
}

/// Present flowcut of a flow.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Cut {
    /// Bytes that left the leaf and were not answered yet.
    pub in_flight_bytes: u64,
    /// Bytes that left the leaf.
    pub sent_bytes: u64,
    /// Its number.
    number: u8,
    /// Whether nothing is sent until it has ended.
    pub draining: bool,
    /// Mean delay, in nanoseconds; zero before the first answer.
    mean_ns: f32,
    /// Least delay of the flow, in nanoseconds; zero before the first answer.
    least_ns: f32,
    /// When its first packet was sent or its last answer came, whichever is later, in nanoseconds.
    heard_ns: u64,
}

impl Cut {
    /// When its packets under way count as lost, in nanoseconds.
    #[inline(always)]
    #[must_use]
    pub const fn deadline_ns(&self, timeout_ns: u64) -> u64 {
        self.heard_ns.saturating_add(timeout_ns)
    }

    /// Whether all that it sent has arrived, or counts as lost.
    #[inline(always)]
    #[must_use]
    pub const fn is_over(&self, timeout_ns: u64, now_ns: u64) -> bool {
        self.in_flight_bytes == 0 || now_ns >= self.deadline_ns(timeout_ns)
    }

    /// Whether its path is congested.
    #[inline(always)]
    fn is_slow(&self, parameters: &Parameters) -> bool {
        self.sent_bytes >= parameters.least_bytes
            && f64::from(self.mean_ns) > parameters.ratio * f64::from(self.least_ns)
    }
}

/// Answer of the destination leaf to one packet.
#[derive(Clone, Copy, Debug)]
pub struct Answer {
    /// Flow of the packet.
    pub flow: u64,
    /// Number of its flowcut.
    pub number: u8,
    /// Bytes that its flowcut had sent with it, modulo 2^32.
    pub sent_bytes: u32,
    /// Time from leaf to leaf, in nanoseconds.
    pub delay_ns: u32,
}

/// Number of table entries that are searched for forgotten flows with each new flowcut.
const SWEPT_PER_CUT: usize = 8;

impl<P: Paths, M: Flows<Note = Cut>> Pick for Flowcut<P, M> {
    const NAME: &'static str = "flowcut";
    const NEEDS: u32 =
        capability::CLOCK | capability::RANDOM | capability::BACKLOG | capability::TAG | capability::PROBE;
    type Plan = Plan<P>;
    type State = M;
    type Feedback = Answer;

    /// The packet's path, or [`WAIT`]. Writes its tag.
    #[inline(always)]
    fn pick<E: Env>(plan: &Plan<P>, flows: &mut M, packet: &mut Packet, env: &mut E) -> u16 {
        let Plan { paths, parameters } = plan;
        let timeout_ns = parameters.timeout_ns;
        let now_ns = env.now_ns();
        let (mut waits, mut began, mut number) = (false, false, 0);
        let path = flows.upsert(packet.flow, |known| {
            let present = known.filter(|&(path, cut)| !cut.is_over(timeout_ns, now_ns) && env.up(path));
            let (path, mut cut) = match present {
                Some((path, mut cut)) => {
                    let others = || paths.living(packet.destination).len() > 1;
                    cut.draining |= parameters.drain && cut.is_slow(parameters) && others();
                    (path, cut)
                }
                None => {
                    began = true;
                    let mut least = Least::default();
                    for &path in paths.living(packet.destination) {
                        if env.up(path) {
                            let backlog = env.backlog_bytes(path);
                            least.offer(path, backlog, env);
                        }
                    }
                    let last = known.map_or_else(Cut::default, |(_, cut)| cut);
                    let (number, least_ns) = (next(last.number), last.least_ns);
                    (
                        least.member().unwrap_or(0),
                        Cut { number, least_ns, heard_ns: now_ns, ..Cut::default() },
                    )
                }
            };
            waits = cut.draining;
            if !waits {
                cut.in_flight_bytes += u64::from(packet.bytes);
                cut.sent_bytes += u64::from(packet.bytes);
            }
            number = cut.number;
            (path, cut)
        });
        if began {
            flows.sweep(SWEPT_PER_CUT, |_, cut| now_ns >= cut.deadline_ns(timeout_ns), |_| ());
        }
        packet.tag = Header::new(number, now_ns).pack();
        if waits { WAIT } else { path }
    }

    #[inline(always)]
    fn learn<E: Env>(plan: &Plan<P>, flows: &mut M, answer: &Answer, env: &mut E) {
        let Some((path, mut cut)) = flows.get(answer.flow).filter(|(_, cut)| cut.number == answer.number)
        else {
            return;
        };
        let delay_ns = answer.delay_ns as f32;
        // A flowcut's packets arrive in order: those sent before this one have arrived too, or are lost.
        let after = (cut.sent_bytes as u32).wrapping_sub(answer.sent_bytes);
        cut.in_flight_bytes = cut.in_flight_bytes.min(after.into());
        cut.mean_ns = if cut.mean_ns == 0.0 {
            delay_ns
        } else {
            cut.mean_ns + plan.parameters.alpha as f32 * (delay_ns - cut.mean_ns)
        };
        cut.least_ns = if cut.least_ns == 0.0 { delay_ns } else { cut.least_ns.min(delay_ns) };
        cut.heard_ns = env.now_ns();
        flows.upsert(answer.flow, |_| (path, cut));
    }

    fn port_changed<E: Env>(_: &Plan<P>, flows: &mut M, path: u16, up: bool, _env: &mut E) {
        if !up {
            flows.purge(path);
        }
    }
}
